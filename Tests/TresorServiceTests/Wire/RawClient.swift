// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import Foundation

/// A client that sends bytes as they are, over a socket of loopback or of the file system.
///
/// Its calls block threads of their own, so that the service keeps those of the pool.
final class RawClient: Sendable {
    private let descriptor: Int32

    /// Connects to a port of 127.0.0.1.
    ///
    /// - Parameter source: the address of loopback from which it connects: the last byte of 127.0.0.n.
    init(port: Int, source: UInt8 = 1) throws {
        descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        let descriptor = descriptor
        if source != 1 {
            let isBound = Self.withAddress(0, source) { bind(descriptor, $0, $1) } == 0
            guard isBound else { throw Failure() }
        }
        let status = Self.withAddress(port, 1) { connect(descriptor, $0, $1) }
        // An object whose properties all have values is deinitialized also if its initializer throws.
        guard status == 0 else { throw Failure() }
    }

    /// Connects to a socket of the file system.
    init(socket path: String) throws {
        descriptor = socket(AF_UNIX, Int32(SOCK_STREAM.rawValue), 0)
        let descriptor = descriptor
        var address = sockaddr_un()
        address.sun_family = sa_family_t(AF_UNIX)
        withUnsafeMutableBytes(of: &address.sun_path) { $0.copyBytes(from: path.utf8.prefix($0.count - 1)) }
        let status = withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
                connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_un>.size))
            }
        }
        guard status == 0 else { throw Failure() }
    }

    private static func withAddress(
        _ port: Int, _ last: UInt8, _ body: (UnsafePointer<sockaddr>, socklen_t) -> Int32
    ) -> Int32 {
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_port = in_port_t(UInt16(port)).bigEndian
        address.sin_addr.s_addr = (UInt32(0x7f00_0000) | UInt32(last)).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        return withUnsafePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { body($0, size) }
        }
    }

    struct Failure: Error {}

    deinit { close(descriptor) }

    /// Has the end of the connection be a reset, which takes away what was sent and not read.
    func endsWithReset() {
        var linger = linger(l_onoff: 1, l_linger: 0)
        setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &linger, socklen_t(MemoryLayout.size(ofValue: linger)))
    }

    /// Sends bytes. A connection that is closed on the other side takes none.
    func send(_ bytes: [UInt8]) async {
        await Self.apart { [descriptor] in
            var sent = 0
            while sent < bytes.count {
                let count = bytes[sent...].withUnsafeBytes {
                    systemSend(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL))
                }
                guard count > 0 else { return }
                sent += count
            }
        }
    }

    func send(_ text: String) async { await send(Array(text.utf8)) }

    /// Says that nothing more comes.
    func finish() { shutdown(descriptor, Int32(SHUT_WR)) }

    /// Reads until the other side closes, at most for minutes.
    ///
    /// - Returns: the bytes, and whether the other side closed.
    func readToEnd(seconds: Int = 120) async -> (bytes: [UInt8], isClosed: Bool) {
        await Self.apart { [descriptor] in
            var bytes: [UInt8] = []
            while Self.isReadable(descriptor, seconds) {
                guard let more = Self.receive(descriptor), !more.isEmpty else { return (bytes, true) }
                bytes += more
            }
            return (bytes, false)
        }
    }

    /// Reads one answer by its length.
    func readAnswer(seconds: Int = 120) async -> Answer? {
        await Self.apart { [descriptor] in
            var bytes: [UInt8] = []
            while Self.isReadable(descriptor, seconds) {
                guard let more = Self.receive(descriptor), !more.isEmpty else { return nil }
                bytes += more
                if let answer = Answer(bytes), answer.isWhole { return answer }
            }
            return nil
        }
    }

    /// The bytes that come next; none at the end, or if minutes bring none.
    func receive(seconds: Int = 120) async -> [UInt8] {
        await Self.apart { [descriptor] in
            Self.isReadable(descriptor, seconds) ? Self.receive(descriptor) ?? [] : []
        }
    }

    private static func isReadable(_ descriptor: Int32, _ seconds: Int) -> Bool {
        var waiting = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&waiting, 1, Int32(seconds * 1000)) > 0
    }

    private static func receive(_ descriptor: Int32) -> [UInt8]? {
        var buffer = [UInt8](repeating: 0, count: 65_536)
        let count = recv(descriptor, &buffer, buffer.count, 0)
        return count < 0 ? nil : Array(buffer.prefix(count))
    }

    private static func apart<Value: Sendable>(_ body: @escaping @Sendable () -> Value) async -> Value {
        await withCheckedContinuation { continuation in
            DispatchQueue.global().async { continuation.resume(returning: body()) }
        }
    }
}

/// An answer as it came.
struct Answer: Sendable {
    let status: Int
    let headers: [String: String]
    let body: [UInt8]

    /// `nil` for bytes that begin no answer.
    init?(_ bytes: [UInt8]) {
        let text = String(decoding: bytes, as: UTF8.self)
        guard let end = text.range(of: "\r\n\r\n"), text.hasPrefix("HTTP/1.1 "),
            let status = Int(text.dropFirst(9).prefix(3))
        else { return nil }
        self.status = status
        var headers: [String: String] = [:]
        for line in text[..<end.lowerBound].split(separator: "\r\n").dropFirst() {
            let parts = line.split(separator: ":", maxSplits: 1)
            headers[parts[0].lowercased()] = String(parts.last?.drop { $0 == " " } ?? "")
        }
        self.headers = headers
        body = Array(bytes.dropFirst(text[..<end.upperBound].utf8.count))
    }

    /// Whether the body has its length.
    var isWhole: Bool { headers["content-length"].flatMap { Int($0) } == body.count }
}

private func systemSend(_ descriptor: Int32, _ start: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
    send(descriptor, start, count, flags)
}

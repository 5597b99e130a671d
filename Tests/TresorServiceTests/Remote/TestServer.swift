// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A server on this machine that reads requests with a length, and answers with whatever bytes a test gives it.
final class TestServer: Sendable {
    /// The ways in which it treats a request.
    enum Action: Sendable {
        /// Answers, and waits for the next request.
        case answering([UInt8])
        /// Answers, and closes the connection.
        case closing([UInt8])
        /// Says nothing, until the other side goes.
        case hanging
    }

    /// A request: the number of its connection, and its bytes.
    struct Request: Sendable {
        let connection: Int
        let bytes: [UInt8]

        var text: String { String(decoding: bytes, as: UTF8.self) }
    }

    /// A connection as the server reads and writes it.
    protocol Channel {
        /// Returns some bytes; `nil` at the end.
        func receive() -> [UInt8]?
        func send(_ bytes: [UInt8])
    }

    let port: UInt16
    private let listener: Int32
    private let channel: @Sendable (Int32) -> (any Channel)?
    private let act: @Sendable (Request) -> Action
    private let requests = Mutex<[Request]>([])
    private let connections = Mutex<[Int32]>([])

    /// The requests that came.
    var seen: [Request] { requests.withLock { $0 } }
    var connectionCount: Int { connections.withLock { $0.count } }

    /// - Parameter channel: what lies over a connection; `nil` ends it.
    init(
        over channel: @escaping @Sendable (Int32) -> (any Channel)? = { PlainChannel(descriptor: $0) },
        _ act: @escaping @Sendable (Request) -> Action
    ) throws {
        (self.act, self.channel) = (act, channel)
        #if canImport(Darwin)
            listener = socket(AF_INET, SOCK_STREAM, 0)
        #else
            listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        #endif
        // Another server may take the port once this one has stopped.
        var isOn: Int32 = 1
        setsockopt(listener, SOL_SOCKET, SO_REUSEADDR, &isOn, socklen_t(MemoryLayout<Int32>.size))
        var address = sockaddr_in()
        address.sin_family = sa_family_t(AF_INET)
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 16) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = UInt16(bigEndian: address.sin_port)
        Thread.detachNewThread { [weak self] in
            while true {
                let connection = accept(descriptor, nil, nil)
                guard connection >= 0, let self else {
                    close(descriptor)
                    return
                }
                let number = self.connections.withLock { connections in
                    connections.append(connection)
                    return connections.count - 1
                }
                Thread.detachNewThread { self.serve(connection, number) }
            }
        }
    }

    /// Ends the listener and all connections. The thread that accepts closes the listener.
    func stop() {
        shutdown(listener, Int32(SHUT_RDWR))
        for connection in connections.withLock({ $0 }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    /// Closes the connections that are open.
    func dropConnections() {
        for connection in connections.withLock({ $0 }) { shutdown(connection, Int32(SHUT_RDWR)) }
    }

    private func serve(_ connection: Int32, _ number: Int) {
        var buffer: [UInt8] = []
        guard let channel = self.channel(connection) else {
            shutdown(connection, Int32(SHUT_RDWR))
            return
        }
        while let request = Self.next(&buffer, from: channel) {
            let request = Request(connection: number, bytes: request)
            requests.withLock { $0.append(request) }
            switch act(request) {
            case .answering(let bytes): channel.send(bytes)
            case .closing(let bytes):
                channel.send(bytes)
                shutdown(connection, Int32(SHUT_RDWR))
                return
            case .hanging: break
            }
        }
    }

    /// Reads a head, and the body that its `Content-Length` names.
    private static func next(_ buffer: inout [UInt8], from channel: any Channel) -> [UInt8]? {
        while true {
            let text = String(decoding: buffer, as: UTF8.self)
            if let head = text.range(of: "\r\n\r\n") {
                let length =
                    text[..<head.lowerBound].split(separator: "\r\n")
                    .first { $0.hasPrefix("Content-Length: ") }.flatMap { Int($0.dropFirst(16)) } ?? 0
                let count = text[..<head.upperBound].utf8.count + length
                if buffer.count >= count {
                    defer { buffer.removeFirst(count) }
                    return Array(buffer[..<count])
                }
            }
            guard let piece = channel.receive() else { return nil }
            buffer += piece
        }
    }
}

/// A connection in clear.
struct PlainChannel: TestServer.Channel {
    let descriptor: Int32

    func receive() -> [UInt8]? {
        var piece = [UInt8](repeating: 0, count: 1 << 16)
        let count = recv(descriptor, &piece, piece.count, 0)
        return count > 0 ? Array(piece[..<count]) : nil
    }

    func send(_ bytes: [UInt8]) {
        var sent = 0
        while sent < bytes.count {
            let count = bytes.withUnsafeBytes { memory in
                #if canImport(Darwin)
                    Darwin.send(descriptor, memory.baseAddress?.advanced(by: sent), memory.count - sent, 0)
                #else
                    Glibc.send(
                        descriptor, memory.baseAddress?.advanced(by: sent), memory.count - sent, Int32(MSG_NOSIGNAL))
                #endif
            }
            guard count > 0 else { return }
            sent += count
        }
    }
}

/// The bytes of an answer of a service.
func answer(_ body: [UInt8], status: Int = 200, headers: [String] = []) -> [UInt8] {
    let lines =
        ["HTTP/1.1 \(status) Word", "Content-Type: application/vnd.tresor", "Content-Length: \(body.count)"] + headers
    return Array((lines + ["", ""]).joined(separator: "\r\n").utf8) + body
}

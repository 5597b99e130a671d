// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// A relay on this machine between a client and a server, which cuts a connection after a number of bytes, or holds
/// what comes from a message on.
///
/// It relays bytes as they are, in clear or of TLS. Its calls block threads of their own.
final class CuttingRelay: Sendable {
    enum Direction: CaseIterable, Sendable {
        /// From the client to the server.
        case request
        /// From the server to the client.
        case answer
    }

    /// Where connections end.
    struct Cut: Sendable {
        let direction: Direction
        /// The bytes that still pass in this direction.
        let count: Int
        /// Whether the end is a reset, which can overtake bytes, and not an orderly end.
        var isReset = false
        /// Whether each connection is cut there, and not the next one alone.
        var isOfEach = false
    }

    private struct State {
        var cut: Cut?
        var passed: [Direction: Int] = [:]
        var connections = 0
        /// The number of the message that is held with all that follow it; `nil` for none.
        var firstHeld: Int?
        /// The messages that came: bytes of one direction that follow bytes of the other one begin another.
        var messages = 0
        var last: Direction?

        /// Notes that bytes came, and returns whether they pass.
        mutating func passes(_ direction: Direction) -> Bool {
            if last != direction {
                messages += 1
                last = direction
            }
            return firstHeld.map { messages <= $0 } ?? true
        }
    }

    let port: Int
    private let listener: Int32
    /// The port of the server on 127.0.0.1; 0 for none yet.
    private let target: Mutex<Int>
    private let state = Mutex(State())

    /// - Parameter target: the port of the server on 127.0.0.1; 0 for one that begins after the relay, and knows its port.
    init(to target: Int = 0) throws {
        self.target = Mutex(target)
        listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = loopback(0)
        var size = socklen_t(MemoryLayout<sockaddr_in>.size)
        let descriptor = listener
        let isBound = withUnsafeMutablePointer(to: &address) { pointer in
            pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) { address in
                bind(descriptor, address, size) == 0 && listen(descriptor, 64) == 0
                    && getsockname(descriptor, address, &size) == 0
            }
        }
        guard isBound else { throw POSIXError(.EADDRINUSE) }
        port = Int(UInt16(bigEndian: address.sin_port))
        Thread.detachNewThread { [weak self] in
            while true {
                let client = accept(descriptor, nil, nil)
                guard client >= 0 else {
                    close(descriptor)
                    return
                }
                guard let self else {
                    close(client)
                    continue
                }
                Thread.detachNewThread { self.serve(client) }
            }
        }
    }

    /// Passes on to a server from now on.
    func pass(to port: Int) { target.withLock { $0 = port } }

    /// Accepts nothing more. The thread that accepts closes the listener.
    func stop() { shutdown(listener, Int32(SHUT_RDWR)) }

    /// Says where the following connections end; `nil` for nowhere. The bytes are counted anew.
    func plan(_ cut: Cut?) { state.withLock { $0 = State(cut: cut) } }

    /// Holds a message and all that follow it, counted from 0 and from now on. Its connection stays open, and who waits
    /// for it waits.
    func hold(from message: Int) { state.withLock { $0 = State(firstHeld: message) } }

    /// The number of messages since the last plan, with those that are held.
    var messageCount: Int { state.withLock { $0.messages } }

    /// The bytes that passed since the last plan.
    func passed(_ direction: Direction) -> Int { state.withLock { $0.passed[direction] ?? 0 } }

    /// The connections since the last plan.
    var connectionCount: Int { state.withLock { $0.connections } }

    private func serve(_ client: Int32) {
        let cut = state.withLock { state in
            state.connections += 1
            defer { if state.cut?.isOfEach == false { state.cut = nil } }
            return state.cut
        }
        let server = connected(to: target.withLock { $0 })
        guard server >= 0 else {
            close(client)
            return
        }
        let pair = Pair(client: client, server: server)
        Thread.detachNewThread { self.copy(pair, .answer, cut) }
        copy(pair, .request, cut)
    }

    private func copy(_ pair: Pair, _ direction: Direction, _ cut: Cut?) {
        let (source, target) = direction == .request ? (pair.client, pair.server) : (pair.server, pair.client)
        var left = cut.flatMap { $0.direction == direction ? $0.count : nil }
        var buffer = [UInt8](repeating: 0, count: 1 << 16)
        // A cut before the first byte comes when there is one: the other direction is not cut short by it.
        repeat {
            let count = recv(source, &buffer, buffer.count, 0)
            guard count > 0 else { return pair.end(isReset: false) }
            guard state.withLock({ $0.passes(direction) }) else { continue }
            let piece = min(count, left ?? count)
            guard systemSend(target, buffer[..<piece]) else { return pair.end(isReset: false) }
            state.withLock { $0.passed[direction, default: 0] += piece }
            left = left.map { $0 - piece }
        } while left != 0
        // The other end may still have to take what passed before.
        usleep(2_000)
        pair.end(isReset: cut?.isReset ?? false)
    }

    /// The two connections of a relayed one, which end together.
    private final class Pair: Sendable {
        let client: Int32
        let server: Int32
        private let users = Mutex(2)

        init(client: Int32, server: Int32) {
            self.client = client
            self.server = server
        }

        /// Ends both. The one that comes second closes them, and then nobody uses their numbers.
        func end(isReset: Bool) {
            users.withLock { users in
                for descriptor in [client, server] {
                    if isReset { reset(descriptor) }
                    shutdown(descriptor, Int32(SHUT_RDWR))
                }
                users -= 1
                guard users == 0 else { return }
                close(client)
                close(server)
            }
        }

        private func reset(_ descriptor: Int32) {
            var option = linger(l_onoff: 1, l_linger: 0)
            setsockopt(descriptor, SOL_SOCKET, SO_LINGER, &option, socklen_t(MemoryLayout<linger>.size))
            // An address of no family ends a connection at once, by a reset.
            var none = sockaddr()
            none.sa_family = sa_family_t(AF_UNSPEC)
            systemConnect(descriptor, &none)
        }
    }
}

private func loopback(_ port: Int) -> sockaddr_in {
    var address = sockaddr_in()
    address.sin_family = sa_family_t(AF_INET)
    address.sin_port = in_port_t(UInt16(port)).bigEndian
    address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
    return address
}

private func connected(to port: Int) -> Int32 {
    let descriptor = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
    var address = loopback(port)
    let status = withUnsafePointer(to: &address) { pointer in
        pointer.withMemoryRebound(to: sockaddr.self, capacity: 1) {
            connect(descriptor, $0, socklen_t(MemoryLayout<sockaddr_in>.size))
        }
    }
    guard status != 0 else { return descriptor }
    close(descriptor)
    return -1
}

private func systemConnect(_ descriptor: Int32, _ address: inout sockaddr) {
    _ = connect(descriptor, &address, socklen_t(MemoryLayout<sockaddr>.size))
}

private func systemSend(_ descriptor: Int32, _ bytes: ArraySlice<UInt8>) -> Bool {
    var rest = bytes
    while !rest.isEmpty {
        let count = rest.withUnsafeBytes { send(descriptor, $0.baseAddress, $0.count, Int32(MSG_NOSIGNAL)) }
        guard count > 0 else { return false }
        rest = rest.dropFirst(count)
    }
    return true
}

// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Dispatch
    import Synchronization
    import TresorStore

    import Glibc

    /// The time until which a step waits.
    typealias Deadline = ContinuousClock.Instant

    /// A TCP connection. Each wait has a deadline. One thread reads and writes; any thread may shut it down.
    final class Socket: Sendable {
        private let descriptor: FileDescriptor

        /// A connection that is gone is an error, and no signal.
        private static let quietly = Int32(MSG_NOSIGNAL)

        private init(_ descriptor: consuming FileDescriptor) { self.descriptor = descriptor }

        /// The time after which the next address is tried beside those that have not answered (RFC 8305 §5).
        private static let patience = Duration.milliseconds(250)

        /// Connects to the first address of a host that answers.
        ///
        /// - Parameters:
        ///   - name: the host in the words of a failure.
        ///   - onlyLoopback: whether only addresses of this machine are tried.
        ///   - exchange: can shut down the connection from its beginning on.
        static func connect(
            to place: HostAndPort, as name: Obstacle.Place, onlyLoopback: Bool, until deadline: Deadline,
            for exchange: ExchangeControl
        ) throws(TransportFailure) -> Socket {
            let addresses = Resolver.addresses(of: place, until: deadline).filter { !onlyLoopback || $0.isLoopback }
            guard !exchange.isCancelled else { throw .cancelled }
            guard !addresses.isEmpty else { throw TransportFailure(.noAddress(name)) }
            return try connect(to: SocketAddress.alternating(addresses), of: name, until: deadline, for: exchange)
        }

        /// Connects to the first of several addresses that answers: each has a quarter of a second before the next one
        /// is tried too.
        static func connect(
            to addresses: [SocketAddress], of name: Obstacle.Place, until deadline: Deadline,
            for exchange: ExchangeControl
        ) throws(TransportFailure) -> Socket {
            var rest = addresses[...]
            var racing: [Socket] = []
            while !rest.isEmpty || !racing.isEmpty {
                if let address = rest.popFirst(), let socket = begun(to: address) { racing.append(socket) }
                try exchange.use(racing)
                let turn = rest.isEmpty ? deadline : min(deadline, .now + patience)
                let ended = try waitForAny(of: racing, until: turn)
                if let winner = ended.first(where: { racing[$0].error == 0 }).map({ racing[$0] }) {
                    try exchange.use(winner)
                    return winner
                }
                guard !exchange.isCancelled else { throw .cancelled }
                guard .now < deadline else { break }
                racing = racing.indices.filter { !ended.contains($0) }.map { racing[$0] }
            }
            throw TransportFailure(.noConnection(name, addressCount: addresses.count - rest.count))
        }

        /// A socket that connects, or is connected; `nil` for an address that cannot be tried.
        private static func begun(to address: SocketAddress) -> Socket? {
            guard let descriptor = try? FileDescriptor(socketOf: address.family) else { return nil }
            let socket = Socket(descriptor)
            return socket.begin(address) ? socket : nil
        }

        /// Waits until one of these sockets is connected or has failed.
        ///
        /// - Returns: the indices of those; none after the deadline.
        private static func waitForAny(
            of sockets: [Socket], until deadline: Deadline
        ) throws(TransportFailure) -> [Int] {
            guard !sockets.isEmpty else { return [] }
            var waiting = sockets.map { pollfd(fd: $0.descriptor.number, events: Int16(POLLOUT), revents: 0) }
            while true {
                let left = ContinuousClock.now.duration(to: deadline)
                let count = poll(&waiting, nfds_t(waiting.count), left > .zero ? milliseconds(left) : 0)
                if count >= 0 { return waiting.indices.filter { waiting[$0].revents != 0 } }
                guard errno == EINTR else { throw .unreachable }
            }
        }

        /// A time for *poll*, rounded up.
        private static func milliseconds(_ time: Duration) -> Int32 {
            Int32(clamping: time.components.seconds * 1000 + time.components.attoseconds / 1_000_000_000_000_000 + 1)
        }

        /// Begins to connect.
        ///
        /// - Returns: whether it is connected, or on its way.
        private func begin(_ address: SocketAddress) -> Bool {
            set(SO_KEEPALIVE, of: SOL_SOCKET, to: 1)
            // Bytes that nobody acknowledges for 30 seconds, and a peer that has gone, end the connection.
            let options = [(TCP_NODELAY, 1), (TCP_KEEPIDLE, 15), (TCP_KEEPINTVL, 5), (TCP_USER_TIMEOUT, 30_000)]
            for (option, value) in options { set(option, of: Int32(IPPROTO_TCP), to: Int32(value)) }
            let result = address.bytes.withUnsafeBytes { bytes in
                systemConnect(
                    descriptor.number, bytes.baseAddress?.assumingMemoryBound(to: sockaddr.self),
                    socklen_t(bytes.count))
            }
            return result == 0 || errno == EINPROGRESS || errno == EINTR
        }

        private func set(_ option: Int32, of level: Int32, to value: Int32) {
            var value = value
            setsockopt(descriptor.number, level, option, &value, socklen_t(MemoryLayout<Int32>.size))
        }

        /// The error of a connection that was begun; 0 for none.
        private var error: Int32 {
            var value: Int32 = 0
            var size = socklen_t(MemoryLayout<Int32>.size)
            guard getsockopt(descriptor.number, SOL_SOCKET, SO_ERROR, &value, &size) == 0 else { return errno }
            return value
        }

        /// Sends all bytes.
        ///
        /// - Throws: ``TransportFailure/broken``; ``TransportFailure/unreachable`` after the deadline.
        func send(_ bytes: [UInt8], until deadline: Deadline) throws(TransportFailure) {
            var sent = 0
            while sent < bytes.count {
                let count = bytes.withUnsafeBytes { memory in
                    systemSend(
                        descriptor.number, memory.baseAddress?.advanced(by: sent), memory.count - sent,
                        Self.quietly)
                }
                if count > 0 {
                    sent += count
                } else {
                    guard errno == EAGAIN || errno == EINTR else { throw .broken }
                    try wait(for: POLLOUT, until: deadline)
                }
            }
        }

        /// Reads what is there, and waits if nothing is.
        ///
        /// - Returns: 1 byte to 16 KiB; none at the end of the connection.
        /// - Throws: ``TransportFailure/broken``; ``TransportFailure/unreachable`` after the deadline.
        func receive(until deadline: Deadline) throws(TransportFailure) -> [UInt8] {
            while true {
                if let bytes = try receiveNow() { return bytes }
                try wait(for: POLLIN, until: deadline)
            }
        }

        /// Reads what is there; `nil` if nothing is, and none at the end of the connection.
        ///
        /// - Throws: ``TransportFailure/broken``.
        func receiveNow() throws(TransportFailure) -> [UInt8]? {
            var failure: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 16 << 10) { memory, count in
                var received = recv(descriptor.number, memory.baseAddress, memory.count, 0)
                while received < 0, errno == EINTR {
                    received = recv(descriptor.number, memory.baseAddress, memory.count, 0)
                }
                if received < 0 { failure = errno }
                count = max(0, received)
            }
            guard failure != 0 else { return bytes }
            guard failure == EAGAIN else { throw .broken }
            return nil
        }

        private func wait(for events: Int32, until deadline: Deadline) throws(TransportFailure) {
            while true {
                let left = ContinuousClock.now.duration(to: deadline)
                guard left > .zero else { throw .unreachable }
                var waiting = pollfd(fd: descriptor.number, events: Int16(events), revents: 0)
                let count = poll(&waiting, 1, Self.milliseconds(left))
                if count > 0 { return }
                guard count == 0 || errno == EINTR else { throw .broken }
            }
        }

        /// Ends the connection in both directions, and whatever waits for it. Any thread may call it.
        func shutDown() { _ = shutdown(descriptor.number, Int32(SHUT_RDWR)) }
    }

    /// The address of a socket, as the system gives and takes it.
    struct SocketAddress: Sendable {
        let family: Int32
        let bytes: [UInt8]

        /// Whether it is an address of this machine.
        var isLoopback: Bool {
            switch family {
            case AF_INET: bytes.count >= 8 && bytes[4] == 127
            case AF_INET6: bytes.count >= 24 && bytes[8..<23].allSatisfy { $0 == 0 } && bytes[23] == 1
            default: false
            }
        }
    }

    extension SocketAddress {
        /// Addresses in an order in which the families take turns (RFC 8305 §4), so that one family without a way costs
        /// one wait.
        static func alternating(_ addresses: [SocketAddress]) -> [SocketAddress] {
            let family = addresses.first?.family
            var parts = (addresses.filter { $0.family == family }[...], addresses.filter { $0.family != family }[...])
            var turns: [SocketAddress] = []
            while turns.count < addresses.count {
                if let next = parts.0.popFirst() { turns.append(next) }
                if let next = parts.1.popFirst() { turns.append(next) }
            }
            return turns
        }
    }

    /// The addresses of a host. Names go through the system's files and name servers, addresses do not.
    enum Resolver {
        /// The addresses of a host. Nobody can stop the system's search for a name: it has a thread of its own, which is
        /// left at the deadline.
        static func addresses(of place: HostAndPort, until deadline: Deadline) -> [SocketAddress] {
            let numeric = addresses(of: place, flags: AI_NUMERICHOST | AI_NUMERICSERV)
            guard numeric.isEmpty else { return numeric }
            return found(until: deadline) { addresses(of: place, flags: AI_NUMERICSERV) }
        }

        /// Returns the addresses that a search finds before the deadline; none after it.
        static func found(
            until deadline: Deadline, _ search: @escaping @Sendable () -> [SocketAddress]
        ) -> [SocketAddress] {
            let answer = Answer()
            DispatchQueue(label: "tresor.names").async {
                let found = search()
                answer.addresses.withLock { $0 = found }
                answer.isThere.signal()
            }
            let left = ContinuousClock.now.duration(to: deadline).components
            let nanoseconds = max(0, left.seconds * 1_000_000_000 + left.attoseconds / 1_000_000_000)
            _ = answer.isThere.wait(timeout: .now() + .nanoseconds(Int(nanoseconds)))
            return answer.addresses.withLock { $0 }
        }

        /// The answer of a search, and the signal that it is there.
        private final class Answer: Sendable {
            let addresses = Mutex<[SocketAddress]>([])
            let isThere = DispatchSemaphore(value: 0)
        }

        private static func addresses(of place: HostAndPort, flags: Int32) -> [SocketAddress] {
            var hints = addrinfo()
            hints.ai_family = AF_UNSPEC
            hints.ai_socktype = Int32(SOCK_STREAM.rawValue)
            hints.ai_flags = flags
            var list: UnsafeMutablePointer<addrinfo>?
            guard getaddrinfo(place.host, String(place.port), &hints, &list) == 0 else { return [] }
            defer { freeaddrinfo(list) }
            var found: [SocketAddress] = []
            var next = list
            while let entry = next?.pointee {
                let bytes = UnsafeRawBufferPointer(start: entry.ai_addr, count: Int(entry.ai_addrlen))
                found.append(SocketAddress(family: entry.ai_family, bytes: Array(bytes)))
                next = entry.ai_next
            }
            return found
        }
    }

    private func systemConnect(_ number: Int32, _ address: UnsafePointer<sockaddr>?, _ size: socklen_t) -> Int32 {
        connect(number, address, size)
    }

    private func systemSend(_ number: Int32, _ start: UnsafeRawPointer?, _ count: Int, _ flags: Int32) -> Int {
        send(number, start, count, flags)
    }
#endif

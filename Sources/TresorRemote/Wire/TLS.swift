// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Copenssl
    import Synchronization
    import TresorCrypto
    import TresorTLS

    /// The settings that all TLS connections of a store share: TLS 1.3 alone, and the authorities that are trusted.
    final class TLSContext: Sendable {
        /// OpenSSL counts who uses a context, and locks it and its certificates itself.
        fileprivate nonisolated(unsafe) let pointer: OpaquePointer
        private let authorities: Authorities
        private let bundle = Mutex(Bundle())

        /// The bundle that was read, if any was looked for.
        private struct Bundle {
            var isSought = false
            var path: String?
        }

        /// Makes a context. It reads no bundle yet.
        ///
        /// - Throws: ``TresorError/failed(_:)``, also for a file without certificates.
        init(_ authorities: Authorities) throws(TresorError) {
            self.authorities = authorities
            let made = try TLSEngine.makeContext(isServer: false)
            pointer = made
            SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nil)
            let isTrusting =
                (authorities.file.map { SSL_CTX_load_verify_file(made, $0) == 1 } ?? true)
                && (authorities.directory.map { SSL_CTX_load_verify_dir(made, $0) == 1 } ?? true)
            ERR_clear_error()
            guard isTrusting else { throw .failed(.inputOutput) }
        }

        /// Trusts the first bundle that can be read, too.
        ///
        /// - Returns: whether there is one.
        func trustBundle() -> Bool {
            bundle.withLock { bundle in
                if !bundle.isSought {
                    bundle.isSought = true
                    bundle.path = authorities.bundles.first { SSL_CTX_load_verify_file(pointer, $0) == 1 }
                    ERR_clear_error()
                }
                return bundle.path != nil
            }
        }

        /// The files and directories whose certificates are trusted.
        var places: [String] { authorities.places(bundle.withLock { $0.path }) }

        deinit { SSL_CTX_free(pointer) }
    }

    /// One TLS connection over a socket. Each wait is the socket's.
    final class TLSStream: Sendable {
        private let socket: Socket
        /// One exchange uses it at a time.
        private nonisolated(unsafe) let engine: TLSEngine

        /// Shakes hands with a host, and checks that its certificate is for this host.
        ///
        /// - Throws: ``TransportFailure/certificate``, ``TransportFailure/unreachable``.
        init(over socket: Socket, to host: String, in context: TLSContext, until deadline: Deadline)
            throws(TransportFailure)
        {
            do throws(TresorError) { engine = try TLSEngine(context.pointer) } catch { throw TransportFailure(error) }
            self.socket = socket
            try name(host)
            let note = CertificateNote(host: host, in: context)
            note.watch(engine.connection)
            defer { note.leave(engine.connection) }
            SSL_set_connect_state(engine.connection)
            do throws(TransportFailure) {
                while true {
                    let progress = engine.shakeHands()
                    try flush(until: deadline)
                    if case .done = progress { return }
                    try feed(after: progress, until: deadline)
                }
            } catch {
                guard SSL_get_verify_result(engine.connection) == X509_V_OK else {
                    throw note.fault.map { TransportFailure(.certificate($0)) } ?? .certificate
                }
                throw error == .broken ? .unreachable : error
            }
        }

        /// Names the host to the server, and demands a certificate for it. An address is not named (RFC 6066 §3).
        private func name(_ host: String) throws(TransportFailure) {
            let connection = engine.connection
            if X509_VERIFY_PARAM_set1_ip_asc(SSL_get0_param(connection), host) == 1 { return }
            ERR_clear_error()
            var name = Array(host.utf8CString)
            let isNamed = name.withUnsafeMutableBytes { memory in
                SSL_ctrl(
                    connection, SSL_CTRL_SET_TLSEXT_HOSTNAME, Int(TLSEXT_NAMETYPE_host_name), memory.baseAddress)
            }
            SSL_set_hostflags(connection, UInt32(X509_CHECK_FLAG_NO_PARTIAL_WILDCARDS))
            guard isNamed == 1, SSL_set1_host(connection, host) == 1 else {
                throw TransportFailure(.failed(.library))
            }
        }

        /// Sends what OpenSSL has written.
        private func flush(until deadline: Deadline) throws(TransportFailure) {
            let bytes = engine.takeOutgoing()
            if !bytes.isEmpty { try socket.send(bytes, until: deadline) }
        }

        /// Gives OpenSSL what the socket has, if that is what it waits for.
        private func feed(after progress: TLSEngine.Progress, until deadline: Deadline) throws(TransportFailure) {
            guard progress == .needsBytes else {
                throw progress == .failed && !engine.isShaken ? TransportFailure(.noTLS) : .broken
            }
            let bytes = try socket.receive(until: deadline)
            guard !bytes.isEmpty else { throw .broken }
            try take(bytes)
        }

        private func take(_ bytes: [UInt8]) throws(TransportFailure) {
            guard bytes.withUnsafeBytes({ engine.take($0) }) else { throw TransportFailure(.failed(.memory)) }
        }

        func send(_ bytes: [UInt8], until deadline: Deadline) throws(TransportFailure) {
            var sent = 0
            while sent < bytes.count {
                let progress = bytes.withUnsafeBytes { engine.write(UnsafeRawBufferPointer(rebasing: $0[sent...])) }
                try flush(until: deadline)
                if case .done(let count) = progress {
                    sent += count
                } else {
                    try feed(after: progress, until: deadline)
                }
            }
        }

        /// Reads what is there, and waits if nothing is; none at the end.
        func receive(until deadline: Deadline) throws(TransportFailure) -> [UInt8] {
            while true {
                let (bytes, progress) = read()
                try flush(until: deadline)
                if !bytes.isEmpty || progress == .ended { return bytes }
                try feed(after: progress, until: deadline)
            }
        }

        private func read() -> (bytes: [UInt8], progress: TLSEngine.Progress) {
            var progress = TLSEngine.Progress.failed
            let bytes = [UInt8](unsafeUninitializedCapacity: 16 << 10) { memory, count in
                progress = engine.read(into: UnsafeMutableRawBufferPointer(memory))
                if case .done(let read) = progress { count = read }
            }
            return (bytes, progress)
        }

        /// Whether the server has neither ended the connection nor sent data since the last answer. It may have sent a
        /// ticket. Much that waits is data, too.
        func isQuiet() -> Bool {
            do throws(TransportFailure) {
                if let bytes = try socket.receiveNow() {
                    guard !bytes.isEmpty, bytes.count < 16 << 10 else { return false }
                    try take(bytes)
                }
                let (bytes, progress) = read()
                return bytes.isEmpty && progress == .needsBytes
            } catch {
                return false
            }
        }
    }
#endif

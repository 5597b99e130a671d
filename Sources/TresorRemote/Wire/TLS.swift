// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Copenssl
    import Synchronization
    import TresorCrypto

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
            // A configuration file of OpenSSL can load code.
            guard OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1,
                let made = SSL_CTX_new(TLS_client_method())
            else { throw .failed(.library) }
            pointer = made
            SSL_CTX_set_verify(made, SSL_VERIFY_PEER, nil)
            guard SSL_CTX_ctrl(made, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil) == 1 else {
                throw .failed(.library)
            }
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

    /// One TLS connection over a socket. OpenSSL reads and writes memory alone; each wait is the socket's.
    final class TLSStream: Sendable {
        private let socket: Socket
        /// The connection, and the bytes from and for the socket. One exchange uses them at a time.
        private nonisolated(unsafe) let connection: OpaquePointer
        private nonisolated(unsafe) let incoming: OpaquePointer
        private nonisolated(unsafe) let outgoing: OpaquePointer

        /// Shakes hands with a host, and checks that its certificate is for this host.
        ///
        /// - Throws: ``TransportFailure/certificate``, ``TransportFailure/unreachable``.
        init(over socket: Socket, to host: String, in context: TLSContext, until deadline: Deadline)
            throws(TransportFailure)
        {
            guard let connection = SSL_new(context.pointer), let incoming = BIO_new(BIO_s_mem()),
                let outgoing = BIO_new(BIO_s_mem())
            else { throw TransportFailure(.failed(.memory)) }
            SSL_set_bio(connection, incoming, outgoing)
            (self.socket, self.connection, self.incoming, self.outgoing) = (socket, connection, incoming, outgoing)
            try name(host)
            let note = CertificateNote(host: host, in: context)
            note.watch(connection)
            defer { note.leave(connection) }
            SSL_set_connect_state(connection)
            do throws(TransportFailure) {
                while true {
                    let result = SSL_do_handshake(connection)
                    try flush(until: deadline)
                    if result == 1 { return }
                    try feed(after: result, until: deadline)
                }
            } catch {
                guard SSL_get_verify_result(connection) == X509_V_OK else {
                    throw note.fault.map { TransportFailure(.certificate($0)) } ?? .certificate
                }
                throw error == .broken ? .unreachable : error
            }
        }

        deinit { SSL_free(connection) }

        /// Names the host to the server, and demands a certificate for it. An address is not named (RFC 6066 §3).
        private func name(_ host: String) throws(TransportFailure) {
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
            while true {
                let waiting = BIO_ctrl_pending(outgoing)
                guard waiting > 0 else { return }
                let bytes = [UInt8](unsafeUninitializedCapacity: waiting) { memory, count in
                    count = max(0, Int(BIO_read(outgoing, memory.baseAddress, Int32(memory.count))))
                }
                try socket.send(bytes, until: deadline)
            }
        }

        /// Gives OpenSSL what the socket has, if that is what it waits for.
        private func feed(after result: Int32, until deadline: Deadline) throws(TransportFailure) {
            let reason = SSL_get_error(connection, result)
            guard reason == SSL_ERROR_WANT_READ else {
                ERR_clear_error()
                let isForeign = reason == SSL_ERROR_SSL && SSL_is_init_finished(connection) == 0
                throw isForeign ? TransportFailure(.noTLS) : .broken
            }
            let bytes = try socket.receive(until: deadline)
            guard !bytes.isEmpty else { throw .broken }
            try take(bytes)
        }

        private func take(_ bytes: [UInt8]) throws(TransportFailure) {
            guard BIO_write(incoming, bytes, Int32(bytes.count)) == bytes.count else {
                throw TransportFailure(.failed(.memory))
            }
        }

        func send(_ bytes: [UInt8], until deadline: Deadline) throws(TransportFailure) {
            var sent = 0
            while sent < bytes.count {
                let piece = min(bytes.count - sent, 16 << 10)
                let result = bytes.withUnsafeBytes { memory in
                    SSL_write(connection, memory.baseAddress?.advanced(by: sent), Int32(piece))
                }
                try flush(until: deadline)
                if result > 0 { sent += Int(result) } else { try feed(after: result, until: deadline) }
            }
        }

        /// Reads what is there, and waits if nothing is; none at the end.
        func receive(until deadline: Deadline) throws(TransportFailure) -> [UInt8] {
            while true {
                let (bytes, result) = read()
                try flush(until: deadline)
                if !bytes.isEmpty || SSL_get_error(connection, result) == SSL_ERROR_ZERO_RETURN { return bytes }
                try feed(after: result, until: deadline)
            }
        }

        private func read() -> (bytes: [UInt8], result: Int32) {
            var result: Int32 = 0
            let bytes = [UInt8](unsafeUninitializedCapacity: 16 << 10) { memory, count in
                result = SSL_read(connection, memory.baseAddress, Int32(memory.count))
                count = max(0, Int(result))
            }
            return (bytes, result)
        }

        /// Whether the server has neither ended the connection nor sent anything since the last answer.
        func isQuiet() -> Bool {
            do throws(TransportFailure) {
                while let bytes = try socket.receiveNow() {
                    guard !bytes.isEmpty else { return false }
                    try take(bytes)
                }
                let (bytes, result) = read()
                return bytes.isEmpty && SSL_get_error(connection, result) == SSL_ERROR_WANT_READ
            } catch {
                return false
            }
        }
    }
#endif

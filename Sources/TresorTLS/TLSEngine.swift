// SPDX-License-Identifier: Apache-2.0

#if os(Linux) || Server
    import Copenssl
    package import TresorCrypto

    /// One TLS connection. OpenSSL reads and writes memory alone: the owner of the engine carries the bytes to and from
    /// the peer.
    ///
    /// One thread uses it at a time.
    package final class TLSEngine {
        /// How far OpenSSL came.
        package enum Progress: Equatable, Sendable {
            /// The step is done; it read or wrote this many bytes.
            case done(Int)
            /// The peer has to send more first.
            case needsBytes
            /// The peer has said that nothing more comes.
            case ended
            /// The peer broke the protocol or speaks another one. A last message to it may wait in ``takeOutgoing()``.
            case failed
        }

        /// The `SSL *` of OpenSSL, as long as the engine lives.
        package let connection: OpaquePointer
        private let incoming: OpaquePointer
        private let outgoing: OpaquePointer
        /// The bytes of answers after the handshake. Only a new key of the peer gets one.
        private var answerByteCount = 0
        /// The size in bytes of the record with new keys (RFC 8446 §4.6.3).
        private static let newKeysByteCount = 27

        /// Makes a connection with the settings of an `SSL_CTX *`. It sends nothing yet.
        ///
        /// - Throws: ``TresorError/failed(_:)``.
        package init(_ context: OpaquePointer) throws(TresorError) {
            guard let connection = SSL_new(context) else { throw .failed(.memory) }
            guard let incoming = BIO_new(BIO_s_mem()), let outgoing = BIO_new(BIO_s_mem()) else {
                SSL_free(connection)
                throw .failed(.memory)
            }
            // The connection frees both.
            SSL_set_bio(connection, incoming, outgoing)
            (self.connection, self.incoming, self.outgoing) = (connection, incoming, outgoing)
        }

        deinit { SSL_free(connection) }

        /// Makes an `SSL_CTX *`: TLS 1.3 alone. The caller frees it.
        ///
        /// - Throws: ``TresorError/failed(_:)``.
        package static func makeContext(isServer: Bool) throws(TresorError) -> OpaquePointer {
            // A configuration file of OpenSSL can load code.
            guard OPENSSL_init_ssl(UInt64(OPENSSL_INIT_NO_LOAD_CONFIG), nil) == 1,
                let context = SSL_CTX_new(isServer ? TLS_server_method() : TLS_client_method())
            else { throw .failed(.library) }
            guard SSL_CTX_ctrl(context, SSL_CTRL_SET_MIN_PROTO_VERSION, Int(TLS1_3_VERSION), nil) == 1 else {
                SSL_CTX_free(context)
                throw .failed(.library)
            }
            return context
        }

        /// Continues the handshake; ``Progress/done(_:)`` means that it is complete.
        package func shakeHands() -> Progress {
            ERR_clear_error()
            return progress(SSL_do_handshake(connection))
        }

        /// Whether the handshake is complete.
        package var isShaken: Bool { SSL_is_init_finished(connection) != 0 }

        /// Takes bytes that the peer sent.
        ///
        /// - Returns: whether there was memory for them.
        package func take(_ bytes: UnsafeRawBufferPointer) -> Bool {
            bytes.isEmpty || BIO_write(incoming, bytes.baseAddress, Int32(bytes.count)) == bytes.count
        }

        /// The number of bytes that were taken, and that OpenSSL has not looked at.
        package var unreadCount: Int { BIO_ctrl_pending(incoming) }

        /// The number of bytes that the peer has to get.
        package var outgoingCount: Int { BIO_ctrl_pending(outgoing) }

        /// Moves bytes that the peer has to get into memory.
        ///
        /// - Returns: their number.
        package func takeOutgoing(into memory: UnsafeMutableRawBufferPointer) -> Int {
            memory.isEmpty ? 0 : max(0, Int(BIO_read(outgoing, memory.baseAddress, Int32(memory.count))))
        }

        /// The bytes that the peer has to get; none if nothing waits.
        package func takeOutgoing() -> [UInt8] {
            [UInt8](unsafeUninitializedCapacity: outgoingCount) { memory, count in
                count = takeOutgoing(into: UnsafeMutableRawBufferPointer(memory))
            }
        }

        /// Encrypts the first bytes, at most 16 KiB.
        package func write(_ bytes: UnsafeRawBufferPointer) -> Progress {
            ERR_clear_error()
            return progress(SSL_write(connection, bytes.baseAddress, Int32(min(bytes.count, 16 << 10))))
        }

        /// Decrypts into memory.
        ///
        /// A peer may ask for new keys at any time, and OpenSSL answers each time. After more than 32 answers it fails:
        /// nobody sends as much as needs so many keys, and a peer that does not read would fill the memory.
        package func read(into memory: UnsafeMutableRawBufferPointer) -> Progress {
            ERR_clear_error()
            let before = outgoingCount
            let result = progress(SSL_read(connection, memory.baseAddress, Int32(min(memory.count, 16 << 10))))
            answerByteCount += max(0, outgoingCount - before)
            return answerByteCount > 32 * Self.newKeysByteCount ? .failed : result
        }

        /// Tells the peer that nothing more comes.
        package func end() {
            guard isShaken else { return }
            ERR_clear_error()
            SSL_shutdown(connection)
        }

        private func progress(_ result: Int32) -> Progress {
            if result > 0 { return .done(Int(result)) }
            return switch SSL_get_error(connection, result) {
            case SSL_ERROR_WANT_READ: .needsBytes
            case SSL_ERROR_ZERO_RETURN: .ended
            default: .failed
            }
        }
    }

    /// When a certificate is good, in seconds since 1970.
    package enum CertificateTime {
        /// The time from which an `X509 *` is good.
        package static func start(of certificate: OpaquePointer) -> UInt64 {
            seconds(X509_get0_notBefore(certificate))
        }

        /// The time until which an `X509 *` is good.
        package static func end(of certificate: OpaquePointer) -> UInt64 {
            seconds(X509_get0_notAfter(certificate))
        }

        private static func seconds(_ time: UnsafePointer<ASN1_TIME>?) -> UInt64 {
            guard let time, let epoch = ASN1_TIME_set(nil, 0) else { return 0 }
            defer { ASN1_TIME_free(epoch) }
            var (days, seconds): (Int32, Int32) = (0, 0)
            guard ASN1_TIME_diff(&days, &seconds, epoch, time) == 1 else { return 0 }
            return UInt64(max(0, Int64(days) * 86_400 + Int64(seconds)))
        }
    }
#endif

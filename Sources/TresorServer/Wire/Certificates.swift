// SPDX-License-Identifier: Apache-2.0

#if Server
    import Copenssl
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import Synchronization
    import TresorCrypto
    import TresorStore
    import TresorTLS

    /// The certificate of the service with its key, which can be read again while the service runs.
    final class Certificates: Sendable {
        private let certificatePath: String
        private let keyPath: String
        private let current: Mutex<ServerCertificate>
        /// The day on which the operator was last told that the certificate ends, in days since 1970.
        private let toldDay = Mutex(0)
        /// The longest time before its end from which the operator is told that it ends, in seconds: 14 days. For one that is
        /// good for less than 42 days, it is a third of that.
        private static let notice = 14 * 86_400

        /// Reads a certificate and its key.
        ///
        /// - Parameters:
        ///   - certificate: the path of a PEM file with the certificate and those that vouch for it.
        ///   - key: the path of a PEM file with the key, without a password.
        /// - Throws: ``ServerFailure``.
        init(certificate: String, key: String) throws(ServerFailure) {
            certificatePath = certificate
            keyPath = key
            current = Mutex(try ServerCertificate(certificate, key: key))
        }

        /// Reads both files again. New connections then get the new certificate.
        ///
        /// - Throws: ``ServerFailure``; the certificate in use stays.
        func reload() throws(ServerFailure) {
            let read = try ServerCertificate(certificatePath, key: keyPath)
            current.withLock { $0 = read }
        }

        /// The time until which all of the chain are good, in seconds since 1970.
        var end: Int { current.withLock { $0 }.time.end }

        /// Why clients do not take the certificate at a time, in seconds since 1970, or soon will not; `nil` if it is good
        /// then, and for two weeks more, or for a third of the time in which it is good.
        func fault(at now: Int) -> String? {
            let (start, end) = current.withLock { $0 }.time
            guard start <= now, now <= end - min(Self.notice, max(0, end - start) / 3) else {
                let date = CalendarTime(seconds: now < start ? start : end, milliseconds: 0).text
                let verb = now < start || now <= end ? "is" : "was"
                let time = now < start ? "from \(date) on" : "until \(date): renew it, then reload the service"
                return "\(certificatePath) \(verb) good \(time)"
            }
            return nil
        }

        /// The same, once a day.
        func reminder(at now: Int) -> String? {
            let isNew = toldDay.withLock { day in
                defer { day = now / 86_400 }
                return day != now / 86_400
            }
            return isNew ? fault(at: now) : nil
        }

        /// Why clients do not take the certificate at any time, as far as it shows: it has none of those that vouch for it, or
        /// is for other names.
        func faults(for names: [HostName]) -> [String] {
            let certificate = current.withLock { $0 }
            let strange = names.map(\.host).filter { !certificate.isFor($0) }
            return [
                certificate.isVouchedFor
                    ? nil
                    : "\(certificatePath) lacks those that vouch for its first certificate: people need the whole chain, "
                        + "as fullchain.pem has it, or the authority of this clinic with --store-ca",
                strange.isEmpty
                    ? nil
                    : "\(certificatePath) is not for \(strange.joined(separator: ", ")), so clients refuse it there",
            ].compactMap(\.self)
        }

        /// The handler of TLS of a new connection.
        ///
        /// - Throws: ``TresorError/failed(_:)``.
        func makeHandler() throws(TresorError) -> TLSHandler {
            // Under the lock: `reload` frees what nobody uses yet.
            let engine = try current.withLock { (certificate) throws(TresorError) in
                try TLSEngine(certificate.context)
            }
            SSL_set_accept_state(engine.connection)
            return TLSHandler(engine)
        }
    }

    /// A certificate with its chain and key, as OpenSSL shows them to clients: TLS 1.3, HTTP/1.1, no sessions that go on.
    private final class ServerCertificate: Sendable {
        /// The `SSL_CTX *`. OpenSSL counts who uses it, and nothing changes it any more.
        nonisolated(unsafe) let context: OpaquePointer

        init(_ certificate: String, key: String) throws(ServerFailure) {
            do throws(TresorError) { context = try TLSEngine.makeContext(isServer: true) } catch {
                throw ServerFailure(error, "OpenSSL cannot be used")
            }
            defer { ERR_clear_error() }
            SSL_CTX_set_num_tickets(context, 0)
            SSL_CTX_ctrl(context, SSL_CTRL_SET_SESS_CACHE_MODE, Int(SSL_SESS_CACHE_OFF), nil)
            SSL_CTX_ctrl(context, SSL_CTRL_MODE, Int(SSL_MODE_RELEASE_BUFFERS), nil)
            SSL_CTX_set_alpn_select_cb(context, Self.select, nil)
            // OpenSSL asks the terminal for the password of a file, unless somebody else answers.
            SSL_CTX_set_default_passwd_cb(context) { _, _, _, _ in -1 }
            try Self.checkReadable(certificate, as: "certificate")
            guard SSL_CTX_use_certificate_chain_file(context, certificate) == 1 else {
                let fault =
                    Self.isTooWeak
                    ? "has a key or signature that is too weak; make a new one"
                    : "holds no certificate in PEM that can be read"
                throw ServerFailure(.failed(.inputOutput), "\(certificate) \(fault)")
            }
            try use(key, for: certificate)
        }

        deinit { SSL_CTX_free(context) }

        /// Whether OpenSSL last refused a key or a signature as too weak.
        private static var isTooWeak: Bool {
            [SSL_R_EE_KEY_TOO_SMALL, SSL_R_CA_KEY_TOO_SMALL, SSL_R_CA_MD_TOO_WEAK].contains(
                ERR_GET_REASON(ERR_peek_last_error()))
        }

        /// Tells a file that is missing or private from one with other content, which OpenSSL does not.
        private static func checkReadable(_ path: String, as kind: String) throws(ServerFailure) {
            guard access(path, R_OK) != 0 else { return }
            switch errno {
            case ENOENT: throw ServerFailure(.notFound, "the \(kind) \(path) is missing")
            case EACCES where access(AtomicFile.split(path).directory, X_OK) != 0:
                throw ServerFailure(
                    .failed(.readOnly), "you may not enter the directory of the \(kind) \(path), or one above it")
            case EACCES:
                throw ServerFailure(
                    .failed(.readOnly),
                    "you may not read the \(kind) \(path): give it to the user of the service, or to a group of that user"
                )
            default: return
            }
        }

        private func use(_ path: String, for certificate: String) throws(ServerFailure) {
            try Self.checkReadable(path, as: "key")
            guard let file = BIO_new_file(path, "r") else {
                throw ServerFailure(.failed(.inputOutput), "the key \(path) cannot be read")
            }
            defer { BIO_free(file) }
            var isLocked = false
            let read = withUnsafeMutablePointer(to: &isLocked) { isLocked in
                PEM_read_bio_PrivateKey(
                    file, nil,
                    { _, _, _, isLocked in
                        isLocked?.storeBytes(of: true, as: Bool.self)
                        return -1
                    }, isLocked)
            }
            guard let key = read else {
                let fault =
                    isLocked
                    ? "has a passphrase, for which the service can ask nobody: write it without one, with openssl pkey"
                    : "holds no private key in PEM that can be read"
                throw ServerFailure(.failed(.inputOutput), "\(path) \(fault)")
            }
            defer { EVP_PKEY_free(key) }
            // OpenSSL may show another certificate, or none, behind a key of another kind.
            let others = chain.dropFirst()
            guard SSL_CTX_use_PrivateKey(context, key) == 1, SSL_CTX_check_private_key(context) == 1 else {
                let fault =
                    others.contains { X509_check_private_key($0, key) == 1 }
                    ? "belongs to a later certificate of \(certificate): put that one first"
                    : "does not belong to the certificate \(certificate)"
                throw ServerFailure(.failed(.inputOutput), "the key \(path) \(fault)")
            }
        }

        /// Whether the certificate vouches for itself, or another one of the file does.
        var isVouchedFor: Bool {
            let chain = chain
            guard let own = chain.first else { return false }
            return X509_NAME_cmp(X509_get_subject_name(own), X509_get_issuer_name(own)) == 0
                || chain.contains { X509_check_issued($0, own) == X509_V_OK }
        }

        /// Whether the certificate is for a host or an address, which has brackets if it is of IPv6.
        func isFor(_ host: String) -> Bool {
            guard let own = chain.first else { return false }
            let address = host.hasPrefix("[") ? String(host.dropFirst().dropLast()) : host
            return X509_check_host(own, host, host.utf8.count, 0, nil) == 1 || X509_check_ip_asc(own, address, 0) == 1
        }

        /// The time in which all of the chain are good, in seconds since 1970.
        var time: (start: Int, end: Int) {
            (
                start: chain.map { Int(CertificateTime.start(of: $0)) }.max() ?? 0,
                end: chain.map { Int(CertificateTime.end(of: $0)) }.min() ?? 0
            )
        }

        /// The certificate, and those that vouch for it.
        private var chain: [OpaquePointer] {
            var others: OpaquePointer?
            _ = withUnsafeMutablePointer(to: &others) { SSL_CTX_ctrl(context, SSL_CTRL_GET_CHAIN_CERTS, 0, $0) }
            let more = (0..<max(0, OPENSSL_sk_num(others))).compactMap { OPENSSL_sk_value(others, $0) }
            return [SSL_CTX_get0_certificate(context)].compactMap(\.self) + more.map { OpaquePointer($0) }
        }

        /// Chooses HTTP/1.1 where a client names protocols. One that names others alone is refused (RFC 7301 §3.2).
        private static let select: SSL_CTX_alpn_select_cb_func = { _, chosen, chosenCount, offered, count, _ in
            guard let offered, let chosen, let chosenCount else { return SSL_TLSEXT_ERR_ALERT_FATAL }
            let name = Array("http/1.1".utf8)
            var rest = UnsafeBufferPointer(start: offered, count: Int(count))[...]
            while let first = rest.first, rest.count > Int(first) {
                let protocolName = rest.dropFirst().prefix(Int(first))
                if protocolName.elementsEqual(name) {
                    chosen.pointee = offered + protocolName.startIndex
                    chosenCount.pointee = first
                    return SSL_TLSEXT_ERR_OK
                }
                rest = rest.dropFirst(Int(first) + 1)
            }
            return SSL_TLSEXT_ERR_ALERT_FATAL
        }
    }
#endif

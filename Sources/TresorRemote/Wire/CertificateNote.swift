// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Copenssl
    import TresorTLS

    import Glibc

    /// Notes why OpenSSL does not accept the certificate of a connection. It decides nothing.
    ///
    /// OpenSSL calls it on the thread that shakes hands, as long as it watches.
    final class CertificateNote {
        private let host: String
        private let context: TLSContext
        /// The first fault; `nil` for none.
        private(set) var fault: CertificateFault?

        init(host: String, in context: TLSContext) {
            self.host = host
            self.context = context
        }

        /// Has OpenSSL call this for each fault of a connection, until ``leave(_:)``.
        func watch(_ connection: OpaquePointer) {
            SSL_set_ex_data(connection, 0, Unmanaged.passUnretained(self).toOpaque())
            SSL_set_verify(connection, SSL_VERIFY_PEER) { isGood, check in
                if isGood != 1, let check { CertificateNote.of(check)?.take(check) }
                return isGood
            }
        }

        func leave(_ connection: OpaquePointer) { SSL_set_ex_data(connection, 0, nil) }

        private static func of(_ check: OpaquePointer) -> CertificateNote? {
            guard let connection = X509_STORE_CTX_get_ex_data(check, SSL_get_ex_data_X509_STORE_CTX_idx()),
                let note = SSL_get_ex_data(OpaquePointer(connection), 0)
            else { return nil }
            return Unmanaged<CertificateNote>.fromOpaque(note).takeUnretainedValue()
        }

        private func take(_ check: OpaquePointer) {
            guard fault == nil, let certificate = X509_STORE_CTX_get_current_cert(check) else { return }
            let code = X509_STORE_CTX_get_error(check)
            let now = UInt64(max(0, time(nil)))
            switch code {
            case X509_V_ERR_HOSTNAME_MISMATCH, X509_V_ERR_IP_ADDRESS_MISMATCH:
                fault = .name(names: Self.names(of: certificate), host: host)
            case X509_V_ERR_CERT_HAS_EXPIRED:
                fault = .expired(until: CertificateTime.end(of: certificate), now: now)
            case X509_V_ERR_CERT_NOT_YET_VALID:
                fault = .early(from: CertificateTime.start(of: certificate), now: now)
            case X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT, X509_V_ERR_UNABLE_TO_GET_ISSUER_CERT_LOCALLY,
                X509_V_ERR_DEPTH_ZERO_SELF_SIGNED_CERT, X509_V_ERR_SELF_SIGNED_CERT_IN_CHAIN,
                X509_V_ERR_UNABLE_TO_VERIFY_LEAF_SIGNATURE, X509_V_ERR_CERT_SIGNATURE_FAILURE,
                X509_V_ERR_CERT_UNTRUSTED:
                fault = .authority(issuer: Self.issuer(of: certificate), trusted: context.places)
            default:
                fault = .other(X509_verify_cert_error_string(Int(code)).map { String(cString: $0) } ?? "\(code)")
            }
        }

        /// The first names and addresses that a certificate is for.
        private static func names(of certificate: OpaquePointer) -> [String] {
            let index = X509_get_ext_by_NID(certificate, NID_subject_alt_name, -1)
            guard index >= 0, let names = X509_get_ext(certificate, index), let text = BIO_new(BIO_s_mem()) else {
                return []
            }
            defer { BIO_free(text) }
            guard X509V3_EXT_print(text, names, 0, 0) == 1 else { return [] }
            let bytes = [UInt8](unsafeUninitializedCapacity: 1 << 10) { memory, count in
                count = max(0, Int(BIO_read(text, memory.baseAddress, Int32(memory.count))))
            }
            return String(decoding: bytes, as: UTF8.self).split(separator: ", ").prefix(4).map { name in
                String(name.prefix(100).split(separator: ":", maxSplits: 1).last ?? "")
            }
        }

        private static func issuer(of certificate: OpaquePointer) -> String {
            var text = [CChar](repeating: 0, count: 200)
            X509_NAME_oneline(X509_get_issuer_name(certificate), &text, Int32(text.count))
            return String(decoding: text.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        }
    }
#endif

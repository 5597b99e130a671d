// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import NIOSSL
    import Synchronization
    import TresorCrypto

    /// The certificate of the service with its key, which can be read again while the service runs.
    final class Certificates: Sendable {
        private struct Pair: Sendable {
            let chain: [NIOSSLCertificateSource]
            let key: NIOSSLPrivateKeySource
            /// The time in which all of the chain are good, in seconds since 1970.
            let time: (start: Int, end: Int)
        }

        private let certificatePath: String
        private let keyPath: String
        private let current: Mutex<Pair>

        /// Reads a certificate and its key.
        ///
        /// - Parameters:
        ///   - certificate: the path of a PEM file with the certificate and those that vouch for it.
        ///   - key: the path of a PEM file with the key, without a password.
        /// - Throws: ``ServerFailure``.
        init(certificate: String, key: String) throws(ServerFailure) {
            certificatePath = certificate
            keyPath = key
            current = Mutex(try Self.read(certificate, key))
        }

        /// Reads both files again. New connections then get the new certificate.
        ///
        /// - Throws: ``ServerFailure``; the certificate in use stays.
        func reload() throws(ServerFailure) {
            let pair = try Self.read(certificatePath, keyPath)
            current.withLock { $0 = pair }
        }

        /// Why clients do not take the certificate at a time, in seconds since 1970; `nil` if it is good then.
        func fault(at now: Int) -> String? {
            let (start, end) = current.withLock { $0.time }
            guard start <= now, now <= end else {
                let date = CalendarTime(seconds: now < start ? start : end, milliseconds: 0).text
                return "\(certificatePath) \(now < start ? "is good from \(date) on" : "was good until \(date)")"
            }
            return nil
        }

        /// The configuration of TLS: version 1.3, HTTP/1.1.
        var configuration: TLSConfiguration {
            let pair = current.withLock { $0 }
            var configuration = TLSConfiguration.makeServerConfiguration(
                certificateChain: pair.chain, privateKey: pair.key)
            configuration.minimumTLSVersion = .tlsv13
            configuration.maximumTLSVersion = .tlsv13
            configuration.applicationProtocols = ["http/1.1"]
            configuration.sslContextCallback = { [self] _, promise in
                let pair = current.withLock { $0 }
                var change = NIOSSLContextConfigurationOverride()
                change.certificateChain = pair.chain
                change.privateKey = pair.key
                promise.succeed(change)
            }
            return configuration
        }

        private static func read(_ certificate: String, _ key: String) throws(ServerFailure) -> Pair {
            let chain: [NIOSSLCertificate]
            do {
                chain = try NIOSSLCertificate.fromPEMFile(certificate)
            } catch {
                throw ServerFailure(
                    .failed(.inputOutput), "\(certificate) holds no certificate in PEM that can be read")
            }
            guard !chain.isEmpty else {
                throw ServerFailure(.failed(.inputOutput), "\(certificate) holds no certificate in PEM")
            }
            let privateKey: NIOSSLPrivateKey
            do {
                privateKey = try NIOSSLPrivateKey(file: key, format: .pem)
            } catch {
                throw ServerFailure(.failed(.inputOutput), "\(key) holds no private key in PEM that can be read")
            }
            let pair = Pair(
                chain: chain.map { .certificate($0) }, key: .privateKey(privateKey),
                time: (
                    start: chain.map { Int($0.notValidBefore) }.max() ?? 0,
                    end: chain.map { Int($0.notValidAfter) }.min() ?? 0
                ))
            do {
                _ = try NIOSSLContext(
                    configuration: .makeServerConfiguration(certificateChain: pair.chain, privateKey: pair.key))
            } catch {
                throw ServerFailure(
                    .failed(.inputOutput), "the key \(key) does not belong to the certificate \(certificate)")
            }
            return pair
        }
    }
#endif

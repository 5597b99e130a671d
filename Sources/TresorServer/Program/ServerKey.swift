// SPDX-License-Identifier: Apache-2.0

#if Server
    #if canImport(Darwin)
        import Darwin
    #else
        import Glibc
    #endif
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorStore

    /// The secret of a service, in a file that only its account reads: what log-ins by password rest on (SPEC §18.1).
    ///
    /// It lies in no database, so a stolen database gives nobody a password to guess at.
    struct ServerKey: ~Copyable {
        private static let seedByteCount = 64
        private static let byteCount = preamble.count + seedByteCount + Ristretto255.byteCount

        /// The file: preamble, 64 bytes of seed, private key of 32 bytes.
        private let file: SecretBytes
        /// The public key.
        let publicKey: Hash256

        private static var preamble: [UInt8] {
            var encoder = ByteEncoder()
            encoder.preamble(.serverKey)
            return encoder.bytes
        }

        private init(_ file: consuming SecretBytes) throws(TresorError) {
            publicKey = try Self.publicKey(of: file)
            self.file = file
        }

        /// Draws a new key.
        ///
        /// - Throws: ``TresorError/failed(_:)``.
        static func draw() throws(TresorError) -> ServerKey {
            let seed = try SecretBytes(randomCount: seedByteCount)
            let scalar = try Ristretto255.randomScalar()
            return try ServerKey(
                SecretBytes(count: byteCount) { (output) throws(TresorError) in
                    let preamble = preamble
                    for index in preamble.indices { output[index] = preamble[index] }
                    seed.copy(into: &output, at: preamble.count)
                    scalar.copy(into: &output, at: preamble.count + seedByteCount)
                })
        }

        /// The secret on which log-ins by password rest.
        ///
        /// - Throws: ``TresorError/failed(_:)``.
        func loginSecret() throws(TresorError) -> LoginSecret {
            let bytes = file.span
            let start = Self.preamble.count
            let seed = try SecretBytes(copying: bytes.extracting(start..<(start + Self.seedByteCount)))
            let scalar = try SecretBytes(copying: bytes.extracting(last: Ristretto255.byteCount))
            return try LoginSecret(seed: seed, privateKey: scalar)
        }

        /// Reads a file.
        ///
        /// - Throws: ``ServerFailure``: the file is missing, open to others, or none of this kind.
        static func read(at path: String) throws(ServerFailure) -> ServerKey {
            do throws(TresorError) {
                return try ServerKey(contents(of: path))
            } catch {
                throw ServerFailure(error, "\(message(error)): \(path)")
            }
        }

        private static func contents(of path: String) throws(TresorError) -> SecretBytes {
            let opened = try SystemError.asFailed { () throws(SystemError) in
                try FileDescriptor.existing(path, O_RDONLY | O_NOCTTY)
            }
            guard let descriptor = opened else { throw .notFound }
            let status = try SystemError.asFailed { () throws(SystemError) in try descriptor.status() }
            guard status.keepsSecret else { throw .failed(.permissions) }
            guard status.st_size == byteCount else { throw .altered }
            return try SecretBytes(count: byteCount) { (output) throws(TresorError) in
                do throws(SystemError) { try descriptor.read(into: &output) } catch { throw .failed(error.fault) }
            }
        }

        private static func message(_ error: TresorError) -> String {
            switch error {
            case .notFound: "the server key is missing: look at STORE and --server-key, or restore it from its backup"
            case .failed(.permissions):
                "the server key must be yours with mode 0600 (chmod 600), or root's with mode 0440 and a group of yours"
            case .failed(.readOnly): "you may not read the server key; run this as its owner"
            case .failed(let fault): "cannot read the server key, \(fault.rawValue)"
            default: "this is no server key, or it is damaged"
            }
        }

        private static func publicKey(of file: borrowing SecretBytes) throws(TresorError) -> Hash256 {
            let preamble = preamble
            let bytes = file.span
            for index in preamble.indices {
                guard bytes[index] == preamble[index] else { throw .altered }
            }
            let scalar = try SecretBytes(copying: bytes.extracting(last: Ristretto255.byteCount))
            guard try Ristretto255.isScalar(scalar) else { throw .altered }
            return try Ristretto255.multiplyGenerator(by: scalar)
        }

        /// Makes sure that a file can be written, before a database is made for it.
        ///
        /// - Throws: ``ServerFailure`` if a file is there already, or no directory for it.
        static func checkPlace(_ path: String) throws(ServerFailure) {
            guard FileIdentity(path: path) == nil else { throw isThere(path) }
            guard FileIdentity(path: AtomicFile.split(path).directory) != nil else {
                throw ServerFailure(.notFound, "cannot write the server key \(path): its directory is missing")
            }
        }

        /// Writes the file, with mode 0600.
        ///
        /// - Throws: ``ServerFailure`` if a file is there already, or cannot be written.
        func write(to path: String) throws(ServerFailure) {
            let isNew: Bool
            do throws(TresorError) {
                let output = try AtomicFile(at: path, mode: 0o600)
                try output.write(file.span)
                isNew = try output.commit(replacing: false)
            } catch {
                let reason = error == .notFound ? "its directory is missing" : ServerFailure(error).message
                throw ServerFailure(error, "cannot write the server key \(path): \(reason)")
            }
            guard isNew else { throw Self.isThere(path) }
        }

        private static func isThere(_ path: String) -> ServerFailure {
            ServerFailure(
                .failed(.other),
                "\(path) exists already and may be the only key of another service, or a copy of it: leave it, and name "
                    + "another file with --server-key; nobody needs it if an interrupted init has just made it")
        }
    }
#endif

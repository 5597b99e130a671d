// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCrypto

    /// The secret of a service on which log-ins by password rest (SPEC §20.5). It lies in the memory of a process, and never
    /// in the database: who has the database alone tests no guess of a password.
    package final class LoginSecret: Sendable {
        /// The server's side of OPAQUE.
        let opaque: OPAQUEServer
        /// The record that stands for the one that nobody has. Each process draws it once, and no password opens it.
        let unknownRecord: [UInt8]
        /// The key of the codes by which the database names handles and sources. It needs the seed, so that who has the
        /// database alone cannot try addresses, or words that somebody typed as a handle.
        private let codeKey: SecretBytes

        /// Takes over the secrets of a server key.
        ///
        /// - Parameters:
        ///   - seed: 64 bytes.
        ///   - privateKey: a scalar of 32 bytes that is not zero.
        /// - Throws: ``TresorError/altered`` for other sizes.
        package init(seed: consuming SecretBytes, privateKey: consuming SecretBytes) throws(TresorError) {
            let server = try OPAQUEServer(seed: seed, privateKey: privateKey)
            codeKey = try server.codeKey()
            unknownRecord =
                try Ristretto255.multiplyGenerator(by: Ristretto255.randomScalar()).bytes
                + randomBytes(OPAQUE.hashByteCount) + [UInt8](repeating: 0, count: OPAQUE.envelopeByteCount)
            opaque = server
        }

        /// The public key, 32 bytes, by which the description of the service names it.
        package var publicKey: [UInt8] { opaque.publicKey }

        /// The code of bytes for a purpose: 32 bytes.
        func code(_ purpose: UInt8, _ parts: [[UInt8]]) throws(TresorError) -> [UInt8] {
            try Self.code(purpose, parts, under: codeKey)
        }

        private static func code(
            _ purpose: UInt8, _ parts: [[UInt8]], under key: borrowing SecretBytes
        ) throws(TresorError) -> [UInt8] {
            var hash = try BLAKE2b(outputCount: Hash256.byteCount, key: key.span)
            let first = [purpose]
            try hash.update(first.span)
            for part in parts { try hash.updatePrefixed(part.span) }
            return try hash.finalize()
        }
    }
#endif

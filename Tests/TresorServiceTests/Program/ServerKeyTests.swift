// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer
    @testable import TresorService

    /// The file with the secret of a service.
    @Suite struct ServerKeyTests {
        private let path = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-key-\(UUID())").path

        /// The error of reading a key whose file was changed.
        private func error(_ change: (inout Data) -> Void) throws -> TresorError? {
            try ServerKey.draw().write(to: path)
            defer { try? FileManager.default.removeItem(atPath: path) }
            var bytes = try Data(contentsOf: URL(fileURLWithPath: path))
            change(&bytes)
            try bytes.write(to: URL(fileURLWithPath: path))
            chmod(path, 0o600)
            do throws(ServerFailure) {
                _ = try ServerKey.read(at: path)
                return nil
            } catch {
                return error.error
            }
        }

        @Test func aKeyIsReadAsItWasWritten() throws { #expect(try error { _ in } == nil) }

        /// Processes that read one file answer alike, and others do not.
        @Test func logInsRestOnTheFile() throws {
            let key = try ServerKey.draw()
            try key.write(to: path)
            defer { try? FileManager.default.removeItem(atPath: path) }
            let again = try ServerKey.read(at: path)
            let other = try ServerKey.draw()
            let message = try OPAQUERegistration(input: SecretBytes(randomCount: 8)).message
            var answers: [[UInt8]] = []
            for secret in [try key.loginSecret(), try again.loginSecret(), try other.loginSecret()] {
                answers.append(try secret.opaque.register(message.span, identifier: [1]))
            }
            #expect(answers[0] == answers[1] && answers[0] != answers[2])
            #expect(try key.loginSecret().publicKey == key.publicKey.bytes)
        }

        /// The library leaves the highest bit out, so that the public key is the same.
        @Test func aScalarThatIsNotBelowTheOrderIsAltered() throws {
            let found = try error { (bytes: inout Data) in bytes[bytes.count - 1] |= 0x80 }
            #expect(found == .altered)
        }
    }
#endif

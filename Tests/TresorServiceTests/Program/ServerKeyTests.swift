// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

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

        /// The library leaves the highest bit out, so that the public key is the same.
        @Test func aScalarThatIsNotBelowTheOrderIsAltered() throws {
            let found = try error { (bytes: inout Data) in bytes[bytes.count - 1] |= 0x80 }
            #expect(found == .altered)
        }
    }
#endif

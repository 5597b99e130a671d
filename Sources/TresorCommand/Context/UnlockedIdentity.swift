// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// An open identity, and the password that opened it.
struct UnlockedIdentity: ~Copyable {
    let session: Session
    let password: Password

    /// Asks for the password even on a trusted device, because what follows needs it.
    ///
    /// - Parameter reason: completes "password for anna (to …)".
    static func open(_ context: CommandContext, to reason: String) async throws -> UnlockedIdentity {
        let handle = DisplayText.name(try context.identityFile().chain.handle.bytes)
        do {
            return try await context.invocation.passwords.unlock(prompt: "password for \(handle) (to \(reason)): ") {
                typed in
                let password = try PasswordSource.prepared(typed)
                return UnlockedIdentity(
                    session: try await context.client.unlock(password: password), password: password)
            }
        } catch let error as TresorError where error == .wrongPassword {
            throw await context.wrongPassword()
        } catch let error as TresorError {
            throw context.failure(of: error, file: "identity")
        }
    }

    /// Refuses a password that is too short to be set again.
    borrowing func checkLength() throws(CommandFailure) {
        guard password.count >= Password.shortestNew else {
            throw CommandFailure.usage(
                "the password has fewer than \(Password.shortestNew) characters, and would be set again",
                hints: ["tresor passwd"])
        }
    }
}

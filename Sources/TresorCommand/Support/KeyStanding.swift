// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Why a store does not take the keys of this home, as far as this run has learned.
final class KeyStanding: Sendable {
    /// What a message says, and the commands that mend it.
    struct Reason: Equatable, Sendable {
        let message: String
        let hints: [String]
    }

    private struct State {
        /// By the home's own journal: what no service can know yet.
        var unseen: Reason?
        /// Tells that a log shows newer keys.
        var sayOld: (@Sendable () -> Void)?
        var isRefused = false
    }

    private let state = Mutex(State())

    /// The reason for a refusal; `nil` for another one.
    var refusal: Reason? {
        state.withLock { state in
            if let unseen = state.unseen { return unseen }
            if state.sayOld != nil { return OldKeys.reason }
            return state.isRefused ? Self.unknown : nil
        }
    }

    /// - Parameter generation: the generation of this person that no service has seen; `nil` for none.
    func note(unseen generation: UInt32?) {
        state.withLock { state in
            state.unseen = generation.map { generation in
                generation == 0
                    ? Reason(message: "you have not registered with this service", hints: [Self.registration])
                    : Reason(
                        message: "the service does not know your newest keys yet", hints: ["tresor rotate --identity"])
            }
        }
    }

    /// Notes that a log shows newer keys of this person.
    ///
    /// - Parameter say: tells it, if the command does not fail because of it.
    func noteOld(saying say: @escaping @Sendable () -> Void) { state.withLock { $0.sayOld = say } }

    /// Notes whether a service took the keys with which it was asked last.
    func note(areTaken: Bool) { state.withLock { $0.isRefused = !areTaken } }

    /// Tells a person whose command succeeded that a log shows newer keys.
    func tell() { state.withLock { $0.sayOld }?() }

    private static let registration = "tresor register --no-login"

    /// A service does not say why it hears nobody with these keys.
    private static let unknown = Reason(
        message: "the service does not take the keys of this home: you have newer ones in another home, have not "
            + "registered there, or your account was closed",
        hints: [OldKeys.wayOut, registration])
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

/// Why a store does not take the keys of this home, as far as this run has learned.
final class KeyStanding: Sendable {
    /// The reason that a message gives, and the commands that mend it.
    struct Reason: Equatable, Sendable {
        let message: String
        let hints: [String]
    }

    private struct State {
        /// By the home's own journal: what no service can know yet.
        var unseen: Reason?
        /// Whether this home's person has made new keys before.
        var isRenewed = false
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
            return state.isRefused ? Self.unknown(isRenewed: state.isRenewed) : nil
        }
    }

    /// Notes the generation of this home's keys.
    ///
    /// - Parameter isUnseen: whether no service has seen it, by the home's own journal.
    func note(_ generation: UInt32, isUnseen: Bool) {
        let message =
            generation == 0
            ? "you have not registered with this service" : "the service does not know your newest keys yet"
        let hint = generation == 0 ? Self.registration : "tresor rotate --identity"
        state.withLock { state in
            state.isRenewed = generation > 0
            state.unseen = isUnseen ? Reason(message: message, hints: [hint]) : nil
        }
    }

    /// Notes that a log shows newer keys of this person.
    ///
    /// - Parameter say: tells it, if the command does not fail because of it.
    func noteOld(saying say: @escaping @Sendable () -> Void) { state.withLock { $0.sayOld = say } }

    /// Notes whether a service took the keys with which it was asked last. One that did has seen them.
    func note(areTaken: Bool) {
        state.withLock { state in
            state.isRefused = !areTaken
            if areTaken { state.unseen = nil }
        }
    }

    /// Tells a person whose command succeeded that a log shows newer keys.
    func tell() { state.withLock { $0.sayOld }?() }

    private static let registration = "tresor register --no-login"

    /// A service does not say why it hears nobody with these keys. One that was restored from a backup may have lost them.
    private static func unknown(isRenewed: Bool) -> Reason {
        Reason(
            message: "the service does not take the keys of this home: you have newer ones in another home, or it does "
                + "not know these, or does not go by this address, or your account was closed; if you made no newer ones, "
                + OldKeys.theft,
            hints: [OldKeys.wayOut] + (isRenewed ? ["tresor card --publish"] : [OldKeys.login]) + [registration])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore

/// Why a store does not take the keys of this home, as far as this run has learned.
final class KeyStanding: Sendable {
    /// The reason that a message gives, and the commands that mend it.
    struct Reason: Equatable, Sendable {
        let message: String
        let hints: [String]
    }

    private struct State {
        /// The keys that no service can know yet, by the home's own journal.
        var unseen: UInt32?
        /// The service, fit to be shown.
        var place = ""
        /// Whether the home may know of a log-in by password, which a registration without one could lose.
        var hasLogin: @Sendable () -> Bool = { false }
        /// Whether the home has registered there, as far as it knows.
        var hasAccount: @Sendable () -> Bool = { true }
        /// Whether this home's person has made new keys before.
        var isRenewed = false
        /// The command that brings newer keys from the service.
        var login = OldKeys.login
        /// Tells that a log shows newer keys.
        var sayOld: (@Sendable () -> Void)?
        var isRefused = false

        /// Keys that no service has seen. A person without an account chooses whether to log in by password.
        func reason(unseen generation: UInt32) -> Reason {
            guard generation == 0 else {
                return Reason(
                    message: "the service does not know your newest keys yet", hints: ["tresor rotate --identity"])
            }
            return Reason(
                message: stranger, hints: ["tresor register"] + (hasLogin() ? [] : ["tresor register --no-login"]))
        }

        /// The operator has an account without a registration.
        private var stranger: String {
            "this home has not registered at \(place); if you have an account there, ask its operator whether the service goes "
                + "by this address"
        }

        /// A service does not say why it hears nobody with these keys. One that was restored from a backup may have lost
        /// them. A registration then leaves nothing that its person did not choose, and loses no log-in that they did.
        var unknown: Reason {
            let registration = hasLogin() ? "tresor register" : "tresor register --no-login"
            guard hasAccount() else { return Reason(message: stranger, hints: [registration]) }
            return Reason(
                message:
                    "the service does not take the keys of this home: ask its operator whether it goes by this address, "
                    + "whether your account was closed, and whether it lost what it knew of you; or you have newer keys in "
                    + "another home; if it is none of these, \(OldKeys.theft)",
                hints: [registration, isRenewed ? "tresor card --publish" : login, OldKeys.wayOut])
        }
    }

    private let state = Mutex(State())

    /// The reason for a refusal; `nil` for another one.
    var refusal: Reason? {
        let state = self.state.withLock { $0 }
        if let unseen = state.unseen { return state.reason(unseen: unseen) }
        if state.sayOld != nil { return OldKeys.reason }
        return state.isRefused ? state.unknown : nil
    }

    /// Notes this home's keys, and whose they are.
    ///
    /// - Parameter isUnseen: whether no service has seen them, by the home's own journal.
    func note(_ identity: Identity, isUnseen: Bool) {
        note(identity.generation, isUnseen: isUnseen)
        let login = "tresor login \(Shell.word(identity.handle.text))"
        state.withLock { $0.login = login }
    }

    /// Notes the generation of this home's keys.
    func note(_ generation: UInt32, isUnseen: Bool) {
        state.withLock { ($0.isRenewed, $0.unseen) = (generation > 0, isUnseen ? generation : nil) }
    }

    /// Notes the service, and what tells whether this home may know of a log-in by password and of a registration there.
    /// Both are asked at a refusal: the home has met the service by then.
    func note(
        _ place: String, hasLogin: @escaping @Sendable () -> Bool, hasAccount: @escaping @Sendable () -> Bool
    ) {
        state.withLock { ($0.place, $0.hasLogin, $0.hasAccount) = (place, hasLogin, hasAccount) }
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
}

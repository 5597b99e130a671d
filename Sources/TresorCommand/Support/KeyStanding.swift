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
        /// The keys that no service can know yet, by the home's own journal.
        var unseen: UInt32?
        /// Whether the home may know of a log-in by password, which a registration without one could lose.
        var hasLogin: @Sendable () -> Bool = { false }
        /// Whether this home's person has made new keys before.
        var isRenewed = false
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
                message: "you have not registered with this service",
                hints: ["tresor register"] + (hasLogin() ? [] : ["tresor register --no-login"]))
        }

        /// A service does not say why it hears nobody with these keys. One that was restored from a backup may have lost
        /// them. A registration then leaves nothing that its person did not choose, and loses no log-in that they did.
        var unknown: Reason {
            Reason(
                message: "the service does not take the keys of this home: you have newer ones in another home, or it "
                    + "does not know these, or does not go by this address, or your account was closed; if you made no "
                    + "newer ones, \(OldKeys.theft)",
                hints: [OldKeys.wayOut] + (isRenewed ? ["tresor card --publish"] : [OldKeys.login])
                    + [hasLogin() ? "tresor register" : "tresor register --no-login"])
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

    /// Notes the generation of this home's keys.
    ///
    /// - Parameter isUnseen: whether no service has seen it, by the home's own journal.
    func note(_ generation: UInt32, isUnseen: Bool) {
        state.withLock { ($0.isRenewed, $0.unseen) = (generation > 0, isUnseen ? generation : nil) }
    }

    /// Notes what tells whether this home may know of a log-in by password. It is asked at a refusal: the home has met the
    /// service by then.
    func note(hasLogin: @escaping @Sendable () -> Bool) { state.withLock { $0.hasLogin = hasLogin } }

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

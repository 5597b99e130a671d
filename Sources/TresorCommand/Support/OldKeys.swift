// SPDX-License-Identifier: Apache-2.0

/// A home whose person has newer keys elsewhere: an old copy, or one of their devices that did not make them.
enum OldKeys {
    /// The command that brings the newest keys to this machine.
    static let wayOut = "tresor recover --home DIR"
    /// The command that brings them to this home itself, from a service at which its person has a log-in by password.
    static let login = "tresor login NAME"

    /// The commands that bring the newest keys, beside a service or a file.
    static func ways(isService: Bool) -> [String] { (isService ? [login] : []) + [wayOut] }

    private static let words = "the store has newer keys of yours: this home is an old copy"
    /// The words for a person whose keys somebody else made.
    static let theft = "somebody else has your identity: tell the people in your tresors"

    private static let strangers = "if you made none, \(theft)"
    private static let remedy = "your newest kit restores the newest keys in another home"

    /// Why nothing is done with the keys of this home where a log shows the newer ones.
    static let reason = KeyStanding.Reason(
        message: "you have newer keys than this home, whose keys change nothing any more; \(remedy); \(strangers)",
        hints: [wayOut])

    /// The finding of *check* about this person's card in the store, before the way out.
    static let finding = "\(words); \(strangers); \(remedy)"

    /// The failure of an act that would be done with the older keys.
    static let failure = CommandFailure(
        .forked, "\(words), and nothing was changed; \(remedy); \(strangers)", hints: [wayOut, "tresor check"])

    /// The failure of a command on records in a home where changes wait. They open with any later keys in this home, and
    /// in no other (SPEC §8.5).
    ///
    /// - Parameter path: that of the identity of this home.
    static func failure(unsentCount count: Int, identity path: String) -> CommandFailure {
        let (changes, aside) = (count == 1 ? "1 change waits" : "\(count) changes wait", Shell.path(path + ".old"))
        return CommandFailure(
            .forked,
            "\(words); \(changes) here, which your newest keys alone can send: move the identity of this home away, "
                + "restore the newest one in its place with your newest kit, and run tresor sync; \(strangers)",
            hints: ["mv \(Shell.path(path)) \(aside)", "tresor recover"])
    }

    /// The words for a card that does not follow this home's.
    static let others = "the store has other keys of yours, signed with your older ones; \(strangers)"

    /// The failure of an act beside such a card.
    static let othersFailure = CommandFailure(.forked, "nothing was changed: \(others)", hints: [wayOut])
}

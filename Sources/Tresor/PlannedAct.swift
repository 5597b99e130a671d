// SPDX-License-Identifier: Apache-2.0

public import Foundation

/// An act whose effect can be shown to a person before it happens.
public struct PlannedAct: Sendable {
    /// The act.
    public let act: Act
    /// The effect that it has at the present state of the log.
    public let effect: Effect
    /// The tresor.
    public let tresor: TresorHandle

    /// Performs the act, if its effect is still the one that was shown.
    ///
    /// - Returns: the effect.
    /// - Throws: ``TresorError/busy`` when the act no longer means the same; plan it again and show the new effect.
    ///   Otherwise the errors of ``Tresors/perform(_:on:expecting:acceptingUnverified:)``.
    @concurrent @discardableResult public func perform() async throws(TresorError) -> Effect {
        try await tresor.session.tresors.perform(act, on: tresor.id, expecting: effect).effect
    }
}

/// The files that a person can read with whom a tresor is shared.
public enum SharedHistory: Hashable, Sendable {
    /// All files, also those sealed before.
    case all
    /// The files that are sealed from now on.
    case fromNow
}

extension Act {
    /// Adds people, or changes the role and the end of a member.
    ///
    /// - Parameters:
    ///   - people: the people.
    ///   - role: their rights.
    ///   - history: the files that they can read. It cannot change later.
    ///   - end: the end of access; `nil` for none. A date before 1970 or after the year 9999 is refused when the act is
    ///     planned or performed.
    public static func share(
        with people: [Person], as role: Role = .reader, history: SharedHistory = .all, until end: Date? = nil
    ) -> Act {
        .share(
            with: people.map { .user($0.chain) }, role: role, fromNow: history == .fromNow,
            notAfter: end?.wholeSeconds)
    }
}

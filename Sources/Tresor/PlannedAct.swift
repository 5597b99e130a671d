// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// An act whose effect can be shown to a person before it happens.
public struct PlannedAct: Sendable {
    /// The act.
    package let act: Act
    /// The effect that it has at the present state of the log.
    public let effect: Effect
    /// The updates of this home that come with it.
    package let due: Due
    /// The tresor.
    package let tresor: TresorHandle

    /// Performs the act, if its effect is still the one that was shown.
    ///
    /// - Returns: the effect.
    /// - Throws: ``TresorError/busy`` when the act no longer means the same; plan it again and show the new effect.
    ///   ``TresorError/cancelled`` for a task that was cancelled before the act was sent. Otherwise the errors of
    ///   ``TresorHandle/plan(_:)``, and ``TresorError/store(_:)`` when the store did not keep the entry.
    @concurrent @discardableResult public func perform() async throws(TresorError) -> Effect {
        let tresors = tresor.session.tresors
        let settled = try await tresors.settle(due, before: act, shown: effect)
        return try await tresors.perform(act, on: tresor.id, expecting: settled).effect
    }
}

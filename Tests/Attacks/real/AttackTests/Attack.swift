// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCommand
@testable import TresorCrypto

/// Each attack that a check defeats is tried twice: as things are, when it is refused and nothing else happens, and
/// with that one check disabled, when it succeeds. Built and run by `scripts/attacks` alone; `attacks.tsv` says which
/// check defeats which attack.
@Suite struct RealAttackTests {}

extension RealAttackTests {
    /// Tries an attack as things are, and without the check that defeats it.
    ///
    /// - Parameters:
    ///   - error: how it is refused; `nil` where there is nothing to throw, and it only does not reach its end.
    ///   - mutations: the check; several where each of them defeats the attack alone.
    ///   - victims: whose homes stay as they are, and whose stores receive nothing.
    ///   - isLate: whether what is signed and sent cannot be taken back when the attack is noticed, or the attacker
    ///     signs and sends too.
    ///   - attack: whether it reached its end.
    static func expectReal(
        _ error: TresorError?, without mutations: Mutation..., against victims: [Session] = [], isLate: Bool = false,
        at source: SourceLocation = #_sourceLocation, _ attack: () async throws -> Bool
    ) async {
        let refusal = error.map(Outcome.refused) ?? .missed
        await expectReal(refusal, without: mutations, against: victims, isLate: isLate, at: source, attack)
    }

    /// The same for an attack that the command refuses with a word of its own.
    static func expectReal(
        command error: CommandError, without mutations: Mutation...,
        at source: SourceLocation = #_sourceLocation, _ attack: () async throws -> Bool
    ) async {
        await expectReal(
            .refusedByCommand(error), without: mutations, against: [], isLate: false, at: source, attack)
    }

    private static func expectReal(
        _ refusal: Outcome, without mutations: [Mutation], against victims: [Session], isLate: Bool,
        at source: SourceLocation, _ attack: () async throws -> Bool
    ) async {
        await expectRefusal(refusal, against: victims, isLate: isLate, at: source, attack)
        for mutation in mutations where mutations.count > 1 {
            let others = Experiment(applying: Set(mutations).subtracting([mutation]))
            let outcome = await Experiment.$current.withValue(others) { await Outcome(of: attack) }
            #expect(outcome != .reached, "with \(mutation) alone", sourceLocation: source)
        }
        let weak = Experiment(applying: Set(mutations))
        let outcome = await Experiment.$current.withValue(weak) { await Outcome(of: attack) }
        #expect(outcome == .reached, "without \(mutations)", sourceLocation: source)
    }

    /// The same for a rule of the log.
    static func expectReal(
        withoutRule rule: Rule, against victims: [Session] = [], at source: SourceLocation = #_sourceLocation,
        _ attack: () async throws -> Bool
    ) async {
        await expectRefusal(.refused(rule.error), against: victims, at: source, attack)
        let outcome = await Rule.$disabled.withValue(rule) { await Outcome(of: attack) }
        #expect(outcome == .reached, "without \(rule)", sourceLocation: source)
    }

    /// Tries an attack as things are: its error, no signature, no wrap, no byte of content, homes as before, and
    /// nothing sent to a store.
    private static func expectRefusal(
        _ refusal: Outcome, against victims: [Session], isLate: Bool = false, at source: SourceLocation,
        _ attack: () async throws -> Bool
    ) async {
        let before = victims.map { Untouched($0, isLate: isLate) }
        let experiment = Experiment()
        let outcome = await Experiment.$current.withValue(experiment) { await Outcome(of: attack) }
        #expect(outcome == refusal, sourceLocation: source)
        #expect(isLate || experiment.counts == Experiment.Counts(), sourceLocation: source)
        #expect(victims.map { Untouched($0, isLate: isLate) } == before, sourceLocation: source)
    }
}

private enum Outcome: Equatable {
    case reached, missed
    case refused(TresorError)
    /// Refused with a word that only the command has.
    case refusedByCommand(CommandError)

    init(of attack: () async throws -> Bool) async {
        do {
            self = try await attack() ? .reached : .missed
        } catch let error as TresorError {
            self = .refused(error)
        } catch let failure as CommandFailure {
            let passedOn = failure.error.passedOn
            self = CommandError(passedOn) == failure.error ? .refused(passedOn) : .refusedByCommand(failure.error)
        } catch {
            self = .refused(.failed(.other))
        }
    }
}

/// The invariants: the home except for evidence, and the number of writes to the store.
private struct Untouched: Equatable {
    let home: [HomeObject: [UInt8]]
    let writes: Int?

    init(_ victim: Session, isLate: Bool) {
        home = victim.home
        writes = isLate ? nil : ((victim.client.store as? GuardedStore)?.base as? EvilStore)?.writeCount
    }
}

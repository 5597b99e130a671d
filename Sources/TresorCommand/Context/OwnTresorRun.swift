// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The part of `sync` that exchanges pins and heads with the other devices of this person (SPEC §19.8).
struct OwnTresorRun {
    private static let title = "your other devices"

    private let context: CommandContext
    /// `nil` once it failed: nothing more is exchanged in this run.
    private var exchange: OwnTresorSync?
    private(set) var errors: [CommandError] = []
    /// Whether this home knows other people than before.
    private(set) var hasLearned = false
    /// The words about conflicts and failures. A run that goes on says them once, until they have passed.
    private(set) var told: Set<String> = []
    private let toldBefore: Set<String>

    /// Whether everything was exchanged that there is.
    var isWhole: Bool { exchange != nil }

    /// Takes what the other devices know.
    ///
    /// - Parameter told: what the exchange before this one said.
    init(
        of summaries: [TresorSummary], _ session: Session, _ context: CommandContext, after told: Set<String> = []
    ) async throws(TresorError) {
        self.context = context
        toldBefore = told
        do throws(TresorError) {
            var exchange = try await OwnTresorSync(of: summaries, session)
            let outcome = try await exchange.receive()
            hasLearned = outcome.isChange
            for conflict in outcome.conflicts { tellConflict(conflict) }
            for chain in outcome.renewed { tellNewerKeys(chain) }
            for pin in outcome.ahead { tellDateAhead(pin) }
            for chain in outcome.ended { tellEnd(chain) }
            for tresor in exchange.lost { tellLoss(tresor) }
            tellUnread(exchange.unreadRecords)
            self.exchange = exchange
        } catch {
            try tell(error)
        }
    }

    /// Sends what this home knows beyond that.
    ///
    /// - Parameter read: the tresors whose logs were read without an error.
    mutating func finish(_ read: [TresorID]) async throws(TresorError) {
        guard var exchange else { return }
        do throws(TresorError) {
            let report = try await exchange.send(read)
            for denial in report.denied { tellDenial(denial) }
            if report.isMade { context.output.say("your other devices learn whom you have verified") }
            guard let held = report.held else { return }
            if held == .store(.full) { tellLack(of: "room for it") } else { try tell(held) }
        } catch {
            if error == .store(.full) { tellLack(of: "room for one more tresor of yours") } else { try tell(error) }
        }
    }

    /// Says that the store has no room. Everything but this exchange was synced, so it is no failure of the run; what this
    /// home knows goes with the next exchange that finds room.
    private mutating func tellLack(of room: String) {
        let reason = CommandFailure(TresorError.store(.full)).message
        say("\(Self.title) learn nothing new from this one before there is \(room): \(reason)")
    }

    private mutating func tellConflict(_ conflict: KnownConflict) {
        let chain = conflict.chain
        let (name, id) = (DisplayText.name(chain.handle.bytes), ShortID.text(of: chain.user))
        errors.append(.unverified)
        let words: String
        switch conflict.reason {
        case .disputed: words = "\(Self.title) verified different keys of \(name), \(id)"
        case .keys: words = "\(Self.title) verified other keys of \(name), \(id), than this one"
        case .givenUp: words = "\(name), \(id), is verified here, and \(Self.title) gave them up later"
        case .compared: words = "you gave up \(name), \(id), here, and \(Self.title) verified them later"
        case .handle(let other):
            words =
                "\(Self.title) verified a \(name), \(id), who is not the one verified here, "
                + ShortID.text(of: other.user)
        }
        guard say(words + ": nothing is changed here") else { return }
        context.output.hint("tresor verify \(id) --number \"DIGITS\"")
        switch conflict.reason {
        case .keys, .givenUp, .compared: context.output.hint("tresor verify \(id) --give-up")
        case .handle(let other): context.output.hint("tresor verify \(ShortID.text(of: other.user)) --give-up")
        case .disputed: break
        }
    }

    private mutating func tellNewerKeys(_ chain: CardChain) {
        let id = ShortID.text(of: chain.user)
        guard say("\(Self.title) verified newer keys of \(DisplayText.name(chain.handle.bytes)), \(id), than this one")
        else { return }
        context.output.hint("tresor verify \(id) --number \"DIGITS\"")
    }

    /// Says that a clock is wrong. It does not matter for long: an act here comes after the date.
    private mutating func tellDateAhead(_ pin: Pin) {
        let (name, id) = (DisplayText.name(pin.chain.handle.bytes), ShortID.text(of: pin.chain.user))
        say(
            "\(Self.title) date what they say of \(name), \(id), \(Timestamp(seconds: pin.time).date), "
                + "which is ahead of this clock: what you do about them here counts as later")
    }

    private func tellEnd(_ chain: CardChain) {
        let id = ShortID.text(of: chain.user)
        context.output.say(
            "\(DisplayText.name(chain.handle.bytes)), \(id), is not verified here any more: your former keys alone said so"
        )
        context.output.hint("tresor verify \(id)")
    }

    /// Says what follows from a loss, and how it ends. The sync of that tresor says what is wrong with it.
    private mutating func tellLoss(_ tresor: TresorID) {
        let id = tresor.description.prefix(10)
        guard say("\(Self.title): nothing is exchanged before \(id) is restored or deleted") else { return }
        context.output.hint("tresor check --repair -t \(id)")
        context.output.hint("tresor delete -t \(id) --yes tresor/own")
    }

    private mutating func tellUnread(_ records: [(name: Name, error: TresorError)]) {
        for (name, error) in records {
            let failure = CommandFailure(error)
            errors.append(failure.error)
            say("\(Self.title): \(DisplayText.name(name.bytes)) is left out: \(failure.message)")
        }
    }

    private mutating func tellDenial(_ denial: OwnTresorSync.Denial) {
        errors.append(.forked)
        let heads = (FindingReport.text(denial.said), FindingReport.text(denial.present))
        let id = denial.tresor.description.prefix(10)
        say(
            denial.isBehind
                ? "\(Self.title) have seen \(heads.0) in the log of \(id), which ends here with \(heads.1): "
                    + "the store withholds the rest, or lost it"
                : "\(Self.title) have seen another history of \(id): \(heads.0), and here it is \(heads.1)")
    }

    /// Tells a failure that ends the exchange and not the run.
    private mutating func tell(_ error: TresorError) throws(TresorError) {
        switch error {
        case .cancelled, .usage(.locked): throw error
        default: break
        }
        exchange = nil
        let failure = CommandFailure(error)
        errors.append(failure.error)
        say("\(Self.title): \(failure.message)")
    }

    /// Says something, unless the exchange before said it too.
    ///
    /// - Returns: whether it was said now.
    @discardableResult private mutating func say(_ words: String) -> Bool {
        told.insert(words)
        guard !toldBefore.contains(words) else { return false }
        context.output.say(words)
        return true
    }
}

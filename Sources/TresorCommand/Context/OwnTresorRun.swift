// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// The part of `sync` that exchanges pins and heads with the other devices of this person (SPEC §19.8).
struct OwnTresorRun {
    private static let title = "your other devices"

    private let workplace: CommandContext
    /// `nil` once it failed: nothing more is exchanged in this run.
    private var exchange: OwnTresorSync?
    private(set) var errors: [CommandError] = []
    /// Whether this home knows other people than before.
    private(set) var hasLearned = false

    /// Takes what the other devices know.
    init(of summaries: [TresorSummary], _ session: Session, _ workplace: CommandContext) async throws(TresorError) {
        self.workplace = workplace
        do throws(TresorError) {
            var exchange = try OwnTresorSync(of: summaries, session)
            let outcome = try await exchange.receive()
            hasLearned = outcome.isChange
            for chain in outcome.conflicts { tellConflict(chain) }
            for chain in outcome.ended { tellEnd(chain) }
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
            for tresor in report.denied {
                workplace.output.say(
                    "\(Self.title) have verified another history of \(tresor.description.prefix(10)): "
                        + "compare what tresor log --head prints there and here")
                errors.append(.forked)
            }
            if report.isMade { workplace.output.say("your other devices learn whom you have verified") }
            if let held = report.held { try tell(held) }
        } catch {
            try tell(error)
        }
    }

    private mutating func tellConflict(_ chain: CardChain) {
        let id = ShortID.text(of: chain.user)
        workplace.output.say(
            "\(Self.title) say something else of \(DisplayText.name(chain.handle.bytes)), \(id), than this home: "
                + "that is not verified here")
        workplace.output.hint("tresor verify \(id)")
        errors.append(.unverified)
    }

    private func tellEnd(_ chain: CardChain) {
        let id = ShortID.text(of: chain.user)
        workplace.output.say(
            "\(DisplayText.name(chain.handle.bytes)), \(id), is not verified here any more: your former keys alone said so"
        )
        workplace.output.hint("tresor verify \(id)")
    }

    /// Tells a failure that ends the exchange and not the run.
    private mutating func tell(_ error: TresorError) throws(TresorError) {
        switch error {
        case .cancelled, .usage(.locked): throw error
        default: break
        }
        exchange = nil
        let failure = CommandFailure(error)
        workplace.output.say("\(Self.title): \(failure.message)")
        errors.append(failure.error)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The tresors that a sync reads which names none, and the exchange with the own ones beside it (SPEC §19.7, §19.8).
struct SyncScope {
    private let session: Session
    private let workplace: CommandContext
    /// `nil` for a store without news, and where nothing is noted.
    private var news: NotedNews?
    /// What was found, also what lies apart or elsewhere.
    private var found: [TresorSummary] = []
    /// Whether everything is read.
    private var isWhole = false
    /// The exchange with the own tresors; `nil` where nothing is new.
    var own: OwnTresorRun?

    init(_ session: Session, _ workplace: CommandContext) { (self.session, self.workplace) = (session, workplace) }

    /// The tresors to be synced: all that were found but those that lie apart or elsewhere. A tresor need not lie apart
    /// after what the other devices of this person know.
    var summaries: [TresorSummary] { found.filter { Self.isNear($0) && !isGone($0) } }

    /// Whether a tresor neither lies apart nor elsewhere.
    static func isNear(_ summary: TresorSummary) -> Bool { !summary.isApart && !summary.isElsewhere }

    /// Whether neither the store nor this home knows a tresor any more.
    private func isGone(_ summary: TresorSummary) -> Bool {
        guard !isWhole, summary.error == .notFound, let news else { return false }
        return !news.known.contains(summary.tresor) && !news.named.contains(summary.tresor)
    }

    /// Finds all tresors. The store is asked once for the list.
    ///
    /// - Parameter told: what the exchange before this one said.
    mutating func readAll(after told: Set<String> = []) async throws(TresorError) {
        isWhole = true
        found = try await session.tresors.all(readingStrangers: false)
        let run = try await OwnTresorRun(of: found, session, workplace, after: told)
        own = run
        guard run.hasLearned else { return }
        news?.takePins()
        // The store has named them already.
        let tresors = Set(found.map(\.tresor))
        found = await session.tresors.summaries(of: tresors, readingStrangers: false)
    }

    /// Finds the tresors of which a service has news, those that the last sync left open, and those with unsent changes or
    /// with heads that another device of this person saw. Finds all without news, and where the last reading of all is a
    /// day ago.
    ///
    /// - Parameter isWhole: whether all are wanted.
    mutating func readNew(all isWhole: Bool) async throws(TresorError) {
        news = try await NotedNews.ask(session, forAll: isWhole)
        guard let noted = news, let due = noted.due else { return try await readAll() }
        guard !due.isEmpty else { return }
        found = await session.tresors.summaries(of: due.union(noted.own), readingStrangers: false)
        try Cancellation.check()
        let run = try await OwnTresorRun(of: found, beside: noted.known.subtracting(noted.own), session, workplace)
        own = run
        if run.hasLearned {
            // Whom this person knows says which tresors lie apart.
            self.isWhole = true
            news?.takePins()
            found = try await session.tresors.all(readingStrangers: false)
        } else {
            let others = try await run.unsettled().subtracting(found.map(\.tresor))
            found += await session.tresors.summaries(of: others, readingStrangers: false)
        }
    }

    /// Says how many tresors were not read, and notes where the news end.
    ///
    /// - Parameter open: the tresors that the next sync reads in any case.
    func finish(leaving open: Set<TresorID>) async {
        guard let news else { return }
        if !isWhole {
            let count = news.known.subtracting(found.map(\.tresor)).subtracting(news.own).count
            let others = summaries.isEmpty ? "" : "other "
            if count > 0 { workplace.output.say("nothing new in \(count) \(others)tresor\(count == 1 ? "" : "s")") }
        }
        // What stands against the exchange is said again, until it has passed.
        guard own.map({ $0.isWhole && $0.errors.isEmpty }) ?? true else { return }
        let apart = found.filter { $0.isApart && $0.isRead }.map(\.tresor)
        let met = Set(found.filter(\.isOwn).map(\.tresor)).union(own?.met ?? []).union(isWhole ? [] : news.own)
        await news.keep(open: open.union(apart), own: met, isWhole: isWhole)
    }
}

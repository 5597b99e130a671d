// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct SyncCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "sync", group: .data, abstract: "Send changes of records, and fetch those of others.",
            usage: "tresor sync [-t T]… [--watch] [--drop [--yes]]",
            discussion: """
                Prints for each tresor how many commits came and how many changes were sent. STATE is ok, incomplete \
                (the store lacks something), void (somebody wrote what nobody can read), unsent, or left. A removed \
                person's copies are deleted; --drop throws away what they had not sent; with -t and without --watch, \
                also changes that you may not make any more, or for which a quota or a disk has no room. A content of \
                more than 64 KiB for which there was no room is sent again by this command alone, without --watch. \
                --watch goes on until it is interrupted, with a line for each tresor in which something changed. \
                Without -t, your devices also tell each other whom you verified and what they saw of each tresor, by a \
                tresor of your own that list --all shows.
                """,
            classes: [.identity, .write], further: [.noAccess, .waiting], examples: ["tresor sync"])
    }

    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor; all of yours if left out.", valueName: "T"))
    var tresors: [String] = []

    @Flag(help: "Go on, and sync again whenever something changed.")
    var watch = false

    @Flag(help: "Throw away unsent changes that cannot be sent.")
    var drop = false

    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    /// One line of the table.
    private struct Row: Equatable {
        let title: String
        let received: Int
        let sent: Int
        let state: String

        var cells: [String] { [title, String(received), String(sent), state] }

        /// Whether something happened since another row was told.
        func isNews(after other: Row?) -> Bool { received + sent > 0 || state != other?.state }
    }

    /// The findings of a run.
    private struct Tally {
        var errors: [CommandError] = []
        /// Why changes were not thrown away.
        var refusal: CommandFailure?
    }

    func perform() async throws {
        guard !watch || !drop || consent.yes else {
            throw CommandFailure.usage("--watch asks nobody", hints: ["tresor … --yes"])
        }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "sync records")
        // Nobody is told to repair or delete something in the store of somebody else.
        if tresors.isEmpty, let doubt = await context.storeDoubt() {
            Surroundings.current.storeDoubt.forget()
            throw CommandFailure(.forked, doubt, hints: [StoreDoubt.wayOut])
        }
        var tally = Tally()
        let named = try await named(session, context, &tally)
        guard !watch else { return try await goOn(Set(named.map(\.tresor)), session, context) }
        var table = Table("TRESOR", "IN", "OUT", "STATE")
        var (own, summaries): (OwnTresorRun?, [TresorSummary]) = (nil, named)
        if tresors.isEmpty {
            let all: [TresorSummary]
            (own, summaries, all) = try await begin(session, context)
            for apart in TresorResolver.madeWithOldKeys(all, session) {
                tell(
                    TresorResolver.oldKeysWords, ["tresor verify --mine \(ShortID.text(of: apart.tresor))"], of: apart,
                    context)
            }
        }
        var read: [TresorID] = []
        for summary in summaries where own == nil || !summary.isOwn {
            do throws(TresorError) {
                let records = session.records(in: summary.tresor)
                table.add(try await sync(summary, records, session, context, told: nil, mayAsk: true, &tally).cells)
                read.append(summary.tresor)
            } catch {
                // Nobody named one for which they wait.
                if error == .waiting, tresors.isEmpty { continue }
                let failure = await context.failure(error, of: summary, session)
                tally.errors.append(failure.error)
                tell(failure.message, failure.hints, of: summary, context)
            }
        }
        try await own?.finish(read)
        tally.errors += own?.errors ?? []
        if !options.json { try context.output.table(table) }
        await context.tresors.tell(session)
        if let refusal = tally.refusal { throw refusal }
        if let worst = Severity.worst(tally.errors) { throw Exit(code: worst.exitCode) }
    }

    /// The tresors of the options. Beside others, one that is not found fails alone.
    ///
    /// Only an owner whose tresor lies apart is asked for here. Any other tresor is judged by the sync, which first takes
    /// away what a removed person has.
    private func named(
        _ session: Session, _ context: CommandContext, _ tally: inout Tally
    ) async throws -> [TresorSummary] {
        var summaries: [TresorSummary] = []
        for text in tresors {
            do {
                let summary = try await context.tresors.find(text, for: session)
                if summary.isApart, let state = summary.state {
                    try await context.verifier.verifyFounder(of: state, for: session, accept: false, hint: "")
                }
                summaries.append(summary)
            } catch {
                guard tresors.count > 1, !watch else { throw error }
                let failure = CommandFailure(error)
                context.output.report.print(failure)
                tally.errors.append(failure.error)
            }
        }
        return summaries
    }

    /// The named tresors; where none is named, all but those that lie apart or elsewhere.
    ///
    /// - Parameter due: the tresors to be read; `nil` for all of these.
    private func summaries(
        of due: Set<TresorID>?, _ named: Set<TresorID>, _ session: Session
    ) async throws(TresorError) -> [TresorSummary] {
        guard named.isEmpty else {
            return await session.tresors.summaries(of: due?.intersection(named) ?? named, readingStrangers: false)
        }
        return Self.near(try await session.tresors.all(among: due, readingStrangers: false))
    }

    private static func near(_ summaries: [TresorSummary]) -> [TresorSummary] {
        summaries.filter { !$0.isApart && !$0.isElsewhere }
    }

    /// Takes what the other devices of this person know. A tresor need not lie apart after that. The store is asked once
    /// for the list of tresors.
    ///
    /// - Parameter told: what the exchange before this one said.
    /// - Returns: the exchange that goes on, the tresors as ``summaries(of:_:_:)`` gives them, and all that there are.
    private func begin(
        _ session: Session, _ context: CommandContext, after told: Set<String> = []
    ) async throws(TresorError) -> (run: OwnTresorRun?, summaries: [TresorSummary], all: [TresorSummary]) {
        let all = try await session.tresors.all(readingStrangers: false)
        let own = try await OwnTresorRun(of: all, session, context, after: told)
        guard own.hasLearned else { return (own, Self.near(all), all) }
        // The store has named them already.
        let tresors = Set(all.map(\.tresor))
        let learned = await session.tresors.summaries(of: tresors, readingStrangers: false)
        return (own, Self.near(learned), learned)
    }

    /// Syncs again whenever the store has news, until the task is cancelled. What failed is tried again each time.
    ///
    /// - Parameter named: the tresors of the options.
    private func goOn(_ named: Set<TresorID>, _ session: Session, _ context: CommandContext) async throws {
        var news = NewsWatch(client: session.client, interval: Surroundings.current.watchInterval)
        var records: [TresorID: Records] = [:]
        var rows: [TresorID: Row] = [:]
        var failures: [TresorID?: TresorError] = [:]
        // The tresors that are synced whether or not there is news of them; nil for all.
        var unfinished: Set<TresorID>?
        // The own tresors that were met, and what the last exchange with them said; it is due at first.
        var (own, told): (Set<TresorID>, Set<String>) = ([], [])
        var isDue = named.isEmpty
        while let part = await news.next() {
            do throws(TresorError) {
                unfinished = part.isWhole ? nil : unfinished?.union(part.tresors)
                isDue = isDue || named.isEmpty && (part.isWhole || !own.isDisjoint(with: part.tresors))
                var exchange: OwnTresorRun?
                let summaries: [TresorSummary]
                if isDue {
                    (exchange, summaries, _) = try await begin(session, context, after: told)
                } else {
                    summaries = try await self.summaries(of: unfinished, named, session)
                }
                own.formUnion(summaries.filter(\.isOwn).map(\.tresor))
                failures[nil] = nil
                var read: [TresorID] = []
                unfinished = []
                for summary in summaries where !named.isEmpty || !summary.isOwn {
                    let id = summary.tresor
                    let known = records[id] ?? session.records(in: id)
                    records[id] = known
                    do throws(TresorError) {
                        // The row says it all here; nobody is asked, so nothing is refused.
                        var tally = Tally()
                        let row = try await sync(summary, known, session, context, told: rows[id], &tally)
                        failures[id] = nil
                        if !options.json, row.isNews(after: rows[id]) { try tell(row, context) }
                        rows[id] = row
                        read.append(id)
                        if row.state != "ok" { unfinished?.insert(id) }
                    } catch {
                        rows[id] = nil
                        unfinished?.insert(id)
                        try tell(error, of: id, &failures, context)
                    }
                }
                try await exchange?.finish(read)
                if let exchange { (told, isDue) = (exchange.told, !exchange.isWhole) }
            } catch {
                try tell(error, of: nil, &failures, context)
            }
            await context.tresors.tell(session)
        }
        try Cancellation.check()
    }

    private func tell(_ row: Row, _ context: CommandContext) throws(TresorError) {
        do throws(CommandFailure) {
            try context.output.line(row.cells.joined(separator: "  "))
        } catch { throw .failed(.inputOutput) }
    }

    /// Tells a failure once, as the failure of a command. The store may answer again; nothing else passes. A store that
    /// fails is told once for all tresors, until it has listed them.
    private func tell(
        _ error: TresorError, of tresor: TresorID?, _ failures: inout [TresorID?: TresorError],
        _ context: CommandContext
    ) throws(TresorError) {
        switch error {
        case .waiting where tresors.isEmpty: return
        case .store, .busy, .forked, .altered, .unsupported, .noAccess, .unverified, .notFound, .waiting: break
        default: throw error
        }
        let subject = if case .store = error { TresorID?.none } else { tresor }
        guard failures.updateValue(error, forKey: subject) != error else { return }
        context.output.report.print(CommandFailure(error))
    }

    /// Syncs one tresor, and throws away what was not sent if that is wanted and confirmed. Says why nothing was sent, and
    /// prints the object of JSON, where the row is news.
    ///
    /// - Parameters:
    ///   - row: the row that was told of this tresor before; `nil` for none.
    ///   - mayAsk: whether to ask a person at a terminal about a clock far from the log's.
    private func sync(
        _ summary: TresorSummary, _ records: Records, _ session: Session, _ context: CommandContext, told row: Row?,
        mayAsk: Bool = false, _ tally: inout Tally
    ) async throws(TresorError) -> Row {
        let title = context.tresors.title(of: summary)
        var report = try await records.sync(again: !watch)
        if mayAsk, report.held == .failed(.clock), context.invocation.hasTerminal {
            do {
                try await context.tresors.acceptClock(in: summary.tresor, title, session)
                report = try await records.sync()
            } catch {
                tally.refusal = CommandFailure(error)
            }
        }
        await HomeRecords(of: records).keepWraps()
        if drop, let loss = loss(report, session, isFile: context.service == nil) {
            do {
                try context.confirm(
                    "\(loss): throw away \(Self.count(report.unsent)) of \(title)?", yes: consent.yes)
                _ = try await records.dropUnsent(as: report.outbox)
                report = try await records.sync(again: !watch)
            } catch let error as TresorError where watch {
                throw error
            } catch {
                tally.refusal = CommandFailure(error)
            }
        }
        if let error = Self.error(of: report) { tally.errors.append(CommandError(error)) }
        let next = Row(
            title: title, received: report.receivedCount, sent: report.sentCount, state: Self.state(of: report))
        guard next.isNews(after: row) else { return next }
        if let held = report.held {
            // The next sync finds out what became of it.
            Surroundings.current.obstacle.note(mayBeDone: false)
            let failure =
                report.damaged == nil
                ? await context.failure(held, of: summary, session)
                : CommandFailure(
                    sending: report, held, rotation: context.tresors.rotation(of: summary, for: session))
            let what =
                report.sentCount == 0
                ? "nothing was sent, and the changes stay"
                : "\(Self.count(report.unsent)) \(report.unsent.count == 1 ? "stays" : "stay")"
            if held == .failed(.notNoted) {
                let unnoted = UnnotedChange.failure(report.outbox, sentTo: title)
                tell(unnoted.message, unnoted.hints, of: summary, context)
            } else {
                tell("\(what) in your home: \(failure.message)", failure.hints, of: summary, context)
            }
        }
        if report.isGone, !report.unsent.isEmpty {
            let failure = await context.failure(.noAccess, of: summary, session)
            tell(
                "\(Self.count(report.unsent)) cannot be sent: \(failure.message)",
                failure.hints + ["tresor sync -t \(context.tresors.word(of: summary)) --drop"], of: summary, context
            )
        }
        if report.receivedCount > 0 { await tellVersions(in: report, of: records, summary, context) }
        if options.json {
            do throws(CommandFailure) {
                try context.output.object(Self.object(report))
            } catch { throw .failed(.inputOutput) }
        }
        return next
    }

    /// Says which record somebody changed beside another change, when that has come.
    private func tellVersions(
        in report: SyncReport, of records: Records, _ summary: TresorSummary, _ context: CommandContext
    ) async {
        let several = (try? await HomeRecords(of: records).withVersions(in: report)) ?? []
        guard let first = several.first else { return }
        let rest = several.count == 1 ? " has" : " and \(several.count - 1) more have"
        tell(
            "\(DisplayText.quoted(first))\(rest) several versions",
            ["tresor records -t \(context.tresors.word(of: summary)) --versions"], of: summary, context)
    }

    private func tell(
        _ text: String, _ hints: [String], of summary: TresorSummary, _ context: CommandContext
    ) {
        context.output.say("\(context.tresors.title(of: summary)): \(text)")
        for hint in hints { context.output.hint(hint) }
    }

    /// Why what is unsent cannot be sent: the person has left, or has named the tresor and is a reader of it, or a limit is
    /// reached, or the disk of a file has no room; `nil` for what may be sent later. New keys are confirmed, a clock is set,
    /// and the full disk of a service has room again. A command that goes on drops only what the person has left: which lack
    /// was the last one is known of the whole process.
    private func loss(_ report: SyncReport, _ session: Session, isFile: Bool) -> String? {
        guard !report.unsent.isEmpty else { return nil }
        if report.isGone { return "you are not a member any more" }
        guard !watch, !tresors.isEmpty else { return nil }
        switch report.held {
        case .noAccess:
            let state = try? session.client.archive.verifiedState(of: report.tresor)
            return state?.members[session.user]?.role == .reader ? "you can only read it" : nil
        case .store(.full) where isFile: return "the disk of the store has no room for more"
        case .store(.full):
            return Surroundings.current.obstacle.isQuota == true ? "the quota has no room for more" : nil
        default: return nil
        }
    }

    private static func count(_ unsent: [String]) -> String {
        unsent.count == 1 ? "1 unsent change" : "\(unsent.count) unsent changes"
    }

    private static func state(of report: SyncReport) -> String {
        if report.isGone { return report.unsent.isEmpty ? "left" : "left, \(report.unsent.count) unsent" }
        if !report.missing.isEmpty { return "incomplete" }
        if !report.unsent.isEmpty { return "unsent" }
        return report.void.isEmpty ? "ok" : "void"
    }

    /// The error that a report stands for; `nil` for one in order.
    private static func error(of report: SyncReport) -> TresorError? {
        if let held = report.held { return held }
        if let missing = report.missing.min(by: { $0.key < $1.key }) {
            if case .store = missing.value { return missing.value }
            return .store(.withheld)
        }
        if !report.void.isEmpty { return .altered }
        return report.isGone && !report.unsent.isEmpty ? .noAccess : nil
    }

    private static func object(_ report: SyncReport) -> JSONObject {
        [
            "type": "synced", "tresor": .string(report.tresor.description),
            "in": .unsigned(UInt64(report.receivedCount)), "out": .unsigned(UInt64(report.sentCount)),
            "unsent": .array(report.unsent.map { .string($0) }),
            "void": .array(report.void.map { .unsigned($0) }),
            "missing": .array(report.missing.keys.sorted().map { .unsigned($0) }), "head": .unsigned(report.head),
            "state": .string(state(of: report).split(separator: ",").first.map { String($0) } ?? ""),
        ]
    }
}

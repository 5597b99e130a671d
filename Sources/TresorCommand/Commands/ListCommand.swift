// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct ListCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "list", aliases: ["ls"], group: .tresors, abstract: "List your tresors.",
            usage: """
                tresor list [--all]
                tresor list --hide T | --unhide T
                """,
            discussion: """
                STATE is ok, rekey pending, waiting (for approval), approver, left, unverified (its owner), not read, \
                made with your old keys, elsewhere (in another store), forked, or another error. Tresors of owners you \
                have not verified are listed below the others, by id; --all reads them, and --hide hides one. \
                VERIFIED is known where another device of yours verified the owner. PEOPLE counts the members, and \
                names the first approvers of those who waited, and the first of those who wait.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy], examples: ["tresor list"])
    }

    @Option(help: ArgumentHelp("Hide T, whose owner is not verified.", valueName: "T"))
    var hide: String?

    @Option(help: ArgumentHelp("Show T again.", valueName: "T"))
    var unhide: String?

    @Flag(help: "Read the tresors of owners you have not verified, and show hidden ones too.")
    var all = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "list tresors")
        if let text = hide ?? unhide { return try await setHidden(text, session, context) }
        var rows: [Row] = []
        // By name, as people look for it; equal names by id.
        let summaries = try await session.tresors.all(readingStrangers: all).filter {
            all || !$0.isHidden && !$0.isOwn
        }
        for summary in summaries.sorted(by: { order($0) < order($1) }) {
            var row = Row(summary, me: session.identity.user, context)
            if options.json, let kind = await kind(of: summary, session) { row.object["kind"] = .text(kind.bytes) }
            rows.append(row)
        }
        guard !options.json else {
            for row in rows { try context.output.object(row.object) }
            return try finish(rows)
        }
        let (known, apart) = (rows.filter { !$0.isApart }, rows.filter(\.isApart))
        if !known.isEmpty || apart.isEmpty { try print(known, context) }
        if !apart.isEmpty {
            try context.output.line("not verified:")
            try print(apart, context)
            if summaries.contains(where: { !$0.isRead }) {
                context.output.say("\(HintCompletion.command("list --all")) reads these")
            }
        }
        for summary in summaries {
            guard let state = summary.state else { continue }
            let title = context.tresors.title(of: summary)
            guard let failure = try context.verifier.outdated(state, title: title) else { continue }
            context.output.say(failure.message)
        }
        if rows.isEmpty {
            context.output.say("there are no tresors here yet; \(HintCompletion.command("create NAME")) makes one")
        }
        // Nothing of it is here: this may not be the store that was meant.
        if let first = summaries.first, summaries.allSatisfy(\.isElsewhere),
            let store = context.client.archive.otherStore(of: first.tresor),
            let hint = context.tresors.hint(to: store)
        {
            context.output.hint(hint)
        }
        // A check tells of each what a row cannot.
        if let forked = rows.first(where: { !$0.isApart && $0.error == .forked }) {
            context.tresors.forkHints(of: forked.tresor).forEach(context.output.hint)
        }
        try finish(rows)
    }

    private func print(_ rows: [Row], _ context: CommandContext) throws {
        // Nobody is told anew what they did themselves.
        let showsHow = rows.contains { $0.how == .known }
        var table = Table(
            ["NAME", "OF"] + (showsHow ? ["VERIFIED"] : []) + ["ROLE", "PEOPLE", "KEY", "STATE"])
        for row in rows {
            let how = row.how.map(OccasionWords.word) ?? "-"
            table.add([row.name, row.owner] + (showsHow ? [how] : []) + [row.role, row.people, row.key, row.state])
        }
        try context.output.table(table)
    }

    /// Leaves out tresors that strangers offer: they are no error.
    private func finish(_ rows: [Row]) throws {
        if let worst = Severity.worst(rows.filter { !$0.isApart }.compactMap(\.error).map(CommandError.init)) {
            throw Exit(code: worst.exitCode)
        }
    }

    private func setHidden(_ text: String, _ session: Session, _ context: CommandContext) async throws {
        guard hide == nil || unhide == nil, !all else {
            throw CommandFailure.usage("list takes one of --hide, --unhide and --all")
        }
        let summary = try await context.tresors.find(text, for: session, isReadable: false)
        let title = context.tresors.title(of: summary)
        guard hide == nil || summary.isApart else {
            throw CommandFailure.usage("\(title) is not hidden: its owner is verified, or you have read it before")
        }
        try context.proveMarks(session)
        try session.tresors.hideBlocking(summary.tresor, hide != nil)
        context.output.say(hide == nil ? "\(title) is shown again" : "\(title) is hidden")
    }

    private func order(_ summary: TresorSummary) -> (String, String) {
        (summary.name.map { $0.text } ?? "\u{10ffff}", summary.tresor.description)
    }

    /// The tresor's kind, for a member; `nil` if it is empty or does not open.
    private func kind(of summary: TresorSummary, _ session: Session) async -> Name? {
        guard summary.error == nil, let state = summary.state, state.members[session.identity.user] != nil,
            let kind = try? await session.tresors.kind(in: state), !kind.isEmpty
        else { return nil }
        return kind
    }

    private struct Row {
        /// The characters that the names of those who wait, or of their approvers, may take.
        private static let widthOfNames = 32

        let name: String
        let tresor: TresorID
        let isApart: Bool
        var owner = "-"
        /// How the owner was verified; `nil` for this person, and for one who was not.
        var how: Pin.Occasion?
        var role = "-"
        var people = "-"
        var key = "-"
        var state = "ok"
        var error: TresorError?
        var object: JSONObject

        init(_ summary: TresorSummary, me: UserID, _ context: CommandContext) {
            name = context.tresors.title(of: summary)
            tresor = summary.tresor
            isApart = summary.isApart
            object = ["type": "tresor", "tresor": .string(summary.tresor.description)]
            if let known = summary.name { object["name"] = .text(known.bytes) }
            error = summary.error
            if let known = summary.state { describe(known, me, context) }
            if let trust = summary.founderTrust, !trust.isVerified, error == nil {
                state = summary.state?.founder == me && trust == .unverified ? "made with your old keys" : "unverified"
                error = .unverified
            }
            if let stranger = summary.stranger {
                state = "not read"
                owner = context.name(of: stranger)
                object["owner"] = .text(stranger.handle.bytes)
                object["owner_id"] = .string(stranger.user.description)
            }
            if let failed = summary.error { state = failed.name.replacing("_", with: " ") }
            if summary.isElsewhere { (state, error) = ("elsewhere", nil) }
            if summary.isApart { object["apart"] = true }
            if summary.isHidden { object["hidden"] = true }
            object["state"] = .string(state.replacing(" ", with: "_"))
        }

        private mutating func describe(_ known: LogState, _ me: UserID, _ context: CommandContext) {
            owner = context.tresors.handle(of: known.founder, in: known)
            how = (try? OccasionWords.pin(of: known.founder, context.client))?.occasion
            if let how { object["how"] = .string(OccasionWords.word(how)) }
            people = Self.people(in: known, context)
            key = String(known.epoch)
            object["owner"] = .text(known.chain(of: known.founder)?.handle.bytes ?? [])
            object["owner_id"] = .string(known.founder.description)
            object["people"] = .unsigned(UInt64(known.members.count))
            object["key"] = .unsigned(known.epoch)
            if let member = known.members[me] {
                role = member.role.description
                object["role"] = .string(role)
                if known.isRekeyPending { state = "rekey pending" }
            } else if let waiting = known.waiting[me] {
                role = waiting.role.description
                object["role"] = .string(role)
                state = "waiting"
            } else {
                state = known.approvers.contains(me) ? "approver" : "left"
            }
            if !known.approvedInOrder.isEmpty { object["approved"] = .array(MembersCommand.approved(in: known)) }
            if !known.waiting.isEmpty { object["waiting"] = .array(MembersCommand.waiting(in: known)) }
        }

        /// `5, 2 approved by clinic + 3 waiting: anna, ben and 1 more`.
        private static func people(in state: LogState, _ context: CommandContext) -> String {
            var people = String(state.members.count)
            let approved = state.approvedInOrder
            if !approved.isEmpty {
                var approvers: [UserID] = []
                for (_, approver, _) in approved where !approvers.contains(approver) { approvers.append(approver) }
                people += ", \(approved.count) approved\(names(of: approvers, after: " by ", in: state, context))"
            }
            guard !state.waiting.isEmpty else { return people }
            let waiting = names(of: state.waitingInOrder.map { $0.user }, after: ": ", in: state, context)
            return "\(people) + \(state.waiting.count) waiting\(waiting)"
        }

        /// `: anna, ben and 1 more`: as many names as a narrow column takes, at most three; nothing if it takes none.
        private static func names(
            of users: [UserID], after words: String, in state: LogState, _ context: CommandContext
        ) -> String {
            var names = ""
            var more = users.count
            for user in users.prefix(3) {
                let name = context.tresors.handle(of: user, in: state)
                let longer = names.isEmpty ? name : "\(names), \(name)"
                guard longer.count <= widthOfNames else { break }
                (names, more) = (longer, more - 1)
            }
            return names.isEmpty ? "" : "\(words)\(names)\(more == 0 ? "" : " and \(more) more")"
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore

struct MembersCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "members", aliases: ["who"], group: .tresors,
            abstract: "List the members of a tresor, now or earlier.",
            usage: "tresor members -t T [--at SEQ|DATE]",
            discussion: """
                VERIFIED is you; number, card or link (how you verified them); known (another device of yours did); \
                by OWNER (named in the log); or no. A DATE relies on the times that authors wrote; a SEQ, from \
                tresor log, is exact. The kind is shown if T is not a whole id. APPROVED BY is the approver of a \
                person who waited. People who wait now are listed below.
                """,
            classes: [.identity, .store], further: [.busy],
            examples: ["tresor members -t interventions", "tresor members -t interventions --at 2026-05-03"])
    }

    @OptionGroup var tresor: TresorOption

    @Option(help: ArgumentHelp("Show the members after entry SEQ, or on DATE.", valueName: "SEQ|DATE"))
    var at: String?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options)
        let (id, session) = try await tresor.opened(in: context, to: "list members")
        let state = try await context.tresors.state(of: id)
        let kind = await kind(in: state, session)
        let sequence = try await sequence(of: id, in: state, context)
        let showsApproval =
            !state.approvers.isEmpty
            || state.people(at: sequence).contains {
                state.admission(of: $0, at: sequence)?.approvedBy != nil
            }
        let showsEnd = state.people(at: sequence).contains { state.admission(of: $0, at: sequence)?.notAfter != nil }
        var table = Table(
            ["NAME", "ROLE", "SINCE"] + (showsEnd ? ["UNTIL"] : []) + ["ADDED BY", "VERIFIED"]
                + (showsApproval ? ["APPROVED BY"] : []))
        var people: [JSON] = []
        for user in state.people(at: sequence).sorted(by: { order($0, $1, state, sequence) }) {
            guard let role = state.role(of: user, at: sequence), let admission = state.admission(of: user, at: sequence)
            else { continue }
            let by = admission.by == user ? "-" : context.tresors.handle(of: admission.by, in: state)
            let verified = try verified(user, admission, in: state, context)
            let approver = admission.approvedBy.map { context.tresors.handle(of: $0, in: state) } ?? "-"
            table.add(
                [
                    context.tresors.handle(of: user, in: state), role.description,
                    Timestamp(seconds: admission.time).date,
                ] + (showsEnd ? [admission.notAfter.map { Timestamp(seconds: $0).date } ?? "-"] : []) + [
                    by, verified.cell,
                ]
                    + (showsApproval ? [approver] : []))
            people.append(object(user, role, admission, verified, in: state))
        }
        if options.json {
            var object: JSONObject = [
                "type": "members", "tresor": .string(id.description), "sequence": .unsigned(sequence),
                "members": .array(people),
            ]
            if let kind { object["kind"] = .text(kind.bytes) }
            if at == nil {
                if !state.waiting.isEmpty { object["waiting"] = .array(Self.waiting(in: state)) }
                if !state.approvers.isEmpty {
                    object["approvers"] = .array(state.approvers.map { .string($0.description) })
                }
            }
            try context.output.object(object)
        } else {
            if let kind { context.output.say("its kind is \(DisplayText.quoted(kind.bytes))") }
            try context.output.table(table)
            if at == nil { try printWaiting(in: state, context) }
        }
        try reportChanged(state.people(at: sequence).sorted(), in: state, context)
    }

    /// The people who wait, with the date of their grant, and the approvers for whom they wait.
    private func printWaiting(in state: LogState, _ context: CommandContext) throws {
        func names(_ users: [UserID]) -> String {
            users.map { context.tresors.handle(of: $0, in: state) }.joined(separator: ", ")
        }
        if !state.approvers.isEmpty {
            context.output.say("people who are added wait until they are approved by \(names(state.approvers))")
        }
        guard !state.waiting.isEmpty else { return }
        try context.output.line("waiting:")
        var table = Table("NAME", "ROLE", "SINCE", "ADDED BY")
        for (user, person) in state.waitingInOrder {
            table.add(
                context.tresors.handle(of: user, in: state), person.role.description,
                Timestamp(seconds: person.sinceTime).date, names([person.admittedBy]))
        }
        try context.output.table(table)
    }

    /// The members who waited, each with their approver, as JSON has them.
    static func approved(in state: LogState) -> [JSON] {
        state.approvedInOrder.map { user, approver, time in
            .object([
                "handle": .text(state.chain(of: user)?.handle.bytes ?? []), "user": .string(user.description),
                "approved_by": .string(approver.description), "since": .time(time),
            ])
        }
    }

    /// The people who wait, as JSON has them.
    static func waiting(in state: LogState) -> [JSON] {
        state.waiting.sorted { $0.key < $1.key }.map { user, person in
            var object: JSONObject = [
                "handle": .text(state.chain(of: user)?.handle.bytes ?? []), "user": .string(user.description),
                "role": .string(person.role.description), "since": .time(person.sinceTime),
                "let_in_by": .string(person.admittedBy.description),
            ]
            if let notAfter = person.notAfter { object["until"] = .time(notAfter) }
            if case .from(let epoch) = person.history { object["from_key"] = .unsigned(epoch) }
            return .object(object)
        }
    }

    /// The tresor's kind, for a member whose identity is open; `nil` if it is empty or does not open.
    private func kind(in state: LogState, _ session: Session?) async -> Name? {
        guard let session, let kind = try? await session.tresors.kind(in: state), !kind.isEmpty else { return nil }
        return kind
    }

    /// Throws after the list if a handle in it belongs to another verified person.
    private func reportChanged(_ users: [UserID], in state: LogState, _ context: CommandContext) throws {
        for user in users {
            guard let chain = state.chain(of: user),
                case .changed(let pinned) = try context.client.trust.memberTrustBlocking(of: user, in: state)
            else {
                continue
            }
            throw CommandFailure(
                .unverified,
                "the \(DisplayText.name(chain.handle.bytes)) in this tresor, \(ShortID.text(of: user)), "
                    + "is not the one you verified, \(ShortID.text(of: pinned.user))")
        }
    }

    private func order(_ left: UserID, _ right: UserID, _ state: LogState, _ sequence: UInt64) -> Bool {
        let first = state.admission(of: left, at: sequence)?.sequence ?? 0
        let second = state.admission(of: right, at: sequence)?.sequence ?? 0
        return (first, left) < (second, right)
    }

    private func object(
        _ user: UserID, _ role: Role, _ admission: Admission, _ verified: Verification, in state: LogState
    ) -> JSON {
        var object: JSONObject = [
            "handle": .text(state.chain(of: user)?.handle.bytes ?? []), "user": .string(user.description),
            "role": .string(role.description), "since": .time(admission.time),
            "let_in_by": .string(admission.by.description), "verified": .string(verified.word),
        ]
        if let how = verified.how { object["how"] = .string(OccasionWords.word(how)) }
        if let approver = admission.approvedBy { object["approved_by"] = .string(approver.description) }
        if let notAfter = admission.notAfter { object["until"] = .time(notAfter) }
        if let member = state.members[user], case .from(let epoch) = member.history {
            object["from_key"] = .unsigned(epoch)
        }
        return .object(object)
    }

    /// Whether somebody is verified, and how.
    fileprivate struct Verification {
        let word: String
        var how: Pin.Occasion?

        /// The cell of the table.
        var cell: String { how.map(OccasionWords.word) ?? word }
    }

    private func verified(
        _ user: UserID, _ admission: Admission, in state: LogState, _ context: CommandContext
    ) throws -> Verification {
        guard state.chain(of: user) != nil else { return Verification(word: "no") }
        let me = try context.client.people.ownChain()?.user
        // Marks are sealed, and this command may run without the identity.
        guard user != me else { return Verification(word: "you") }
        switch try context.client.trust.memberTrustBlocking(of: user, in: state) {
        case .me: return Verification(word: "you")
        case .verified:
            return Verification(word: "yes", how: try OccasionWords.pin(of: user, context.client)?.occasion)
        case .renewed, .changed: return Verification(word: "no")
        case .unverified:
            let founder = try context.client.trust.founderTrust(in: state)
            let isVouched = user != state.founder && admission.by != me && founder.isVerified
            return Verification(
                word: isVouched ? "by \(context.tresors.handle(of: admission.by, in: state))" : "no")
        }
    }

    private func sequence(of tresor: TresorID, in state: LogState, _ context: CommandContext) async throws -> UInt64 {
        guard let at else { return state.head.sequence }
        if let sequence = UInt64(at) {
            guard sequence <= state.head.sequence else {
                throw CommandFailure(.notFound, "the log ends at entry \(state.head.sequence)")
            }
            return sequence
        }
        guard let date = DateArgument(at) else {
            throw CommandFailure.usage("--at takes an entry's number or a date such as 2026-05-03")
        }
        let records = try await context.client.logs.records(of: tresor).records
        guard let last = records.last(where: { $0.time <= date.end.seconds }) else {
            throw CommandFailure(.notFound, "the tresor did not exist then, by the dates of its authors")
        }
        context.output.say("by the dates that authors wrote, this is after entry \(last.sequence)")
        return last.sequence
    }
}

/// `-t T`.
struct TresorOption: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp("A tresor: its name, OWNER/NAME, or an id of at least 6 characters.", valueName: "T"))
    var tresor: String

    /// The id; the identity is opened unless T is a whole one.
    func id(in context: CommandContext, to reason: String) async throws -> TresorID {
        try await opened(in: context, to: reason).id
    }

    /// The id, and the session if the identity was opened for it.
    func opened(in context: CommandContext, to reason: String) async throws -> (id: TresorID, session: Session?) {
        if let id = try context.tresors.find(id: tresor) { return (id, nil) }
        let session = try await context.unlock(to: reason)
        return (try await context.tresors.find(tresor, for: session).tresor, session)
    }
}

/// `-t T`, once for each tresor.
struct TresorsOption: ParsableArguments, Sendable {
    @Option(
        name: [.customShort("t"), .customLong("tresor")],
        help: ArgumentHelp(
            "A tresor: its name, OWNER/NAME, or an id of at least 6 characters; may be given several times.",
            valueName: "T"))
    var tresors: [String]

    /// The names as the question for a password shows them.
    var shown: String { tresors.map { DisplayText.name($0) }.joined(separator: ", ") }

    /// The tresors, in the order of the options.
    ///
    /// - Throws: 64 when two options mean the same one.
    func summaries(in context: CommandContext, for session: Session) async throws -> [TresorSummary] {
        var found: [TresorSummary] = []
        for text in tresors {
            let summary = try await context.tresors.find(text, for: session)
            guard !found.contains(where: { $0.tresor == summary.tresor }) else {
                throw CommandFailure.usage("\(DisplayText.name(text)) is named twice")
            }
            found.append(summary)
        }
        return found
    }
}

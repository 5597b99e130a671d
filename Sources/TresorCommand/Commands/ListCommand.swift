// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct ListCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "list", aliases: ["ls"], group: .tresors, abstract: "List the tresors I am in.", usage: "tresor list",
            discussion: "STATE is ok, rotate first, left, unverified (its owner), forked, or another error.",
            classes: [.identity, .store], further: [.noAccess, .busy], examples: ["tresor list"])
    }

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let workplace = try await Workplace.open(options)
        let session = try await workplace.unlock(to: "list tresors")
        var table = Table("NAME", "OF", "ROLE", "PEOPLE", "KEY", "STATE")
        var errors: [TresorError] = []
        let summaries = try await session.tresors()
        // By name, as a person looks for it; equal names by id.
        for summary in summaries.sorted(by: { order($0) < order($1) }) {
            var row = Row(summary, me: session.identity.user, workplace)
            if options.json, let kind = await kind(of: summary, session) { row.object["kind"] = .text(kind.bytes) }
            if let error = row.error { errors.append(error) }
            if options.json {
                try workplace.output.object(row.object)
            } else {
                table.add(row.name, row.owner, row.role, row.people, row.key, row.state)
            }
        }
        if !options.json { try workplace.output.table(table) }
        if summaries.isEmpty { workplace.output.say("there are no tresors here yet; tresor create NAME makes one") }
        if let worst = Severity.worst(errors) { throw Exit(code: worst.exitCode) }
    }

    private func order(_ summary: TresorSummary) -> (String, String) {
        (summary.name.map { $0.text } ?? "\u{10ffff}", summary.tresor.description)
    }

    /// What a member can read of the tresor's kind; `nil` where it is empty or does not open.
    private func kind(of summary: TresorSummary, _ session: Session) async -> Name? {
        guard summary.error == nil, let state = summary.state, state.members[session.identity.user] != nil,
            let kind = try? await session.kind(in: state), !kind.isEmpty
        else { return nil }
        return kind
    }

    private struct Row {
        let name: String
        var owner = "-"
        var role = "-"
        var people = "-"
        var key = "-"
        var state = "ok"
        var error: TresorError?
        var object: JSONObject

        init(_ summary: TresorSummary, me: UserID, _ workplace: Workplace) {
            name = workplace.title(of: summary)
            object = ["type": "tresor", "tresor": .string(summary.tresor.description)]
            if let known = summary.name { object["name"] = .text(known.bytes) }
            error = summary.error
            if let known = summary.state { describe(known, me, workplace) }
            if let trust = summary.founderTrust, !trust.isVerified, error == nil {
                state = "unverified"
                error = .unverified
            }
            if let failed = summary.error { state = failed.name.replacing("_", with: " ") }
            object["state"] = .string(state.replacing(" ", with: "_"))
        }

        private mutating func describe(_ known: State, _ me: UserID, _ workplace: Workplace) {
            owner = workplace.handle(of: known.founder, in: known)
            people = String(known.members.count)
            key = String(known.epoch)
            object["owner"] = .text(known.chain(of: known.founder)?.handle.bytes ?? [])
            object["owner_id"] = .string(known.founder.description)
            object["people"] = .unsigned(UInt64(known.members.count))
            object["key"] = .unsigned(known.epoch)
            if let member = known.members[me] {
                role = member.role.description
                object["role"] = .string(role)
                if known.rotateFirst { state = "rotate first" }
            } else {
                state = "left"
            }
        }
    }
}

/// Which of several errors a command ends with.
enum Severity {
    private static let order: [TresorError] = [.forked, .altered, .unverified, .noAccess]

    static func worst(_ errors: [TresorError]) -> TresorError? {
        if let first = order.first(where: errors.contains) { return first }
        return errors.first { if case .store = $0 { true } else { false } } ?? errors.first
    }
}

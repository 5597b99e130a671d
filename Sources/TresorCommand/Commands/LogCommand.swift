// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct LogCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "log", group: .tresors, abstract: "Show the verified log of a tresor.",
            usage: "tresor log -t T [--head]",
            discussion: "Newest first. --head prints SEQ:HASH, to compare with another member.",
            classes: [.identity, .store], further: [.busy],
            examples: ["tresor log -t interventions", "tresor log -t interventions --head"])
    }

    @OptionGroup var tresor: TresorOption

    @Flag(help: "Print only the head of the log.")
    var head = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options)
        let id = try await tresor.id(in: context, to: "read a log")
        let (state, records) = try await records(of: id, context)
        guard !head else { return try printHead(state, context) }
        let lines = records.reversed().map { record in
            (record, handle(record.author, state, context), words(record, state, context))
        }
        let sequenceWidth = String(state.head.sequence).count
        let nameWidth = lines.map { $0.1.count }.max() ?? 0
        for (record, author, change) in lines {
            guard !options.json else {
                try context.output.object(object(record, change, in: state))
                continue
            }
            let sequence = String(record.sequence)
            let columns = [
                String(repeating: " ", count: sequenceWidth - sequence.count) + sequence,
                Timestamp(seconds: record.time).dateAndMinute,
                author + String(repeating: " ", count: nameWidth - author.count), change,
            ]
            try context.output.line(columns.joined(separator: "  "))
        }
    }

    private func records(of id: TresorID, _ context: CommandContext) async throws -> (LogState, [LogRecord]) {
        do throws(TresorError) {
            return try await context.client.logs.records(of: id)
        } catch {
            if case .store = error, let known = try? context.client.archive.verifiedState(of: id),
                let lost = try? await context.client.audit.lostEntries(of: known), lost > 0
            {
                let short = id.description.prefix(10)
                throw CommandFailure(
                    of: error, "the store has lost \(FindingReport.entries(lost)) of the log of \(short)",
                    hints: ["tresor check --repair -t \(short)"])
            }
            throw context.tresors.logFailure(error, id)
        }
    }

    private func printHead(_ state: LogState, _ context: CommandContext) throws {
        let hash = Base32.text(state.head.hash.bytes)
        guard options.json else { return try context.output.line("\(state.head.sequence):\(hash)") }
        try context.output.object([
            "type": "head", "tresor": .string(state.tresor.description), "sequence": .unsigned(state.head.sequence),
            "hash": .string(hash),
        ])
    }

    private func handle(_ user: UserID, _ state: LogState, _ context: CommandContext) -> String {
        context.tresors.handle(of: user, in: state)
    }

    private func words(_ record: LogRecord, _ state: LogState, _ context: CommandContext) -> String {
        func names(_ users: [UserID]) -> String {
            users.map { handle($0, state, context) }.joined(separator: ", ")
        }
        let key = record.epoch.map { ", key \($0)" } ?? ""
        switch record.change {
        case .created: return "created the tresor\(key)"
        case .admitted(let users, let role, let fromNow, let notAfter):
            let until = notAfter.map { ", until \(Timestamp(seconds: $0).date)" } ?? ""
            let verb = users.contains { state.role(of: $0, at: record.sequence) == nil } ? "asked to add" : "added"
            return "\(verb) \(names(users)) as \(role)\(fromNow ? ", from now" : "")\(until)\(key)"
        case .approved(let users, _): return "approved \(names(users))"
        case .refused: return "refused \(names(state.dismissed(at: record.sequence)))"
        case .approversNamed(let users) where users.isEmpty: return "ended approval"
        case .approversNamed(let users): return "named \(names(users)) to approve"
        case .removed(let users): return "removed \(names(users))\(key)"
        case .left: return "left"
        case .renewed(let user, let generation):
            let whose = user == record.author ? "has new keys" : "added new keys of \(names([user]))"
            return "\(whose), generation \(generation)"
        case .rotated: return "changed the key\(key)"
        case .roleChanged(let user, let role, let notAfter):
            let until = notAfter.map { ", until \(Timestamp(seconds: $0).date)" } ?? ""
            return "made \(names([user])) \(role)\(until)"
        case .renamed: return "renamed the tresor"
        case .additive where record.name == "commit": return "changed records"
        case .additive where record.name == "checkpoint": return "sealed the records again"
        case .additive(let type): return "added an entry of kind \(type), which this release does not know"
        }
    }

    private func object(_ record: LogRecord, _ change: String, in state: LogState) -> JSONObject {
        var object: JSONObject = [
            "type": "entry", "tresor": .string(state.tresor.description), "sequence": .unsigned(record.sequence),
            "hash": .string(Base32.text(record.hash.bytes)), "time": .time(record.time),
            "author": .string(record.author.description),
            "author_handle": .text(state.chain(of: record.author)?.handle.bytes ?? []),
        ]
        object["change"] = .string(record.name)
        if !record.users.isEmpty { object["people"] = .array(record.users.map { .string($0.description) }) }
        if let epoch = record.epoch { object["key"] = .unsigned(epoch) }
        object["text"] = .string(change)
        return object
    }
}

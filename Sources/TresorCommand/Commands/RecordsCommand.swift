// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

struct RecordsCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "records", group: .data, abstract: "List the records of a tresor.",
            usage: "tresor records -t T [--versions] [--deleted] [PREFIX]",
            discussion: """
                Fetches what others changed first, and sends nothing. STATE is ok, versions (made without knowing of \
                each other), deleted, or unsent. --versions lists each of several versions; the first one is shown. \
                SIZE is in bytes; for a content above 64 KiB that is sent, it may be 6 percent more than the content. \
                Where the store cannot be reached, it lists what this home saw last, says so, and succeeds.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting],
            examples: ["tresor records -t interventions"])
    }

    @OptionGroup var tresor: TresorOption

    @Flag(help: "List every version that no later one replaced.")
    var versions = false

    @Flag(help: "List deleted records too.")
    var deleted = false

    @Argument(help: ArgumentHelp("How the names begin.", valueName: "PREFIX"))
    var prefix = ""

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let fetched = try await FetchedRecords.read(tresor.tresor, to: "list records", options)
        let (context, records, state) = (fetched.context, fetched.records, fetched.state)
        let list = try await records.list(prefix: prefix, includingDeleted: deleted)
        var table = Table("REV", "DATE", "AUTHOR", "SIZE", "STATE", "NAME")
        if options.json, list.records.isEmpty { try context.output.object(Self.object(ofNone: fetched)) }
        for record in list.records {
            for version in try await self.versions(of: record, in: records) {
                guard !options.json else {
                    try context.output.object(object(version, fetched))
                    continue
                }
                table.add(
                    version.revision.map { String($0) } ?? "-", Timestamp(seconds: version.time).date,
                    author(of: version, state.map { context.tresors.handle(of: version.author, in: $0) } ?? "-"),
                    String(version.size.most), version.state.rawValue, DisplayText.name(version.name))
            }
        }
        if !options.json { try context.output.table(table) }
        fetched.tellAbsence()
        guard !list.isComplete else { return }
        throw CommandFailure(
            .store(.withheld),
            "\(fetched.holder) does not have everything that the log names: other records may be missing")
    }

    /// The rows of a record: one, or with `--versions` one for each version.
    private func versions(of record: RecordSummary, in records: Records) async throws -> [RecordSummary] {
        guard versions, [.versions, .unsent].contains(record.state), record.isVerified else { return [record] }
        do throws(TresorError) {
            let found = try await records.versions(of: record.name).map { RecordSummary(of: $0) }
            // A deletion is no version.
            let isDeletion = record.state == .unsent && !found.contains { $0.state == .unsent }
            return (isDeletion ? [record] : []) + found
        } catch {
            // One is by somebody who was not compared.
            guard error == .unverified else { throw error }
            return [record]
        }
    }

    /// `bob (removed 2026-05-02)`; the bare handle of a verified author who may still write.
    private func author(of record: RecordSummary, _ handle: String) -> String {
        let words = (record.isVerified ? [] : ["not verified"]) + [FileReporter.words(record.status)].compactMap(\.self)
        return words.isEmpty ? handle : "\(handle) (\(words.joined(separator: ", ")))"
    }

    /// The object in the place of records, which would say how far they were read.
    private static func object(ofNone fetched: FetchedRecords) -> JSONObject {
        var object: JSONObject = ["type": "no_records", "tresor": .string(fetched.summary.tresor.description)]
        object.addProof(of: fetched)
        return object
    }

    private func object(_ record: RecordSummary, _ fetched: FetchedRecords) -> JSONObject {
        var object: JSONObject = [
            "type": "record", "tresor": .string(fetched.summary.tresor.description), "name": .string(record.name),
            "date": .time(record.time), "author": .string(record.author.description),
            "state": .string(record.state.rawValue),
        ]
        object.add(record.status)
        object.addProof(of: fetched)
        if record.state != .deleted {
            object["content_type"] = .string(record.type)
            switch record.size {
            case .exactly(let count): object["size"] = .unsigned(UInt64(count))
            case .atMost(let count): object["size_at_most"] = .unsigned(UInt64(count))
            }
        }
        if let revision = record.revision { object["revision"] = .unsigned(revision) }
        if let owner = record.vouchedBy { object["vouched_by"] = .string(owner.description) }
        return object
    }
}

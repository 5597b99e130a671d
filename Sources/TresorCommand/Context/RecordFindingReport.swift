// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

extension FindingReport {
    /// Adds the tresors with an outbox, where no identity is open to look into it.
    mutating func addOutboxes(among ids: [TresorID]) throws {
        for id in context.invocation.places.unsentTresors() where ids.isEmpty || ids.contains(id) {
            let text = "may have changes that are not sent yet: \(HintCompletion.command("sync"))"
            try add("warn", "tresor \(id.description.prefix(10))", text, nil)
        }
    }

    /// The records of a tresor that one is in. Of any other the log says enough.
    mutating func addRecords(of id: TresorID, _ session: Session) async throws {
        let subject = "tresor \(id.description.prefix(10))"
        let found: RecordFindings
        do throws(TresorError) {
            found = try await session.records(in: id).check()
        } catch {
            if [.noAccess, .waiting, .unverified, .notFound, .forked].contains(error) { return }
            return try add("bad", subject, "its records: \(CommandFailure(error).message)", CommandError(error))
        }
        let repair = ": " + HintCompletion.command("check --repair -t \(id.description.prefix(10))")
        if let text = found.lackedPacks { try add("bad", subject, text + repair, .store(.withheld)) }
        if let text = found.lackedContents { try add("bad", subject, text, .store(.withheld)) }
        if let error = found.checkpointError {
            let ways: String
            if case .store = error { ways = repair } else { ways = "" }
            try add("bad", subject, found.words(for: error, of: id) + ways, CommandError(error))
        }
        if !found.void.isEmpty {
            let entries = RecordFindings.entries(found.void)
            try add("warn", subject, "nobody can read the records of entry \(entries)", nil)
        }
        if !found.unsent.isEmpty {
            let count = found.unsent.count == 1 ? "1 record has" : "\(found.unsent.count) records have"
            let text = "\(count) changes that are not sent yet: \(HintCompletion.command("sync"))"
            try add("warn", subject, text, nil)
        }
    }
}

extension RecordFindings {
    /// The failure of a restoration that leaves these; `nil` for none. A home does not keep attachments, so nobody can
    /// restore these.
    func flaw(of id: TresorID) -> CommandFailure? {
        let way = "; an owner or a writer who has them can restore them"
        if let text = lackedPacks { return CommandFailure(.store(.withheld), text + way) }
        if let text = lackedContents { return CommandFailure(.store(.withheld), text) }
        return checkpointError.map { error in
            let isLacking = if case .store = error { true } else { false }
            return CommandFailure(of: error, words(for: error, of: id) + (isLacking ? way : ""))
        }
    }

    /// The words for packs that the store lacks; `nil` for none.
    var lackedPacks: String? { lost.isEmpty ? nil : "the store lacks the records of entry \(Self.entries(lost))" }

    /// The words for what is wrong with the newest checkpoint.
    func words(for error: TresorError, of id: TresorID) -> String {
        switch error {
        case .store: "the store lacks volumes of entry \(checkpoint)"
        case .altered:
            "entry \(checkpoint) keeps other records than were put; who wrote it: "
                + HintCompletion.command("log -t \(id.description.prefix(10))")
        default: "the volumes of entry \(checkpoint): \(CommandFailure(error).message)"
        }
    }

    /// Some numbers of entries.
    static func entries(_ numbers: [UInt64]) -> String {
        numbers.prefix(3).map { String($0) }.joined(separator: ", ") + (numbers.count > 3 ? " and others" : "")
    }

    /// The words for contents that the store lacks; `nil` for none.
    var lackedContents: String? {
        guard let first = lostContents.first else { return nil }
        let count = lostContents.count
        let others = count == 1 ? "" : count == 2 ? " and another record" : " and \(count - 1) other records"
        return "the store lacks the content of \(DisplayText.quoted(first))\(others): put it again"
    }
}

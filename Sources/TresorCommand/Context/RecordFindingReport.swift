// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

extension FindingReport {
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
        func entries(_ numbers: [UInt64]) -> String {
            numbers.prefix(3).map { String($0) }.joined(separator: ", ") + (numbers.count > 3 ? " and others" : "")
        }
        if !found.lost.isEmpty {
            let repair = HintCompletion.complete("tresor check --repair -t \(id.description.prefix(10))")
            let text = "the store lacks the records of entry \(entries(found.lost)): \(repair)"
            try add("bad", subject, text, .store(.withheld))
        }
        if let text = found.lackedContents { try add("bad", subject, text, .store(.withheld)) }
        if let error = found.checkpointError {
            let (entry, short) = ("entry \(found.checkpoint)", id.description.prefix(10))
            let text =
                switch error {
                case .store:
                    "the store lacks volumes of \(entry): \(HintCompletion.command("check --repair -t \(short)"))"
                case .altered:
                    "\(entry) keeps other records than were put; who wrote it: "
                        + HintCompletion.command("log -t \(short)")
                default: "the volumes of \(entry): \(CommandFailure(error).message)"
                }
            try add("bad", subject, text, CommandError(error))
        }
        if !found.void.isEmpty {
            try add("warn", subject, "nobody can read the records of entry \(entries(found.void))", nil)
        }
        if !found.unsent.isEmpty {
            let count = found.unsent.count == 1 ? "1 record has" : "\(found.unsent.count) records have"
            let text = "\(count) changes that are not sent yet: \(HintCompletion.command("sync"))"
            try add("warn", subject, text, nil)
        }
    }
}

extension RecordFindings {
    /// The words for contents that the store lacks; `nil` for none.
    var lackedContents: String? {
        guard let first = lostContents.first else { return nil }
        let count = lostContents.count
        let others = count == 1 ? "" : count == 2 ? " and another record" : " and \(count - 1) other records"
        return "the store lacks the content of \(DisplayText.quoted(first))\(others): put it again"
    }
}

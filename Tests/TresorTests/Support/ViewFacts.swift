// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

extension RecordView {
    /// The view's contents, to compare it with another one: the heads with their commits, what is missing and void, and the
    /// checkpoints.
    func facts(in client: Client) throws -> [String] {
        let packs = PackReader(client: client, tresor: state.tresor)
        var facts: [String] = []
        for name in table.names {
            for head in table.heads(of: name) {
                facts.append("\(name.text) \(head) \(try commit(head.revision, from: packs).hash())")
            }
        }
        for sequence in table.missing.keys.sorted() { facts.append("missing \(sequence)") }
        facts.append("void \(table.void), complete \(table.isComplete), by packs \(isByPacks), behind \(isBehind)")
        return facts + checkpoints.map { "checkpoint \($0.entry.sequence)" }
    }
}

extension Records {
    /// The records that the home shows, by an index where one counts, and without.
    func bothFacts() async throws -> (read: [String], anew: [String]) {
        let view = try await view()
        let anew = try await RecordView.read(at: view.state, from: nil, of: session)
        return (try view.facts(in: session.client), try anew.facts(in: session.client))
    }
}

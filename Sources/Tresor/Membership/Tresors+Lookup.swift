// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

extension Tresors {
    /// Returns the tresors that a text can mean, by rising id: a name, `OWNER/NAME`, or an id of at least 6 characters
    /// (SPEC §9.12, `tresorsNamed`).
    ///
    /// Ids and the names that this home knows come first. Only the logs that they name, and those without a known name,
    /// are read. Where one of these names no longer holds, or there is none, all logs are read. A bare name does not
    /// find a tresor that lies apart.
    @concurrent package func named(_ text: String) async throws(TresorError) -> [TresorSummary] {
        let wanted = WantedTresor(text)
        let offered = try await client.store.tresors(of: identity.user)
        let heads = try client.heads()
        let all = Set(offered).union(heads.heads.keys)
        let byID = all.filter { wanted.isID(of: $0) }
        var byName: Set<TresorID> = []
        var unnamed: Set<TresorID> = []
        if !wanted.isWholeID {
            let names = knownNames()
            byName = all.filter { heads[$0] != nil && names[$0].map(wanted.canBe) == true }
            unnamed = all.filter { heads[$0] != nil && names[$0] == nil }
        }
        let known = await summaries(of: byID.union(byName).union(unnamed))
        let found = known.filter(wanted.isMet(by:))
        let holds = known.allSatisfy { summary in
            guard byName.contains(summary.tresor) else { return true }
            return summary.state?.members[identity.user] != nil && summary.name.map(wanted.canBe) == true
        }
        if !found.isEmpty, holds { return found }
        return await summaries(of: all).filter(wanted.isMet(by:))
    }

    /// Returns the tresors that a text can mean as far as this home knows, by rising id. The store is not asked.
    package func kept(named text: String) throws(TresorError) -> [TresorSummary] {
        let wanted = WantedTresor(text)
        let (heads, names) = (try client.heads(), knownNames())
        var kept: [TresorSummary] = []
        for tresor in heads.heads.keys.sorted() {
            let isNamed = names[tresor].map(wanted.canBe) == true
            guard isNamed || wanted.isID(of: tresor) else { continue }
            let state = try client.archive.verifiedState(of: tresor)
            let summary = TresorSummary(tresor: tresor, state: state, name: names[tresor])
            if wanted.isMet(by: summary) { kept.append(summary) }
        }
        return kept
    }
}

/// The possible meanings of a text.
private struct WantedTresor {
    private let name: Name?
    /// The `OWNER` and the `NAME`.
    private let parts: [Name]
    private let prefix: Base32.Prefix?

    init(_ text: String) {
        name = try? Name(typed: text)
        // Split by bytes: to Swift a slash and a combining mark are one other character.
        parts = text.utf8.split(separator: UInt8(ascii: "/"), maxSplits: 1, omittingEmptySubsequences: false)
            .compactMap { try? Name(typed: String(Substring($0))) }
        prefix = Base32.Prefix(text)
    }

    var isWholeID: Bool { prefix?.isWhole(of: Hash256.byteCount) ?? false }

    func isID(of tresor: TresorID) -> Bool { prefix?.begins(tresor.digest.bytes) ?? false }

    /// Whether a tresor of this name can be meant, of any owner.
    func canBe(_ known: Name) -> Bool { known == name || parts.count == 2 && known == parts[1] }

    func isMet(by summary: TresorSummary) -> Bool {
        if isID(of: summary.tresor) { return true }
        guard let found = summary.name else { return false }
        if found == name, !summary.isApart { return true }
        guard parts.count == 2, found == parts[1], let state = summary.state else { return false }
        return state.chain(of: state.founder)?.handle == parts[0]
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Many entries at once: all cores check each entry alone, and the rules follow in order (SPEC §9.4).
extension Fold {
    /// The parts of an entry that need no state.
    private struct Prepared: Sendable {
        package let entry: Result<Entry, TresorError>
        package let hash: Hash256
        var signature: SignatureCheck?
    }

    /// The result of a signature check under a key. Used only if the state names that same key.
    package struct SignatureCheck: Sendable {
        package let key: Hash256
        package let holds: Bool
    }

    private static let grain = 32

    /// Takes consecutive entries, with the same result as one by one.
    ///
    /// - Throws: the error of the first broken rule. The state is then that before the refused entry.
    package mutating func apply(_ page: [[UInt8]]) throws(TresorError) {
        guard page.count > 1 else {
            for entry in page { try apply(entry) }
            return
        }
        var prepared = try Cores.map(page.count, grain: Self.grain) { (range) throws(TresorError) in
            var prepared: [Prepared] = []
            for bytes in page[range] {
                let entry = Result { () throws(TresorError) in try Entry(bytes) }
                prepared.append(Prepared(entry: entry, hash: try BLAKE2b.hash(.entryHash, bytes)))
            }
            return prepared
        }
        let keys = foreseeKeys(of: prepared)
        let entries = prepared
        let signatures = try Cores.map(page.count, grain: Self.grain) { (range) throws(TresorError) in
            range.map { index -> SignatureCheck? in
                guard let key = keys[index], case .success(let entry) = entries[index].entry else { return nil }
                return SignatureCheck(key: key, holds: entry.isSigned(by: key))
            }
        }
        for index in prepared.indices { prepared[index].signature = signatures[index] }
        for prepared in prepared {
            try apply(try Self.noting(&brokenRule, prepared.entry), hash: prepared.hash, signature: prepared.signature)
        }
    }

    private static func noting(
        _ rule: inout Rule?, _ entry: Result<Entry, TresorError>
    ) throws(TresorError) -> Entry {
        do throws(TresorError) {
            return try entry.get()
        } catch {
            rule = error == .unsupported ? .r1 : .r2
            throw error
        }
    }

    /// The keys that sign the entries if every entry is valid. Nothing is trusted because of them.
    private func foreseeKeys(of page: [Prepared]) -> [Hash256?] {
        var chains: [UserID: CardChain] = [:]
        return page.map { prepared in
            guard case .success(let entry) = prepared.entry else { return nil }
            let body = try? entry.body
            if case .genesis(let genesis) = body {
                chains[entry.author] = genesis.founder
                for approver in genesis.approvers { chains[approver.chain.user] = approver.chain }
            }
            let chain = chains[entry.author] ?? state?.chain(of: entry.author)
            switch body {
            case .grant(let grant): for chain in grant.people { chains[chain.user] = chain }
            case .approvers(let named):
                for approver in named.approvers { chains[approver.chain.user] = approver.chain }
            case .renew(let renew):
                let user = renew.user
                let longer = try? (chains[user] ?? state?.chain(of: user))?.appending(renew.card)
                if let longer { chains[user] = longer }
            default: break
            }
            return chain?.card(generation: entry.generation)?.signingKey
        }
    }
}

extension Entry {
    func isSigned(by key: Hash256) -> Bool {
        (try? Ed25519.verify(signature, of: DomainLabel.entrySignature.message(signed), by: key)) != nil
    }
}

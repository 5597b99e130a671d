// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The validation of logs (SPEC §9.4). It takes entries in order, checks each against the state before it by the rules
/// of SPEC §9.3, and computes the state. It has no clock and does no I/O. It accepts unknown bodies only if they cannot
/// change the state.
package struct Fold: Sendable {
    /// The tresor of the log.
    package let tresor: TresorID
    /// The state after the last entry; `nil` before the genesis.
    package private(set) var state: LogState?
    /// The rule that the refused entry broke.
    package internal(set) var brokenRule: Rule?
    /// The rule that makes the additive body of the last entry void; `nil` for a body with an effect.
    package private(set) var voidRule: Rule?

    /// Begins with an empty log.
    package init(tresor: TresorID) { self.tresor = tresor }

    /// Continues from a folded state.
    package init(state: LogState) {
        tresor = state.tresor
        self.state = state
    }

    private static let pageCount = 1024

    /// Folds a whole log.
    ///
    /// - Throws: the error of the first broken rule; ``TresorError/altered`` for no entries.
    package static func state(of entries: [[UInt8]], tresor: TresorID) throws(TresorError) -> LogState {
        var fold = Fold(tresor: tresor)
        for start in stride(from: 0, to: entries.count, by: pageCount) {
            try fold.apply(Array(entries[start..<min(start + pageCount, entries.count)]))
        }
        guard let state = fold.state else { throw .altered }
        return state
    }

    /// Takes one entry. An error leaves the state unchanged.
    ///
    /// - Throws: the error of the broken rule.
    package mutating func apply(_ bytes: [UInt8]) throws(TresorError) {
        let entry: Entry
        do throws(TresorError) {
            entry = try Entry(bytes)
        } catch {
            let rule: Rule = error == .unsupported ? .r1 : .r2
            brokenRule = rule
            throw rule.error
        }
        try apply(entry)
    }

    /// Takes one entry that was read already, with known hash or signature check.
    ///
    /// - Throws: the error of the broken rule.
    package mutating func apply(_ entry: Entry, hash: Hash256? = nil, signature: SignatureCheck? = nil)
        throws(TresorError)
    {
        do throws(Violation) {
            let validator = try EntryValidator(
                entry: entry, tresor: tresor, head: state?.head, hash: hash, signature: signature)
            guard let body = try validator.acceptedBody(in: state) else { return }
            let effect = EntryEffect(entry: entry, hash: validator.hash)
            voidRule = state.flatMap { validator.voidRule(of: body, in: $0) }
            // A second reference to the state would make the change copy it.
            if var next = state.take() {
                effect.apply(voidRule == nil ? body : nil, to: &next)
                state = next
            } else if case .genesis(let genesis) = body {
                state = genesis.state(effect)
            }
        } catch {
            brokenRule = error.rule
            throw error.rule.error
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The outcome of a commit for one reader (SPEC §19.2).
package enum PackOutcome: Hashable, Sendable {
    /// The pack opened.
    case items([Item])
    /// It was made before the present history of this person.
    case notMine
    /// The pack is not there, or is not readable here; it is asked for again.
    case missing(TresorError)
    /// The body or the pack breaks a rule. Everybody who can open the pack sees the same, and nothing is changed by it.
    case void

    /// Opens the pack of a commit (SPEC §19.2).
    ///
    /// - Parameters:
    ///   - bytes: what the store has as the pack; `nil` for nothing.
    ///   - entry: an entry of this log with the type of a commit.
    ///   - history: the present history of this person; `nil` for one who is no member.
    ///   - state: the newest verified state.
    ///   - keys: gives the keys of the commit's epoch, checked against the log.
    package static func openPack(
        _ bytes: [UInt8]?, of entry: Entry, history: History?, in state: LogState,
        with keys: () throws(TresorError) -> EpochKeys
    ) -> PackOutcome {
        guard case .commit(let commit) = try? entry.body, let blob = commit.blobs.first,
            state.voidRule(of: entry) == nil
        else { return .void }
        guard let history, history.firstEpoch <= commit.epoch else { return .notMine }
        let object = NamedObject(entry: entry, blob: blob, epoch: commit.epoch, type: .pack)
        do throws(TresorError) {
            let named = try object.named(bytes)
            let keys = try keys()
            return try open(named, object, commit, with: keys, in: state)
        } catch {
            return .missing(error)
        }
    }

    /// Judges bytes that all members share, so that all judge alike.
    private static func open(
        _ bytes: [UInt8], _ object: NamedObject, _ commit: CommitBody, with keys: EpochKeys, in state: LogState
    ) throws(TresorError) -> PackOutcome {
        do throws(TresorError) {
            let (content, head) = try object.open(bytes, with: keys.content, label: .fileSeal, in: state)
            return .items(try Pack(content, head: head, blobCount: commit.blobs.count).items)
        } catch {
            switch error {
            case .altered, .noAccess, .forked: return .void
            default: throw error
            }
        }
    }
}

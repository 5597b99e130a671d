// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore
package import TresorCrypto

/// Keeps snapshots of validated states under a tag that only one generation of an identity can make (SPEC §9.10).
///
/// It holds the key of those tags and nothing else of the identity.
package final class Snapshots: Sendable {
    /// The most entries of a log for each entry that its snapshot lacks. Snapshots are then seldom written, and few
    /// entries are left to fold.
    private static let patience: UInt64 = 64

    private final class Key: Sendable {
        let key: SecretKey<StateUse>

        init(_ key: consuming SecretKey<StateUse>) { self.key = key }
    }

    private let key: Lockable<Key>
    private let user: UserID
    /// The sequence number of each snapshot that was found in order.
    private let kept = Mutex<[TresorID: UInt64]>([:])

    package init(_ identity: Identity) throws(TresorError) {
        key = Lockable(Key(try identity.stateKey()))
        user = identity.user
    }

    /// Wipes the key, as soon as the step that uses it has ended.
    func lock() { key.lock() }

    /// Encodes a snapshot: the state, then the 32-byte tag.
    package func bytes(of state: LogState) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        state.encode(into: &encoder)
        encoder.digest(try tag(encoder.bytes))
        return encoder.bytes
    }

    /// Opens a snapshot. Nothing is decoded before the tag is checked.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package func openSnapshot(_ bytes: [UInt8]) throws(TresorError) -> LogState {
        let body = Array(bytes.dropLast(Hash256.byteCount))
        guard let tag = Hash256(Array(bytes.dropFirst(body.count))), constantTimeEqual(try self.tag(body), tag) else {
            throw .altered
        }
        var decoder = ByteDecoder(body)
        let state = try LogState(from: &decoder)
        try decoder.end()
        return state
    }

    private func tag(_ body: [UInt8]) throws(TresorError) -> Hash256 {
        try key.unlocked().key.deriveDigest(.stateTag, context: body.span)
    }

    /// Reads the snapshot that a home keeps of a tresor; `nil` when there is none, or it is not in order.
    func state(of tresor: TresorID, in home: any Home) throws(TresorError) -> LogState? {
        guard let bytes = try home.read(.state(tresor)), let state = try? openSnapshot(bytes), state.tresor == tresor
        else {
            return nil
        }
        return state
    }

    /// Records that the home keeps this snapshot.
    func note(_ state: LogState) { kept.withLock { $0[state.tresor] = state.head.sequence } }

    /// Whether a new snapshot is due. None is for somebody who is out of the tresor.
    func isDue(_ state: LogState) -> Bool {
        guard state.members[user] != nil else { return false }
        guard let last = kept.withLock({ $0[state.tresor] }), last <= state.head.sequence else { return true }
        return (state.head.sequence - last) * Self.patience >= state.entryCount && last != state.head.sequence
    }

    func keep(_ state: LogState, in home: any Home) throws(TresorError) {
        try home.replace(.state(state.tresor), with: try bytes(of: state))
        note(state)
    }
}

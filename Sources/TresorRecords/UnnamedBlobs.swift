// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The blobs that a store has of a tresor, and that no entry of its log names: a program was killed before it sent their
/// entry, or before it took them back (SPEC §19.7).
struct UnnamedBlobs: Sendable {
    let session: Session
    let tresor: TresorID

    /// Deletes them from a store that does not forget them by itself. Those that this home is about to name stay. Another
    /// program that uploads one at this moment finds it gone, and puts it again. Where the log grows by then, they stay. So
    /// do all where it has an entry with a body that this program does not know: that may name some.
    func delete() async throws(TresorError) {
        let client = session.client
        guard let store = client.hoardingStore else { return }
        let state = try await client.logs.state(of: tresor)
        let entries = try await CommitReader(client: client).entries(of: state, from: 0, where: Self.mayName)
        let box = try await OutboxFile(session: session, tresor: tresor).present()
        let coming = box.attachments.map(\.attachment.blob) + box.sentAttachments.map(\.blob)
        var named = Set(coming.map(\.hash))
        for entry in entries {
            let body = try entry.body
            if case .additive = body { return }
            named.formUnion(body.blobs.map(\.hash))
        }
        do throws(TresorError) {
            try await store.deleteBlobs(besides: named, in: tresor, while: state.head.hash)
        } catch {
            guard error == .busy else { throw error }
        }
    }

    /// Whether an entry names blobs, or has a body that this program does not know.
    private static func mayName(_ entry: Entry) -> Bool {
        guard let body = try? entry.body else { return true }
        if case .additive = body { return true }
        return !body.blobs.isEmpty
    }
}

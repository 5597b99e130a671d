// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto

/// Shows people by their handles. Who can be taken for somebody else bears the beginning of their user id (SPEC §7.8).
final class ShownPeople: Sendable {
    private struct Crowd {
        let head: Head
        let lookalikes: Lookalikes
    }

    /// The people of the log that was shown last.
    private let crowd = Mutex<Crowd?>(nil)

    /// `anna`, or `anna (4xk7)` where somebody else of a log, or whom this home knows, has a handle that looks like it, and
    /// where a letter beside Latin ones only looks like one of them.
    func name(_ handle: Name, of user: UserID, in state: LogState? = nil, for client: Client) -> String {
        if Skeleton.disguise(in: handle)?.isMixed == true { return Self.marked(handle, of: user) }
        // Pins that cannot be read are reported by what relies on them.
        let others = (try? lookalikes(in: state, client))?.others(like: handle, of: user) ?? []
        return others.isEmpty ? DisplayText.name(handle.bytes) : Self.marked(handle, of: user)
    }

    /// `anna (4xk7)`.
    static func marked(_ handle: Name, of user: UserID) -> String {
        "\(DisplayText.name(handle.bytes)) (\(user.description.prefix(4)))"
    }

    /// A sentence about a handle that is not spelled as it looks; `nil` for any other one.
    static func spelling(of chain: CardChain) -> String? {
        Skeleton.disguise(in: chain.handle).map {
            "\(marked(chain.handle, of: chain.user)) is not spelled as it looks: \($0.text)"
        }
    }

    private func lookalikes(in state: LogState?, _ client: Client) throws(TresorError) -> Lookalikes {
        guard let state else { return try client.people.lookalikes() }
        if let known = crowd.withLock({ $0 }), known.head == state.head { return known.lookalikes }
        let lookalikes = try client.people.lookalikes(in: state)
        crowd.withLock { $0 = Crowd(head: state.head, lookalikes: lookalikes) }
        return lookalikes
    }
}

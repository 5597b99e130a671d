// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

extension CommandContext {
    /// Says of the file of a store that it has nothing of this person, although this home knows tresors. Another stick at
    /// the same path is such a file, and so is one that lost everything.
    ///
    /// - Returns: `nil` for any other store, and for a service, which the home knows again by its key.
    func storeDoubt() async -> String? {
        guard service == nil, let path = try? invocation.places.store(),
            let user = try? client.identityFileBlocking().chain.user,
            let known = try? client.logs.knownBlocking(), !known.isEmpty
        else { return nil }
        do throws(TresorError) {
            guard try await client.store.card(of: user) == nil else { return nil }
            for tresor in known {
                guard try await client.store.entries(of: tresor, from: 0, limit: 1).isEmpty else { return nil }
            }
        } catch { return nil }
        return "the store at \(DisplayText.quoted(path)) has nothing of yours, neither your card nor any of your "
            + "tresors: is it the right file, or the right stick?"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// A store that cannot be reached for some looks into a mailbox, and in which somebody else is faster.
final class MailboxStore: FrontStore, ReplacingStore {
    let truth: any Store
    private let failures = Mutex(0)
    private let interlude = Mutex<(@Sendable () async -> Void)?>(nil)

    init(_ truth: any Store) { self.truth = truth }

    /// Fails the next looks.
    func fail(_ count: Int) { failures.withLock { $0 = count } }

    /// The looks that are still to fail.
    var failuresLeft: Int { failures.withLock { $0 } }

    /// Runs this once, before the next mailbox is replaced.
    func beforeReplacing(_ interlude: @escaping @Sendable () async -> Void) {
        self.interlude.withLock { $0 = interlude }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        let fails = failures.withLock { left in
            defer { left = max(0, left - 1) }
            return left > 0
        }
        if fails { throw .store(.unreachable) }
        return try await truth.kitCopy(locator: locator)
    }

    func replaceKitCopy(
        _ present: [UInt8], with copy: [UInt8], locator: Hash256
    ) async throws(TresorError) -> Bool {
        let interlude = interlude.withLock { interlude in
            defer { interlude = nil }
            return interlude
        }
        await interlude?()
        guard try await truth.kitCopy(locator: locator) == present else { return false }
        try await truth.putKitCopy(copy, locator: locator)
        return true
    }
}

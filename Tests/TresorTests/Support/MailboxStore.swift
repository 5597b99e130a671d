// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// A store that cannot be reached for some looks into a mailbox and some changes of it, and in which somebody else is
/// faster.
final class MailboxStore: FrontStore, ReplacingStore {
    let truth: any Store
    /// The fate of a change.
    enum Fate: Sendable {
        /// It is made, and its reply is lost.
        case lost
        /// It is not made.
        case refused
        /// It is not made, and the store does not say why.
        case denied
    }

    private let failures = Mutex((left: 0, error: TresorError.store(.unreachable)))
    private let fates = Mutex<[Fate]>([])
    private let interlude = Mutex<(@Sendable () async -> Void)?>(nil)
    private let postlude = Mutex<(@Sendable () async -> Void)?>(nil)

    init(_ truth: any Store) { self.truth = truth }

    /// Fails the next looks.
    func fail(_ count: Int, with error: TresorError = .store(.unreachable)) {
        failures.withLock { $0 = (count, error) }
    }

    /// The looks that are still to fail.
    var failuresLeft: Int { failures.withLock { $0.left } }

    /// Fails the next changes.
    func fail(_ fates: Fate...) { self.fates.withLock { $0 = fates } }

    /// The changes that are still to fail.
    var fatesLeft: Int { fates.withLock { $0.count } }

    /// Runs this once, after the next mailbox was put.
    func afterPutting(_ postlude: @escaping @Sendable () async -> Void) { self.postlude.withLock { $0 = postlude } }

    private func failing(_ change: () async throws(TresorError) -> Void) async throws(TresorError) {
        let fate: Fate? = fates.withLock { $0.isEmpty ? nil : $0.removeFirst() }
        if fate == nil || fate == .lost { try await change() }
        if let fate { throw fate == .denied ? .store(.other) : .store(.unreachable) }
    }

    /// Runs this once, before the next mailbox is replaced.
    func beforeReplacing(_ interlude: @escaping @Sendable () async -> Void) {
        self.interlude.withLock { $0 = interlude }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        let failure = failures.withLock { failures in
            defer { failures.left = max(0, failures.left - 1) }
            return failures.left > 0 ? failures.error : nil
        }
        if let failure { throw failure }
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
        try await failing { () async throws(TresorError) in try await truth.putKitCopy(copy, locator: locator) }
        return true
    }

    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await failing { () async throws(TresorError) in
            try await truth.putKitCopy(copy, locator: locator)
            let postlude = postlude.withLock { postlude in
                defer { postlude = nil }
                return postlude
            }
            await postlude?()
        }
    }
}

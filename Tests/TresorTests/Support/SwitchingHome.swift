// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto
import TresorStore

@testable import TresorCore

/// A home that another program changes at one moment.
final class SwitchingHome: Home {
    enum Moment {
        case lock, outbox
        /// The outbox is read while nobody else may change the home.
        case lockedOutbox
    }

    private let state: Mutex<(now: MemoryHome, next: MemoryHome?)>
    private let isLocked = Mutex(false)
    private let moment: Moment

    init(_ home: MemoryHome, to next: MemoryHome, at moment: Moment) {
        state = Mutex((home, next))
        self.moment = moment
    }

    /// Whether the moment has come.
    var hasSwitched: Bool { state.withLock { $0.next == nil } }

    private var now: MemoryHome { state.withLock { $0.now } }

    private func come(_ moment: Moment) {
        guard moment == self.moment else { return }
        state.withLock { state in
            guard let next = state.next else { return }
            state = (next, nil)
        }
    }

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        if case .outbox = object.kind {
            come(.outbox)
            if isLocked.withLock({ $0 }) { come(.lockedOutbox) }
        }
        return now.read(object)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try now.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? { try now.readSecret(object) }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try now.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) { now.delete(object) }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        come(.lock)
        isLocked.withLock { $0 = true }
        defer { isLocked.withLock { $0 = false } }
        return try now.exclusively(body)
    }

    func slotLock() -> SlotLock? { now.slotLock() }
}

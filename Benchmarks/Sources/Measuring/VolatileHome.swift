// SPDX-License-Identifier: Apache-2.0

import Synchronization

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// A home that keeps nothing.
package final class VolatileHome: Home {
    private let objects = Mutex<[HomeObject: [UInt8]]>([:])
    private let slots = SlotMutex()

    package init() {}

    package func read(_ object: HomeObject) -> [UInt8]? { objects.withLock { $0[object] } }
    package func replace(_ object: HomeObject, with bytes: [UInt8]) { objects.withLock { $0[object] = bytes } }
    package func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let bytes = read(object) else { return nil }
        return try SecretBytes(copying: bytes.span)
    }

    package func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        replace(object, with: (0..<bytes.count).map { bytes.span[$0] })
    }

    package func delete(_ object: HomeObject) { objects.withLock { $0[object] = nil } }
    package func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try body()
    }

    package func slotLock() -> SlotLock? { slots.lock() }
}

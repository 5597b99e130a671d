// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto

/// The home of a person of the vectors during a test.
final class SelftestHome: Home {
    private let objects: Mutex<[HomeObject: [UInt8]]>
    private let slots = SlotMutex()

    init(_ objects: [HomeObject: [UInt8]] = [:]) { self.objects = Mutex(objects) }

    func read(_ object: HomeObject) -> [UInt8]? { objects.withLock { $0[object] } }

    func replace(_ object: HomeObject, with bytes: [UInt8]) { objects.withLock { $0[object] = bytes } }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let bytes = read(object) else { return nil }
        return try SecretBytes(copying: bytes.span)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        replace(object, with: (0..<bytes.count).map { bytes.span[$0] })
    }

    func delete(_ object: HomeObject) { objects.withLock { $0[object] = nil } }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result { try body() }

    func slotLock() -> SlotLock? { slots.lock() }
}

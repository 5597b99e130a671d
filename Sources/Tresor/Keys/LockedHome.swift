// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The home of a locked session. Every call throws ``TresorError/usage(_:)`` with `locked`.
struct LockedHome: Home {
    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? { throw .usage(.locked) }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) { throw .usage(.locked) }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? { throw .usage(.locked) }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        throw .usage(.locked)
    }

    func delete(_ object: HomeObject) throws(TresorError) { throw .usage(.locked) }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        throw .usage(.locked)
    }

    func slotLock() throws(TresorError) -> SlotLock? { throw .usage(.locked) }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A home in front of one in memory. It looks at each call, then forwards it.
protocol ForwardingHome: Home {
    var base: MemoryHome { get }

    /// Runs before each reading, writing and deletion.
    func look()
}

extension ForwardingHome {
    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        look()
        return base.read(object)
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        look()
        try base.replace(object, with: bytes)
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        look()
        return try base.readSecret(object)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        look()
        try base.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        look()
        base.delete(object)
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try base.exclusively(body)
    }

    func slotLock() -> SlotLock? { base.slotLock() }
}

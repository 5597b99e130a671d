// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// A home of which an interrupt finds every object wholly old or wholly new, and no temporary.
struct UninterruptedHome: Home {
    let home: DirectoryHome

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? { try home.read(object) }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try Interrupts.atomically { () throws(TresorError) in try home.replace(object, with: bytes) }
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? { try home.readSecret(object) }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        try home.replace(object, withSecret: bytes)
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        try Interrupts.atomically { () throws(TresorError) in try home.delete(object) }
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        try home.exclusively(body)
    }

    func slotLock() throws(TresorError) -> SlotLock? { try home.slotLock() }
}

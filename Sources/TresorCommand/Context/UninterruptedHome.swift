// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// A home of which an interrupt finds every object wholly old or wholly new, and no temporary. What is in
/// the way of a call is noted.
struct UninterruptedHome: Home {
    let home: DirectoryHome

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        do throws(TresorError) { return try home.read(object) } catch { throw noted(error, object) }
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        do throws(TresorError) {
            try Interrupts.atomically { () throws(TresorError) in try home.replace(object, with: bytes) }
        } catch { throw noted(error, object) }
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        do throws(TresorError) { return try home.readSecret(object) } catch { throw noted(error, object) }
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        do throws(TresorError) { try home.replace(object, withSecret: bytes) } catch { throw noted(error, object) }
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        do throws(TresorError) {
            try Interrupts.atomically { () throws(TresorError) in try home.delete(object) }
        } catch { throw noted(error, object) }
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        do throws(TresorError) { return try home.exclusively(body) } catch { throw noted(error) }
    }

    func slotLock() throws(TresorError) -> SlotLock? {
        do throws(TresorError) { return try home.slotLock() } catch { throw noted(error) }
    }

    private func noted(_ error: TresorError, _ object: HomeObject? = nil) -> TresorError {
        guard error == .failed(.permissions) || error == .failed(.readOnly) else { return error }
        let paths = home.commonPaths + (object.map { [home.path(of: $0)] } ?? [])
        Surroundings.current.homeFault.note(error, HomeFault.found(at: paths))
        return error
    }
}

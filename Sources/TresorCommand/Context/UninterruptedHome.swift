// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// A home of which an interrupt finds every object wholly old or wholly new, and no temporary. It notes which object a
/// failed call was about.
struct UninterruptedHome: Home {
    let home: DirectoryHome

    func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        do throws(TresorError) { return try home.read(object) } catch { throw noted(error, object) }
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        do throws(TresorError) {
            try Interrupts.atomically { () throws(TresorError) in try home.replace(object, with: bytes) }
        } catch { throw noted(error, object) }
        Surroundings.current.homeFault.forget()
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        do throws(TresorError) { return try home.readSecret(object) } catch { throw noted(error, object) }
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        do throws(TresorError) { try home.replace(object, withSecret: bytes) } catch { throw noted(error, object) }
        Surroundings.current.homeFault.forget()
    }

    func delete(_ object: HomeObject) throws(TresorError) {
        do throws(TresorError) {
            try Interrupts.atomically { () throws(TresorError) in try home.delete(object) }
        } catch { throw noted(error, object) }
    }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        var isHeld = false
        do throws(TresorError) {
            return try home.exclusively { () throws(TresorError) in
                isHeld = true
                return try body()
            }
        } catch {
            // The calls within note their own objects.
            throw isHeld ? error : noted(error, nil)
        }
    }

    func slotLock() throws(TresorError) -> SlotLock? {
        do throws(TresorError) { return try home.slotLock() } catch { throw noted(error, nil) }
    }

    private func noted(_ error: TresorError, _ object: HomeObject?) -> TresorError {
        if let failure = HomeFault.failure(for: error, of: object, in: home) {
            Surroundings.current.homeFault.note(error, failure)
        }
        return error
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto

    /// Whether a revocation could be written: into the database, and into the file of revocations, which is where the next
    /// start looks for it. Everybody may ask, so all who ask in one second share one look.
    final class Health: Sendable {
        private struct Look {
            let time: ContinuousClock.Instant
            let isGood: Task<Bool, Never>
        }

        private let engine: any SQLEngine
        private let revocations: (any RevocationLog)?
        private let clock: @Sendable () -> ContinuousClock.Instant
        private let last = Mutex<Look?>(nil)
        /// Whether damage of the database was seen.
        private let isDamaged = Mutex(false)

        init(
            engine: any SQLEngine, revocations: (any RevocationLog)?,
            clock: @escaping @Sendable () -> ContinuousClock.Instant
        ) {
            self.engine = engine
            self.revocations = revocations
            self.clock = clock
        }

        /// Notes why a request was refused. A damaged database is not good again by itself, whatever can still be written.
        func note(_ cause: Refusal.Cause?) { if cause == .damaged { isDamaged.withLock { $0 = true } } }

        /// Whether a write came onto the disk, and a revocation could.
        func isGood() async -> Bool {
            if isDamaged.withLock({ $0 }) { return false }
            let now = clock()
            let look = last.withLock { last in
                if let last, now < last.time + .seconds(1) { return last.isGood }
                let look = Task { [engine, revocations] in
                    do throws(TresorError) {
                        // It waits for a process that writes into the file.
                        _ = try await Cores.apart { () throws(TresorError) in try revocations?.checkPlace() }
                    } catch {
                        return false
                    }
                    // The log of SQLite may have room for one page, and for nothing that a person does.
                    guard !engine.isDiskFull else { return false }
                    // It changes nothing, and is written all the same.
                    return (try? await engine.write([SQL("UPDATE services SET id = 1 WHERE id = 1")])) != nil
                }
                last = Look(time: now, isGood: look)
                return look
            }
            return await look.value
        }
    }
#endif

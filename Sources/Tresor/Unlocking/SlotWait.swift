// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// How a change of the key slots waits for another one in the same home (SPEC §8.4).
package struct SlotWait: Sendable {
    /// The longest wait.
    package var patience = Duration.seconds(60)
    /// Lets a part of the wait pass.
    package var pause: @Sendable (Duration) async -> Void = { try? await Task.sleep(for: $0) }
    /// Is told when a wait begins, once for each change.
    package var begins: @Sendable () -> Void = {}

    package init() {}

    /// Takes the slot lock.
    ///
    /// - Throws: ``TresorError/busy`` when another task or process has it for longer than the patience;
    ///   ``TresorError/cancelled``; the errors of the home.
    package func lock(_ home: any Home) async throws(TresorError) -> SlotLock {
        let step = Duration.milliseconds(20)
        var waited = Duration.zero
        while true {
            try Cancellation.check()
            if let lock = try home.slotLock() { return lock }
            guard waited < patience else { throw .busy }
            if waited == .zero { begins() }
            await pause(step)
            waited += step
        }
    }
}

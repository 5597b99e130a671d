// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto

/// Why a trusted device does not open the identity now, although a password may.
struct DeviceFault {
    /// The command that trusts the device again.
    static let wayOut = "tresor remember"
    /// The words for a device that the store has nothing of.
    static let unknown = "it was revoked, a recover in another home ended it, or the store has lost its server share"

    /// The fault and its reason, as a sentence without an end.
    let words: String
    /// Whether it can be trusted again.
    let isOver: Bool

    /// - Parameter error: of ``DeviceUnlock/unlock()``.
    /// - Returns: `nil` for an error that says nothing about the device.
    init?(_ error: TresorError, of client: Client) {
        let reason: String
        switch error {
        case .noAccess:
            let isExpired = (try? client.device.isExpiredBlocking()) ?? false
            reason = isExpired ? "its last day has passed" : Self.unknown
        case .altered: reason = "its two shares do not belong together, or the identity file is damaged"
        case .unsupported: reason = "a newer release made its share, or the identity file"
        // A service hands out a server share once for a request, and has to write that down.
        case .store(.full):
            words = "this device does not open the identity now: \(CommandFailure.words(for: error))"
            isOver = false
            return
        default: return nil
        }
        words = "this device no longer opens the identity: \(reason)"
        isOver = true
    }
}

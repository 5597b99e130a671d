// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto
import TresorRemote

/// The notices of the client of a service in this run, beside its answers.
final class ServiceNotices: Sendable {
    private struct Reason {
        let error: CommandError
        let message: String
        let hints: [String]
    }

    private let reason = Mutex<Reason?>(nil)
    private let isDeviceTold = Mutex(false)

    /// Whether nobody has told in this run that the device is no longer trusted. Now somebody does.
    func tellsDevice() -> Bool {
        isDeviceTold.withLock { isTold in
            defer { isTold = true }
            return !isTold
        }
    }

    /// Says that requests are dated by the service, or notes why the command fails.
    ///
    /// - Parameters:
    ///   - place: the address of the service, fit to be shown.
    ///   - damage: the failure of a home that cannot tell which services it has met.
    ///   - say: shows the person a line.
    ///   - hint: shows the person a command.
    func take(
        _ notice: ServiceNotice, from place: String, damage: @autoclosure () -> CommandFailure?, say: (String) -> Void,
        hint: (String) -> Void
    ) {
        switch notice {
        case .clockOff(let own, let service):
            say("\(Self.clocks(own, service, place)); requests are dated by the service: set this clock")
        case .clockFarOff(let own, let service):
            note(
                .failed(.serviceClock),
                "\(Self.clocks(own, service, place)): they are more than 15 minutes apart; "
                    + "set this clock, or tell the operator to set theirs")
        // Somebody in between gets no record of a password. A log-in at the former service is not lost at another one.
        case .otherService:
            if let damage = damage() { return note(.altered, damage.message, hints: damage.hints) }
            note(
                .altered,
                "the service at \(place) is not the one that this home has met there; "
                    + "ask its operator whether they made a new one: if they did not, somebody stands in between",
                hints: ["tresor register --no-login --replace"])
        case .deviceUnknown:
            guard tellsDevice() else { return }
            say("this device is no longer trusted: \(DeviceFault.unknown)")
            hint(DeviceFault.wayOut)
        }
    }

    /// Whether the service was another one than the home has met.
    var isOther: Bool { reason.withLock { $0?.error == CommandError(.altered) } }

    /// Returns a failure in the words of what was noted, if that is its error.
    func explaining(_ failure: CommandFailure) -> CommandFailure {
        guard let reason = reason.withLock({ $0 }), reason.error == failure.error else { return failure }
        return CommandFailure(reason.error, reason.message, hints: reason.hints)
    }

    private func note(_ error: TresorError, _ message: String, hints: [String] = []) {
        reason.withLock { $0 = Reason(error: CommandError(error), message: message, hints: hints) }
    }

    private static func clocks(_ own: UInt64, _ service: UInt64, _ place: String) -> String {
        "this clock says \(Timestamp(seconds: own).rfc3339), that of the service at \(place) "
            + Timestamp(seconds: service).rfc3339
    }
}

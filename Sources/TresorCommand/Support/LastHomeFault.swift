// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto

/// The fault of the last call of the home that failed, until one writes.
final class LastHomeFault: Sendable {
    private let last = Mutex<(error: TresorError, failure: CommandFailure)?>(nil)

    func note(_ error: TresorError, _ failure: CommandFailure) { last.withLock { $0 = (error, failure) } }

    /// After an object was written, an error is about something else.
    func forget() { last.withLock { $0 = nil } }

    /// The failure that names the object of the home; `nil` for another error.
    func failure(for error: TresorError) -> CommandFailure? {
        guard let last = last.withLock({ $0 }) else { return nil }
        if last.error == error { return last.failure }
        guard error == .failed(.notNoted) else { return nil }
        return CommandFailure(
            of: error, "\(TresorError.Fault.notNoted.rawValue): \(last.failure.message)", hints: last.failure.hints,
            file: last.failure.file)
    }
}

/// Changes of records of which the home could not note what became of them.
enum UnnotedChange {
    /// The failure where they are in the log.
    static func sent(to title: String) -> CommandFailure {
        let failure = CommandFailure(TresorError.failed(.notNoted))
        let reason = failure.message.dropFirst(TresorError.Fault.notNoted.rawValue.count)
        return CommandFailure(
            failure.error, "the change was sent to \(title), and this home could not note it\(reason)",
            hints: failure.hints + ["tresor sync"], file: failure.file)
    }

    /// The failure where nobody knows.
    static func unknown(_ error: TresorError, sentTo title: String) -> CommandFailure {
        let failure = CommandFailure(error)
        return CommandFailure(
            failure.error,
            "the change is in your home, which could not note whether it was sent to \(title): \(failure.message)",
            hints: failure.hints + ["tresor sync"], file: failure.file)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

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
    /// The failure where the store has something that the home could not note: a commit, or the change of the key before one.
    ///
    /// - Parameters:
    ///   - outbox: the outbox behind the sync. What is pending there was not in the commit.
    ///   - names: the records of the change; `nil` for all that are unsent.
    static func failure(_ outbox: Outbox, of names: [Name]? = nil, sentTo title: String) -> CommandFailure {
        let pending = outbox.pendingRecords
        let isSent = names.map { pending.isDisjoint(with: $0) } ?? pending.isEmpty
        guard isSent else { return unknown(.failed(.notNoted), sentTo: title) }
        let failure = CommandFailure(TresorError.failed(.notNoted))
        return CommandFailure(
            failure.error, "the change was sent to \(title), and this home could not note it\(reason(of: failure))",
            hints: failure.hints + ["tresor sync"], file: failure.file)
    }

    /// The failure where nobody knows.
    static func unknown(_ error: TresorError, sentTo title: String) -> CommandFailure {
        let failure = CommandFailure(error)
        return CommandFailure(
            failure.error,
            "the change is in your home, which could not note whether it was sent to \(title)\(reason(of: failure))",
            hints: failure.hints + ["tresor sync"], file: failure.file)
    }

    /// The reason of a failure, without the words that something was made.
    private static func reason(of failure: CommandFailure) -> String {
        let (words, message) = (TresorError.Fault.notNoted.rawValue, failure.message)
        return message.hasPrefix(words) ? String(message.dropFirst(words.count)) : ": \(message)"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor

/// A second look at the store of a run that ends with `forked`: it may be another file, or another stick, than the person
/// means. Nothing is judged by it; it is said before what was found.
final class StoreDoubt: Sendable {
    private struct Look: Sendable {
        var words: @Sendable () async -> String? = { nil }
        var say: @Sendable (String) -> Void = { _ in }
    }

    static let wayOut = "tresor … {--store} --store FILE"

    private let look = Mutex(Look())

    /// - Parameters:
    ///   - say: tells it in a run that prints no failure, with the way out.
    ///   - words: says why the store may be another one; `nil` if nothing speaks for it.
    func note(
        saying say: @escaping @Sendable (String, _ wayOut: String) -> Void,
        _ words: @escaping @Sendable () async -> String?
    ) {
        look.withLock { $0 = Look(words: words) { say($0, Self.wayOut) } }
    }

    /// After this, nothing more is said: the command has said it.
    func forget() { look.withLock { $0 = Look() } }

    func explaining(_ failure: CommandFailure) async -> CommandFailure {
        guard failure.error == .forked, let words = await look.withLock({ $0 }).words() else { return failure }
        return CommandFailure(
            failure.error, "\(words) \(failure.message)", hints: [Self.wayOut] + failure.hints, file: failure.file)
    }

    /// Tells it after a run that ended with this code and printed no failure.
    func tell(after code: Int32) async {
        let look = look.withLock { $0 }
        guard code == CommandError.forked.exitCode, let words = await look.words() else { return }
        look.say(words)
    }
}

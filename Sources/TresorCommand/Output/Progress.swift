// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore

/// How far a long act is: one line on standard error, where that is a terminal, after a second, erased at the end.
final class Progress {
    private let isShown: Bool
    private let label: String
    private let start: ContinuousClock.Instant
    private var lastDrawn: ContinuousClock.Instant?

    /// - Parameter label: the name of the work, fit to be shown.
    init(_ label: String, options: GlobalOptions, environment: Environment) {
        self.label = label
        isShown =
            Channel.error.isTerminal && !options.quiet && !options.json && !options.batch && !environment.isDumbTerminal
        start = ContinuousClock.now
    }

    deinit {
        finish()
    }

    /// - Parameter done: bytes where nobody knows the whole; then they are shown.
    func update(_ done: WorkDone) {
        let now = ContinuousClock.now
        guard isShown, start.duration(to: now) >= .seconds(1) else { return }
        if let lastDrawn, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        Channel.error.tryWrite("\r\u{1b}[K\(label) \(Self.text(done))")
    }

    private static func text(_ done: WorkDone) -> String {
        done.fraction.map { "\(Int($0 * 100)) %" } ?? "\(done.completed >> 20) MiB"
    }

    func finish() {
        guard lastDrawn != nil else { return }
        lastDrawn = nil
        Channel.error.tryWrite("\r\u{1b}[K")
    }
}

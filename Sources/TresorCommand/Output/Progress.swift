// SPDX-License-Identifier: Apache-2.0

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

    /// - Parameter total: `nil` when nobody knows; then the bytes done are shown.
    func update(_ done: UInt64, of total: UInt64?) {
        let now = ContinuousClock.now
        guard isShown, start.duration(to: now) >= .seconds(1) else { return }
        if let lastDrawn, lastDrawn.duration(to: now) < .milliseconds(100) { return }
        lastDrawn = now
        Channel.error.tryWrite("\r\u{1b}[K\(label) \(Self.text(done, of: total))")
    }

    private static func text(_ done: UInt64, of total: UInt64?) -> String {
        guard let total else { return "\(done >> 20) MiB" }
        let share = total == 0 ? 1 : min(1, Double(done) / Double(total))
        return "\(Int(share * 100)) %"
    }

    func finish() {
        guard lastDrawn != nil else { return }
        lastDrawn = nil
        Channel.error.tryWrite("\r\u{1b}[K")
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The progress of long work. The call that reports it names the unit: bytes, files, entries or tresors.
public struct WorkDone: Hashable, Sendable {
    /// The amount that is done.
    public let completed: UInt64
    /// The whole amount; `nil` where nobody knows it.
    package let total: UInt64?

    /// Makes a report.
    package init(_ completed: UInt64, of total: UInt64? = nil) {
        self.completed = completed
        self.total = total
    }

    /// The part that is done, 0 to 1; `nil` where nobody knows the whole.
    public var fraction: Double? {
        guard let total else { return nil }
        return total == 0 ? 1 : min(1, Double(completed) / Double(total))
    }

    /// Takes the reports of one work, on any thread, one after the other. It must return soon.
    package typealias Report = @Sendable (WorkDone) -> Void
}

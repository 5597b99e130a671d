// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// A source that is read no further once its session is locked, and says how many bytes were read from it.
package struct WatchedSource<Base: ContentSource>: ContentSource {
    /// The source.
    package private(set) var base: Base
    let identity: Identity
    let progress: WorkDone.Report?
    private var count: UInt64 = 0

    /// Reads from `base` for a session.
    package init(_ base: Base, for identity: Identity, _ progress: WorkDone.Report?) {
        self.base = base
        self.identity = identity
        self.progress = progress
    }

    package mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        try identity.checkUnlocked()
        let before = output.byteCount
        try await base.read(into: &output)
        count += UInt64(output.byteCount - before)
        progress?(WorkDone(count))
    }
}

/// A sink that takes nothing more once its session is locked, and says how many bytes it took.
package struct WatchedSink<Base: ByteSink>: ByteSink {
    /// The sink.
    package private(set) var base: Base
    let identity: Identity
    let total: UInt64
    let progress: WorkDone.Report?
    private var count: UInt64 = 0

    /// Writes to `base` for a session.
    ///
    /// - Parameter total: the number of bytes of which it says how many were written.
    package init(_ base: Base, for identity: Identity, of total: Int, _ progress: WorkDone.Report?) {
        self.base = base
        self.identity = identity
        self.total = UInt64(total)
        self.progress = progress
    }

    package mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
        try identity.checkUnlocked()
        try await base.write(bytes)
        count += UInt64(bytes.count)
        progress?(WorkDone(count, of: total))
    }
}

extension WorkDone {
    /// Returns what reports a part of a longer work, of which `done` comes before it; `nil` if nobody listens.
    static func part(of report: Report?, after done: UInt64, of total: UInt64) -> Report? {
        guard let report else { return nil }
        return { report(WorkDone(done + $0.completed, of: total)) }
    }
}

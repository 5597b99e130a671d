// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A source that is read no further once its session is locked, and says how many bytes were read from it.
struct WatchedSource<Base: ContentSource>: ContentSource {
    var base: Base
    let identity: Identity
    let progress: WorkDone.Report?
    private var count: UInt64 = 0

    init(_ base: Base, for identity: Identity, _ progress: WorkDone.Report?) {
        self.base = base
        self.identity = identity
        self.progress = progress
    }

    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        try identity.checkUnlocked()
        let before = output.byteCount
        try await base.read(into: &output)
        count += UInt64(output.byteCount - before)
        progress?(WorkDone(count))
    }
}

/// A sink that takes nothing more once its session is locked, and says how many bytes it took.
struct WatchedSink<Base: ByteSink>: ByteSink {
    var base: Base
    let identity: Identity
    let total: UInt64
    let progress: WorkDone.Report?
    private var count: UInt64 = 0

    init(_ base: Base, for identity: Identity, of total: Int, _ progress: WorkDone.Report?) {
        self.base = base
        self.identity = identity
        self.total = UInt64(total)
        self.progress = progress
    }

    mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
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

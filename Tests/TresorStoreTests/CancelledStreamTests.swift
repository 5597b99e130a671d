// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// A stream whose task was cancelled is `cancelled`, and leaves no file.
@Suite struct CancelledStreamTests {
    /// The way of a source or a sink at the call at which its task is cancelled.
    enum Reaction: CaseIterable {
        /// It does what it is asked for.
        case goesOn
        /// It gives nothing more, as an `AsyncStream` does.
        case ends
        /// It loses its connection, as a network does.
        case fails
    }

    private let scratch: Scratch
    private let plans: TresorHandle
    private let content: [UInt8]
    /// The content in pieces of 256 KiB, the last one short.
    private static let pieceCount = 4

    init() async throws {
        scratch = try Scratch()
        let cast = PreviewCast()
        plans = try await cast.tresor("plans", of: cast.person("anna"))
        content = random((Self.pieceCount - 1) << 18 + 10)
        try write([9], to: scratch["file"])
    }

    /// Expects that a file is as it was, and that there is no other one.
    private func expectNothingNew(_ place: Comment) throws {
        #expect(try scratch.names == ["file"] && bytes(at: scratch["file"]) == [9], place)
    }

    @Test(arguments: Reaction.allCases) func aCopyIsWholeOrNone(_ reaction: Reaction) async throws {
        for call in 0..<Self.pieceCount {
            let error = await CancelledTask().error { [content, scratch] task in
                var source = CancellingSource(content, task, at: call, reaction)
                let sink = try FileSink(at: scratch["file"])
                try await sink.write(contentOf: &source)
                try await sink.commit()
            }
            #expect(error == .cancelled, "call \(call)")
            try expectNothingNew("call \(call)")
        }
        let sink = try FileSink(at: scratch["file"])
        var source = CancellingSource(content, CancelledTask(), at: Self.pieceCount, reaction)
        try await sink.write(contentOf: &source)
        try await sink.commit()
        #expect(try bytes(at: scratch["file"]) == content)
    }

    @Test(arguments: Reaction.allCases) func aSealedFileIsWholeOrNone(_ reaction: Reaction) async throws {
        for call in 0..<Self.pieceCount {
            let error = await CancelledTask().error { [content, plans, scratch] task in
                var source = CancellingSource(content, task, at: call, reaction)
                var sink = try FileSink(at: scratch["file"])
                try await plans.seal(&source, to: &sink)
                try await sink.commit()
            }
            #expect(error == .cancelled, "call \(call)")
            try expectNothingNew("call \(call)")
        }
    }

    @Test func aSinkThatFailsInACancelledTaskHasNotFailed() async throws {
        for call in 0..<100 {
            let hasFailed = Mutex(false)
            let error = await CancelledTask().error { [content, plans] task in
                var source = CancellingSource(content, task, at: .max, .goesOn)
                var sink = CancellingSink(task, at: call)
                defer { hasFailed.withLock { $0 = sink.hasFailed } }
                try await plans.seal(&source, to: &sink)
            }
            guard hasFailed.withLock({ $0 }) else {
                #expect(call > Self.pieceCount && error == nil)
                return
            }
            #expect(error == .cancelled, "call \(call)")
        }
        Issue.record("it has no end")
    }

    @Test func aVerificationThatIsCancelledReleasesNothing() async throws {
        let sealed = try await sealed()
        for call in 0..<100 {
            let source = CancellingFile(sealed)
            let error = await CancelledTask().error { [plans] task in
                source.cancel(task, at: call, .fails)
                _ = try await plans.verify(source)
            }
            guard source.hasCancelled else {
                #expect(call > Self.pieceCount && error == nil)
                return
            }
            #expect(error == .cancelled, "call \(call)")
        }
        Issue.record("it has no end")
    }

    /// Each part is read and checked alone.
    @Test(arguments: [Reaction.goesOn, .fails]) func aReadEndsBetweenTwoParts(_ reaction: Reaction) async throws {
        let source = CancellingFile(try await sealed())
        let verified = try await plans.verify(source)
        let part = 1 << 16
        for call in 0..<4 {
            let error = await CancelledTask().error { task in
                source.cancel(task, at: call, reaction)
                _ = try await verified.read(0..<(5 * part))
            }
            #expect(source.hasCancelled && error == .cancelled, "call \(call)")
        }
        source.goOn()
        let late = await CancelledTask().error { task in
            task.cancel()
            _ = try await verified.read(0..<1)
        }
        #expect(late == .cancelled)
        #expect(try await verified.read(0..<(5 * part)) == Array(content.prefix(5 * part)))
    }

    @Test(arguments: [Reaction.goesOn, .fails]) func aVerifiedContentIsWrittenWholeOrNot(
        _ reaction: Reaction
    ) async throws {
        let source = CancellingFile(try await sealed())
        let verified = try await plans.verify(source)
        for call in 0..<100 {
            let error = await CancelledTask().error { [scratch] task in
                source.cancel(task, at: call, reaction)
                var opened = VerifiedContent(verified)
                let sink = try FileSink(at: scratch["file"])
                try await sink.write(contentOf: &opened)
                try await sink.commit()
            }
            guard source.hasCancelled else {
                #expect(call > 2 * Self.pieceCount && error == nil)
                #expect(try bytes(at: scratch["file"]) == content)
                return
            }
            #expect(error == .cancelled, "call \(call)")
            try expectNothingNew("call \(call)")
        }
        Issue.record("it has no end")
    }

    private func sealed() async throws -> [UInt8] {
        let plans = plans
        var source = MemorySource(content)
        var sink = MemorySink()
        try await plans.seal(&source, to: &sink)
        return sink.bytes
    }
}

/// A task that can be cancelled from inside.
private final class CancelledTask: Sendable {
    private let task = Mutex<Task<TresorError?, Never>?>(nil)

    func cancel() { task.withLock { $0?.cancel() } }

    /// Runs a body in the task, and gives its error.
    func error(of body: @escaping @Sendable (CancelledTask) async throws -> Void) async -> TresorError? {
        let (gate, opening) = AsyncStream<Void>.makeStream()
        let task = Task {
            for await _ in gate { break }
            return await errorOf { try await body(self) }
        }
        self.task.withLock { $0 = task }
        opening.finish()
        return await task.value
    }
}

/// A content that cancels a task at one of its pieces.
private struct CancellingSource: ContentSource {
    private var rest: MemorySource
    private let task: CancelledTask
    private let place: Int
    private let reaction: CancelledStreamTests.Reaction
    private var count = 0

    init(_ content: [UInt8], _ task: CancelledTask, at place: Int, _ reaction: CancelledStreamTests.Reaction) {
        (rest, self.task, self.place, self.reaction) = (MemorySource(content), task, place, reaction)
    }

    mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        count += 1
        if count > place {
            if count == place + 1 { task.cancel() }
            switch reaction {
            case .goesOn: break
            case .ends: return
            case .fails: throw .failed(.inputOutput)
            }
        }
        try await rest.read(into: &output)
    }
}

/// A sink that cancels a task at one of its writes, and fails there.
private struct CancellingSink: ByteSink {
    private let task: CancelledTask
    private var left: Int
    private(set) var hasFailed = false

    init(_ task: CancelledTask, at place: Int) { (self.task, left) = (task, place) }

    mutating func write(_ bytes: Span<UInt8>) throws(TresorError) {
        left -= 1
        guard left < 0 else { return }
        hasFailed = true
        task.cancel()
        throw .failed(.inputOutput)
    }
}

/// A sealed file that cancels a task at one of its reads.
private final class CancellingFile: SealedSource {
    private struct Trap {
        var task: CancelledTask
        var left: Int
        var reaction: CancelledStreamTests.Reaction
    }

    private let base: MemorySource
    private let trap = Mutex<Trap?>(nil)

    init(_ bytes: [UInt8]) { base = MemorySource(bytes) }

    var byteCount: Int { base.byteCount }

    /// Whether the read at which it cancels has come.
    var hasCancelled: Bool { trap.withLock { ($0?.left ?? 0) < 0 } }

    func cancel(_ task: CancelledTask, at place: Int, _ reaction: CancelledStreamTests.Reaction) {
        trap.withLock { $0 = Trap(task: task, left: place, reaction: reaction) }
    }

    /// Gives the bytes from now on.
    func goOn() { trap.withLock { $0 = nil } }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        let due = trap.withLock { trap -> Trap? in
            trap?.left -= 1
            return trap.flatMap { $0.left < 0 ? $0 : nil }
        }
        due?.task.cancel()
        if due?.reaction == .fails { throw .failed(.inputOutput) }
        try base.read(from: offset, into: &output)
    }
}

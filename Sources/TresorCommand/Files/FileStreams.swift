// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// The failure below the library, in the command's words. The library's error says less.
final class FailureNote {
    private var failure: CommandFailure?

    /// Runs work for the library and keeps the command's words of a failure.
    func keeping<Result>(_ body: () throws(CommandFailure) -> Result) throws(TresorError) -> Result {
        do throws(CommandFailure) {
            return try body()
        } catch {
            failure = error
            throw error.error.passedOn
        }
    }

    /// The words for an error that came out of the library.
    func words(for error: CommandError, or other: CommandFailure) -> CommandFailure {
        guard let failure, CommandError(failure.error.passedOn) == error else { return other }
        return failure
    }
}

/// The content of an INPUT as it comes, of which the beginning has been read.
struct InputContent: ContentSource {
    private let input: InputFile
    private let note: FailureNote
    private let progress: Progress
    private var source: FileSource
    /// The bytes that were read, and at the end whether there are more by now.
    private(set) var count = 0
    private(set) var hasGrown = false

    init(_ input: InputFile, startingWith start: [UInt8], _ note: FailureNote, _ progress: Progress) {
        self.input = input
        self.note = note
        self.progress = progress
        source = FileSource(input.descriptor, owner: input, startingWith: start, byteCount: input.byteCount)
    }

    mutating func read(into output: inout OutputRawSpan) throws(TresorError) {
        let before = output.byteCount
        do throws(TresorError) {
            try source.read(into: &output)
        } catch {
            try note.keeping { () throws(CommandFailure) -> Void in throw input.unreadable }
        }
        let read = output.byteCount - before
        count += read
        if output.freeCapacity > 0 { hasGrown = try note.keeping { () throws(CommandFailure) in try input.hasGrown() } }
        progress.update(WorkDone(UInt64(count), of: source.byteCount.map(UInt64.init)))
    }
}

/// An OUTPUT, or standard output, as it is written.
struct OutputSink: ByteSink {
    private enum Form {
        case binary(DescriptorSink)
        case armoured(ArmouringSink<DescriptorSink>)
    }

    private var form: Form

    /// - Parameter isArmoured: whether a sealed file becomes text on its way.
    init(
        _ output: OutputFile?, _ note: FailureNote, _ progress: Progress? = nil, total: Int? = nil,
        isArmoured: Bool = false
    ) {
        let sink = DescriptorSink(output: output, note: note, progress: progress, total: total)
        form = isArmoured ? .armoured(ArmouringSink(sink)) : .binary(sink)
    }

    /// How many bytes were written.
    var count: Int {
        switch form {
        case .binary(let sink): sink.count
        case .armoured(let sink): sink.base.count
        }
    }

    mutating func write(_ bytes: Span<UInt8>) async throws(TresorError) {
        switch form {
        case .binary(var sink):
            try sink.write(bytes)
            form = .binary(sink)
        case .armoured(var sink):
            try await sink.write(bytes)
            form = .armoured(sink)
        }
    }

    /// After the last byte.
    mutating func finish() async throws(TresorError) {
        guard case .armoured(var sink) = form else { return }
        try await sink.finish()
        form = .armoured(sink)
    }
}

private struct DescriptorSink: ByteSink {
    let output: OutputFile?
    let note: FailureNote
    let progress: Progress?
    let total: Int?
    private(set) var count = 0

    init(output: OutputFile?, note: FailureNote, progress: Progress?, total: Int?) {
        self.output = output
        self.note = note
        self.progress = progress
        self.total = total
    }

    mutating func write(_ bytes: Span<UInt8>) throws(TresorError) {
        try note.keeping { () throws(CommandFailure) in
            guard let output else { return try Channel.output.write(bytes) }
            try output.write(bytes)
        }
        count += bytes.count
        progress?.update(WorkDone(UInt64(count), of: total.map(UInt64.init)))
    }
}

extension FileBytes {
    /// A sealed file from a pipe, kept in a file without a name beside the output.
    ///
    /// - Parameters:
    ///   - start: the bytes read so far.
    ///   - judge: looks at each part before it is kept.
    init(
        spooling input: InputFile, startingWith start: [UInt8], beside path: String,
        _ judge: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) {
        let spool: Draft
        do throws(SystemError) { spool = try Draft.open(for: path) } catch { throw .cannotWrite(path, error) }
        // It never has a name, also where reading fails.
        spool.discard()
        var part = start
        var count = 0
        while !part.isEmpty {
            try judge(part)
            do throws(SystemError) {
                try SystemCall.write(part.span.bytes, to: spool.descriptor)
            } catch {
                throw .cannotWrite(path, error)
            }
            count += part.count
            part = try input.read(upTo: 1 << 18)
        }
        self.init(spool.descriptor, owner: spool, byteCount: count)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

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
    private let start: [UInt8]
    private let total: Int?
    private var count = 0

    init(_ input: InputFile, startingWith start: [UInt8], _ note: FailureNote, _ progress: Progress) {
        self.input = input
        self.start = start
        self.note = note
        self.progress = progress
        total = input.byteCount
    }

    mutating func read(into output: inout OutputRawSpan) throws(TresorError) {
        if count < start.count {
            let end = min(start.count, count + output.freeCapacity)
            for index in count..<end { output.append(start[index]) }
            count = end
        }
        while output.freeCapacity > 0 {
            let read = try note.keeping { () throws(CommandFailure) in try input.read(into: &output) }
            guard read > 0 else { break }
            count += read
        }
        progress.update(WorkDone(UInt64(count), of: total.map(UInt64.init)))
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

/// A sealed file on disk, binary or armoured.
enum SealedInput: SealedSource {
    case binary(DescriptorSource)
    case armoured(ArmouredSource<DescriptorSource>)

    /// - Parameter start: its beginning.
    init(_ source: DescriptorSource, startingWith start: [UInt8]) throws(TresorError) {
        self = Armour.isArmoured(start) ? .armoured(try ArmouredSource(source)) : .binary(source)
    }

    var byteCount: Int {
        switch self {
        case .binary(let source): source.byteCount
        case .armoured(let source): source.byteCount
        }
    }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        switch self {
        case .binary(let source): try source.read(from: offset, into: &output)
        case .armoured(let source): try source.read(from: offset, into: &output)
        }
    }
}

/// The bytes of a regular file at any place.
struct DescriptorSource: SealedSource {
    /// Closes the descriptor when it is released.
    private let owner: any AnyObject & Sendable
    private let descriptor: Int32
    let byteCount: Int

    /// - Parameter count: its size when it was opened.
    init(_ input: InputFile, count: Int) {
        owner = input
        descriptor = input.descriptor
        byteCount = count
    }

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
        owner = spool
        descriptor = spool.descriptor
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
        byteCount = count
    }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        while output.freeCapacity > 0 {
            let place = off_t(offset + output.byteCount)
            let count = try SystemError.asFailed { () throws(SystemError) in
                try output.withUnsafeMutableBytes { (buffer, filled) throws(SystemError) in
                    let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                    let count = try SystemCall.read(descriptor, at: place, into: room)
                    filled += count
                    return count
                }
            }
            guard count > 0 else { throw .altered }
        }
    }
}

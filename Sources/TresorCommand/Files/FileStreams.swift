// SPDX-License-Identifier: Apache-2.0

import Tresor

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// What failed below the library, in the command's words. The library's error says less.
final class FailureNote {
    private var failure: CommandFailure?

    /// Runs what may fail in the command's words on behalf of the library.
    func keeping<Result>(_ body: () throws(CommandFailure) -> Result) throws(TresorError) -> Result {
        do throws(CommandFailure) {
            return try body()
        } catch {
            failure = error
            throw error.error
        }
    }

    /// The words for an error that came out of the library.
    func words(for error: TresorError, or other: CommandFailure) -> CommandFailure {
        guard let failure, failure.error == error else { return other }
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
        progress.update(UInt64(count), of: total.map(UInt64.init))
    }
}

/// An OUTPUT, or standard output, as it is written.
struct OutputSink: ByteSink {
    let output: OutputFile?
    let note: FailureNote
    var progress: Progress?
    var total: Int?
    private var count = 0

    init(_ output: OutputFile?, _ note: FailureNote, _ progress: Progress? = nil, total: Int? = nil) {
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
        progress?.update(UInt64(count), of: total.map(UInt64.init))
    }
}

/// A sealed file on disk.
struct SealedInput: SealedSource {
    private let input: InputFile
    let byteCount: Int

    /// - Parameter count: its size when it was opened.
    init(_ input: InputFile, count: Int) {
        self.input = input
        byteCount = count
    }

    func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        while output.freeCapacity > 0 {
            var code: CInt = 0
            let place = off_t(offset + output.byteCount)
            let count = output.withUnsafeMutableBytes { buffer, filled in
                let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
                let count = SystemCall.read(input.descriptor, at: place, into: room)
                if count == nil { code = errno }
                filled += count ?? 0
                return count ?? -1
            }
            guard count >= 0 else { throw .failed(SystemCall.fault(code)) }
            guard count > 0 else { throw .altered }
        }
    }
}

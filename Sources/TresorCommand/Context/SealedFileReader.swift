// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Opens sealed files for the commands, and reports the author of each.
struct SealedFileReader {
    /// The most bytes that go to standard output.
    static let standardOutputLimit = 64 << 20
    /// The most bytes opened in memory if neither input nor output is a file.
    static let limit = 2 * standardOutputLimit
    /// Up to here a file is opened in memory whatever it is.
    static let smallByteCount = 1 << 20
    /// The bytes examined before the rest is read.
    private static let beginningByteCount = 1 << 12

    let context: CommandContext
    let acceptUnverified: Bool
    /// Whether files are judged by the log this home has verified, whatever the store shows.
    var acceptForked = false
    /// Whether the opened content is sealed again.
    var isResealing = false
    /// Whether the author must still be allowed to write.
    var requiresCurrent = false

    /// Reads a sealed file, binary or armoured.
    ///
    /// - Parameter start: its beginning, if that has been read.
    func sealedFile(_ input: InputFile, startingWith start: [UInt8] = []) throws -> SealedFile {
        let start = start.isEmpty ? try input.start(Self.beginningByteCount) : start
        try checkHeader(start, of: input)
        var judge = StreamJudge(start)
        let bytes = try input.readAll(
            after: start, limit: Self.limit,
            tooLarge: CommandFailure(.usage, "\(input.shownName) is too large for one piece")
        ) { (part) throws(CommandFailure) in try self.judge(part, by: &judge, of: input) }
        do {
            return try SealedFile(PastedArmour.block(of: bytes) ?? bytes)
        } catch {
            throw FileRefusal.failure(error, input, bytes)
        }
    }

    /// Refuses at the start what is not a sealed file, without reading to its end, which may not exist.
    private func checkHeader(_ start: [UInt8], of input: InputFile) throws {
        let block = PastedArmour.block(of: start) ?? start
        do {
            try SealedFile.checkBeginning(block)
        } catch {
            let refusal = FileRefusal.failure(error, input, start)
            guard refusal.error == .altered, TransportDamage(of: start) == nil, FileKind(of: start) == nil else {
                throw refusal
            }
            throw CommandFailure(of: error, "\(input.shownName) is not a sealed file", file: input.path)
        }
    }

    private func judge(
        _ part: [UInt8], by judge: inout StreamJudge, of input: InputFile
    ) throws(CommandFailure) {
        do {
            try judge.append(part)
        } catch {
            throw judge.isOfText ? TransportDamage.lines(nil).failure(input) : FileRefusal.failure(error, input)
        }
    }

    /// A sealed file that is better not read into memory; `nil` for others.
    ///
    /// - Parameters:
    ///   - start: its beginning, as much as is small.
    ///   - output: the file beside which input from a pipe is kept.
    func storedFile(
        _ input: InputFile, startingWith start: [UInt8], beside output: OutputFile? = nil
    ) async throws -> StoredFile<SealedFileSource>? {
        let source: FileBytes
        if let count = input.byteCount {
            guard count > Self.smallByteCount else { return nil }
            source = FileBytes(input.descriptor, owner: input, byteCount: count)
        } else {
            guard let output, start.count == Self.smallByteCount else { return nil }
            try checkHeader(start, of: input)
            var judge = StreamJudge(start)
            source = try FileBytes(spooling: input, startingWith: start, beside: output.path) {
                (part) throws(CommandFailure) in try self.judge(part, by: &judge, of: input)
            }
        }
        do {
            let (before, after) = try await Self.textAround(source, startingWith: start)
            let block = source.part(before.count..<(source.byteCount - after.count))
            return try await StoredFile(SealedFileSource(block, startingWith: Array(start[before.count...])))
        } catch {
            throw FileRefusal.failure(error, input, start)
        }
    }

    /// The text around a block of armour that is not in memory as a whole; none around any other file.
    static func textAround(
        _ source: FileBytes, startingWith start: [UInt8]
    ) async throws(TresorError) -> (before: [UInt8], after: [UInt8]) {
        guard let begin = PastedArmour.begin(in: start) else { return ([], []) }
        let rest = max(start.count, source.byteCount - PastedArmour.greatestRest)..<source.byteCount
        let text = try await source.bytes(rest)
        guard let end = PastedArmour.endLine(in: text, from: 0) else { return (Array(start[..<begin]), []) }
        let after = Array(text[end.upperBound...])
        // Nobody can tell which of two blocks is meant.
        guard PastedArmour.begin(in: after) == nil else { throw .altered }
        return (Array(start[..<begin]), after)
    }

    /// Opens a file in memory.
    func open(
        _ file: SealedFile, as session: Session, _ expectations: Expectations, from input: InputFile
    ) async throws -> OpenedFile {
        do {
            return try await attempt(file.header, as: session, from: input) { () throws(TresorError) in
                try await session.files.open(file, expecting: expectations)
            }
        } catch let failure as CommandFailure where failure.error == .forked {
            guard let author = await session.files.formerAuthor(of: file) else { throw failure }
            let liar = "\(DisplayText.name(author.handle.bytes)), \(FileReporter.words(author.former)), forged it"
            let reading = "either the store shows another history, or \(liar)"
            throw CommandFailure(
                .forked, "\(input.shownName) names a state of the tresor that the store does not show: \(reading)",
                hints: ["tresor check"], file: input.path)
        }
    }

    /// The log that a file is judged by.
    func state(of tresor: TresorID) async throws(TresorError) -> LogState {
        if acceptForked, let known = try context.client.archive.verifiedState(of: tresor) { return known }
        return try await context.client.logs.state(of: tresor, remembering: .no)
    }

    /// Reports the authors of the files of a tresor.
    func reporter(of tresor: TresorID, as session: Session) async -> FileReporter {
        await FileReporter(of: tresor, in: try? state(of: tresor), as: session, context.tresors)
    }

    private func refusal(_ input: InputFile, _ session: Session) -> FileRefusal {
        FileRefusal(
            context: context, session: session, input: input, isResealing: isResealing,
            requiresCurrent: requiresCurrent)
    }

    /// Opens a file, and asks for the tresor's owner to be verified if they are not.
    func attempt<Result>(
        _ header: FileHeader, as session: Session, from input: InputFile,
        _ body: () async throws(TresorError) -> Result
    ) async throws -> Result {
        do throws(TresorError) {
            return try await body()
        } catch {
            guard error == .unverified else { throw await refusal(input, session).failure(error, header) }
            let state = try await self.state(of: header.tresor)
            try await context.verifier.verifyFounder(
                of: state, for: session, accept: acceptUnverified,
                hint: isResealing ? "" : "tresor … --accept-unverified")
        }
        return try await explaining(header, as: session, from: input, body)
    }

    /// Runs work on a file, and gives its errors words.
    func explaining<Result>(
        _ header: FileHeader, as session: Session, from input: InputFile,
        _ body: () async throws(TresorError) -> Result
    ) async throws -> Result {
        do throws(TresorError) {
            return try await body()
        } catch {
            throw await refusal(input, session).failure(error, header)
        }
    }
}

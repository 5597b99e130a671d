// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// Files of any length, on all cores and in constant memory: a few chunks of 256 KiB, and 32 bytes for each 64 KiB of
/// content.
///
/// Sources and sinks are used apart from the caller too, one call after the other. A task that is cancelled gets
/// ``TresorError/cancelled``.
extension Files {
    /// Seals a content while it is read, as ``seal(_:record:type:in:)`` does.
    ///
    /// - Parameters:
    ///   - content: the source; its length may be unknown.
    ///   - sink: takes the sealed file. After an error its bytes are no sealed file and do not open.
    ///   - record: the record name; may be empty.
    ///   - type: the content type.
    ///   - tresor: the tresor whose members can open the file.
    ///   - progress: takes the number of bytes that were read.
    /// - Throws: the errors of ``seal(_:record:type:in:)``, of the source and of the sink; ``TresorError/usage(_:)``
    ///   when the file would be larger than 2^40 bytes.
    @concurrent package func seal(
        _ content: inout some ContentSource, to sink: inout some ByteSink, record: Name = .empty, type: Name,
        in tresor: TresorID, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> SealedStream {
        try await sealHere(&content, to: &sink, record: record, type: type, in: tresor, progress: progress)
    }

    /// Does what ``seal(_:to:record:type:in:progress:)`` does, with a source and a sink that stay where the caller runs.
    package func sealHere(
        _ content: inout some ContentSource, to sink: inout some ByteSink, record: Name = .empty, type: Name,
        in tresor: TresorID, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> SealedStream {
        try type.checkIsOfContents()
        let state = try await writableState(of: tresor)
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        var watched = WatchedSource(content, for: identity, progress)
        defer { content = watched.base }
        return try await FileSealer.sealFile(
            &watched, to: &sink, type: type, record: record, keys: keys, state: state, author: identity,
            time: client.clock())
    }

    /// Opens a sealed file in one pass (SPEC §10.5).
    ///
    /// Not public, because the sink gets the content before the last check. The sink must hide it until this returns,
    /// and discard it when this throws, as an unnamed file does. Other callers verify first and read
    /// ``VerifiedContent``.
    ///
    /// - Throws: the errors of ``open(_:expecting:)``, of the source and of the sink.
    package func open(
        _ file: StoredFile<some SealedSource>, to sink: inout some ByteSink, expecting: Expectations,
        progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> VerifiedFile {
        let (state, keys) = try await admit(file.header, expecting)
        var watched = WatchedSink(sink, for: identity, of: file.source.byteCount, progress)
        defer { sink = watched.base }
        let verified = try await FileOpener.openFile(file, with: keys, in: state, to: &watched)
        return verified.judged(try judge(verified.proof, in: state, expecting), for: identity)
    }

    /// Verifies a whole sealed file in one pass, and releases nothing of it before.
    ///
    /// Afterwards ``VerifiedFile/read(_:)`` gives any range of it, and ``VerifiedContent`` gives all of it.
    ///
    /// - Parameters:
    ///   - file: the file.
    ///   - expecting: the expectations of the file.
    ///   - progress: takes the number of bytes of the content that were read, of those of the file.
    /// - Throws: the errors of ``open(_:expecting:)->OpenedFile`` and of the source.
    @concurrent package func verify(
        _ file: StoredFile<some SealedSource>, expecting: Expectations,
        progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> VerifiedFile {
        var nothing = NoSink()
        return try await open(file, to: &nothing, expecting: expecting, progress: progress)
    }

    /// Seals a file again under the current key of its tresor, as ``reseal(_:expecting:acceptingNewcomers:)`` does.
    ///
    /// The file is first verified as a whole, then read a second time.
    ///
    /// - Parameters:
    ///   - file: the file to reseal.
    ///   - sink: takes the sealed file; nothing is written to it for a file that is current.
    ///   - expecting: the expectations of the file.
    ///   - acceptingNewcomers: whether to continue although members admitted *from now* could open the file afterwards.
    ///   - progress: takes the number of bytes of the content that were read, of twice those of the file.
    /// - Returns: `nil` for a file that is already sealed under the current key.
    /// - Throws: the errors of opening and sealing; ``TresorError/usage(_:)`` with `newcomers` where there are such
    ///   members and they are not accepted.
    @concurrent package func reseal(
        _ file: StoredFile<some SealedSource>, to sink: inout some ByteSink, expecting: Expectations,
        acceptingNewcomers: Bool = false, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> SealedStream? {
        try await resealHere(
            file, to: &sink, expecting: expecting, acceptingNewcomers: acceptingNewcomers, progress: progress)
    }

    /// Does what ``reseal(_:to:expecting:acceptingNewcomers:)`` does, with a sink that stays where the caller runs.
    package func resealHere(
        _ file: StoredFile<some SealedSource>, to sink: inout some ByteSink, expecting: Expectations,
        acceptingNewcomers: Bool = false, progress: WorkDone.Report? = nil
    ) async throws(TresorError) -> SealedStream? {
        let total = UInt64(file.source.byteCount)
        let verified = try await verify(
            file, expecting: expecting, progress: WorkDone.part(of: progress, after: 0, of: 2 * total))
        // To verify a large file takes hours. The key is judged by the log as it is then.
        client.operation.hasWaited()
        guard let state = try await resealingState(of: verified.proof, acceptingNewcomers: acceptingNewcomers) else {
            return nil
        }
        let keys = try await session.keyRing.keys(of: state.epoch, in: state)
        var content = WatchedSource(
            VerifiedContent(verified), for: identity, WorkDone.part(of: progress, after: total, of: 2 * total))
        return try await FileSealer.sealFile(
            &content, to: &sink, type: verified.proof.type, record: verified.proof.record,
            origin: verified.proof.authorship, keys: keys, state: state, author: identity, time: client.clock())
    }

    /// Returns the epoch under which ``reseal(_:to:expecting:acceptingNewcomers:)`` would seal a file again; `nil` for
    /// a current one. Writes nothing.
    ///
    /// - Throws: the errors of opening and sealing, and ``TresorError/usage(_:)`` with `newcomers` for newcomers who
    ///   are not accepted.
    @concurrent package func resealingEpoch(
        of file: StoredFile<some SealedSource>, expecting: Expectations,
        acceptingNewcomers: Bool = false
    ) async throws(TresorError) -> UInt64? {
        let proof = try await verify(file, expecting: expecting).proof
        client.operation.hasWaited()
        return try await resealingEpoch(of: proof, acceptingNewcomers: acceptingNewcomers)
    }
}

/// A sink for verification, which discards what it takes.
private struct NoSink: ByteSink {
    mutating func write(_ bytes: Span<UInt8>) {}
}

/// The content of a verified file, from its beginning.
public struct VerifiedContent: ContentSource {
    private let file: VerifiedFile
    private var used = 0

    /// Reads the content of `file` from its beginning.
    public init(_ file: VerifiedFile) { self.file = file }

    /// Appends the next bytes to `output`.
    public mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        while output.freeCapacity > 0, used < file.proof.contentByteCount {
            let part = ContentHash.partByteCount
            let end = min((used / part + 1) * part, used + output.freeCapacity, file.proof.contentByteCount)
            let bytes = try await file.read(used..<end)
            output.append(bytes.span)
            used = end
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// A buffer of four chunks of a payload, plain and sealed. It is used again for later chunks and wiped at the end.
///
/// A buffer has one owner at a time, the reader, a worker or the writer: the pipeline transfers it.
@safe final class ChunkBuffer: @unchecked Sendable {
    static let chunkCount = 4
    package static let byteCount = chunkCount * TC1.chunkByteCount

    /// The place of the buffer in the stream.
    package var number = 0
    /// The number of plain bytes.
    var plainCount = 0
    /// The number of sealed bytes.
    var sealedCount = 0
    /// The range of the content in the plain bytes.
    package var content = 0..<0
    /// The offset of that range in the content.
    var contentOffset = 0
    /// The hash of that range.
    var hashedRange: ContentHash.HashedRange?
    /// The right to seal the plain bytes.
    package var run: TC1.Run?

    private let plain = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: byteCount)
    private let sealed = UnsafeMutableBufferPointer<UInt8>.allocate(capacity: byteCount + chunkCount * 16)

    package init() {
        unsafe plain.initialize(repeating: 0)
        unsafe sealed.initialize(repeating: 0)
    }

    deinit {
        unsafe wipe(plain)
        unsafe plain.deallocate()
        unsafe sealed.deallocate()
    }

    /// The plain bytes.
    var plainBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            unsafe _overrideLifetime(
                Span(_unsafeElements: UnsafeBufferPointer(plain)).extracting(first: plainCount), borrowing: self)
        }
    }

    /// The sealed bytes.
    var sealedBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get {
            unsafe _overrideLifetime(
                Span(_unsafeElements: UnsafeBufferPointer(sealed)).extracting(first: sealedCount), borrowing: self)
        }
    }

    /// The content among the plain bytes.
    var contentBytes: Span<UInt8> {
        @_lifetime(borrow self)
        get { plainBytes.extracting(content) }
    }

    /// Room for plain bytes after the first ``plainCount``. Bytes written there count as plain bytes.
    func fillPlain<Failure: Error>(
        upTo count: Int = byteCount, _ body: (inout OutputRawSpan) async throws(Failure) -> Void
    ) async throws(Failure) {
        let room = unsafe UnsafeMutableRawBufferPointer(plain)
        var output = unsafe OutputRawSpan(
            buffer: UnsafeMutableRawBufferPointer(rebasing: room[..<count]), initializedCount: plainCount)
        try await body(&output)
        plainCount = output.byteCount
    }

    /// Adds plain bytes.
    package func append(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBytes { source in
            unsafe UnsafeMutableRawBufferPointer(rebasing: UnsafeMutableRawBufferPointer(plain)[plainCount...])
                .copyMemory(from: source)
        }
        plainCount += bytes.count
    }

    /// Adds zeros.
    func appendZeros(_ count: Int) {
        guard count > 0 else { return }
        unsafe UnsafeMutableBufferPointer(rebasing: plain[plainCount..<(plainCount + count)]).update(repeating: 0)
        plainCount += count
    }

    /// Whether a range of the plain bytes is zero.
    func areZero(_ range: Range<Int>) -> Bool {
        unsafe UnsafeMutableBufferPointer(rebasing: plain[range]).reduce(0, |) == 0
    }

    /// Hashes the content.
    package func hash() throws(TresorError) {
        hashedRange = try ContentHash.HashedRange(contentBytes, at: contentOffset)
    }

    /// Seals the plain bytes, once for each right.
    package func seal() throws(TresorError) {
        guard let run = run.take() else { throw .usage(.outOfOrder) }
        var output = unsafe MutableSpan(_unsafeElements: sealed)
        sealedCount = try run.seal(plainBytes, into: &output)
    }

    /// Reads sealed chunks and opens them.
    func open(
        _ chunks: Range<Int>, of opening: TC1.Opening, from source: some SealedSource
    ) async throws(TresorError) {
        let range = opening.sealedRange(chunks)
        let room = unsafe UnsafeMutableRawBufferPointer(sealed)
        var output = unsafe OutputRawSpan(
            buffer: UnsafeMutableRawBufferPointer(rebasing: room[..<range.count]), initializedCount: 0)
        let start = FileHeader.byteCount + range.lowerBound
        try await source.read(from: start, into: &output)
        sealedCount = output.byteCount
        guard sealedCount == range.count else { throw .altered }
        var opened = unsafe MutableSpan(_unsafeElements: plain)
        plainCount = try opening.open(chunks, from: sealedBytes, into: &opened)
    }
}

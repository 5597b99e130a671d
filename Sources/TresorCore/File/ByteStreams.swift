// SPDX-License-Identifier: Apache-2.0

public import TresorCrypto

/// Content to seal, in order. Its length need not be known.
public protocol ContentSource {
    /// Adds the next bytes to `output`.
    ///
    /// Fills it unless the content ends. A call that leaves room is the last.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with the cause.
    mutating func read(into output: inout OutputRawSpan) async throws(TresorError)
}

extension ContentSource {
    /// Returns the next bytes: as many as are asked for, or all that are left.
    ///
    /// - Throws: the errors of the source; ``TresorError/cancelled`` in a cancelled task, also where the source ends or
    ///   fails because of it.
    package mutating func nextBytes(_ count: Int) async throws(TresorError) -> [UInt8] {
        try Cancellation.check()
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: count, alignment: 1)
        defer { unsafe buffer.deallocate() }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        do throws(TresorError) {
            try await read(into: &output)
        } catch {
            throw Task.isCancelled ? .cancelled : error
        }
        // A source that ends with its task has not given everything.
        try Cancellation.check()
        return unsafe [UInt8](UnsafeMutableRawBufferPointer(rebasing: buffer[..<output.byteCount]))
    }
}

/// A sink for the bytes of a sealed file, in order.
public protocol ByteSink {
    /// Takes the next bytes, all of them.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with the cause.
    mutating func write(_ bytes: Span<UInt8>) async throws(TresorError)
}

/// A sink that shows nothing of what it takes until its owner says so, as a file without a name does.
///
/// It takes bytes that are proved with the last one alone. Say so only after the call that filled it returned; if that
/// throws, discard all of it.
public protocol DraftSink: ByteSink {}

/// A sealed file that several tasks can read at any place.
public protocol SealedSource: Sendable {
    /// The size in bytes.
    var byteCount: Int { get }

    /// Fills `output` with the bytes from `offset` on.
    ///
    /// May suspend, for example until a server has sent the range. Opening a file calls it on all cores at once.
    ///
    /// - Throws: ``TresorError/failed(_:)`` with the cause; ``TresorError/altered`` if there are fewer bytes.
    func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError)
}

/// Bytes in memory, as content or as a sealed file.
package struct MemorySource: ContentSource, SealedSource {
    private let bytes: [UInt8]
    private var used = 0

    /// Takes the bytes.
    package init(_ bytes: [UInt8]) { self.bytes = bytes }

    /// The size in bytes.
    public var byteCount: Int { bytes.count }

    /// Adds the next bytes to `output`.
    public mutating func read(into output: inout OutputRawSpan) async throws(TresorError) {
        let count = min(bytes.count - used, output.freeCapacity)
        output.append(bytes.span.extracting(used..<(used + count)))
        used += count
    }

    /// Fills `output` with the bytes from `offset` on.
    public func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        let count = output.freeCapacity
        guard offset >= 0, count <= bytes.count - offset else { throw .altered }
        output.append(bytes.span.extracting(offset..<(offset + count)))
    }
}

/// A sink that keeps the bytes in memory.
package struct MemorySink: DraftSink, Sendable {
    /// The bytes taken so far.
    package private(set) var bytes: [UInt8] = []

    /// Makes an empty sink.
    package init() {}

    /// Takes the next bytes.
    public mutating func write(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { unsafe self.bytes.append(contentsOf: $0) }
    }
}

extension OutputRawSpan {
    /// Adds bytes that fit.
    package mutating func append(_ bytes: Span<UInt8>) {
        unsafe withUnsafeMutableBytes { buffer, count in
            unsafe bytes.withUnsafeBytes { source in
                unsafe UnsafeMutableRawBufferPointer(rebasing: buffer[count...]).copyMemory(from: source)
            }
            count += bytes.count
        }
    }
}

extension SealedSource {
    /// The bytes of a range. A source that fails in a cancelled task has not failed.
    package func bytes(_ range: Range<Int>) async throws(TresorError) -> [UInt8] {
        guard !range.isEmpty else { return [] }
        let buffer = UnsafeMutableRawBufferPointer.allocate(byteCount: range.count, alignment: 1)
        defer { unsafe buffer.deallocate() }
        var output = unsafe OutputRawSpan(buffer: buffer, initializedCount: 0)
        do throws(TresorError) {
            try await read(from: range.lowerBound, into: &output)
        } catch {
            throw Task.isCancelled ? .cancelled : error
        }
        guard output.byteCount == range.count else { throw .altered }
        return unsafe [UInt8](buffer)
    }
}

// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
public import TresorCore
public import TresorCrypto

/// A sealed file on disk, binary or armoured. Several tasks can read it at any place.
///
/// The file stays open until the last copy is released. Verifying it notices bytes that change during the reading.
public struct SealedFileSource: SealedSource {
    private enum Form {
        case binary(FileBytes)
        case armoured(ArmouredSource<FileBytes>)
    }

    private let form: Form

    /// Opens a regular file, and reads from its beginning whether it is armoured.
    ///
    /// - Parameter path: the path; symbolic links are followed.
    /// - Throws: `TresorError.notFound` if there is nothing; `TresorError.failed` with `inputOutput` for
    ///   anything but a readable regular file; `TresorError.altered` for armour that no sealed file has.
    public init(at path: String) async throws(TresorError) {
        let file = try OpenFile(reading: path)
        let status = try file.status()
        guard status.isKind(S_IFREG) else { throw .failed(.inputOutput) }
        let bytes = FileBytes(file.descriptor, owner: file, byteCount: Int(status.st_size))
        let start = try await bytes.bytes(0..<min(Self.startByteCount, bytes.byteCount))
        try await self.init(bytes, startingWith: start)
    }

    /// - Parameter start: the beginning of the file.
    package init(_ bytes: FileBytes, startingWith start: [UInt8]) async throws(TresorError) {
        form = Armour.isArmoured(start) ? .armoured(try await ArmouredSource(bytes)) : .binary(bytes)
    }

    /// Enough bytes to tell armour from the binary form.
    private static let startByteCount = 64

    /// The size of the binary form in bytes.
    public var byteCount: Int {
        switch form {
        case .binary(let source): source.byteCount
        case .armoured(let source): source.byteCount
        }
    }

    /// Fills `output` with the bytes of the binary form from `offset` on.
    public func read(from offset: Int, into output: inout OutputRawSpan) async throws(TresorError) {
        switch form {
        case .binary(let source): try source.read(from: offset, into: &output)
        case .armoured(let source): try await source.read(from: offset, into: &output)
        }
    }
}

/// The bytes of a regular file, or of a part of it, at any place.
package struct FileBytes: SealedSource {
    package let byteCount: Int
    /// Closes the descriptor when it is released.
    private let owner: any AnyObject & Sendable
    private let descriptor: Int32
    private let start: Int

    /// - Parameters:
    ///   - start: where the part begins.
    ///   - byteCount: its size: for the whole file, that when it was opened.
    package init(_ descriptor: Int32, owner: any AnyObject & Sendable, from start: Int = 0, byteCount: Int) {
        self.descriptor = descriptor
        self.start = start
        self.owner = owner
        self.byteCount = byteCount
    }

    /// A part of it.
    package func part(_ range: Range<Int>) -> FileBytes {
        FileBytes(descriptor, owner: owner, from: start + range.lowerBound, byteCount: range.count)
    }

    package func read(from offset: Int, into output: inout OutputRawSpan) throws(TresorError) {
        while output.freeCapacity > 0 {
            let count = try SystemError.asFailed { () throws(SystemError) in
                try SystemCall.read(descriptor, at: off_t(start + offset + output.byteCount), into: &output)
            }
            guard count > 0 else { throw .altered }
        }
    }
}

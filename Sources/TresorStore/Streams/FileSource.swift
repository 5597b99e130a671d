// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    package import Darwin
#else
    package import Glibc
#endif
public import TresorCore
public import TresorCrypto

/// The content of a file, to seal.
///
/// Reads from the beginning to the end, in pieces of the caller's size. Copies share their position.
public struct FileSource: ContentSource, Sendable {
    /// The size in bytes when the file was opened; `nil` for a pipe or a device.
    package let byteCount: Int?
    /// Closes the descriptor when it is released.
    private let owner: any AnyObject & Sendable
    private let descriptor: Int32
    /// The bytes of the file that were read before.
    private let start: [UInt8]
    private var used = 0

    /// Opens a file, a pipe or a device.
    ///
    /// - Parameter path: the path; symbolic links are followed.
    /// - Throws: `TresorError.notFound` if there is nothing; `TresorError.failed` with `inputOutput` for a
    ///   directory, and for a file that cannot be opened.
    public init(at path: String) throws(TresorError) {
        let file = try OpenFile(reading: path)
        let status = try file.status()
        guard !status.isKind(S_IFDIR) else { throw .failed(.inputOutput) }
        self.init(file.descriptor, owner: file, byteCount: status.isKind(S_IFREG) ? Int(status.st_size) : nil)
    }

    /// - Parameters:
    ///   - owner: closes the descriptor when it is released.
    ///   - start: the bytes already read from the descriptor, which come first.
    package init(
        _ descriptor: Int32, owner: any AnyObject & Sendable, startingWith start: [UInt8] = [], byteCount: Int?
    ) {
        self.descriptor = descriptor
        self.owner = owner
        self.start = start
        self.byteCount = byteCount
    }

    /// Adds the next bytes to `output`, and fills it unless the file ends.
    ///
    /// - Throws: `TresorError.failed` with `inputOutput`.
    public mutating func read(into output: inout OutputRawSpan) throws(TresorError) {
        while used < start.count, output.freeCapacity > 0 {
            output.append(start[used])
            used += 1
        }
        while output.freeCapacity > 0 {
            let count = try SystemError.asFailed { () throws(SystemError) in
                try SystemCall.read(descriptor, into: &output)
            }
            guard count > 0 else { return }
        }
    }
}

/// A file that is open for reading; closed with the last reference.
final class OpenFile: Sendable {
    private let file: FileDescriptor

    init(reading path: String) throws(TresorError) {
        do throws(SystemError) {
            file = try FileDescriptor(path, O_RDONLY)
        } catch {
            throw [ENOENT, ENOTDIR].contains(error.number) ? .notFound : .failed(.inputOutput)
        }
    }

    var descriptor: Int32 { file.number }

    func status() throws(TresorError) -> stat {
        try SystemError.asFailed { () throws(SystemError) in try file.status() }
    }
}

extension SystemCall {
    /// `read(2)` into free room.
    ///
    /// - Returns: how many bytes were added, 0 at the end.
    package static func read(_ descriptor: Int32, into output: inout OutputRawSpan) throws(SystemError) -> Int {
        try output.withUnsafeMutableBytes { (buffer, filled) throws(SystemError) in
            let count = try read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: buffer[filled...]))
            filled += count
            return count
        }
    }

    /// `pread(2)` into free room.
    ///
    /// - Returns: how many bytes were added, 0 at the end.
    package static func read(
        _ descriptor: Int32, at offset: off_t, into output: inout OutputRawSpan
    ) throws(SystemError) -> Int {
        try output.withUnsafeMutableBytes { (buffer, filled) throws(SystemError) in
            let room = UnsafeMutableRawBufferPointer(rebasing: buffer[filled...])
            let count = try read(descriptor, at: offset, into: room)
            filled += count
            return count
        }
    }
}

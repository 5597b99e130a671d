// SPDX-License-Identifier: Apache-2.0

import Synchronization
public import TresorCore
public import TresorCrypto

/// A file that appears under its path as a whole or not at all, also after a power cut.
///
/// The bytes go to a temporary file in the same directory. ``commit()`` makes them durable and renames the file to its
/// path; until then, an existing file there is unchanged. The temporary is removed when the sink is released without a
/// commit, and that of a process that was killed when the next sink opens in the directory.
public final class FileSink: DraftSink, Sendable {
    /// The file until it is committed.
    private let file: Mutex<AtomicFile?>

    /// Begins a file.
    ///
    /// - Parameters:
    ///   - path: the path of the file. A symbolic link there is replaced, never followed.
    ///   - isPrivate: whether only this user may read the file, mode 0600; otherwise the umask decides.
    /// - Throws: `TresorError.notFound` if the directory is missing; `TresorError.failed` if nothing can be
    ///   written there, and for a path of something that is neither a file nor a symbolic link.
    public init(at path: String, isPrivate: Bool = true) throws(TresorError) {
        AtomicFile.sweep(besides: path)
        file = Mutex(try AtomicFile(at: path, mode: isPrivate ? 0o600 : 0o666))
    }

    /// Appends all of `bytes`.
    ///
    /// - Throws: `TresorError.failed`, with `full` if the disk is full; `TresorError.usage` after a commit.
    public func write(_ bytes: Span<UInt8>) throws(TresorError) {
        try file.withLock { (file) throws(TresorError) in
            guard file != nil else { throw .usage(.outOfOrder) }
            try file?.write(bytes)
        }
    }

    /// Appends a content to its end, for example that of a verified file.
    ///
    /// - Throws: the errors of the source, and those of ``write(_:)``; `TresorError.cancelled` in a cancelled task, also
    ///   where the source ends or fails because of it. Do not commit then.
    @concurrent public func write(contentOf source: inout some ContentSource) async throws(TresorError) {
        let count = 1 << 18
        while true {
            let bytes = try await source.nextBytes(count)
            try write(bytes.span)
            guard bytes.count == count else { return }
        }
    }

    /// Makes the bytes durable and moves them to the path, in place of an existing file. Waits for the disk on a thread
    /// of its own.
    ///
    /// - Throws: `TresorError.failed`; the path then has its old file, or all of the new one.
    @concurrent public func commit() async throws(TresorError) {
        try await Cores.apart { () throws(TresorError) in try self.replace() }
    }

    private func replace() throws(TresorError) {
        let taken = file.withLock { $0.take() }
        guard let taken else { throw .usage(.outOfOrder) }
        _ = try taken.commit(replacing: true)
    }
}

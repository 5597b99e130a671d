// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The file behind an ``OutputFile`` until it has its name.
final class Draft: Sendable {
    private let file: FileDescriptor
    private let directory: FileDescriptor
    private let target: String
    /// The temporary name, while it has one.
    private let name: Mutex<String?>
    private let token = Mutex<Interrupts.Token?>(nil)

    var descriptor: Int32 { file.number }

    private init(
        file: consuming FileDescriptor, in directory: consuming FileDescriptor, target: String, name: String?
    ) {
        self.file = file
        self.directory = directory
        self.target = target
        self.name = Mutex(name)
    }

    /// - Parameter unnamed: whether a file without a name is tried first.
    static func open(for path: String, unnamed isUnnamed: Bool = true) throws(SystemError) -> Draft {
        let parts = AtomicFile.split(path)
        guard !parts.name.isEmpty else { throw SystemError(EISDIR) }
        let directory = try FileDescriptor(parts.directory, O_RDONLY | O_DIRECTORY)
        sweep(parts.directory)
        Interrupts.begin()
        defer { Interrupts.end() }
        if isUnnamed, let file = unnamed(in: directory) {
            flock(file.number, LOCK_EX)
            return Draft(file: file, in: directory, target: parts.name, name: nil)
        }
        let temporary = try named(in: directory)
        let name = temporary.name
        let draft = Draft(file: temporary.take(), in: directory, target: parts.name, name: name)
        draft.token.withLock { $0 = Interrupts.onInterrupt { [weak draft] in draft?.unlinkName() } }
        return draft
    }

    private static let swept = Mutex<Set<String>>([])

    /// Removes drafts of ended processes from a directory, once per directory. A draft is locked as long as it has a
    /// temporary name.
    private static func sweep(_ path: String) {
        guard swept.withLock({ $0.insert(path).inserted }),
            let opened = try? FileDescriptor(path, O_RDONLY | O_DIRECTORY)
        else { return }
        _ = try? AtomicFile.sweep(opened)
    }

    /// Makes the content durable, then the name, then the directory. Removes everything if it fails.
    func commit(replacing: Bool) throws(SystemError) {
        do throws(SystemError) { try file.synchronize() } catch {
            discard()
            throw error
        }
        try Interrupts.atomically { () throws(SystemError) in
            do throws(SystemError) { try place(replacing: replacing) } catch {
                discard()
                throw error
            }
        }
    }

    private func place(replacing: Bool) throws(SystemError) {
        let isPlaced = replacing ? false : try isLinkedUnnamed()
        if !isPlaced {
            let current = try temporaryName()
            if replacing {
                _ = try SystemError.retrying { renameat(directory.number, current, directory.number, target) }
            } else {
                try SystemCall.move(current, toFree: target, in: directory.number)
            }
            name.withLock { $0 = nil }
        }
        forget()
        try directory.synchronize()
    }

    func discard() {
        Interrupts.atomically {
            unlinkName()
            forget()
        }
    }

    private func forget() {
        if let token = token.withLock({ $0 }) { Interrupts.cancel(token) }
    }

    private func unlinkName() {
        name.withLock { name in
            if let current = name { unlinkat(directory.number, current, 0) }
            name = nil
        }
    }

    /// Whether an unnamed file could be given the target's name, which nothing else may have.
    private func isLinkedUnnamed() throws(SystemError) -> Bool {
        guard name.withLock({ $0 == nil }) else { return false }
        return try isLinked(as: target)
    }

    /// The temporary name. A link cannot replace a file, so an unnamed one gets a temporary name first.
    private func temporaryName() throws(SystemError) -> String {
        if let current = name.withLock({ $0 }) { return current }
        let temporary = AtomicFile.temporaryName()
        guard try isLinked(as: temporary) else { return try copyToNamed() }
        name.withLock { $0 = temporary }
        return temporary
    }

    /// Copies an unnamed file that cannot get a name into one that has had a name from the start, under the same
    /// descriptor.
    private func copyToNamed() throws(SystemError) -> String {
        let attributes = try FileAttributes(of: descriptor)
        let copy = try Self.named(in: directory)
        let temporary = copy.name
        name.withLock { $0 = temporary }
        var part = [UInt8](repeating: 0, count: 1 << 16)
        var offset: off_t = 0
        while true {
            var memory = part.mutableSpan
            let count = try memory.withUnsafeMutableBytes { (memory) throws(SystemError) in
                try SystemCall.read(descriptor, at: offset, into: memory)
            }
            guard count > 0 else { break }
            try copy.file.write(part.span.extracting(first: count).bytes)
            offset += off_t(count)
        }
        guard try attributes.give(to: copy.file.number).isEmpty else { throw SystemError(EPERM) }
        try copy.file.synchronize()
        _ = try SystemError.retrying { dup2(copy.file.number, descriptor) }
        _ = try SystemError.retrying { fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        return temporary
    }

    /// Gives an unnamed file a name.
    ///
    /// - Returns: `false` where the file system cannot do that.
    private func isLinked(as name: String) throws(SystemError) -> Bool {
        if linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory.number, name, AT_SYMLINK_FOLLOW) == 0 {
            return true
        }
        let error = SystemError.current
        guard error.isLackOfLinks else { throw error }
        return false
    }

    /// A file without a name, if the system can give it one later.
    private static func unnamed(in directory: borrowing FileDescriptor) -> FileDescriptor? {
        #if canImport(Glibc)
            let unnamedFile: CInt = 0o20_000_000 | O_DIRECTORY
            guard access("/proc/self/fd", X_OK) == 0 else { return nil }
            return try? FileDescriptor(".", in: directory.number, O_RDWR | unnamedFile, mode: 0o600)
        #else
            return nil
        #endif
    }

    private static func named(in directory: borrowing FileDescriptor) throws(SystemError) -> TemporaryFile {
        try TemporaryFile.make(
            in: directory.number, O_RDWR, mode: 0o600, requiresLock: false, names: AtomicFile.temporaryName)
    }
}

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
    struct Failure: Error {
        let code: CInt
    }

    let descriptor: Int32
    private let directory: Int32
    private let target: String
    /// The temporary name, while it has one.
    private let name: Mutex<String?>
    private let token = Mutex<Interrupts.Token?>(nil)

    private init(descriptor: Int32, directory: Int32, target: String, name: String?) {
        self.descriptor = descriptor
        self.directory = directory
        self.target = target
        self.name = Mutex(name)
    }

    deinit {
        close(descriptor)
        close(directory)
    }

    /// - Parameter unnamed: whether a file without a name is tried first.
    static func open(for path: String, unnamed isUnnamed: Bool = true) -> Result<Draft, Failure> {
        let parts = AtomicFile.split(path)
        guard !parts.name.isEmpty else { return .failure(Failure(code: EISDIR)) }
        let directory = FileSystem.open(parts.directory, O_RDONLY | O_DIRECTORY | O_CLOEXEC)
        guard directory >= 0 else { return .failure(Failure(code: errno)) }
        sweep(parts.directory)
        return Interrupts.atomically {
            if isUnnamed, let descriptor = unnamed(in: directory) {
                flock(descriptor, LOCK_EX)
                return .success(Draft(descriptor: descriptor, directory: directory, target: parts.name, name: nil))
            }
            guard let (descriptor, name) = named(in: directory) else {
                defer { close(directory) }
                return .failure(Failure(code: errno))
            }
            let draft = Draft(descriptor: descriptor, directory: directory, target: parts.name, name: name)
            draft.token.withLock { $0 = Interrupts.onInterrupt { [weak draft] in draft?.unlinkName() } }
            return .success(draft)
        }
    }

    private static let swept = Mutex<Set<String>>([])

    /// Removes what processes that are no more have left in a directory: a draft is locked for as long as it has a temporary name. Once in each.
    private static func sweep(_ path: String) {
        guard swept.withLock({ $0.insert(path).inserted }),
            let opened = try? FileDescriptor(path, O_RDONLY | O_DIRECTORY)
        else { return }
        _ = try? AtomicFile.sweep(opened)
    }

    /// Durable content first, then the name, then a durable directory.
    ///
    /// - Returns: 0, or the `errno` of what failed; nothing is left behind then.
    func commit(replacing: Bool) -> CInt {
        guard fsync(descriptor) == 0 else { return discard(errno) }
        return Interrupts.atomically {
            if !replacing, name.withLock({ $0 == nil }) {
                guard !link(to: target) else { return finish() }
                guard SystemError.current.isLackOfLinks else { return discard(errno) }
            }
            guard nameTemporary() else { return discard(errno) }
            let code = moveIntoPlace(replacing: replacing)
            return code == 0 ? finish() : discard(code)
        }
    }

    private func finish() -> CInt {
        forget()
        return fsync(directory) == 0 ? 0 : errno
    }

    func discard() {
        _ = discard(0)
    }

    private func discard(_ code: CInt) -> CInt {
        Interrupts.atomically {
            unlinkName()
            forget()
        }
        return code
    }

    private func forget() {
        if let token = token.withLock({ $0 }) { Interrupts.cancel(token) }
    }

    private func unlinkName() {
        name.withLock { name in
            if let current = name { unlinkat(directory, current, 0) }
            name = nil
        }
    }

    /// A link cannot replace a file, so an unnamed one gets a temporary name first.
    private func nameTemporary() -> Bool {
        guard name.withLock({ $0 == nil }) else { return true }
        let temporary = AtomicFile.temporaryName()
        guard link(to: temporary) else { return SystemError.current.isLackOfLinks && copyToNamed() }
        name.withLock { $0 = temporary }
        return true
    }

    /// Where an unnamed file cannot get a name, its content goes into one that has had a name from the start, under the same descriptor.
    private func copyToNamed() -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0, let (copy, temporary) = Self.named(in: directory) else { return false }
        defer { close(copy) }
        name.withLock { $0 = temporary }
        var offset: off_t = 0
        while true {
            var part = [UInt8](repeating: 0, count: 1 << 16)
            guard let count = part.withUnsafeMutableBytes({ SystemCall.read(descriptor, at: offset, into: $0) }) else {
                return false
            }
            guard count > 0 else { break }
            let code = part[..<count].withUnsafeBytes { SystemCall.writeAll($0, to: copy) }
            guard code == 0 else {
                errno = code
                return false
            }
            offset += off_t(count)
        }
        return fchmod(copy, status.st_mode & 0o777) == 0 && fsync(copy) == 0 && dup2(copy, descriptor) >= 0
            && fcntl(descriptor, F_SETFD, FD_CLOEXEC) == 0
    }

    /// - Returns: 0, or the `errno` of what failed.
    private func moveIntoPlace(replacing: Bool) -> CInt {
        guard let current = name.withLock({ $0 }) else { return ENOENT }
        let code: CInt
        if replacing {
            code = renameat(directory, current, directory, target) == 0 ? 0 : errno
        } else {
            code = FileSystem.move(current, toFree: target, in: directory)
        }
        if code == 0 { name.withLock { $0 = nil } }
        return code
    }

    private func link(to name: String) -> Bool {
        linkat(AT_FDCWD, "/proc/self/fd/\(descriptor)", directory, name, AT_SYMLINK_FOLLOW) == 0
    }

    /// A file without a name, if the system can give it one later.
    private static func unnamed(in directory: Int32) -> Int32? {
        #if canImport(Glibc)
            let unnamedFile: CInt = 0o20_000_000 | O_DIRECTORY
            guard access("/proc/self/fd", X_OK) == 0 else { return nil }
            let descriptor = openat(directory, ".", O_RDWR | unnamedFile | O_CLOEXEC, 0o600)
            return descriptor >= 0 ? descriptor : nil
        #else
            return nil
        #endif
    }

    /// A file of a temporary name, locked: once more if it was swept up between the two, as if a process that is no more had left it.
    private static func named(in directory: Int32) -> (descriptor: Int32, name: String)? {
        for _ in 0..<16 {
            let name = AtomicFile.temporaryName()
            let descriptor = openat(directory, name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0o600)
            guard descriptor >= 0 else { return nil }
            flock(descriptor, LOCK_EX)
            var file = stat()
            guard fstat(descriptor, &file) == 0, file.st_nlink == 0 else { return (descriptor, name) }
            close(descriptor)
        }
        errno = EIO
        return nil
    }
}

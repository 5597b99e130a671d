// SPDX-License-Identifier: Apache-2.0

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif
import Synchronization
public import TresorCore
public import TresorCrypto

/// A home in two directories: one for data that a backup may contain, one for the device share, which a backup must not
/// contain.
///
/// Directories are created on first use with mode 0700; files have mode 0600. Ids and hashes in names are lower-case
/// hexadecimal. The home refuses a directory that others can write to, and a file of another user, with
/// `TresorError.failed(_:)` and `permissions`. It also refuses the identity, the names, the marks and the device
/// share if others can read them.
public final class DirectoryHome: Home {
    private static let largest = 1 << 30
    private static let largestSecret = 1 << 20
    /// How long a home waits for its lock.
    package static let patience = Duration.seconds(5)

    let data: String
    let state: String
    private let patience: Duration
    private let clock: @Sendable () -> Duration
    private let pause: @Sendable () -> Void
    private let swept = Mutex(false)

    /// Makes a home in these directories. Opens and creates nothing yet.
    ///
    /// - Parameters:
    ///   - data: the directory of the identity, pins, pinned heads, logs and evidence.
    ///   - state: the directory of the device share.
    public init(data: String, state: String) {
        let start = ContinuousClock.now
        self.data = data
        self.state = state
        patience = Self.patience
        clock = { ContinuousClock.now - start }
        pause = { usleep(10_000) }
    }

    /// Makes a home that waits for its lock in another way.
    ///
    /// - Parameters:
    ///   - clock: a time that never goes back.
    ///   - pause: waits before the lock is tried again.
    package init(
        data: String, state: String, patience: Duration, clock: @escaping @Sendable () -> Duration = { .zero },
        pause: @escaping @Sendable () -> Void = {}
    ) {
        self.data = data
        self.state = state
        self.patience = patience
        self.clock = clock
        self.pause = pause
    }

    /// Reads an object, at most 1 GiB; `nil` if there is none.
    public func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
        guard let file = try openOwn(object) else { return nil }
        let bytes = try SystemError.asFailed { () throws(SystemError) in try file.read(limit: Self.largest) }
        guard let bytes else { throw .failed(.memory) }
        return bytes
    }

    /// Reads a secret object, at most 1 MiB, directly into secret memory; `nil` if there is none.
    public func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let file = try openOwn(object) else { return nil }
        let status = try SystemError.asFailed { () throws(SystemError) in try file.status() }
        guard status.st_size <= Self.largestSecret else { throw .failed(.memory) }
        return try SecretBytes(count: Int(status.st_size)) { (output) throws(TresorError) in
            do throws(SystemError) { try file.read(into: &output) } catch { throw .failed(error.fault) }
        }
    }

    /// Opens a file of this user that no other user can change, or read if it is secret.
    private func openOwn(_ object: HomeObject) throws(TresorError) -> FileDescriptor? {
        guard let directory = try open(place(of: object).directory, creating: false) else { return nil }
        guard let file = try Self.openForReading(place(of: object).name, in: directory) else { return nil }
        let status = try SystemError.asFailed { () throws(SystemError) in try file.status() }
        guard status.st_mode & S_IFMT == S_IFREG else { throw .failed(.inputOutput) }
        let isOwn = status.st_uid == geteuid() && status.st_mode & (object.isSecret ? 0o077 : 0o022) == 0
        guard isOwn else { throw .failed(.permissions) }
        return file
    }

    private static func openForReading(
        _ name: String, in directory: borrowing FileDescriptor
    ) throws(TresorError) -> FileDescriptor? {
        do throws(SystemError) {
            return try FileDescriptor.existing(name, in: directory.number, O_RDONLY | O_NOFOLLOW | O_NONBLOCK)
        } catch {
            // A symbolic link may lead to a file of another user.
            throw .failed([ELOOP, EACCES].contains(error.number) ? .permissions : .inputOutput)
        }
    }

    /// Replaces an object by a file of mode 0600, durably. Keeps existing evidence.
    public func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        try replace(object, with: bytes.span)
    }

    /// Replaces an object directly from secret memory.
    public func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try replace(object, with: bytes.span)
    }

    private func replace(_ object: HomeObject, with bytes: Span<UInt8>) throws(TresorError) {
        let place = place(of: object)
        guard let directory = try open(place.directory, creating: true) else { throw .failed(.inputOutput) }
        let file = try AtomicFile(place.name, in: directory, mode: 0o600)
        try file.write(bytes)
        // The name of evidence says what it is about, so an existing file is the same, or as good.
        _ = try file.commit(replacing: !object.isPermanent)
    }

    /// Deletes an object durably; succeeds if there is none.
    public func delete(_ object: HomeObject) throws(TresorError) {
        let place = place(of: object)
        guard let directory = try open(place.directory, creating: false) else { return }
        if unlinkat(directory.number, place.name, 0) != 0 {
            let error = SystemError.current
            guard error.number == ENOENT else { throw .failed(error.fault) }
        }
        try SystemError.asFailed { () throws(SystemError) in try directory.synchronize() }
    }

    /// Runs `body` under a lock on the file `lock`. The lock ends with the process.
    public func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        let lock = try lockFile("lock")
        let end = clock() + patience
        while try !Self.isLocked(lock) {
            guard !HomePatience.isNone, clock() < end else { throw .busy }
            pause()
        }
        try sweep()
        let result = try body()
        _ = consume lock
        return result
    }

    /// Takes the right to change the key slots, by a lock on the file `slots.lock`. The lock ends with the process.
    public func slotLock() throws(TresorError) -> SlotLock? {
        let file = try lockFile("slots.lock")
        guard try Self.isLocked(file) else { return nil }
        let held = HeldFile(file)
        return SlotLock { _ = held }
    }

    /// A file that stays open as long as somebody holds this.
    private final class HeldFile: Sendable {
        private let file: FileDescriptor

        init(_ file: consuming FileDescriptor) { self.file = file }
    }

    /// Opens a file whose lock belongs to the open file. It ends with the file or the process, and also works within one
    /// process.
    private func lockFile(_ name: String) throws(TresorError) -> FileDescriptor {
        guard let directory = try open(.data, creating: true) else { throw .failed(.inputOutput) }
        return try SystemError.asFailed { () throws(SystemError) in
            try FileDescriptor(name, in: directory.number, O_RDWR | O_CREAT | O_NOFOLLOW, mode: 0o600)
        }
    }

    /// Tries to lock a file without waiting.
    private static func isLocked(_ file: borrowing FileDescriptor) throws(TresorError) -> Bool {
        guard flock(file.number, LOCK_EX | LOCK_NB) != 0 else { return true }
        let error = SystemError.current
        guard error.number == EWOULDBLOCK || error.number == EINTR else { throw .failed(error.fault) }
        return false
    }

    /// Once is enough: the next process removes the files of one that dies later.
    private func sweep() throws(TresorError) {
        guard swept.withLock({ done in !exchange(&done, with: true) }) else { return }
        for directory in Directory.allCases {
            guard let opened = try open(directory, creating: false) else { continue }
            try SystemError.asFailed { () throws(SystemError) in try AtomicFile.sweep(opened) }
        }
    }
}

extension DirectoryHome {
    enum Directory: CaseIterable {
        case data, logs, evidence, records, state
    }

    func open(_ directory: Directory, creating: Bool) throws(TresorError) -> FileDescriptor? {
        let below: String
        switch directory {
        case .state: return try FileDescriptor.privateDirectory(state, creating: creating)
        case .data: return try FileDescriptor.privateDirectory(data, creating: creating)
        case .logs: below = "/logs"
        case .evidence: below = "/evidence"
        case .records: below = "/records"
        }
        // A user with write access to a parent could replace the directory below.
        guard try FileDescriptor.privateDirectory(data, creating: creating) != nil else { return nil }
        return try FileDescriptor.privateDirectory(data + below, creating: creating)
    }

    func place(of object: HomeObject) -> (directory: Directory, name: String) {
        let directory: Directory =
            switch object.kind {
            case .identity, .names, .marks, .pins, .heads, .notedStores, .knownServices, .knownLogins, .wraps,
                .cleanupJournal:
                .data
            case .log, .state: .logs
            case .evidence: .evidence
            case .records, .volume, .recordIndex, .outbox, .unsent: .records
            case .deviceShare: .state
            }
        return (directory, String(object.name.split(separator: "/").last ?? ""))
    }
}

extension HomeObject {
    fileprivate var isPermanent: Bool {
        if case .evidence = kind { return true }
        return false
    }
}

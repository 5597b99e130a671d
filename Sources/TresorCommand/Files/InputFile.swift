// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Standard input and the other streams of a run, each of which only one of data, password, kit and card may use. A stream
/// is the same one by whatever name or number it is opened.
final class StandardInput: Sendable {
    private struct Use {
        let user: String
        let stream: FileIdentity?
        var isStandard = false
        /// Whether this program opens a file for it, which then is read from its beginning, however often.
        var isOpened = false
    }

    /// The uses so far: those of standard input, and those of each stream, which may be thousands.
    private struct Uses {
        private var standard: Use?
        private var byStream: [FileIdentity: [Use]] = [:]

        /// Notes a use.
        ///
        /// - Returns: an earlier one of the same stream, unless both open the same file.
        mutating func take(_ use: Use) -> Use? {
            var earlier = use.isStandard ? standard : nil
            if let stream = use.stream {
                earlier = earlier ?? byStream[stream]?.first { !($0.isOpened && use.isOpened) }
                byStream[stream, default: []].append(use)
            }
            if use.isStandard { standard = standard ?? use }
            return earlier
        }
    }

    private let uses = Mutex(Uses())

    /// Claims standard input.
    ///
    /// - Parameter user: the use, as in "the password".
    /// - Throws: 64 if it has another use already.
    func claim(for user: String) throws(CommandFailure) { try claim(STDIN_FILENO, for: user) }

    /// Claims a descriptor that this program was started with.
    ///
    /// - Throws: 64 if its stream or file has another use already.
    func claim(_ descriptor: Int32, for user: String) throws(CommandFailure) {
        var status = stat()
        let isThere = fstat(descriptor, &status) == 0 && Self.brings(status) != nil
        try claim(
            Use(user: user, stream: isThere ? FileIdentity(status) : nil, isStandard: descriptor == STDIN_FILENO))
    }

    /// Claims what a path leads to, before it is opened: a pipe with a name waits for another writer then.
    ///
    /// - Throws: 64 if it has another use already. A file may be opened twice, but not beside a descriptor of it.
    func claim(path: String, for user: String) throws(CommandFailure) {
        var status = stat()
        guard stat(path, &status) == 0, let isStream = Self.brings(status) else { return }
        try claim(Use(user: user, stream: FileIdentity(status), isOpened: !isStream))
    }

    /// Whether a descriptor brings its data once; `nil` for a device like `/dev/null`, which brings none.
    private static func brings(_ status: stat) -> Bool? {
        if status.isKind(S_IFREG) { return false }
        let isTerminal = status.isKind(S_IFCHR) && FileIdentity(status) != FileIdentity(path: "/dev/null")
        return status.isKind(S_IFIFO) || status.isKind(S_IFSOCK) || isTerminal ? true : nil
    }

    private func claim(_ use: Use) throws(CommandFailure) {
        let (user, isStandard) = (use.user, use.isStandard)
        let earlier = uses.withLock { $0.take(use) }
        guard let earlier, earlier.isStandard || earlier.user != user else { return }
        let name = earlier.isStandard || isStandard ? "standard input" : "one stream"
        let option = [earlier.user, user].contains(SecretInput.newPassword) ? "--new-password" : "--password"
        throw .usage(
            "\(name) cannot be both \(earlier.user) and \(user)",
            hints: ["tresor … {\(option)-file} {\(option)-fd} \(option)-file FILE"])
    }

    /// Whether a pipe may take its place: it is a terminal or a device like `/dev/null`, and brings no data.
    static var isFree: Bool {
        var status = stat()
        return fstat(STDIN_FILENO, &status) != 0 || status.isKind(S_IFCHR)
    }

    static func isStream(_ descriptor: Int32) -> Bool {
        var status = stat()
        guard fstat(descriptor, &status) == 0 else { return false }
        return status.isKind(S_IFIFO) || status.isKind(S_IFSOCK) || isatty(descriptor) == 1
    }
}

/// An INPUT, opened: a file, or standard input for `-` and for none.
final class InputFile: Sendable {
    /// As named on the command line; `nil` for standard input.
    let path: String?
    let descriptor: Int32
    /// Closes the descriptor; `nil` for standard input.
    private let file: FileDescriptor?
    /// Whether reading starts at offset 0: the caller may have read a part of standard input.
    private let beginsAtStart: Bool
    /// The state of a regular file when it was opened; `nil` for anything else.
    private let begun: stat?

    /// - Throws: 10 for a missing file, 1 for one that cannot be read, 64 for a directory or when standard input is taken.
    init(_ argument: String?, standardInput: StandardInput) throws(CommandFailure) {
        guard let argument, argument != "-" else {
            try standardInput.claim(for: "the data")
            path = nil
            file = nil
            descriptor = STDIN_FILENO
            beginsAtStart = lseek(descriptor, 0, SEEK_CUR) == 0
            begun = Self.status(of: descriptor)
            return
        }
        path = argument
        try standardInput.claim(path: argument, for: "the data")
        let opened = try Self.open(argument)
        descriptor = opened.number
        file = consume opened
        beginsAtStart = true
        begun = Self.status(of: descriptor)
    }

    /// A regular file that was looked at, and is closed until it is read.
    struct Look: Sendable {
        fileprivate let path: String
        fileprivate let identity: FileIdentity?
        fileprivate let begun: stat
    }

    /// Opens the same file again; `nil` for anything that can be read only once.
    var look: Look? {
        guard let path, let begun else { return nil }
        return Look(path: path, identity: identity, begun: begun)
    }

    /// Opens a file again from its beginning.
    ///
    /// - Throws: 11 where another file has the path by now; what ``init(_:standardInput:)`` throws.
    init(_ look: Look) throws(CommandFailure) {
        // A pipe that has the path by now would wait for somebody who writes.
        let opened = try Self.open(look.path, O_NONBLOCK)
        (path, descriptor, beginsAtStart, begun) = (look.path, opened.number, true, look.begun)
        file = consume opened
        guard Self.status(of: descriptor) != nil, identity == look.identity else { throw changed }
    }

    private static func status(of descriptor: Int32) -> stat? {
        var status = stat()
        return fstat(descriptor, &status) == 0 && status.isKind(S_IFREG) ? status : nil
    }

    /// Refuses no content at all from a pipe, a socket or a terminal: the program that writes to it may have failed.
    func refuseNothing(_ content: [UInt8], allowed: Bool) throws(CommandFailure) {
        guard content.isEmpty, !allowed, StandardInput.isStream(descriptor) else { return }
        throw .usage(
            "\(shownName) is empty: the program that writes to it may have failed", hints: ["tresor … --allow-empty"])
    }

    /// Looks behind the last byte whether the file is still the one that was opened.
    ///
    /// - Returns: whether it has grown in between.
    /// - Throws: 11 for a file that was cut or rewritten.
    func hasGrown() throws(CommandFailure) -> Bool {
        guard let begun, let now = Self.status(of: descriptor) else { return false }
        if now.st_size > begun.st_size { return true }
        if let change { throw change }
        return false
    }

    /// The words for a file that has grown.
    func growth(after count: Int) -> String {
        "\(shownName) has grown while it was read: its first \(count) bytes are sealed"
    }

    /// The failure of a file that was changed while it was read, in any way; `nil` for one that is as it was opened.
    var change: CommandFailure? {
        guard let begun, let now = Self.status(of: descriptor),
            now.st_size != begun.st_size || Self.times(now) != Self.times(begun)
        else { return nil }
        return changed
    }

    private var changed: CommandFailure {
        CommandFailure(.busy, "\(shownName) was changed while it was read", file: path)
    }

    /// Makes sure that the file still has its name, and is as it was opened: else somebody has put there what is newer.
    func checkUnchanged() throws(CommandFailure) {
        if let change { throw change }
        guard let path, FileIdentity(path: path) == identity else { throw changed }
    }

    /// The number of its other names. They keep the file that is replaced under this one.
    var otherNameCount: Int { max(0, Int(begun?.st_nlink ?? 1) - 1) }

    func attributes() throws(CommandFailure) -> FileAttributes {
        do throws(SystemError) { return try FileAttributes(of: descriptor) } catch { throw unreadable }
    }

    private static func times(_ status: stat) -> [Int] {
        #if canImport(Darwin)
            let (content, state) = (status.st_mtimespec, status.st_ctimespec)
        #else
            let (content, state) = (status.st_mtim, status.st_ctim)
        #endif
        return [content.tv_sec, content.tv_nsec, state.tv_sec, state.tv_nsec]
    }

    /// The size of a regular file that is read as a whole; `nil` for anything else.
    var byteCount: Int? {
        var status = stat()
        guard beginsAtStart, fstat(descriptor, &status) == 0, status.isKind(S_IFREG) else { return nil }
        return Int(status.st_size)
    }

    /// The name shown to people.
    var shownName: String { path.map { DisplayText.quoted($0) } ?? "standard input" }

    /// The failure of a read.
    var unreadable: CommandFailure {
        CommandFailure(.failed(.inputOutput), "cannot read \(shownName)", file: path)
    }

    /// The last component of the path; `nil` for standard input.
    var lastComponent: String? { path.map { Self.lastComponent(of: $0) } }

    var identity: FileIdentity? { FileIdentity(descriptor: descriptor) }

    /// The regular file that was opened, as it was seen then; `nil` for anything else.
    var opened: FileIdentity? { begun.map { FileIdentity($0) } }

    /// All of it.
    ///
    /// - Parameters:
    ///   - limit: the most bytes that are taken.
    ///   - tooLarge: the error beyond the limit.
    func readAll(limit: Int, tooLarge: @autoclosure () -> CommandFailure) throws(CommandFailure) -> [UInt8] {
        try readAll(after: [], limit: limit, tooLarge: tooLarge()) { _ throws(CommandFailure) in }
    }

    /// All of it, straight into secret memory.
    func readSecret(limit: Int, tooLarge: @autoclosure () -> CommandFailure) throws(CommandFailure) -> SecretBytes {
        do {
            return try SecretInput.readAll(descriptor, limit: limit, what: shownName)
        } catch {
            throw error.error == .usage ? tooLarge() : error
        }
    }

    /// All of it, of which the beginning has been read.
    ///
    /// - Parameter judge: looks at each part, the beginning first, and ends the reading by an error.
    func readAll(
        after start: [UInt8], limit: Int, tooLarge: @autoclosure () -> CommandFailure,
        _ judge: ([UInt8]) throws(CommandFailure) -> Void
    ) throws(CommandFailure) -> [UInt8] {
        var bytes = start
        try judge(start)
        while true {
            let part = try read(upTo: 1 << 16)
            if part.isEmpty { return bytes }
            guard part.count <= limit - bytes.count else { throw tooLarge() }
            try judge(part)
            bytes += part
        }
    }

    /// The beginning: as much as is asked for, or all there is.
    func start(_ count: Int) throws(CommandFailure) -> [UInt8] {
        var bytes: [UInt8] = []
        // A small file takes little memory. A size may be wrong.
        let most = max(1 << 12, min(1 << 16, (begun.map { Int($0.st_size) } ?? 1 << 16) &+ 1))
        while bytes.count < count {
            let part = try read(upTo: min(most, count - bytes.count))
            if part.isEmpty { break }
            bytes += part
        }
        return bytes
    }

    /// The next bytes, at most `count`; empty at the end.
    func read(upTo count: Int) throws(CommandFailure) -> [UInt8] {
        var isRead = true
        if begun == nil, !isAtHand { Surroundings.current.turns.end() }
        let bytes = [UInt8](unsafeUninitializedCapacity: count) { buffer, filled in
            if let read = try? SystemCall.read(descriptor, into: UnsafeMutableRawBufferPointer(buffer)) {
                filled = read
            } else {
                isRead = false
            }
        }
        guard isRead else { throw unreadable }
        return bytes
    }

    /// Whether a reading waits for nobody.
    private var isAtHand: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    static func lastComponent(of path: String) -> String {
        path.utf8.split(separator: UInt8(ascii: "/")).last.map { String(Substring($0)) } ?? path
    }

    private static func open(_ path: String, _ flags: Int32 = 0) throws(CommandFailure) -> FileDescriptor {
        let file: FileDescriptor
        do throws(SystemError) {
            file = try FileDescriptor(path, O_RDONLY | flags)
        } catch {
            throw .cannotOpen(path, error)
        }
        var status = stat()
        guard fstat(file.number, &status) == 0, !status.isKind(S_IFDIR) else {
            throw CommandFailure(.usage, "\(DisplayText.quoted(path)) is a directory", file: path)
        }
        return file
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Reads secret bytes with `read(2)` straight into secret memory.
enum SecretInput {
    /// The user of a stream that brings a new password, in messages.
    static let newPassword = "the new password"

    /// The longest password, in bytes.
    static let passwordLimit = 1024

    /// Everything a descriptor yields, at most `limit` bytes.
    ///
    /// - Parameters:
    ///   - what: how a message names the source.
    ///   - deadline: when to give up, if ever.
    ///   - stopsAtLineEnd: for a terminal, which hands out lines.
    ///   - hasEnded: whether the writer has ended. The bytes that have arrived by then are everything, even if another
    ///     process holds the other end open.
    /// - Throws: 64 beyond the limit, 1 when reading fails or takes too long.
    static func readAll(
        _ descriptor: Int32, limit: Int, what: String, deadline: ContinuousClock.Instant? = nil,
        stopsAtLineEnd: Bool = false, hasEnded: (() -> Bool)? = nil
    ) throws(CommandFailure) -> SecretBytes {
        var outcome = Outcome.more
        var used = 0
        do {
            let memory = try SecretBytes(count: limit + 1) { span in
                while outcome == .more {
                    outcome = next(
                        descriptor, &span, &used, deadline, stopsAtLineEnd: stopsAtLineEnd, hasEnded: hasEnded)
                }
            }
            if outcome == .end { return try memory.prefix(used) }
        } catch {
            throw CommandFailure(error)
        }
        switch outcome {
        case .full: throw .usage("\(what) is longer than \(limit) bytes")
        case .late: throw CommandFailure(.failed(.other), "\(what) took too long")
        case .end, .more, .failed: throw CommandFailure(.failed(.inputOutput), "cannot read \(what)")
        }
    }

    private enum Outcome {
        case more, end, full, late, failed
    }

    private static func next(
        _ descriptor: Int32, _ span: inout MutableSpan<UInt8>, _ used: inout Int, _ deadline: ContinuousClock.Instant?,
        stopsAtLineEnd: Bool, hasEnded: (() -> Bool)?
    ) -> Outcome {
        guard used < span.count else { return .full }
        if let deadline {
            switch waitForInput(descriptor, until: deadline, hasEnded: hasEnded) {
            case .more: break
            case let other: return other
            }
        }
        let start = used
        let count = span.withUnsafeMutableBytes { memory in
            try? SystemCall.read(descriptor, into: UnsafeMutableRawBufferPointer(rebasing: memory[start...]))
        }
        guard let count else { return .failed }
        used += count
        if count == 0 { return .end }
        return stopsAtLineEnd && span[used - 1] == UInt8(ascii: "\n") ? .end : .more
    }

    /// A password: the content of a source less one final LF or CRLF.
    ///
    /// - Parameters:
    ///   - path: the path of a file, for the mend of what another system made of it.
    ///   - option: `--password` or `--new-password`, which the mend begins with.
    ///   - firstLine: the hint that takes the first line alone, where the source is no file.
    static func password(
        _ content: consuming SecretBytes, what: String, path: String? = nil, option: String = "--password",
        firstLine: String? = nil
    ) throws(CommandFailure) -> SecretBytes {
        if let foreign = foreignText(content) {
            throw foreign.failure(
                of: what, lineCount: lineCount(content), path: path, option: option, firstLine: firstLine)
        }
        let password = try withoutLineEnd(content)
        guard password.count > 0 else { throw .usage("\(what) is empty") }
        guard password.count <= passwordLimit else { throw .usage("\(what) is longer than \(passwordLimit) bytes") }
        guard isText(password) else { throw .usage("\(what) is not valid UTF-8") }
        return password
    }

    /// Refuses a kit that a program of another system has written as UTF-16.
    static func refuseUTF16(_ kit: borrowing SecretBytes, path: String) throws(CommandFailure) {
        guard isUTF16(kit.span) else { return }
        throw CommandFailure(
            .usage, "\(DisplayText.quoted(path)) is UTF-16, and a kit is UTF-8",
            hints: [ForeignText.inUTF8(path)].compactMap(\.self), file: path)
    }

    /// Two secrets, a blank between them.
    static func joined(
        _ first: borrowing SecretBytes, _ second: borrowing SecretBytes
    ) throws(CommandFailure) -> SecretBytes {
        let (start, end) = (first.span, second.span)
        do throws(TresorError) {
            return try SecretBytes(count: start.count + 1 + end.count) { (output) throws(TresorError) in
                for index in 0..<start.count { output[index] = start[index] }
                output[start.count] = UInt8(ascii: " ")
                for index in 0..<end.count { output[start.count + 1 + index] = end[index] }
            }
        } catch {
            throw CommandFailure(error)
        }
    }

    /// Enough for a password and its line end.
    static var passwordContentLimit: Int { passwordLimit + 2 }

    /// The same bytes less one final LF or CRLF.
    static func withoutLineEnd(_ content: consuming SecretBytes) throws(CommandFailure) -> SecretBytes {
        let count = countWithoutLineEnd(content.span)
        do {
            return try content.prefix(count)
        } catch {
            throw CommandFailure(error)
        }
    }

    private static func countWithoutLineEnd(_ bytes: Span<UInt8>) -> Int {
        var count = bytes.count
        if count > 0, bytes[count - 1] == UInt8(ascii: "\n") {
            count -= 1
            if count > 0, bytes[count - 1] == UInt8(ascii: "\r") { count -= 1 }
        }
        return count
    }

    /// A mark that editors and shells of other systems leave on a line of text. Nothing of it is removed silently: what
    /// a person types has no mark.
    private enum ForeignText {
        case mark, wide, lines

        func failure(
            of what: String, lineCount: Int, path: String?, option: String, firstLine: String?
        ) -> CommandFailure {
            let file = path.flatMap { Self.isReadAgain($0) ? Shell.path($0) : nil }
            let (message, command): (String, String?) =
                switch self {
                case .mark:
                    (
                        "\(what) begins with a byte-order mark, which an editor has added",
                        file.map { "sed -i '1s/^\\xEF\\xBB\\xBF//' \($0)" }
                    )
                case .wide:
                    (
                        "\(what) is UTF-16, and a password is UTF-8",
                        path.flatMap(Self.inUTF8)
                    )
                case .lines:
                    (
                        "\(what) has more than one line: \(lineCount) of them, and a password is one",
                        file.map { file in
                            // The file stays as it is: its other lines may be somebody's notes.
                            let first = "head -n 1 \(file)"
                            guard StandardInput.isFree else { return Self.writing(first) }
                            return first + " | " + HintCompletion.complete("tresor … {\(option)-file} \(option)-fd 0")
                        } ?? firstLine
                    )
                }
            let other = path.map { _ in "tresor … {\(option)-file} \(option)-file FILE" }
            return CommandFailure(.usage, message, hints: [command ?? other].compactMap(\.self), file: path)
        }

        /// The command that writes the file at a path in UTF-8; `nil` if the path names other content then.
        static func inUTF8(_ path: String) -> String? {
            isReadAgain(path) ? writing("iconv -f UTF-16 -t UTF-8 \(Shell.path(path))") : nil
        }

        /// A command that writes a secret file. A shell would make one that others can read.
        private static func writing(_ command: String) -> String { "(umask 077; \(command) > FILE)" }

        /// Whether a path names the same content in the next command: not a pipe, and no descriptor of this program.
        private static func isReadAgain(_ path: String) -> Bool {
            FileIdentity.isFile(path: path) && !path.hasPrefix("/dev/") && !path.hasPrefix("/proc/")
        }
    }

    private static func foreignText(_ content: borrowing SecretBytes) -> ForeignText? {
        let bytes = content.span
        if bytes.count >= 3, bytes[0] == 0xef, bytes[1] == 0xbb, bytes[2] == 0xbf { return .mark }
        if isUTF16(bytes) { return .wide }
        let count = countWithoutLineEnd(bytes)
        for index in 0..<count where bytes[index] == UInt8(ascii: "\n") { return .lines }
        return nil
    }

    /// Whether bytes begin with the mark of UTF-16, in either order.
    private static func isUTF16(_ bytes: Span<UInt8>) -> Bool {
        bytes.count >= 2 && bytes[0] ^ bytes[1] == 0x01 && max(bytes[0], bytes[1]) == 0xff
    }

    private static func lineCount(_ content: borrowing SecretBytes) -> Int {
        let bytes = content.span
        var count = 1
        for index in 0..<countWithoutLineEnd(bytes) where bytes[index] == UInt8(ascii: "\n") { count += 1 }
        return count
    }

    private static func isText(_ password: borrowing SecretBytes) -> Bool {
        let bytes = password.span
        for index in bytes.indices where bytes[index] == 0 { return false }
        return (try? UTF8Span(validating: bytes)) != nil
    }

    /// - Returns: `more` when there is something to read, or the end.
    private static func waitForInput(
        _ descriptor: Int32, until deadline: ContinuousClock.Instant, hasEnded: (() -> Bool)?
    ) -> Outcome {
        while true {
            let left = ContinuousClock.now.duration(to: deadline)
            guard left > .zero else { return .late }
            // Asked before the descriptor is polled, so that everything written before the end has arrived.
            let isOver = hasEnded?() ?? false
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let milliseconds = left.components.seconds * 1000 + left.components.attoseconds / 1_000_000_000_000_000 + 1
            let patience = isOver ? 0 : hasEnded == nil ? milliseconds : min(milliseconds, 20)
            let ready = poll(&entry, 1, Int32(clamping: patience))
            if ready > 0 { return .more }
            if ready < 0, errno != EINTR { return .late }
            if ready == 0, isOver { return .end }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The person at the keyboard.
///
/// Questions go to `/dev/tty` and nowhere else, so that neither a pipe nor a redirection can answer one. What was typed
/// before a question was shown does not count. A secret is not echoed, and its prompt is erased when it is answered.
final class Terminal: Sendable {
    private let file: FileDescriptor
    var descriptor: Int32 { file.number }

    /// - Returns: `nil` when there is no terminal.
    init?(device: String = "/dev/tty") {
        guard let file = try? FileDescriptor(device, O_RDWR | O_NOCTTY), isatty(file.number) == 1 else { return nil }
        self.file = file
    }

    /// Shows text to the person and to nobody else; never through a redirection.
    func show(_ text: String) throws(CommandFailure) {
        try Channel(descriptor: descriptor, name: "the terminal").write(text)
    }

    /// Shows a secret once, between two texts, without making text of it.
    func show(_ before: String, secret: borrowing SecretBytes, _ after: String) throws(CommandFailure) {
        let channel = Channel(descriptor: descriptor, name: "the terminal")
        try channel.write(before)
        try channel.write(secret.span)
        try channel.write(after)
    }

    /// Asks for a secret, such as `password for anna: `.
    ///
    /// - Returns: the typed bytes, without the line end.
    /// - Throws: 64 beyond 1024 bytes, 130 when the input ends.
    func secret(_ prompt: String) throws(CommandFailure) -> SecretBytes { try secret(prompt) { _ in nil } }

    /// Asks for a secret of several lines, such as the rows of a kit. Lines that are pasted together count, and none of
    /// them is echoed. An empty line ends them, unless more was pasted behind it.
    ///
    /// - Parameter further: the prompt of the line after these; `nil` when they are all.
    /// - Returns: the lines, a blank between two.
    func secret(
        _ prompt: String, further: (borrowing SecretBytes) -> String?
    ) throws(CommandFailure) -> SecretBytes {
        let echo = try Echo.off(descriptor, prompt: prompt)
        defer { echo.restore() }
        var lines = try unechoed(prompt)
        while let prompt = further(lines) {
            echo.asks(prompt)
            let line = try unechoed(prompt)
            guard line.count > 0 || hasLine else { break }
            if line.count > 0 { lines = try SecretInput.joined(lines, line) }
        }
        return lines
    }

    /// Whether a line is there to be read.
    private var hasLine: Bool {
        var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
        return poll(&entry, 1, 0) > 0
    }

    private func unechoed(_ prompt: String) throws(CommandFailure) -> SecretBytes {
        try show(prompt)
        defer {
            Surroundings.current.turns.end()
            erase(prompt)
        }
        let line = try SecretInput.readAll(
            descriptor, limit: SecretInput.passwordContentLimit, what: "what was typed", stopsAtLineEnd: true)
        guard line.count > 0 else { throw CommandFailure(.interrupted, "the input ended before an answer") }
        return try SecretInput.withoutLineEnd(line)
    }

    /// Asks a question that only the word `yes` affirms, with or without blanks around it. Asks again, at most twice,
    /// if the answer is neither `yes` nor `no`.
    ///
    /// - Parameter question: lower case, without the instruction to type yes.
    func confirms(_ question: String) throws(CommandFailure) -> Bool { try confirms(question, until: nil) ?? false }

    /// Asks a question, as ``confirms(_:)`` does, that waits no longer than something lasts.
    ///
    /// - Parameter last: the last second in which an answer counts, by the clock of the run; `nil` for no end.
    /// - Returns: `nil` when the time is over.
    func confirms(_ question: String, until last: UInt64?) throws(CommandFailure) -> Bool? {
        tcflush(descriptor, TCIFLUSH)
        defer { Surroundings.current.turns.end() }
        try show("\(question) type yes: ")
        for attempt in 1...3 {
            guard hasInput(until: last) else {
                try show("\n")
                return nil
            }
            let typed = try line().filter { $0 != UInt8(ascii: " ") && $0 != UInt8(ascii: "\t") }
            if typed.elementsEqual("yes".utf8) { return true }
            guard attempt < 3, !typed.isEmpty, !typed.elementsEqual("no".utf8) else { break }
            tcflush(descriptor, TCIFLUSH)
            try show("please type yes or no: ")
        }
        return false
    }

    /// Waits until there is something to read; `false` when the time is over first.
    private func hasInput(until last: UInt64?) -> Bool {
        guard let last else { return true }
        let clock = Surroundings.current.now
        while true {
            let now = clock()
            guard now <= last else { return false }
            // The clock may be set while the question stands.
            let patience = min(last - now + 1, 10) * 1000
            var entry = pollfd(fd: descriptor, events: Int16(POLLIN), revents: 0)
            let ready = poll(&entry, 1, Int32(clamping: patience))
            // A failure shows itself when the line is read.
            if ready > 0 || (ready < 0 && errno != EINTR) { return true }
        }
    }

    /// Asks for a name.
    ///
    /// - Returns: `nil` for what is no name.
    func name(_ question: String) throws(CommandFailure) -> Name? {
        tcflush(descriptor, TCIFLUSH)
        defer { Surroundings.current.turns.end() }
        try show(question)
        let typed = try line()
        return try? Name(typed: String(decoding: typed, as: UTF8.self))
    }

    /// One typed line that is no secret, without its end; empty when the input ends.
    private func line() throws(CommandFailure) -> [UInt8] {
        var line: [UInt8] = []
        while line.count < 4096 {
            var part = [UInt8](repeating: 0, count: 256)
            guard let count = part.withUnsafeMutableBytes({ try? SystemCall.read(descriptor, into: $0) }) else {
                throw CommandFailure(.failed(.inputOutput), "cannot read the terminal")
            }
            line += part.prefix(count)
            if count == 0 || line.last == UInt8(ascii: "\n") { break }
        }
        if line.last == UInt8(ascii: "\n") { line.removeLast() } else { try show("\n") }
        return line
    }

    /// Removes a prompt, however many rows it took.
    private func erase(_ prompt: String) {
        guard let terminal = getenv("TERM"), strcmp(terminal, "dumb") != 0 else {
            try? show("\n")
            return
        }
        var size = winsize()
        let columns = ioctl(descriptor, UInt(TIOCGWINSZ), &size) == 0 && size.ws_col > 0 ? Int(size.ws_col) : 80
        let rowsAbove = prompt.count / columns
        try? show("\r" + (rowsAbove > 0 ? "\u{1b}[\(rowsAbove)A" : "") + "\u{1b}[J")
    }
}

/// A terminal without echo, for as long as a secret is typed; with echo again after an interrupt, and while stopped.
private final class Echo: Sendable {
    private let descriptor: Int32
    private let prompt: Mutex<String>
    private let original: Mutex<termios?>
    private let silent: termios
    private let token = Mutex<Interrupts.Token?>(nil)

    private init(descriptor: Int32, prompt: String, original: termios, silent: termios) {
        self.descriptor = descriptor
        self.prompt = Mutex(prompt)
        self.original = Mutex(original)
        self.silent = silent
    }

    static func off(_ descriptor: Int32, prompt: String) throws(CommandFailure) -> Echo {
        let failure = CommandFailure(.failed(.inputOutput), "cannot turn off the terminal's echo")
        var original = termios()
        guard tcgetattr(descriptor, &original) == 0 else { throw failure }
        var silent = original
        silent.c_lflag &= ~tcflag_t(ECHO | ECHONL)
        silent.c_lflag |= tcflag_t(ICANON | ISIG)
        let echo = Echo(descriptor: descriptor, prompt: prompt, original: original, silent: silent)
        echo.token.withLock { $0 = Interrupts.onInterrupt { echo.abandon() } }
        Interrupts.prompting(Interrupts.Prompt(suspend: { echo.suspend() }, resume: { echo.resume() }))
        guard echo.silence() else {
            echo.restore()
            throw failure
        }
        return echo
    }

    /// Does nothing after an interrupt, which has restored the terminal already.
    private func silence() -> Bool {
        original.withLock { original in
            var modes = silent
            return original == nil || tcsetattr(descriptor, TCSAFLUSH, &modes) == 0
        }
    }

    /// Notes the prompt that a stop by Ctrl-Z shows again.
    func asks(_ question: String) { prompt.withLock { $0 = question } }

    /// Ends the silence; doing it again does nothing.
    func restore() {
        Interrupts.prompting(nil)
        if let token = token.withLock({ $0 }) { Interrupts.cancel(token) }
        original.withLock { original in
            if var modes = original { tcsetattr(descriptor, TCSAFLUSH, &modes) }
            original = nil
        }
    }

    private func abandon() {
        restore()
        try? Channel(descriptor: descriptor, name: "the terminal").write("\n")
    }

    private func suspend() {
        original.withLock { original in
            if var modes = original { tcsetattr(descriptor, TCSANOW, &modes) }
        }
    }

    /// Leaves the terminal alone in the background, where it belongs to another process.
    private func resume() {
        guard tcgetpgrp(descriptor) == getpgrp() else { return }
        _ = silence()
        try? Channel(descriptor: descriptor, name: "the terminal").write("\r\u{1b}[K" + prompt.withLock { $0 })
    }
}

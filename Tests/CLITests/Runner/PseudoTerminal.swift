// SPDX-License-Identifier: Apache-2.0

import Foundation

/// A terminal with the test at the keyboard.
final class PseudoTerminal {
    struct Line {
        let prompt: String
        let answer: [UInt8]
        /// The action before the answer is typed.
        var meanwhile: (() throws -> Void)?
        /// Takes what the first group of the prompt matched.
        var takesGroup: ((String) -> Void)?

        init(prompt: String, answer: String, meanwhile: (() throws -> Void)? = nil) {
            self.prompt = prompt
            self.answer = Array(answer.utf8)
            self.meanwhile = meanwhile
        }

        init(prompt: String, bytes: [UInt8]) {
            self.prompt = prompt
            answer = bytes
        }

        /// The same line with another answer.
        func answering(_ text: String) -> Line { Line(prompt: prompt, answer: text) }
    }

    let path: String
    /// Everything the terminal showed.
    private(set) var transcript = ""
    private let master: Int32
    /// −1 when the programs have ended.
    private var slave: Int32
    private var echoedAtTheEnd = false
    private var shown: [UInt8] = []
    private var dialogue: [Line]
    private var answered = ""

    /// - Parameter dialogue: each answer is typed once its prompt has been shown after the answer before.
    init(_ dialogue: [Line]) throws {
        var master: Int32 = -1
        var slave: Int32 = -1
        guard openpty(&master, &slave, nil, nil, nil) == 0 else { throw ScriptFailure("there is no pseudo-terminal") }
        for descriptor in [master, slave] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var name = [CChar](repeating: 0, count: 128)
        guard ttyname_r(slave, &name, name.count) == 0 else { throw ScriptFailure("the pseudo-terminal has no name") }
        let path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.master = master
        self.slave = slave
        self.path = path
        self.dialogue = dialogue
    }

    deinit {
        close(master)
        if slave >= 0 { close(slave) }
    }

    var unread: [Line] { dialogue }

    /// Reads what is shown, for at most `milliseconds`, and answers what has been asked.
    ///
    /// - Returns: whether something was shown.
    @discardableResult
    func attend(milliseconds: Int32) throws -> Bool {
        var entry = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        shown += buffer.prefix(count)
        transcript = String(decoding: shown, as: UTF8.self)
        try answer()
        return true
    }

    /// Reads everything that the programs have shown, when they have ended: where nobody has the other side open, the
    /// kernel says where the end is.
    func finish() throws {
        guard slave >= 0 else { return }
        echoedAtTheEnd = echoes
        close(slave)
        slave = -1
        while try attend(milliseconds: 60_000) {}
    }

    private func answer() throws {
        while let line = dialogue.first {
            let rest = transcript.dropFirst(answered.count)
            guard let match = rest.firstMatch(of: try Regex<AnyRegexOutput>(line.prompt)) else { return }
            answered = String(transcript[..<match.range.upperBound])
            dialogue.removeFirst()
            let group = match.output.count > 1 ? match.output[1].substring.map(String.init) : nil
            if let group { line.takesGroup?(group) }
            try line.meanwhile?()
            // No key follows ^C.
            type(line.answer == [3] ? line.answer : line.answer + [UInt8(ascii: "\n")])
        }
    }

    func type(_ text: String) { type(Array(text.utf8)) }

    func type(_ bytes: [UInt8]) {
        _ = write(master, bytes, bytes.count)
        // The kernel has handed it on at the latest when somebody asks whether there is something to read.
        var entry = pollfd(fd: slave, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 0)
    }

    /// Whether the terminal echoes what is typed.
    var echoes: Bool {
        guard slave >= 0 else { return echoedAtTheEnd }
        var modes = termios()
        return tcgetattr(slave, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) != 0
    }
}

// SPDX-License-Identifier: Apache-2.0

import CProbe
import Foundation
import TestSupport

/// The built program as a child of the test, in a session of its own.
struct Program {
    /// The program lies beside the test bundle.
    static let path: String = {
        let running = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let package = Repository.root.appending(path: ".build/debug")
        return [running, bundle, package].compactMap { $0?.appendingPathComponent("tresor").path }
            .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "tresor"
    }()

    var directory: String
    var environment: [String: String]
    /// The prefix of the command line: a tracer, a shell with a limit.
    var wrapper: [String] = []
    /// Descriptors that the child does not have.
    var closed: Set<Int32> = []
    var terminal: Terminal?
    var patience: TimeInterval = 120

    /// How it ended and what it said.
    struct Ending {
        /// The exit code, or the negated number of the signal.
        let code: Int32
        let output: [UInt8]
        let error: [UInt8]

        var outputText: String { String(decoding: output, as: UTF8.self) }
        var errorText: String { String(decoding: error, as: UTF8.self) }
    }

    func run(_ arguments: [String], input: String = "/dev/null") throws -> Ending {
        let scratch = try Scratch()
        let child = try start(arguments, input: input, output: scratch["output"], error: scratch["error"])
        let code = try child.end(within: patience, terminal: terminal)
        return Ending(code: code, output: bytes(at: scratch["output"]), error: bytes(at: scratch["error"]))
    }

    /// Starts it with its output in files, or where a descriptor says.
    func start(
        _ arguments: [String], input: String = "/dev/null", output: String, error: String
    ) throws -> RunningProgram {
        let create = O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC | O_NOCTTY
        let descriptors = [
            closed.contains(0) ? -1 : open(input, O_RDONLY | O_CLOEXEC),
            closed.contains(1) ? -1 : open(output, create, 0o600), closed.contains(2) ? -1 : open(error, create, 0o600),
        ]
        defer { for descriptor in descriptors where descriptor >= 0 { close(descriptor) } }
        return try start(arguments, descriptors: descriptors)
    }

    func start(_ arguments: [String], descriptors: [Int32]) throws -> RunningProgram {
        let words = (wrapper + [Self.path] + arguments).map { strdup($0) }
        let variables = environment.merging(sanitizerOptions) { given, _ in given }.map { strdup("\($0)=\($1)") }
        defer { for copy in words + variables { free(copy) } }
        let child = probe_spawn(
            directory, words + [nil], variables + [nil], descriptors[0], descriptors[1], descriptors[2], terminal?.path)
        guard child > 0 else { throw Unmet("the program cannot be started") }
        return RunningProgram(id: child)
    }
}

/// A child that has not been waited for.
struct RunningProgram {
    let id: pid_t

    /// Waits for the end; a child that does not end is killed.
    func end(within patience: TimeInterval = 120, terminal: Terminal? = nil) throws -> Int32 {
        let deadline = Date(timeIntervalSinceNow: patience)
        while true {
            var status: Int32 = 0
            if waitpid(id, &status, WNOHANG) == id {
                terminal?.finish()
                let signal = status & 0x7f
                return signal == 0 ? (status >> 8) & 0xff : -signal
            }
            guard Date() < deadline else {
                let what = doing(id)
                kill()
                throw Unmet(
                    "the program did not end: \(what); its terminal shows: \(terminal?.transcript ?? "nothing")")
            }
            if let terminal { terminal.attend(milliseconds: 5) } else { usleep(2_000) }
        }
    }

    func kill() {
        Foundation.kill(id, SIGKILL)
        var status: Int32 = 0
        waitpid(id, &status, 0)
    }
}

/// A pseudo-terminal with the test at the keyboard.
final class Terminal {
    let path: String
    private(set) var transcript = ""
    private let master: Int32
    /// −1 when the programs have ended.
    private var slave: Int32
    private var echoedAtTheEnd = false

    init() throws {
        var master: Int32 = -1
        var slave: Int32 = -1
        guard openpty(&master, &slave, nil, nil, nil) == 0 else { throw Unmet("there is no pseudo-terminal") }
        for descriptor in [master, slave] { _ = fcntl(descriptor, F_SETFD, FD_CLOEXEC) }
        var name = [CChar](repeating: 0, count: 128)
        guard ttyname_r(slave, &name, name.count) == 0 else { throw Unmet("the pseudo-terminal has no name") }
        path = String(decoding: name.prefix { $0 != 0 }.map { UInt8(bitPattern: $0) }, as: UTF8.self)
        self.master = master
        self.slave = slave
    }

    deinit {
        close(master)
        if slave >= 0 { close(slave) }
    }

    /// Takes what is shown, waiting at most so long for it.
    ///
    /// - Returns: whether something was shown.
    @discardableResult
    func attend(milliseconds: Int32) -> Bool {
        var entry = pollfd(fd: master, events: Int16(POLLIN), revents: 0)
        guard poll(&entry, 1, milliseconds) > 0 else { return false }
        var buffer = [UInt8](repeating: 0, count: 4096)
        let count = read(master, &buffer, buffer.count)
        guard count > 0 else { return false }
        transcript += String(decoding: buffer.prefix(count), as: UTF8.self)
        return true
    }

    /// Takes everything that the programs have shown, when they have ended: where nobody has the other side open, the
    /// kernel says where the end is.
    func finish() {
        guard slave >= 0 else { return }
        echoedAtTheEnd = echoes
        close(slave)
        slave = -1
        while attend(milliseconds: 60_000) {}
    }

    /// Waits until `text` is shown.
    func wait(for text: String, times: Int = 1, seconds: Double = 60) throws {
        let deadline = Date(timeIntervalSinceNow: seconds)
        while transcript.components(separatedBy: text).count <= times {
            guard Date() < deadline else { throw Unmet("the terminal does not show \(text), but: \(transcript)") }
            attend(milliseconds: 20)
        }
    }

    /// Whether what is typed is shown.
    var echoes: Bool {
        guard slave >= 0 else { return echoedAtTheEnd }
        var modes = termios()
        return tcgetattr(slave, &modes) == 0 && modes.c_lflag & tcflag_t(ECHO) != 0
    }

    func type(_ text: String) {
        let bytes = Array(text.utf8)
        _ = write(master, bytes, bytes.count)
        // The kernel has handed it on at the latest when somebody asks whether there is something to read.
        var entry = pollfd(fd: slave, events: Int16(POLLIN), revents: 0)
        poll(&entry, 1, 0)
    }
}

/// A tool that the test environment lacks.
struct Unmet: Error, CustomStringConvertible {
    let description: String

    init(_ description: String) { self.description = description }
}

func bytes(at path: String) -> [UInt8] { (try? Data(contentsOf: URL(fileURLWithPath: path))).map(Array.init) ?? [] }

extension [UInt8] {
    /// Whether these bytes stand anywhere in it.
    func holds(_ needle: [UInt8]) -> Bool { Data(self).range(of: Data(needle)) != nil }
}

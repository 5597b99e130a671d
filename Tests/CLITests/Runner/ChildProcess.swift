// SPDX-License-Identifier: Apache-2.0

import Foundation
import PasswordMemo
import TestSupport

/// The built program, run once, in a session of its own: it has a terminal only if it is given one.
struct ChildProcess {
    var arguments: [String]
    var environment: [String: String]
    var directory: String
    var standardInput = "/dev/null"
    var terminal: PseudoTerminal?
    /// Whether standard output and standard error are the terminal.
    var isOnScreen = false
    var patience: TimeInterval = 120

    struct Result {
        /// The exit code, or the negated number of the signal that ended it.
        let code: Int32
        let output: [UInt8]
        let error: [UInt8]
        let transcript: String

        var outputText: String { String(decoding: output, as: UTF8.self) }
        var errorText: String { String(decoding: error, as: UTF8.self) }
    }

    /// The program lies beside the test bundle.
    static let program: String = {
        let running = URL(fileURLWithPath: "/proc/self/exe").resolvingSymlinksInPath().deletingLastPathComponent()
        let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") }
            .map { URL(fileURLWithPath: $0).deletingLastPathComponent() }
        let package = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../.build/debug").standardized
        return [running, bundle, package].compactMap { $0?.appendingPathComponent("tresor").path }
            .first { FileManager.default.isExecutableFile(atPath: $0) } ?? "tresor"
    }()

    func run(program: String = program) throws -> Result {
        let scratch = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-run-\(UUID())")
        try FileManager.default.createDirectory(at: scratch, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: scratch) }
        let output = scratch.appendingPathComponent("output")
        let error = scratch.appendingPathComponent("error")
        let child = try spawn(program, output: output.path, error: error.path)
        let code = try wait(for: child)
        return Result(
            code: code, output: isOnScreen ? [] : [UInt8](try Data(contentsOf: output)),
            error: isOnScreen ? [] : [UInt8](try Data(contentsOf: error)), transcript: terminal?.transcript ?? "")
    }

    func spawn(_ program: String, output: String, error: String) throws -> pid_t {
        var actions = posix_spawn_file_actions_t()
        var attributes = posix_spawnattr_t()
        posix_spawn_file_actions_init(&actions)
        posix_spawnattr_init(&attributes)
        defer {
            posix_spawn_file_actions_destroy(&actions)
            posix_spawnattr_destroy(&attributes)
        }
        if let terminal {
            // A session's first terminal becomes its controlling one.
            posix_spawn_file_actions_addopen(&actions, 9, terminal.path, O_RDWR, 0)
            posix_spawn_file_actions_addclose(&actions, 9)
        }
        let create = O_WRONLY | O_CREAT | O_TRUNC
        posix_spawn_file_actions_addopen(&actions, 0, standardInput, O_RDONLY, 0)
        posix_spawn_file_actions_addopen(
            &actions, 1, isOnScreen ? terminal?.path ?? output : output, isOnScreen ? O_WRONLY : create, 0o600)
        posix_spawn_file_actions_addopen(
            &actions, 2, isOnScreen ? terminal?.path ?? error : error, isOnScreen ? O_WRONLY : create, 0o600)
        // Signals blocked in a thread of the test are not blocked in the child.
        var none = sigset_t()
        sigemptyset(&none)
        posix_spawnattr_setsigmask(&attributes, &none)
        // Nor is one ignored there, as SIGHUP is under nohup.
        var all = sigset_t()
        sigfillset(&all)
        posix_spawnattr_setsigdefault(&attributes, &all)
        let newSession: Int16 = 0x80
        posix_spawnattr_setflags(
            &attributes, newSession | Int16(POSIX_SPAWN_SETSIGMASK) | Int16(POSIX_SPAWN_SETSIGDEF))
        let words = ["/bin/sh", "-c", "cd \"$0\" && exec \"$@\"", directory, program] + arguments
        let variables = environment.merging(sanitizerOptions) { given, _ in given }
            .merging(PasswordMemo.environment) { given, _ in given }
        var child = pid_t()
        let code = Self.withCStrings(words) { words in
            Self.withCStrings(variables.map { "\($0)=\($1)" }) { variables in
                posix_spawn(&child, "/bin/sh", &actions, &attributes, words, variables)
            }
        }
        guard code == 0 else {
            throw ScriptFailure("the program cannot be started: \(String(cString: strerror(code)))")
        }
        return child
    }

    func wait(for child: pid_t) throws -> Int32 {
        let deadline = Date(timeIntervalSinceNow: patience)
        while true {
            var status: Int32 = 0
            let ended = waitpid(child, &status, WNOHANG)
            if ended == child {
                try terminal?.finish()
                let signal = status & 0x7f
                return signal == 0 ? (status >> 8) & 0xff : -signal
            }
            guard Date() < deadline else {
                let what = doing(child)
                kill(child, SIGKILL)
                waitpid(child, &status, 0)
                throw ScriptFailure(
                    "the program did not end: \(what); its terminal shows: \(terminal?.transcript ?? "nothing")")
            }
            if let terminal { try terminal.attend(milliseconds: 5) } else { usleep(2_000) }
        }
    }

    private static func withCStrings<Result>(
        _ words: [String], _ body: ([UnsafeMutablePointer<CChar>?]) -> Result
    ) -> Result {
        let copies = words.map { strdup($0) }
        defer { for copy in copies { free(copy) } }
        return body(copies + [nil])
    }
}

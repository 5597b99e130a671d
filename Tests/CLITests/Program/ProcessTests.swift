// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@Suite("The process and its surroundings")
struct ProcessTests {
    /// Runs the program from a shell, as `tresor`.
    private func shell(_ text: String) throws -> ChildProcess.Result {
        let child = ChildProcess(
            arguments: ["-c", "tresor() { \(Self.quoted(ChildProcess.program)) \"$@\"; }\n\(text)"],
            environment: [
                "PATH": "/usr/bin:/bin", "HOME": "/",
                "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ],
            directory: "/")
        return try child.run(program: "/bin/sh")
    }

    private static func quoted(_ path: String) -> String { "'" + path.replacing("'", with: "'\\''") + "'" }

    @Test("A closed or full standard output is an error, not a silent success", arguments: [">&-", ">/dev/full"])
    func output(_ redirection: String) throws {
        let result = try shell("tresor help \(redirection)")
        #expect(result.code == 1)
        #expect(result.errorText.hasPrefix("tresor: error: cannot write to standard output"))
    }

    @Test("Closed standard input and standard error change nothing", arguments: ["<&-", "2>&-", "<&- 2>&-"])
    func closed(_ redirection: String) throws {
        let result = try shell("tresor help json \(redirection)")
        #expect(result.code == 0)
        #expect(result.outputText.contains("RFC 3339"))
    }

    @Test("A reader that goes away ends it quietly with SIGPIPE")
    func pipe() throws {
        let scratch = try Scratch()
        let pipe = Self.quoted(scratch.path("pipe"))
        // The only reader has gone before the program begins.
        let result = try shell("mkfifo \(pipe); exec 3<>\(pipe) 4>\(pipe) 3<&-; tresor help json >&4; echo $? >&2")
        #expect(result.errorText == "141\n")
        #expect(scratch.names == ["pipe"])
    }

    @Test("An argument that is not UTF-8 is refused by its position, and not repeated")
    func argument() throws {
        let result = try shell("tresor help \"$(printf 'secret\\377')\"")
        #expect(result.code == 64)
        #expect(
            result.errorText
                == "tresor: error: argument 2 is not valid UTF-8: rename that file, or give it on standard input\n")
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// INPUTs that become attachments: how many there are, and when they are read.
@Suite struct AttachmentInputTests {
    private let runner: ScriptRunner

    init() throws {
        runner = try ScriptRunner(Script(name: "attachments", text: ""))
        try runner.run(Script(name: "attachments", text: "as anna\ntresor create plan").commands[...])
    }

    /// Runs lines of a shell, with the program as `tresor`.
    private func shell(_ lines: String, patience: TimeInterval = 120) throws -> ChildProcess.Result {
        var child = ChildProcess(
            arguments: ["-c", "tresor() { '\(ChildProcess.program)' \"$@\"; }\n\(lines)"],
            environment: runner.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }, directory: runner.work.path)
        child.patience = patience
        return try child.run(program: "/bin/sh")
    }

    /// Lines that make so many files of more than 64 KiB.
    private static func files(_ count: Int) -> String {
        "for i in $(seq \(count)); do head -c 70000 /dev/zero >f$i; done"
    }

    @Test("There may be more INPUTs than a process may have files open")
    func moreThanMayBeOpen() throws {
        let result = try shell("\(Self.files(120))\nulimit -n 64\ntresor put -t plan --later f*")
        #expect(result.code == 0, "\(result.errorText)")
        #expect(result.errorText.contains("120 records for plan in your home, not sent yet"))
    }

    @Test("A file that another one replaces before it is read is refused, and nothing is kept")
    func exchanged() throws {
        // A pipe holds 64 KiB. So more than the beginning was read when the file goes: all INPUTs have been looked at.
        let result = try shell(
            """
            \(Self.files(2))
            mkfifo pipe
            { head -c 200000 /dev/zero; mv f2 f1; head -c 9 /dev/zero; } >pipe &
            tresor put -t plan pipe f1
            """)
        #expect(result.code == 11, "\(result.errorText)")
        #expect(result.errorText.contains("\"f1\" was changed while it was read"))
        let unsent = try shell("tresor records -t plan")
        #expect(unsent.code == 0 && !unsent.outputText.contains("unsent"), "\(unsent.outputText)")
    }

    @Test(
        "An INPUT that becomes a file of the home or a password after its path was looked at is refused",
        arguments: [
            ("homes/anna/identity", "belongs to the home or is the store"),
            ("homes/anna.password", "holds the password"),
        ], [("put -t plan --later", Int32(64)), ("encrypt -t plan -C out", 1)])
    func exchangedForAnOwnFile(_ own: (path: String, reason: String), _ command: (words: String, code: Int32)) throws {
        // A pipe is opened after all paths were looked at.
        let result = try shell(
            """
            mkfifo pipe
            mkdir out
            echo words >f
            { ln -f \(own.path) f; echo words; } >pipe &
            tresor \(command.words) pipe f
            """)
        // `encrypt` has sealed the pipe.
        #expect(result.code == command.code, "\(result.errorText)")
        #expect(result.errorText.contains("\"f\" \(own.reason), and is not sealed"))
        #expect(try shell("test -e out/f.tresor").code == 1)
    }

    @Test(
        "What no content could mend is refused before the content is read",
        arguments: [("--type tresor/pack", 64), ("--if 77", 11)])
    func refusedFirst(_ options: String, _ code: Int32) throws {
        // Nobody ever writes the rest.
        let result = try shell(
            """
            mkfifo pipe rest
            { head -c 70000 /dev/zero; exec cat rest; } >pipe &
            tresor put -t plan \(options) pipe
            code=$?
            kill $!
            exit $code
            """)
        #expect(result.code == code, "\(result.errorText)")
    }

    @Test("As many as may wait are kept, and one more says what to do", .longRun)
    func oneTooMany() throws {
        let kept = try shell("\(Self.files(1023))\ntresor put -t plan --later f*", patience: 900)
        #expect(kept.code == 0, "\(kept.errorText)")
        let tooMany = try shell("head -c 70000 /dev/zero >more\ntresor put -t plan --later more")
        #expect(tooMany.code == 64, "\(tooMany.errorText)")
        #expect(tooMany.errorText.contains("at most 1023 contents above 64 KiB wait to be sent"))
        #expect(tooMany.errorText.contains("tresor: hint: tresor sync -t plan\n"))
        #expect(try shell("tresor put -t plan --later f* more").errorText.contains("at most 1023 INPUTs"))
        let sent = try shell("tresor sync -t plan && tresor put -t plan --later more", patience: 900)
        #expect(sent.code == 0, "\(sent.errorText)")
    }
}

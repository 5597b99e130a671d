// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Input from pipes, and from programs of other systems.
@Suite("Pipes, and text of other systems")
struct PipeTests {
    private let runner: ScriptRunner

    init() throws {
        runner = try ScriptRunner(Script(name: "pipes", text: ""))
        let start = """
            as anna
            tresor create one
            tresor recover --new-kit --kit kit.txt
            write plan words
            """
        try runner.run(Script(name: "pipes", text: start).commands[...])
    }

    /// Runs a line of a shell, with the program as `tresor`.
    private func shell(_ line: String) throws -> ChildProcess.Result {
        let child = ChildProcess(
            arguments: ["-c", "tresor() { '\(ChildProcess.program)' \"$@\"; }\n\(line)"],
            environment: runner.environment.merging(["PATH": "/usr/bin:/bin"]) { $1 }, directory: runner.work.path)
        return try child.run(program: "/bin/sh")
    }

    private func exists(_ name: String) -> Bool {
        FileManager.default.fileExists(atPath: runner.work.appendingPathComponent(name).path)
    }

    @Test(
        "One stream is not both a secret and the content, nor two secrets, by whatever name",
        arguments: [
            "cat \"$TRESOR_PASSWORD_FILE\" | tresor encrypt -t one --password-file /dev/stdin -o out",
            "cat \"$TRESOR_PASSWORD_FILE\" | tresor encrypt -t one --password-file /proc/self/fd/0 -o out",
            "cat \"$TRESOR_PASSWORD_FILE\" | tresor encrypt -t one --password-fd 3 -o out 3<&0",
            "tresor encrypt -t one --password-fd 3 -o out <\"$TRESOR_PASSWORD_FILE\" 3<&0",
            "cat \"$TRESOR_PASSWORD_FILE\" | tresor encrypt -t one /dev/stdin --record r --password-file - -o out",
            "cat \"$TRESOR_PASSWORD_FILE\" | TRESOR_PASSWORD_FILE=/dev/stdin tresor encrypt -t one -o out",
            "cat \"$TRESOR_PASSWORD_FILE\" | tresor passwd --password-file /dev/stdin --new-password-file /dev/fd/0",
            "cat kit.txt | tresor recover --kit /dev/stdin --new-password-file /dev/stdin",
            "tresor encrypt -t one --password-file /dev/stdin -o out <\"$TRESOR_PASSWORD_FILE\"",
            "mkfifo both && { cat kit.txt >both & } && tresor recover --kit both --new-password-file both",
        ])
    func sharedStreams(_ line: String) throws {
        let result = try shell(line)
        #expect(result.code == 64, "\(result.errorText)")
        #expect(result.errorText.contains(" cannot be both "), "\(result.errorText)")
        #expect(!exists("out"))
    }

    @Test("An input that is the output, or that brings nothing, is refused with the way out")
    func hintsAboutStreams() throws {
        let same = try shell("tresor encrypt -t one plan 1<>plan")
        #expect(
            same.code == 64 && same.errorText.contains("hint: tresor encrypt -t one plan -o FILE"), "\(same.errorText)")
        let empty = try shell("false | tresor encrypt -t one -o out")
        #expect(empty.code == 64 && empty.errorText.contains("hint: tresor encrypt -t one -o out --allow-empty"))
        let large = try shell(
            "truncate -s 65M large && tresor encrypt -t one large -o large.tresor && tresor decrypt large.tresor >out")
        #expect(large.code == 64 && large.errorText.contains("hint: tresor decrypt large.tresor -o FILE"))
    }

    @Test("A pipe that brings a password alone is taken")
    func passwordFromAPipe() throws {
        #expect(
            try shell("cat \"$TRESOR_PASSWORD_FILE\" | tresor encrypt -t one --password-file /dev/stdin plan").code == 0
        )
        #expect(try shell("cat plan | tresor encrypt -t one --password-fd 3 3<\"$TRESOR_PASSWORD_FILE\"").code == 0)
    }

    @Test("A pipe with a name brings its content")
    func namedPipe() throws {
        let line = "mkfifo named && { cat plan >named & } && tresor encrypt -t one named -o out && tresor decrypt out"
        let result = try shell(line)
        #expect(result.code == 0, "\(result.errorText)")
        #expect(try shell("test \"$(tresor decrypt out)\" = \"$(cat plan)\"").code == 0)
    }

    @Test("A program before the pipe that fails replaces nothing")
    func emptyPipe() throws {
        #expect(try shell("tresor encrypt -t one plan -o out").code == 0)
        let before = try Data(contentsOf: runner.work.appendingPathComponent("out"))
        let empty = try shell("false | tresor encrypt -t one -o out")
        #expect(empty.code == 64)
        #expect(empty.errorText.hasPrefix("tresor: error: standard input is empty"))
        #expect(try Data(contentsOf: runner.work.appendingPathComponent("out")) == before)
        #expect(try shell("false | tresor encrypt -t one --allow-empty -o out").code == 0)
        #expect(
            try shell(": >nothing && tresor encrypt -t one nothing -o out && tresor encrypt -t one <nothing").code == 0)
    }

    @Test("A program before the pipe that fails changes no record")
    func emptyRecord() throws {
        #expect(try shell("tresor put -t one --as plan <plan").code == 0)
        let empty = try shell("false | tresor put -t one --as plan")
        #expect(empty.code == 64 && empty.errorText.hasPrefix("tresor: error: standard input is empty"))
        #expect(empty.errorText.contains("hint: tresor put -t one --as plan --allow-empty"))
        #expect(try shell("tresor get -t one plan | cmp - plan").code == 0)
        #expect(try shell("false | tresor put -t one --as plan --allow-empty").code == 0)
        #expect(try shell("test -z \"$(tresor get -t one plan)\"").code == 0)
        #expect(try shell(": >nothing && tresor put -t one nothing && tresor put -t one --as none <nothing").code == 0)
    }

    @Test("A kit file in UTF-16 is named, and the hint mends it", arguments: ["LE", "BE"])
    func foreignKit(_ order: String) throws {
        let mark = order == "LE" ? "\\377\\376" : "\\376\\377"
        let made = "umask 077; { printf '\(mark)'; iconv -t UTF-16\(order) kit.txt; } >k; echo another password >new"
        #expect(try shell(made).code == 0)
        let refused = try shell("tresor recover --kit k --new-password-file new --argon2id 64,3")
        #expect(refused.code == 64)
        #expect(refused.errorText.contains("\"k\" is UTF-16, and a kit is UTF-8"), "\(refused.errorText)")
        let hint = try #require(refused.errorText.split(separator: "\n").first { $0.hasPrefix("tresor: hint: ") })
        #expect(try shell(String(hint.dropFirst(14)).replacing("> FILE", with: "> q")).code == 0)
        #expect(try shell("tresor recover --kit q --new-password-file new --argon2id 64,3").code == 0)
    }

    @Test(
        "A password file that another system has made is named, and the hint mends it",
        arguments: [
            ("printf '\\357\\273\\277'; cat \"$TRESOR_PASSWORD_FILE\"", "byte-order mark"),
            ("printf '\\377\\376'; iconv -t UTF-16LE \"$TRESOR_PASSWORD_FILE\"", "UTF-16"),
            ("cat \"$TRESOR_PASSWORD_FILE\"; echo", "more than one line"),
            ("cat \"$TRESOR_PASSWORD_FILE\"; printf '\\r\\n'", "more than one line"),
        ])
    func foreignPassword(_ text: (make: String, word: String)) throws {
        #expect(try shell("umask 077; { \(text.make); } >p").code == 0)
        let file = runner.work.appendingPathComponent("p")
        let before = try Data(contentsOf: file)
        // Where standard input brings the content, a pipe cannot bring the password.
        for line in [
            "tresor encrypt -t one plan -o out --password-file p </dev/null",
            "cat plan | tresor encrypt -t one -o out --password-file p",
            "TRESOR_PASSWORD_FILE=p; export TRESOR_PASSWORD_FILE; tresor encrypt -t one plan -o out </dev/null",
        ] {
            let refused = try shell(line)
            #expect(refused.code == 64)
            #expect(refused.errorText.contains(text.word), "\(refused.errorText)")
            let hint = try #require(refused.errorText.split(separator: "\n").first { $0.hasPrefix("tresor: hint: ") })
            let command = hint.dropFirst("tresor: hint: ".count).replacing("> FILE", with: "> q && mv q p")
            #expect(try shell("umask 022; \(command)").code == 0, "\(command)")
            if command.contains(" | tresor ") {
                // The hint is the command itself, and the file stays as it was.
                let after = try Data(contentsOf: file)
                #expect(exists("out") && after == before, "\(command)")
            } else {
                #expect(try shell("tresor encrypt -t one plan -o out --password-file p").code == 0, "\(command)")
            }
            try before.write(to: file)
            _ = try shell("rm -f out")
        }
        // The input is read and gone: the hint names a file.
        let once = try shell("{ \(text.make); } | tresor encrypt -t one plan -o out --password-file /dev/stdin")
        #expect(once.code == 64 && once.errorText.contains(text.word), "\(once.errorText)")
        let hint = "tresor: hint: tresor encrypt -t one plan -o out --password-file FILE"
        #expect(once.errorText.split(separator: "\n").contains { $0 == hint }, "\(once.errorText)")
    }
}

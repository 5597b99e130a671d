// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Synchronization
import Testing
import Tresor
import TresorCrypto

@testable import TresorCommand

@Suite("Passwords")
struct PasswordTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func source(_ options: [String] = [], _ environment: Environment = Environment()) throws -> PasswordSource {
        PasswordSource(
            options: try GlobalOptions.parse(options), environment: environment, standardInput: StandardInput(),
            terminal: { nil })
    }

    /// The password as text; only here, where it is no secret.
    private func password(
        _ options: [String] = [], _ environment: Environment = Environment()
    ) async throws -> String {
        try await source(options, environment).unlock(prompt: "") { password in
            let bytes = password.span
            return String(decoding: bytes.publicBytes, as: UTF8.self)
        }
    }

    private func failure(_ body: () async throws -> String) async -> CommandFailure? {
        do { _ = try await body() } catch { return error as? CommandFailure }
        return nil
    }

    @Test(
        "One final line end is dropped, and no more",
        arguments: [
            ("horse", "horse"), ("horse\n", "horse"), ("horse\r\n", "horse"), (" horse \n", " horse "),
            ("é名😀", "é名😀"),
        ])
    func lineEnd(_ content: String, _ expected: String) async throws {
        try scratch.write(content, "p")
        #expect(try await password(["--password-file", scratch.path("p")]) == expected)
    }

    @Test("A password has 1 to 1024 bytes of UTF-8 without NUL")
    func form() async throws {
        for (bytes, isGood) in [
            ([], false), (Array("\n".utf8), false), ([0xff, 0x61], false), ([0x61, 0, 0x62], false),
            (Array(repeating: 0x61, count: 1024) + [10], true), (Array(repeating: 0x61, count: 1024) + [13, 10], true),
            (Array(repeating: 0x61, count: 1025), false), (Array(repeating: 0x61, count: 100_000), false),
            ([0xed, 0xa0, 0x80], false), (Array("horse\n\n".utf8), false), (Array("a\nb\n".utf8), false),
            ([0xef, 0xbb, 0xbf] + Array("horse".utf8), false), ([0xff, 0xfe, 0x61, 0], false),
        ] as [([UInt8], Bool)] {
            try Data(bytes).write(to: scratch.url.appendingPathComponent("p"))
            chmod(scratch.path("p"), 0o600)
            let failure = await failure { try await password(["--password-file", scratch.path("p")]) }
            #expect((failure == nil) == isGood)
            #expect(isGood || failure?.error == .usage)
        }
    }

    @Test("A file that others can read is refused, with the chmod", arguments: [0o644, 0o640, 0o604, 0o620, 0o602])
    func permissions(_ mode: Int) async throws {
        try scratch.write("horse", "my file", mode: mode_t(mode))
        let failure = await failure { try await password(["--password-file", scratch.path("my file")]) }
        #expect(failure?.error == .failed(.permissions))
        let file = "'\(scratch.path("my file"))'"
        #expect(failure?.hints == ["chmod 600 \(file)", "tresor … {--password-file} --password-fd 3 3<\(file)"])
    }

    @Test("A missing file is not found, a directory is no password")
    func missing() async {
        #expect(await failure { try await password(["--password-file", scratch.path("no")]) }?.error == .notFound)
        #expect(await failure { try await password(["--password-file", scratch.url.path]) }?.error == .usage)
    }

    @Test("A pipe needs no mode, by descriptor or by name")
    func pipes() async throws {
        for isNamed in [false, true] {
            var ends: [Int32] = [0, 0]
            #expect(pipe(&ends) == 0)
            #expect(Foundation.write(ends[1], "horse\n", 6) == 6)
            close(ends[1])
            let option = isNamed ? ["--password-file", "/dev/fd/\(ends[0])"] : ["--password-fd", "\(ends[0])"]
            #expect(try await password(option) == "horse")
            close(ends[0])
        }
    }

    @Test("Descriptors 1 and 2, and ones that are not open, give no password", arguments: ["1", "2", "-1", "987"])
    func descriptors(_ descriptor: String) async {
        #expect(await failure { try await password(["--password-fd=\(descriptor)"]) } != nil)
    }

    @Test("The option comes before the file variable, that before the command, and nothing is asked without a terminal")
    func precedence() async throws {
        for name in ["option", "variable"] { try scratch.write(name, name) }
        var environment = Environment()
        #expect(await failure { try await password([], environment) }?.error == .usage)
        #expect(
            await failure { try await password(["--batch"], environment) }?.hints == ["tresor … --password-file FILE"])
        environment.passwordCommand = "echo command"
        #expect(try await password([], environment) == "command")
        environment.passwordFile = scratch.path("variable")
        #expect(try await password([], environment) == "variable")
        #expect(try await password(["--password-file", scratch.path("option")], environment) == "option")
        #expect(
            await failure { try await password(["--password-file", scratch.path("option"), "--password-fd", "0"]) }?
                .error == .usage
        )
    }

    @Test(
        "A command that fails, floods or says nothing gives no password",
        arguments: ["exit 3", "echo horse; exit 1", "yes", "true", "kill -9 $$", "/no/such/program"])
    func commands(_ command: String) async {
        var environment = Environment()
        environment.passwordCommand = command
        #expect(await failure { try await password([], environment) } != nil)
    }

    /// A pipe from which nothing ever comes while the test holds it.
    private func silence() throws -> (descriptor: Int32, path: String) {
        let path = scratch.path("silence-\(UUID())")
        try #require(mkfifo(path, 0o600) == 0)
        return (open(path, O_RDWR | O_CLOEXEC), "'\(path)'")
    }

    @Test("A command that hangs is given up, before and after it closes its output", arguments: ["", "exec >&-; "])
    func hanging(_ beginning: String) throws {
        let silence = try silence()
        defer { close(silence.descriptor) }
        let command = "\(beginning)read line <\(silence.path)"
        #expect(throws: CommandFailure.self) {
            _ = try PasswordCommand(command: command, patience: .milliseconds(200)).read()
        }
    }

    @Test("A command is over when it ends, though something it left behind holds its output open")
    func leftBehind() throws {
        let silence = try silence()
        defer { close(silence.descriptor) }
        let leaving = "exec 3<\(silence.path); read line <&3 &"
        let content = try PasswordCommand(
            command: "printf 'pass'; printf 'word'; \(leaving)", patience: .seconds(600)
        ).read()
        let bytes = content.span
        let text = bytes.publicBytes
        #expect(text == Array("password".utf8))
        #expect(throws: CommandFailure.self) {
            _ = try PasswordCommand(command: "printf password; \(leaving) exit 3", patience: .seconds(600)).read()
        }
    }

    /// A mark that is typed for itself joins its letter, and what Unicode never composes comes apart.
    @Test("A new password has 8 characters, counted as it is prepared")
    func strength() throws {
        for (text, isGood) in [
            ("1234567", false), ("12345678", true), ("ääääää", false), ("ääääääää", true), ("e\u{301}234567", false),
            (String(repeating: "\u{958}", count: 4), true), (String(repeating: "\u{958}", count: 3), false),
        ] {
            let bytes = Array(text.utf8)
            let password = try SecretBytes(copying: bytes.span)
            let failed = Result { try PasswordSource.checkStrength(password) }
            #expect(((try? failed.get()) != nil) == isGood)
        }
    }

    @Test("Only one may use standard input")
    func standardInput() throws {
        let input = StandardInput()
        try input.claim(for: "the password")
        #expect(throws: CommandFailure.self) { try input.claim(for: "the data") }
    }
}

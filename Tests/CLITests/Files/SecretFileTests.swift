// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tresor
import TresorCrypto

@testable import TresorCommand

/// Passwords and kits as containers mount them.
@Suite("Secret files")
struct SecretFileTests {
    private let runner: ScriptRunner

    init() throws {
        runner = try ScriptRunner(Script(name: "secrets", text: ""))
        try runner.run(Script(name: "secrets", text: "as anna\nwrite plan words").commands[...])
    }

    private func shell(_ line: String) throws -> ChildProcess.Result {
        let child = ChildProcess(
            arguments: ["-c", "tresor() { '\(ChildProcess.program)' \"$@\"; }\n\(line)"],
            environment: runner.environment, directory: runner.work.path)
        return try child.run(program: "/bin/sh")
    }

    private func hints(_ result: ChildProcess.Result) -> [Substring] {
        result.errorText.split(separator: "\n").filter { $0.hasPrefix("tresor: hint: ") }
            .map { $0.dropFirst("tresor: hint: ".count) }
    }

    @Test("A password that others can read is refused, and both hints work", arguments: ["444", "440", "644"])
    func open(_ mode: String) throws {
        #expect(try shell("cp homes/anna.password 'my secret' && chmod \(mode) 'my secret'").code == 0)
        let refused = try shell("tresor create one --password-file 'my secret'")
        #expect(refused.code == 1)
        let hints = hints(refused)
        #expect(hints == ["chmod 600 'my secret'", "tresor create one --password-fd 3 3<'my secret'"])
        #expect(try shell(String(hints.last ?? "false")).code == 0)
        #expect(try shell("\(hints.first ?? "false") && tresor create two --password-file 'my secret'").code == 0)
    }

    @Test("A link to a password is followed")
    func link() throws {
        #expect(try shell("ln -s homes/anna.password link && tresor create one --password-file link").code == 0)
    }

    @Test("A new password and a kit are told ways that the command takes")
    func others() throws {
        #expect(try shell("echo 'a longer password' >new && chmod 444 new && cp new kit && chmod 444 kit").code == 0)
        let refused = try shell("tresor passwd --new-password-file new")
        #expect(hints(refused).last == "tresor passwd --new-password-fd 4 4<new")
        #expect(try shell(String(hints(refused).last ?? "false")).code == 0)
        let kit = try shell("tresor recover --kit \"$PWD/kit\"")
        #expect(hints(kit).last == "tresor recover --kit kit")
    }

    private static let setpriv = "/usr/bin/setpriv"
    private static let canBecomeOthers = geteuid() == 0 && access(setpriv, X_OK) == 0

    /// The stage of another user, who is in group 65532.
    private func other(_ line: String) throws -> ChildProcess.Result {
        try shell(
            "\(Self.setpriv) --reuid 65533 --regid 65533 --groups 65532 /bin/sh -c "
                + "\"'\(ChildProcess.program)' \(line)\"")
    }

    @Test(
        "Root's secret is taken by a member of its group alone", .longRun,
        .enabled(if: canBecomeOthers, "only root becomes others"))
    func mounted() throws {
        #expect(try shell("chown -R 65533:65533 . && chmod 711 .").code == 0)
        for (group, mode, code) in [(65532, "440", 0), (65532, "444", 1), (65532, "460", 1), (65534, "444", 1)] {
            #expect(
                try shell(
                    "cp homes/anna.password secret && chown 0:\(group) secret && chmod \(mode) secret"
                ).code == 0)
            let result = try other("list --password-file secret")
            #expect(result.code == Int32(code), "\(group) \(mode): \(result.errorText)")
            guard code != 0 else { continue }
            #expect(hints(result) == ["tresor list --password-fd 3 3<secret"])
            #expect(result.errorText.contains("\"secret\" belongs to root"))
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import CFuzzDriver
import Foundation
import TresorCrypto

/// The built program, run with hostile arguments in a directory with a home and a tresor. `TRESOR_FUZZ_PROGRAM` names
/// it.
struct CommandLineRun: Sendable {
    static let shared: CommandLineRun = {
        guard let program = ProcessInfo.processInfo.environment["TRESOR_FUZZ_PROGRAM"], let directory = fuzz_directory()
        else { fatalError("arguments: TRESOR_FUZZ_PROGRAM has to name the program") }
        let run = CommandLineRun(program: program)
        let password = "\(String(cString: directory))/password"
        guard FileManager.default.createFile(atPath: password, contents: Data("a password to fuzz with\n".utf8)),
            chown(password, geteuid() == 0 ? 65534 : geteuid(), geteuid() == 0 ? 65534 : getegid()) == 0,
            chmod(password, 0o600) == 0
        else { fatalError("arguments: no password file") }
        for words in [["keygen", "fuzz", "--no-kit", "--argon2id", "64,3"], ["create", "plans"]] {
            guard run.code(words.flatMap { Array($0.utf8) + [0] }).code == 0 else { fatalError("arguments: \(words)") }
        }
        return run
    }()

    private let program: String
    private static let codes: Set<Int32> = [0, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 64, 130]

    /// Every command with its options: the beginning of the corpus.
    static let seeds: [[UInt8]] = [
        "keygen x --kit kit --force", "card --number", "card fuzz -o c --publish", "verify x --number 1",
        "verify x --card c --replace",
        "remember --name a --days 3 --accept-same-disk", "forget", "device", "device list", "device revoke abc --yes",
        "passwd --new-password-file p --argon2id 64,3", "recover --new-kit --kit k", "create a", "list --json", "ls",
        "members -t plans --at 0", "who -t plans --at 2026-05-03",
        "share -t plans x --role writer --from-now --until 2030-01-01 -n",
        "revoke -t plans x -n", "revoke -t plans --me", "rotate -t plans --yes", "rotate --identity -n",
        "log -t plans --head",
        "encrypt -t plans --record r --type t -a -o o password", "decrypt -t plans --any-record -C . o", "inspect -",
        "reseal -n o",
        "reseal --accept-newcomers -n o", "verify --mine plans", "list --hide plans", "check --repair -t plans",
        "create --kind k b", "revoke -t plans -t b x --yes", "check -t plans --head 0:ab --deep o",
        "selftest --json", "completion zsh", "help exit-codes", "--version",
        "serve",
        "--home h --store s --batch list -q --color never", "encrypt -- -x", "--", "",
    ].map { $0.split(separator: " ").flatMap { Array($0.utf8) + [0] } }

    func run(_ bytes: [UInt8]) {
        let (code, output) = code(bytes)
        guard Self.codes.contains(code) else { fatalError("arguments: ended with \(code)") }
        let isHelp = code == 0
        for byte in output where byte < 0x20 && byte != 0x0a && byte != 0x09 && !isHelp {
            fatalError("arguments: a control character is shown")
        }
    }

    /// The exit code, or the negated number of the signal, and the messages.
    private func code(_ bytes: [UInt8]) -> (code: Int32, output: [UInt8]) {
        var output = [CChar](repeating: 0, count: 1 << 16)
        var count = 0
        let status = fuzz_run(program, bytes, bytes.count, &output, output.count, &count)
        let signal = status & 0x7f
        return (signal == 0 ? (status >> 8) & 0xff : -signal, output.prefix(count).map { UInt8(bitPattern: $0) })
    }
}

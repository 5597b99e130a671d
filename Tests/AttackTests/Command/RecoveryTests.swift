// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

/// The kit and the password: what does not open, and what leaves the process.
@Suite struct RecoveryTests {
    private let stage: Stage
    private let words: [String]

    init() throws {
        stage = try Stage("anna", "house")
        try stage.expect(as: "anna", ["recover", "--new-kit", "--kit", "kit.txt"])
        words = String(decoding: stage["kit.txt"], as: UTF8.self).split(whereSeparator: \.isWhitespace).map(String.init)
        try stage.write(Array("another password\n".utf8), to: "new.password", mode: 0o600)
    }

    private func recover(_ kit: [String], separator: String = " ") throws -> Program.Ending {
        try stage.write(Array((kit.joined(separator: separator) + "\n").utf8), to: "typed.txt", mode: 0o600)
        return try stage.refuse(
            12, as: "anna", ["recover", "--kit", "typed.txt", "--new-password-file", "new.password"])
    }

    @Test func A30_noOtherWordsOpen() throws {
        try #require(words.count == 24)
        try stage.expect(as: "house", ["recover", "--new-kit", "--kit", "house.txt"])
        let others = String(decoding: stage["house.txt"], as: UTF8.self).split(whereSeparator: \.isWhitespace)
            .map(String.init)
        var misspelt = words
        misspelt[6] += "x"
        var exchanged = words
        exchanged.swapAt(3, try #require(words.indices.first { $0 > 3 && words[$0] != words[3] }))
        var replaced = words
        replaced[23] = words[23] == "zoo" ? "zone" : "zoo"
        let twelve = Array(repeatElement("abandon", count: 11)) + ["about"]
        let french = Array(repeatElement("abaisser", count: 23)) + ["amour"]
        let kits = [
            others, misspelt, exchanged, replaced, Array(words.dropLast()), words + [words[0]], [], twelve,
            twelve + twelve,
            french, words.reversed(), words.map { String($0.prefix(4)) + "q" },
        ]
        // A message may hold words of the list by itself, and "nothing" or "error" may be words of the kit: all of it
        // is compared.
        var hints: Set<[Substring]> = []
        for kit in kits where kit != words {
            let lines = try recover(kit).errorText.split(separator: "\n")
            let first = String(try #require(lines.first)).replacing(/word [0-9]+ is/, with: "word N is")
                .replacing(/these are [0-9]+$/, with: "these are N")
            #expect(Self.messages.contains(first))
            if lines.count > 1 { hints.insert(Array(lines.dropFirst())) }
        }
        // Bytes that are equal for different kits hold nothing of them.
        #expect(hints.count == 1)
        #expect(try recover(misspelt).errorText.contains("word 7 is not a word of the list"))
        #expect(try recover(french).errorText.contains("word 1 is not a word of the list"))
        try stage.write(Array((words.joined(separator: " ") + "\n").utf8), to: "typed.txt", mode: 0o600)
        try stage.expect(as: "anna", ["recover", "--kit", "typed.txt", "--new-password-file", "new.password"])
    }

    /// All that is said of words that do not open.
    private static let messages: Set<String> = [
        "tresor: error: word N is not a word of the list", "tresor: error: these are not the 24 words of a kit",
        "tresor: error: the kit does not open the identity of this home: it is an older kit, or that of somebody else, or a "
            + "newer one, which opens your newest keys in an empty home",
        "tresor: error: a kit has 24 words, and these are N",
        "tresor: error: all 24 words are of the list, but their checksum is wrong: one is mistyped for another word of the "
            + "list, or their order is wrong",
    ]

    @Test func A30_aKitInTheArgumentsIsNotTaken() throws {
        for count in [12, 15, 24] {
            let some = Array(words.prefix(count))
            for arguments in [
                ["recover"] + some, ["recover", some.joined(separator: " ")], some, ["recover", "--kit"] + some,
                ["recover", "--kit", some.joined(separator: ",")], ["list", "--home"] + some,
            ] {
                let ending = try stage.program.run(arguments)
                #expect(ending.code == 64, "\(arguments.count) words")
                #expect(ending.output == [])
                #expect(
                    ending.errorText == """
                        tresor: error: the arguments look like a recovery kit, and everybody on this machine can read them
                        tresor: hint: tresor recover
                        tresor: hint: tresor recover --kit FILE

                        """)
            }
        }
    }

    /// A guess must cost an Argon2id: no quicker function of the password is anywhere.
    @Test func A28_noQuickFunctionOfThePasswordLeavesTheProcess() throws {
        let password = Array("PASSWORD-0815-anna".utf8)
        var said = try stage.expect(as: "anna", ["create", "plans"])
        let commands = [
            ["list"], ["check", "--deep"], ["remember", "--name", "desk"], ["device", "list"], ["forget"],
            ["card", "--publish"], ["rotate", "--identity", "--no-kit", "--yes"], ["log", "-t", "plans"],
            ["members", "-t", "plans"],
        ]
        for command in commands {
            let ending = try stage.run(as: "anna", command)
            #expect(ending.code == 0, "\(command): \(ending.errorText)")
            said += ending.outputText + ending.errorText
        }
        var places = ["what is said": Array(said.utf8)]
        for name in try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path)
        where !name.hasSuffix(".password") { places[name] = stage[name] }
        #expect(places.keys.contains("store.db") && places.keys.contains("homes/anna/identity"))
        for (name, needle) in try Self.functions(of: password) {
            for (place, bytes) in places { #expect(!bytes.holds(needle), "\(name) in \(place)") }
        }
    }

    /// The search finds the forms that other programs make of the password.
    @Test func A28_theSearchFindsAQuickFunction() throws {
        try stage.write(Array("PASSWORD-0815-anna".utf8), to: "password")
        let needles = try Self.functions(of: Array("PASSWORD-0815-anna".utf8)).map(\.1)
        for program in ["md5sum", "sha1sum", "sha256sum", "sha384sum", "sha512sum", "b2sum", "base64"]
        where has(program) {
            let said = Array(try tool("/usr/bin/\(program)", [stage.scratch["password"]]).utf8)
            #expect(needles.contains { said.holds($0) }, "\(program)")
        }
    }

    /// The password and three rounds of each quick hash, raw, in hexadecimal and in Base64.
    private static func functions(of password: [UInt8]) throws -> [(String, [UInt8])] {
        let hashes: [(String, ([UInt8]) throws -> [UInt8])] = [
            ("SHA-1", { Array(Insecure.SHA1.hash(data: $0)) }), ("MD5", { Array(Insecure.MD5.hash(data: $0)) }),
            ("SHA-256", { Array(SHA256.hash(data: $0)) }), ("SHA-384", { Array(SHA384.hash(data: $0)) }),
            ("SHA-512", { Array(SHA512.hash(data: $0)) }), ("SHA3-256", { Array(SHA3_256.hash(data: $0)) }),
            ("BLAKE2b-256", { try blake2b($0, 32) }),
            ("BLAKE2b-512", { try blake2b($0, 64) }),
        ]
        var found = [("the password", password), ("the password in Base64", Self.base64(password))]
        for (name, hash) in hashes {
            var value = password
            for round in 1...3 {
                value = try hash(value)
                let hex = value.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
                found += [
                    ("\(name)^\(round)", Array(value.prefix(16))),
                    ("\(name)^\(round) in hex", Array(hex.utf8.prefix(32))),
                    ("\(name)^\(round) in HEX", Array(hex.uppercased().utf8.prefix(32))),
                    ("\(name)^\(round) in Base64", Self.base64(value)),
                ]
            }
        }
        return found
    }

    private static func blake2b(_ bytes: [UInt8], _ count: Int) throws -> [UInt8] {
        var hash = try BLAKE2b(outputCount: count)
        try hash.update(bytes.span)
        return try hash.finalize()
    }

    private static func base64(_ bytes: [UInt8]) -> [UInt8] { Array(Data(bytes).base64EncodedString().utf8.prefix(20)) }
}

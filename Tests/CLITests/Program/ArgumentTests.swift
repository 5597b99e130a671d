// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing
import Tresor

@testable import TresorCommand

@Suite("Arguments")
struct ArgumentTests {
    @Test(
        "Common options before the command move behind it, and nothing else moves",
        arguments: [
            (["list"], "list", []),
            (["--home", "h", "list", "x"], "list", ["--home", "h", "x"]),
            (["-q", "--store=s", "--json", "list", "--batch"], "list", ["-q", "--store=s", "--json", "--batch"]),
            (["--home"], nil, ["--home"]),
            (["--version"], nil, ["--version"]),
            (["--frob", "list"], nil, ["--frob", "list"]),
            (["--", "list"], nil, ["--", "list"]),
            ([], nil, []),
        ] as [([String], String?, [String])])
    func hoisting(_ words: [String], _ command: String?, _ rest: [String]) {
        let arguments = ArgumentList(words)
        #expect(arguments.command == command)
        #expect(arguments.rest == rest)
    }

    /// An option as the parser describes it.
    private struct Described {
        let names: [String]
        let takesOneValue: Bool

        /// - Parameter argument: `nil` comes of an operand.
        init?(_ argument: [String: Any]) {
            guard argument["kind"] as? String != "positional" else { return nil }
            names = (argument["names"] as? [[String: Any]] ?? []).compactMap { name in
                (name["name"] as? String).map { name["kind"] as? String == "long" ? "--\($0)" : "-\($0)" }
            }
            takesOneValue = argument["kind"] as? String == "option" && argument["isRepeating"] as? Bool == false
        }

        static func options(of command: any SurfaceCommand.Type) throws -> [Described] {
            let dump = try JSONSerialization.jsonObject(with: Data(command._dumpHelp().utf8)) as? [String: Any]
            let description = try #require(dump?["command"] as? [String: Any])
            return (description["arguments"] as? [[String: Any]] ?? []).compactMap { Described($0) }
        }
    }

    @Test(
        "Every command has the options that its list says, with as many values", arguments: RootCommand.commands.indices
    )
    func listed(_ index: Int) throws {
        let command = RootCommand.commands[index]
        var described: [String: Bool] = [:]
        for option in try Described.options(of: command) {
            for name in option.names { described[DeclaredOptions.canonical(name)] = option.takesOneValue }
        }
        #expect(DeclaredOptions.all(of: command) == described, "\(command.page.name)")
    }

    @Test("An option that takes one value is refused when it is given twice, under whichever names, and named")
    func repeatedOptions() throws {
        var options: [(name: String, names: [String])] = []
        for command in RootCommand.commands {
            for option in try Described.options(of: command) where option.takesOneValue {
                options.append((command.page.name, option.names))
            }
        }
        #expect(options.count > 100)
        for (name, names) in options {
            let command = try #require(RootCommand.command(named: name))
            for first in names {
                for second in names {
                    for words in [[first, "a", second, "b"], ["\(first)=a", "x", "\(second)=b"]] {
                        let failure = #expect(throws: CommandFailure.self, "\(name) \(words)") {
                            _ = try Program.parse(ArgumentList([name] + words), for: command)
                        }
                        let isNamed = names.contains { failure?.message == "\($0) can be given only once" }
                        #expect(failure?.error == .usage && isNamed, "\(name) \(words): \(failure?.message ?? "")")
                    }
                }
            }
        }
    }

    @Test(
        "Several -t, flags given twice, and what follows -- are no repeated options",
        arguments: [
            ["share", "-t", "a", "--tresor", "b", "house"], ["revoke", "-t", "a", "-t", "b", "--me"],
            ["check", "-t", "a", "-t", "b"], ["list", "--json", "--json", "-q", "-q"],
            ["encrypt", "-t", "a", "--", "-t", "-t"], ["encrypt", "-t", "a", "-o", "-", "-", "-a"],
        ])
    func notRepeated(_ words: [String]) throws {
        let arguments = ArgumentList(words)
        let command = try #require(RootCommand.command(named: words[0]))
        _ = try Program.parse(arguments, for: command)
    }

    @Test("Bundled letters count as the options they are")
    func bundled() throws {
        let failure = #expect(throws: CommandFailure.self) {
            _ = try Program.parse(ArgumentList(["encrypt", "-t", "a", "-at", "b"]), for: EncryptCommand.self)
        }
        #expect(failure?.message == "-t can be given only once")
    }

    @Test("What follows -- is no option")
    func terminator() {
        #expect(ArgumentList(["encrypt", "--json"]).wantsJSON)
        #expect(!ArgumentList(["encrypt", "--", "--json", "-h"]).wantsJSON)
        #expect(!ArgumentList(["encrypt", "--", "--json", "-h"]).wantsHelp)
    }

    @Test(
        "Of many INPUTs the parser sees few, and none is lost, moved or taken for something else",
        arguments: [
            (["-t", "plans", "-a"], []), (["-tC", "plans", "out"], []), (["-t", "plans"], []),
            (["--batch", "-C", "out", "-t=plans"], []),
            (["-t", "plans", "early", "-", "-q"], ["-"]), (["-t", "plans", "early", "--"], ["-x", "--json"]),
            (["--"], ["-a"]),
            (["-t"], []), (["-o"], []), (["--frobnicate"], []), ([], []),
        ] as [([String], [String])], [0, 1, 2, 63, 64, 65, 66, 67, 68, 200])
    func manyInputs(_ case: (front: [String], odd: [String]), _ count: Int) {
        let operands = `case`.odd + (0..<count).map { "file \($0)" }
        let arguments = ArgumentList(["encrypt"] + `case`.front + operands)
        let whole = Result { try EncryptCommand.parseAsRoot(arguments.rest) as? EncryptCommand }
        let apart = Result { try Program.parse(arguments, for: EncryptCommand.self) as? EncryptCommand }
        switch (whole, apart) {
        case (.success(let whole?), .success(let apart?)):
            #expect(apart.inputs == whole.inputs)
            #expect(apart.place.directory == whole.place.directory && apart.place.output == whole.place.output)
            #expect(apart.tresor.tresor == whole.tresor.tresor && apart.a == whole.a)
        case (.failure(let whole), .failure(let apart)):
            let unknown = DeclaredOptions.unknown(in: arguments.options, of: EncryptCommand.self)
            let expected = unknown ?? CommandFailure(parser: whole, command: EncryptCommand.self)
            #expect((apart as? CommandFailure)?.message == expected.message)
        default: Issue.record("\(whole) is not \(apart)")
        }
    }

    @Test("A command that takes no fewer than one INPUT finds it", arguments: [1, 64, 65, 66, 200])
    func neededInputs(_ count: Int) throws {
        let names = (0..<count).map(String.init)
        for front in [["--home", "h"], ["-n"], []] {
            let command = try Program.parse(ArgumentList(["reseal"] + front + names), for: ResealCommand.self)
            #expect((command as? ResealCommand)?.inputs == names)
        }
    }

    @Test("The parser is given a bounded number of operands")
    func fewOperands() {
        let names = (0..<10_000).map(String.init)
        for front in [[], ["-t", "plans"], ["-t", "plans", "--"]] {
            let (words, operands) = ArgumentList(["encrypt"] + front + names).withOperandsApart
            #expect(words.count <= 70 && words + operands == front + names)
        }
    }

    @Test("Twelve words that could be a kit's are found, in one argument or in several")
    func kit() {
        let words = Array(repeating: "abandon", count: 12)
        let guardian = KitGuard()
        #expect(guardian.looksLikeKit(["recover"] + words))
        #expect(guardian.looksLikeKit(["recover"] + words.map { $0.prefix(1).uppercased() + $0.dropFirst() }))
        #expect(guardian.looksLikeKit([words.joined(separator: " ").uppercased()]))
        #expect(guardian.looksLikeKit(["--words", words.joined(separator: " ")]))
        #expect(guardian.looksLikeKit([words.joined(separator: "\n")]))
        #expect(guardian.looksLikeKit([words.joined(separator: ",")]))
        #expect(guardian.looksLikeKit(Array(words.prefix(6)) + [words.prefix(6).joined(separator: " ")]))
        #expect(guardian.looksLikeKit(words.enumerated().flatMap { ["\($0 + 1).", $1] }))
        #expect(!guardian.looksLikeKit(Array(words.prefix(11))))
        let mistyped = words.prefix(9) + ["abondon", "abandn", "abandom"]
        #expect(guardian.looksLikeKit(Array(mistyped)) && guardian.looksLikeKit(["x", "revoke"] + mistyped.reversed()))
        #expect(!guardian.looksLikeKit(words.prefix(8) + ["abondon"] + mistyped.suffix(3)))
        #expect(!guardian.looksLikeKit((0..<30).map { "anna\(Array("abcdefghij")[$0 % 10])" }))
        #expect(!guardian.looksLikeKit(Array(words.prefix(11)) + ["plan.json"] + words.prefix(11)))
    }

    @Test(
        "The parser's sentences become messages",
        arguments: [
            ("Unknown option '--jsn'. Did you mean '--json'?", "unknown option '--jsn'"),
            ("Missing expected argument '<SHELL>'", "missing expected argument '<SHELL>'"),
            (
                "The value 'x' is invalid for '<SHELL>'. Please provide one of 'a' and 'b'.",
                "the value 'x' is invalid for '<SHELL>'; please provide one of 'a' and 'b'"
            ),
            ("", "wrong arguments"),
        ])
    func sentences(_ sentence: String, _ message: String) {
        #expect(CommandFailure.words(sentence) == message)
    }

    @Test(
        "At most two edits away, nearest first",
        arguments: [
            ("lisst", ["list"]), ("lsit", ["list"]), ("encrpyt", ["encrypt"]), ("decript", ["decrypt"]),
            ("sahre", ["share"]), ("xyzzy", []), ("ls", ["list"]), ("li", ["list"]), ("", []), ("x", []),
            ("encrypted", ["encrypt"]),
        ])
    func suggestions(_ word: String, _ expected: [String]) {
        #expect(
            Suggestion.near(word, among: ["list", "encrypt", "decrypt", "share", "log"]).filter { $0 != "log" }
                == expected)
    }

    @Test(
        "Several results end with the worst of forked, altered and unverified, else with the code they share, else with 1"
    )
    func outcomes() {
        var none = Outcomes()
        none.succeeded()
        #expect(throws: Never.self) { try none.finish() }
        var same = Outcomes()
        same.failed(14)
        same.failed(14)
        #expect(throws: Exit(code: 14)) { try same.finish() }
        same.succeeded()
        #expect(throws: Exit(code: 14)) { try same.finish() }
        var different = Outcomes()
        different.failed(13)
        different.failed(10)
        #expect(throws: Exit(code: 1)) { try different.finish() }
        var once = Outcomes()
        once.succeeded()
        once.failed(13)
        #expect(throws: Exit(code: 1)) { try once.finish() }
        // Altered, forked or unverified inputs are not hidden by the others.
        for code: Int32 in [16, 14, 15] {
            different.failed(code)
            #expect(throws: Exit(code: code)) { try different.finish() }
        }
    }

    @Test("The table of exit codes is that of the errors")
    func codes() {
        #expect(ExitCodes.rows.map(\.code) == [0, 1, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 64, 130])
        #expect(Set(ExitCodes.rows.map(\.name)).count == ExitCodes.rows.count)
    }
}

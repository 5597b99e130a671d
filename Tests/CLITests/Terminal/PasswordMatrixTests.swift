// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The same password in other bytes, and what is none: at the prompt, from a file, from a descriptor, for opening and
/// for setting.
@Suite("Passwords, wherever they come from")
struct PasswordMatrixTests {
    enum Source: String, CaseIterable, Sendable { case prompt, file, descriptor }

    struct Content: CustomTestStringConvertible, Sendable {
        let testDescription: String
        let bytes: [UInt8]
        let code: Int32
        /// Whether it says the same at a prompt, where a line end ends it.
        var isOneLine = true
        /// At a prompt an empty new password asks for a made one.
        var isEmpty: Bool { bytes.isEmpty }
    }

    private static let composed = Array("caf\u{e9} cr\u{e8}me".utf8)
    private static let longest = [UInt8](repeating: UInt8(ascii: "x"), count: 1024)

    /// The inputs that open an identity whose password is ``composed``.
    private static let opening = [
        Content(testDescription: "composed", bytes: composed, code: 0),
        Content(testDescription: "decomposed", bytes: Array("cafe\u{301} cre\u{300}me".utf8), code: 0),
        Content(testDescription: "one LF", bytes: composed + [10], code: 0, isOneLine: false),
        Content(testDescription: "one CRLF", bytes: composed + [13, 10], code: 0, isOneLine: false),
        Content(testDescription: "two LF", bytes: composed + [10, 10], code: 64, isOneLine: false),
        Content(testDescription: "another", bytes: Array("cafe creme".utf8), code: 12),
        Content(testDescription: "a blank more", bytes: composed + [32], code: 12),
        Content(testDescription: "not UTF-8", bytes: composed + [0xff], code: 64),
        Content(testDescription: "Latin-1", bytes: Array("caf".utf8) + [0xe9] + Array(" creme".utf8), code: 64),
        Content(testDescription: "empty", bytes: [], code: 64),
        Content(testDescription: "1024 bytes", bytes: longest, code: 12),
        Content(testDescription: "1025 bytes", bytes: longest + [UInt8(ascii: "x")], code: 64),
    ]

    /// The passwords that can be set; each then opens.
    private static let setting = [
        Content(testDescription: "decomposed", bytes: Array("cafe\u{301} cre\u{300}me".utf8), code: 0),
        Content(testDescription: "one LF", bytes: composed + [10], code: 0, isOneLine: false),
        Content(testDescription: "not UTF-8", bytes: composed + [0xff], code: 64),
        Content(testDescription: "empty", bytes: [], code: 64),
        Content(
            testDescription: "7 characters of 14 bytes",
            bytes: Array("\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}\u{e9}".utf8), code: 64),
        Content(testDescription: "1024 bytes", bytes: longest, code: 0),
        Content(testDescription: "1025 bytes", bytes: longest + [UInt8(ascii: "x")], code: 64),
    ]

    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    /// Runs the program with a password that comes as `source` says, by the options that begin with `option`.
    private func run(
        _ arguments: [String], _ content: [UInt8], from source: Source, option: String, prompts: [String]
    ) throws -> ChildProcess.Result {
        let file = scratch.path("content")
        try Data(content).write(to: URL(fileURLWithPath: file))
        chmod(file, 0o600)
        var child = ChildProcess(
            arguments: [],
            environment: [
                "PATH": "/usr/bin:/bin", "HOME": scratch.url.path, "TERM": "xterm", "LANG": "C.UTF-8",
                "TRESOR_HOME": scratch.path("home"), "TRESOR_STORE": scratch.path("store.db"),
                "LD_LIBRARY_PATH": ProcessInfo.processInfo.environment["LD_LIBRARY_PATH"] ?? "",
            ],
            directory: scratch.url.path)
        switch source {
        case .prompt:
            child.terminal = try PseudoTerminal(prompts.map { PseudoTerminal.Line(prompt: $0, bytes: content) })
            child.arguments = arguments
            return try child.run()
        case .file:
            child.arguments = arguments + ["--batch", "--\(option)-file", file]
            return try child.run()
        case .descriptor:
            child.arguments =
                ["-c", "exec \"$@\" 5<\"$0\"", file, ChildProcess.program] + arguments + [
                    "--batch", "--\(option)-fd", "5",
                ]
            return try child.run(program: "/bin/sh")
        }
    }

    private func makeIdentity(_ content: [UInt8], from source: Source) throws -> ChildProcess.Result {
        try run(
            ["keygen", "anna", "--no-kit", "--argon2id", "64,3"], content, from: source, option: "new-password",
            prompts: ["password for anna, new \\(empty makes one\\): ", "repeat the password: "])
    }

    private func open(_ content: [UInt8], from source: Source) throws -> ChildProcess.Result {
        let prompt = "password for anna \\(to list devices\\): "
        return try run(
            ["device", "list"], content, from: source, option: "password",
            prompts: [prompt, prompt, prompt])
    }

    @Test("A29: what opens, what is wrong and what is no password", arguments: Source.allCases)
    func A29_opening(_ source: Source) throws {
        #expect(try makeIdentity(Self.composed, from: .file).code == 0)
        for content in Self.opening where source != .prompt || content.isOneLine {
            let result = try open(content.bytes, from: source)
            #expect(result.code == content.code, "\(content.testDescription): \(result.errorText)")
            #expect(result.output.isEmpty)
        }
    }

    @Test("A29: what can be set", arguments: Source.allCases, setting)
    func A29_setting(_ source: Source, _ content: Content) throws {
        guard source != .prompt || content.isOneLine else { return }
        guard source != .prompt || content.code == 0 else { return try refusedAtPrompt(content) }
        let result = try makeIdentity(content.bytes, from: source)
        #expect(result.code == content.code, "\(result.errorText)")
        #expect(result.output.isEmpty == (content.code != 0))
        guard content.code == 0 else {
            return #expect(!FileManager.default.fileExists(atPath: scratch.path("home/identity")))
        }
        #expect(try open(content.bytes, from: .file).code == 0)
    }

    /// A prompt asks three times; an empty answer makes a password.
    private func refusedAtPrompt(_ content: Content) throws {
        let prompt = "password for anna, new \\(empty makes one\\): "
        let result = try run(
            ["keygen", "anna", "--no-kit", "--argon2id", "64,3"], content.bytes, from: .prompt, option: "",
            prompts: content.isEmpty ? [prompt] : [prompt, prompt, prompt])
        guard !content.isEmpty else {
            #expect(result.code == 0)
            #expect(result.transcript.contains("the password, ten words"))
            return
        }
        #expect(result.code == 64, "\(result.errorText)")
        #expect(!FileManager.default.fileExists(atPath: scratch.path("home/identity")))
    }
}

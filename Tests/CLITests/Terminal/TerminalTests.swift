// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Synchronization
import Testing
import Tresor
import TresorCrypto

@testable import TresorCommand

@Suite("Terminal")
struct TerminalTests {
    /// Runs `body` at a terminal where the dialogue is typed, and returns what it made of it.
    private func converse<Answer: Sendable>(
        _ dialogue: [(String, String)], _ body: @escaping @Sendable (Terminal) throws -> Answer
    ) throws -> (answer: Result<Answer, any Error>, screen: String, echoes: Bool) {
        let screen = try PseudoTerminal(dialogue.map { PseudoTerminal.Line(prompt: $0.0, answer: $0.1) })
        let terminal = try #require(Terminal(device: screen.path))
        let answer = Later<Result<Answer, any Error>>()
        Thread { answer.set(Result { try body(terminal) }) }.start()
        let deadline = Date(timeIntervalSinceNow: 600)
        while answer.value == nil, Date() < deadline { try screen.attend(milliseconds: 5) }
        while try screen.attend(milliseconds: 50) {}
        return (try #require(answer.value), screen.transcript, screen.echoes)
    }

    @Test("A secret is read without echo, its prompt is erased, and the echo comes back")
    func secret() throws {
        let (answer, screen, echoes) = try converse([("password for anna: $", "correct horse")]) { terminal in
            let secret = try terminal.secret("password for anna: ")
            let bytes = secret.span
            return bytes.publicBytes
        }
        #expect(try answer.get() == Array("correct horse".utf8))
        #expect(!screen.contains("correct horse"))
        #expect(screen.hasSuffix("\r\u{1b}[J") || screen.utf8.last == UInt8(ascii: "\n"))
        #expect(echoes)
    }

    @Test("Lines of a secret that were pasted together are read together, without echo; the rest is thrown away")
    func pastedLines() throws {
        let (answer, screen, echoes) = try converse([("the words: $", "one two\r\nthree\nfour\nno word")]) { terminal in
            let secret = try terminal.secret("the words: ") { (lines: borrowing SecretBytes) -> String? in
                lines.count < 14 ? "further: " : nil
            }
            let bytes = secret.span
            return bytes.publicBytes
        }
        #expect(try answer.get() == Array("one two three four".utf8))
        #expect(screen.contains("further: "))
        for word in ["one", "three", "four", "no word"] { #expect(!screen.contains(word)) }
        #expect(echoes)
    }

    /// Log and home are read again after each answer.
    @Test("A question, a secret and a name each end the turn")
    func turns() throws {
        let surroundings = Surroundings()
        let dialogue = [("go on\\? type yes: $", "yes"), ("password: $", "correct horse"), ("name: $", "anna")]
        let (answer, _, _) = try converse(dialogue) { terminal in
            try Surroundings.$current.withValue(surroundings) {
                var numbers: [UInt64] = []
                _ = try terminal.confirms("go on?")
                numbers.append(surroundings.turns.number)
                _ = try terminal.secret("password: ").count
                numbers.append(surroundings.turns.number)
                _ = try terminal.name("name: ")
                numbers.append(surroundings.turns.number)
                return numbers
            }
        }
        let ended: [UInt64] = [1, 2, 3]
        #expect(try answer.get() == ended)
    }

    @Test("A secret of more than 1024 bytes is refused, and the echo comes back")
    func long() throws {
        let (answer, screen, echoes) = try converse([(": $", String(repeating: "a", count: 1500))]) { terminal in
            try terminal.secret("password: ").count
        }
        #expect(throws: CommandFailure.self) { try answer.get() }
        #expect(!screen.contains("aaa"))
        #expect(echoes)
    }

    @Test(
        "Only yes is yes",
        arguments: [
            (["yes"], true), ([" yes"], true), (["yes "], true), ([""], false), (["no"], false),
            (["y", "no"], false), (["Yes", ""], false), (["YES", "yes"], true), (["y", "ye", "yes"], true),
            (["y", "ye", "yess"], false),
        ])
    func question(_ typed: [String], _ expected: Bool) throws {
        let prompts = ["do they match\\? type yes: $", "please type yes or no: $", "please type yes or no: $"]
        let (answer, _, _) = try converse(Array(zip(prompts, typed))) { terminal in
            try terminal.confirms("do they match?")
        }
        #expect(try answer.get() == expected)
    }

    @Test("A question with an end is not asked for longer")
    func overdueQuestion() throws {
        let (late, screen, _) = try converse([]) { terminal in
            var surroundings = Surroundings()
            surroundings.now = { 11 }
            return try Surroundings.$current.withValue(surroundings) {
                try terminal.confirms("give it?", until: 10)
            }
        }
        #expect(try late.get() == nil)
        #expect(screen.contains("give it? type yes: "))
        let (timely, _, _) = try converse([("give it\\? type yes: $", "yes")]) { terminal in
            var surroundings = Surroundings()
            surroundings.now = { 10 }
            return try Surroundings.$current.withValue(surroundings) {
                try terminal.confirms("give it?", until: 10)
            }
        }
        #expect(try timely.get() == true)
    }

    @Test("A new password is typed twice; short and different ones are asked for again, three times")
    func newPassword() throws {
        let dialogue = [
            ("new: $", "short"), ("at least 8 characters(.|\\s)*new: $", "long enough"),
            ("repeat the password: $", "long enuogh"),
            ("differ(.|\\s)*new: $", "long enough"), ("repeat the password: $", "long enough"),
        ]
        let (answer, screen, _) = try converse(dialogue) { terminal in
            let secret = try Self.source(terminal).new(for: "anna", from: NewPasswordOptions.parse([]), isFirst: true)
            let bytes = secret.span
            return bytes.publicBytes
        }
        #expect(try answer.get() == Array("long enough".utf8))
        #expect(!screen.contains("long en"))
    }

    @Test("A wrong password is asked for again, three times in all")
    func wrongPassword() async throws {
        let typed = Mutex(0)
        let screen = try PseudoTerminal(
            [(": $", "one"), (": $", "two"), (": $", "three")].map {
                PseudoTerminal.Line(prompt: "password" + $0.0, answer: $0.1)
            })
        let terminal = try #require(Terminal(device: screen.path))
        let box = Unchecked(screen)
        let attending = Task.detached {
            while !Task.isCancelled { try box.value.attend(milliseconds: 5) }
        }
        await #expect(throws: TresorError.wrongPassword) {
            try await Self.source(terminal).unlock(prompt: "password: ") { (_: borrowing SecretBytes) -> Int in
                typed.withLock { $0 += 1 }
                throw TresorError.wrongPassword
            }
        }
        attending.cancel()
        _ = try? await attending.value
        #expect(typed.withLock { $0 } == 3)
        #expect(screen.unread.isEmpty)
    }

    @Test("What is no terminal gives none")
    func none() {
        #expect(Terminal(device: "/dev/null") == nil)
        #expect(Terminal(device: "/no/such/device") == nil)
    }

    private static func source(_ terminal: Terminal) throws -> PasswordSource {
        PasswordSource(
            options: try GlobalOptions.parse([]), environment: Environment(), standardInput: StandardInput(),
            terminal: { terminal })
    }
}

/// A value that another thread sets.
private final class Later<Value: Sendable>: Sendable {
    private let stored = Mutex<Value?>(nil)

    var value: Value? { stored.withLock { $0 } }

    func set(_ value: Value) { stored.withLock { $0 = value } }
}

private struct Unchecked<Value>: @unchecked Sendable {
    let value: Value

    init(_ value: Value) { self.value = value }
}

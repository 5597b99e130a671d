// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing

@testable import TresorCommand

/// `tresor selftest` finds a library that computes something else.
@Suite struct PublishedAnswerTests {
    private struct Failure: Error {}

    @Test func anotherAnswerOrNoneFails() {
        #expect(PublishedAnswer(name: "", answer: "01ff") { [0x01, 0xff] }.holds())
        #expect(!PublishedAnswer(name: "", answer: "01ff") { [0x01, 0xfe] }.holds())
        #expect(!PublishedAnswer(name: "", answer: "01ff") { [] }.holds())
        #expect(!PublishedAnswer(name: "", answer: "no digits") { throw Failure() }.holds())
    }

    @Test func thisMachineGivesEveryAnswer() {
        for answer in PublishedAnswer.all { #expect(answer.holds(), "\(answer.name)") }
        #expect(Set(PublishedAnswer.all.map(\.name)).count == PublishedAnswer.all.count)
    }

    /// The table of SPEC §5 names the primitives; the system's generator has no answer.
    @Test func everyPrimitiveOfTheSuiteHasAnAnswer() throws {
        let chapter = try #require(try Specification.text().split(separator: "\n## 5. ").last)
        let table = try #require(chapter.split(separator: "|---|---|---|---|\n").dropFirst().first)
        let primitives = table.split(separator: "\n").prefix { $0.hasPrefix("|") }.compactMap { row in
            row.split(separator: "|").dropFirst().first?.split { " ,".contains($0) }.first
        }
        #expect(primitives.count == 5)
        for primitive in primitives where primitive != "the" {
            #expect(PublishedAnswer.all.contains { $0.name.hasPrefix(primitive) }, "\(primitive)")
        }
    }
}

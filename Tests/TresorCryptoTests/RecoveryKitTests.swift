// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

/// The words of a kit and their checksum of eight bits (SPEC §8.2).
@Suite struct RecoveryKitTests {
    private func secret(_ text: [UInt8]) throws -> SecretBytes { try SecretBytes(copying: text.span) }

    /// The last word has the checksum's eight bits and three of the key: of the 256 words that leave the key as it is,
    /// one opens.
    @Test func oneChecksumIsRight() throws {
        let kit = try RecoveryKit()
        let typed = try kit.words()
        let words = typed.span.publicBytes.split(separator: 0x20).map(Array.init)
        let right = try #require(WordList.words.firstIndex(of: words[23]))
        var taken: [Int] = []
        for checksum in 0..<256 {
            let last = WordList.words[right & ~0xff | checksum]
            let other = try secret(Array((words.dropLast() + [last]).joined(separator: [0x20])))
            do {
                let read = try RecoveryKit(typed: other)
                let isSame = read.key.bytes.matches(kit.key.bytes)
                #expect(isSame)
                taken.append(checksum)
            } catch {
                #expect(error == .wrongPassword)
            }
        }
        #expect(taken == [right & 0xff])
    }

    @Test func aKitIsNotLookedForBehindAnotherBeginning() throws {
        let kit = try RecoveryKit()
        let typed = try kit.words()
        let plain = typed.span.publicBytes
        let words = plain.split(separator: 0x20).map { String(decoding: $0, as: UTF8.self) }
        let numbered = words.enumerated().map { "\($0 + 1). \($1.uppercased())" }
        for text in [
            words.joined(separator: " "), "\u{feff}" + words.joined(separator: "\u{2003}\r\n"),
            "\n\n" + numbered.joined(separator: "\u{a0}\t"),
        ] {
            let bytes = Array(text.utf8)
            for count in 0...bytes.count { #expect(RecoveryKit.mayBegin(with: bytes.prefix(count)), "\(count)") }
        }
        for text in ["{\"dose\":1}  ", "The first line of a note", "abandonabandon", "abandon 123 zoo"] {
            #expect(!RecoveryKit.mayBegin(with: Array(text.utf8)[...]), "\(text)")
        }
    }

    /// One letter or one swap away; else the first four letters, which no two words share; else nothing.
    @Test(arguments: [
        ("becone", "become"), ("BECONE", "become"), ("ecome", "become, come"), ("becomee", "become"),
        ("ebcome", "become"), ("diagxxxxxx", "diagram"), ("bole", "bone, hole, pole"), ("xyzzyx", nil),
        ("beconnne", "become"), ("be", nil), ("zoooo", nil),
    ])
    func wordsAreNear(_ word: String, _ expected: String?) throws {
        let typed = try secret(Array("abandon 2. \(word) zoo".utf8))
        var near: String?
        if let words = try RecoveryKit.nearWords(to: 2, in: typed) {
            near = String(decoding: words.span.publicBytes, as: UTF8.self)
        }
        #expect(near == expected)
        let isBeyond = try RecoveryKit.nearWords(to: 4, in: typed) == nil
        #expect(isBeyond)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// How a password is prepared.
@Suite struct PasswordTests {
    private func prepared(_ bytes: [UInt8]) throws -> [UInt8] {
        let password = try Password(typed: SecretBytes(copying: bytes.span))
        return password.bytes.span.publicBytes
    }

    private func prepared(_ text: String) throws -> [UInt8] { try prepared(Array(text.utf8)) }

    @Test(arguments: [
        ("e\u{301}", "\u{e9}"), ("\u{212b}", "\u{c5}"), ("A\u{30a}", "\u{c5}"),
        ("\u{1112}\u{1161}\u{11ab}", "\u{d55c}"),
        ("s\u{323}\u{307}", "\u{1e69}"), ("s\u{307}\u{323}", "\u{1e69}"), ("\u{958}", "\u{915}\u{93c}"),
        ("a\u{3000}b", "a b"), ("a\u{a0}b", "a b"), ("\u{1e0a}\u{323}", "\u{1e0c}\u{307}"), ("\u{2126}", "\u{3a9}"),
        ("Pa\u{df}wort 1\u{1f512}", "Pa\u{df}wort 1\u{1f512}"), ("\u{fb01}", "\u{fb01}"), ("\u{301}e", "\u{301}e"),
    ]) func A29_oneTextOnePassword(typed: String, expected: String) throws {
        #expect(try prepared(typed) == Array(expected.utf8))
    }

    @Test func A29_whatCannotBeTypedTwiceIsRefused() throws {
        let refused: [[UInt8]] = [
            [0], [0x61, 0, 0x62], [0x61, 0x0a], [0x1b], [0x7f], [0xff], [0x80], [0xc3], [0xc0, 0x80],
            [0xe0, 0x80, 0x80],
            [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82],
            Array("\u{378}".utf8),
            Array("\u{e000}".utf8), Array("\u{200b}".utf8), Array("\u{ad}".utf8), Array("\u{2028}".utf8),
            Array("\u{fffe}".utf8),
        ]
        for bytes in refused {
            #expect(error { _ = try prepared(bytes) } == .usage(.passwordCharacters), "\(bytes.prefix(5))")
        }
        #expect(error { _ = try prepared([]) } == .usage(.passwordTooShort))
        let long = [UInt8](repeating: 0x61, count: 1025)
        #expect(error { _ = try prepared(long) } == .usage(.passwordTooLong))
    }

    @Test(arguments: [1, 2, 1023, 1024]) func A29_sizesWithinTheBounds(count: Int) throws {
        #expect(try prepared([UInt8](repeating: 0x61, count: count)).count == count)
    }

    @Test func A29_theLongestExpansionFits() throws {
        let text = String(repeating: "\u{1f82}", count: 341)
        #expect(try prepared(text) == Array(text.utf8))
    }

    @Test func A29_everyAssignedLetterAgreesWithTheStandardLibrary() throws {
        for value in (UInt32(0xa1)...0x2fff).sampled(11) {
            guard let scalar = Unicode.Scalar(value), scalar.properties.generalCategory != .spaceSeparator,
                let bytes = try? prepared(String(scalar) + "\u{323}\u{301}")
            else { continue }
            let again = try prepared(bytes)
            #expect(bytes == again)
            #expect(String(decoding: bytes, as: UTF8.self) == String(scalar) + "\u{323}\u{301}")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Armour, base32 and names.
@Suite struct TextFormTests {
    private func bytes(_ text: String) -> [UInt8] { Array(text.utf8) }

    @Test func A22_whatIsArmouredIsReadAgain() throws {
        for count in Array(0...200) + [1000, 4096] {
            let object = try randomBytes(count)
            let text = Armour.file.armour(object)
            #expect(try Armour.file.dearmour(text) == object)
            let crlf = text.flatMap { $0 == 0x0a ? [0x0d, 0x0a] : [$0] }
            #expect(try Armour.file.dearmour(crlf) == object)
        }
    }

    @Test func A22_anythingElseIsAltered() throws {
        let text = Armour.file.armour(try randomBytes(100))
        let lines = String(decoding: text, as: UTF8.self).split(separator: "\n").map(String.init)
        let (begin, end) = (lines[0], lines[lines.count - 1])
        func joined(_ lines: [String]) -> [UInt8] { bytes(lines.map { $0 + "\n" }.joined()) }
        let crlf = text.flatMap { $0 == 0x0a ? [0x0d, 0x0a] : [$0] }
        var mangled: [[UInt8]] = [
            [], bytes(begin), joined([begin]), joined([begin, end]).dropLast() + [], bytes(" ") + text,
            text + bytes("\n"),
            text + text, bytes("hello\n") + text, text + bytes("bye\n"), Array(text.dropLast()),
            joined([begin, "Version: 1", ""] + lines.dropFirst()), joined([begin, ""] + lines.dropFirst()),
            joined(lines.dropLast() + ["", end]), joined(Array(lines.dropLast())), joined(Array(lines.dropFirst())),
            Armour.card.armour(try Armour.file.dearmour(text)), text.map { $0 == 0x0a ? 0x0d : $0 },
            Array(crlf.dropLast()), Array(crlf.dropLast(2)), Array(crlf.dropLast(2)) + [0x0a],
            joined([begin, lines[1] + lines[2]] + lines.dropFirst(3)),
            joined([begin, lines[3], lines[2]] + lines.dropFirst(4)),
            joined([begin, " " + lines[1]] + lines.dropFirst(2)), joined([begin, lines[1] + " "] + lines.dropFirst(2)),
            joined(lines.map { $0.lowercased() }), bytes(begin + "\n") + [UInt8](repeating: 0x20, count: 100_000),
        ]
        for place in [begin.utf8.count + 1, begin.utf8.count + 30] {
            for byte: UInt8 in [0x00, 0x0d, 0x09, 0x20, 0x2d, 0x5f, 0x3d, 0x80, 0xff] {
                var one = text
                one[place] = byte
                mangled.append(one)
            }
        }
        for text in mangled { #expect(error { _ = try Armour.file.dearmour(text) } == .altered) }
    }

    @Test(arguments: ["QQ==", "QUI="]) func A22_unusedBitsAreZero(group: String) throws {
        func text(_ group: String) -> [UInt8] {
            bytes("-----BEGIN TRESOR FILE-----\n\(group)\n-----END TRESOR FILE-----\n")
        }
        #expect(throws: Never.self) { try Armour.file.dearmour(text(group)) }
        for loose in ["QR==", "QUJ=", "QQ=", "QQ", "Q===", "====", "QQ=A", "=QQ=", "QQ==QQ=="] {
            #expect(error { _ = try Armour.file.dearmour(text(loose)) } == .altered)
        }
    }

    @Test func base32NamesIdsByTheirBeginning() throws {
        for _ in 0..<50 {
            let id = try randomBytes(32)
            let text = Base32.text(id)
            #expect(text.utf8.count == 52)
            for count in 6...52 {
                let prefix = String(text.prefix(count))
                #expect(Base32.namedBy(prefix, id))
                #expect(Base32.namedBy(prefix.uppercased(), id))
                #expect(id.starts(with: try #require(Base32.prefixBytes(prefix))))
            }
            #expect(!Base32.namedBy(String(text.prefix(5)), id))
            #expect(!Base32.namedBy(text + "0", id))
            #expect(!Base32.namedBy("", id))
        }
        #expect(Base32.values("ilo-") == nil)
        #expect(Base32.values("IiLlOo") == [1, 1, 1, 1, 0, 0])
        for text in ["uuuuuu", "ab cdef", "äbcdef", "\u{0}bcdef"] { #expect(Base32.values(text) == nil) }
    }

    @Test func A48_readersDoNotAskWhatUnicodeAssigns() throws {
        let unassigned = bytes("\u{378}\u{e0fff}"), decomposed = bytes("e\u{301}")
        #expect(try Name(unassigned).bytes == unassigned)
        #expect(try Name(decomposed).bytes == decomposed)
        #expect(error { _ = try Name(typed: "\u{378}") } == .usage(.nameCharacters))
        #expect(try Name(typed: "e\u{301}").bytes == bytes("\u{e9}"))
    }

    /// Names as text are for showing: none is looked up or compared by it.
    @Test func A47_noNameIsComparedAsText() throws {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../../Sources")
            .standardizedFileURL
        for layer in ["Tresor", "TresorStore"] {
            let folder = root.appending(path: layer)
            let names = try FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))
            for name in names where name.hasSuffix(".swift") {
                let text = try String(contentsOf: folder.appending(path: name), encoding: .utf8)
                for sign in ["[String:", "Set<String>", ".text ==", "== text", ".text !=", ".text <"] {
                    #expect(!text.contains(sign), "\(layer)/\(name): \(sign)")
                }
            }
        }
    }

    @Test func A49_whatForgesALineIsRefused() throws {
        let refused: [UInt32] = [
            0, 7, 8, 9, 0x0a, 0x0d, 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9b, 0x9f, 0xad, 0x61c, 0x180e, 0x200b, 0x200d,
            0x200e,
            0x200f, 0x2028, 0x2029, 0x202a, 0x202e, 0x2060, 0x2066, 0x2069, 0x206f, 0xfeff, 0xfff9, 0xfffb, 0xfffe,
            0xffff,
            0xfdd0, 0xfdef, 0x1fffe, 0xe0001, 0xe007f, 0x10ffff,
        ]
        for value in refused {
            let text = "a" + String(try #require(Unicode.Scalar(value))) + "b"
            #expect(error { _ = try Name(bytes(text)) } == .altered, "\(value)")
            #expect(error { _ = try Name(typed: text) } == .usage(.nameCharacters), "\(value)")
        }
        for value: UInt32 in [
            0x20, 0x7e, 0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x202f, 0x205f, 0x2070, 0xfdcf, 0xfffd, 0xe0080,
        ] {
            #expect(throws: Never.self) { try Name(bytes(String(try #require(Unicode.Scalar(value))))) }
        }
    }

    @Test func namesHaveALimitAndAreUTF8() throws {
        #expect(throws: Never.self) { try Name([UInt8](repeating: 0x61, count: 256)) }
        #expect(error { _ = try Name([UInt8](repeating: 0x61, count: 257)) } == .altered)
        let broken: [[UInt8]] = [
            [0x80], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80],
            [0xff], [0x61, 0xc3],
        ]
        for bytes in broken { #expect(error { _ = try Name(bytes) } == .altered) }
        let typed: [(String, TresorError.Misuse)] = [
            ("", .nameEmpty), ("-x", .nameCharacters), (String(repeating: "a", count: 257), .nameTooLong),
        ]
        for (text, misuse) in typed { #expect(error { _ = try Name(typed: text) } == .usage(misuse)) }
        #expect(error { _ = try Name(text: String(repeating: "a", count: 257)) } == .usage(.nameTooLong))
    }
}

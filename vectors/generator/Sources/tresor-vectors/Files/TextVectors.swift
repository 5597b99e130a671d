// SPDX-License-Identifier: Apache-2.0

/// Names, numbers, words and errors (SPEC §4.4).
struct TextVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("text", section: "4.4", purpose: "names, numbers and words")
        let vectors = Self(file: file)
        vectors.addNames()
        vectors.addTypedNames()
        vectors.addTypedNumbers()
        vectors.addWords()
        vectors.addErrors()
        vectors.addKitSizes()
        return file
    }

    private func addNames() {
        group("readName")
        func add(_ comment: String, _ flag: String, _ name: Bytes) -> Int {
            valid(comment, [flag], in: ["name": name], out: ["name": name])
        }
        let base = add("a name", "Normal", ascii("Care plan (draft)"))
        _ = add("no bytes", "EdgeCase", [])
        _ = add("256 bytes", "EdgeCase", Bytes(repeating: 0x78, count: 256))
        _ = add("NFD stays", "EdgeCase", ascii("e\u{301}"))
        _ = add("unassigned, as far as anybody knows today", "EdgeCase", ascii("\u{378}"))
        _ = add("private use", "EdgeCase", ascii("\u{e000}"))
        _ = add("a variation selector", "EdgeCase", ascii("\u{fe0f}"))
        for point in [
            0x20, 0x7e, 0xa0, 0xac, 0xae, 0x200a, 0x2010, 0x2027, 0x202f, 0x205f, 0x2070, 0xfff8, 0xfffc, 0xdfffd,
            0xe0080, 0x10fffd,
        ] {
            _ = add(
                "beside the list: U+\(String(point, radix: 16))", "EdgeCase",
                ascii(String(Character(Unicode.Scalar(UInt32(point)) ?? "?"))))
        }
        func refuse(_ comment: String, _ flag: String, _ name: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["name": name])
        }
        refuse("257 bytes", "Oversize", Bytes(repeating: 0x78, count: 257))
        for name: Bytes in [
            [0x80], [0xff], [0xc0, 0x80], [0xc1, 0xbf], [0xe0, 0x80, 0x80], [0xed, 0xa0, 0x80], [0xed, 0xbf, 0xbf],
            [0xf0, 0x80, 0x80, 0x80], [0xf4, 0x90, 0x80, 0x80], [0xf8, 0x88, 0x80, 0x80, 0x80], [0xe2, 0x82],
            [0x61, 0xcc],
        ] {
            refuse("not UTF-8: \(hexText(name))", "BadUTF8", name)
        }
        for point in [
            0, 0xa, 0x1b, 0x1f, 0x7f, 0x80, 0x85, 0x9f, 0xad, 0x61c, 0x180e, 0x200b, 0x200f, 0x2028, 0x202e, 0x2060,
            0x206f, 0xfeff, 0xfff9, 0xfffb, 0xfdd0, 0xfdef, 0xfffe, 0xffff, 0x1fffe, 0xe0000, 0xe0001, 0xe007f,
            0x10ffff,
        ] {
            refuse(
                "U+\(String(point, radix: 16))", "ControlInName",
                ascii("a") + ascii(String(Character(Unicode.Scalar(UInt32(point)) ?? "?"))))
        }
    }

    private func addTypedNames() {
        group("typeName")
        let base = valid("a name", in: ["typed": ascii("plan.json")], out: ["name": ascii("plan.json")])
        valid("NFD becomes NFC", ["EdgeCase"], in: ["typed": ascii("e\u{301}")], out: ["name": ascii("\u{e9}")])
        valid("a hyphen inside", in: ["typed": ascii("dr-house")], out: ["name": ascii("dr-house")])
        func refuse(_ comment: String, _ flag: String, _ typed: Bytes) {
            invalid(comment, flag, "usage", base: base, in: ["typed": typed])
        }
        refuse("nothing", "Truncated", [])
        refuse("a hyphen first", "NonCanonical", ascii("-x"))
        refuse("257 bytes", "Oversize", Bytes(repeating: 0x78, count: 257))
        refuse("a line end", "ControlInName", ascii("a\n"))
        refuse("unassigned", "NonCanonical", ascii("\u{378}"))
        refuse("not UTF-8", "BadUTF8", [0xff])
    }

    private func addTypedNumbers() {
        group("typeNumber")
        let digits = "012345678901234567890123456789"
        let shown = "01234 56789 01234 56789 01234 56789"
        let base = valid(
            "in one piece", in: ["typed": ascii(digits)], out: ["digits": ascii(digits), "number-shown": ascii(shown)])
        valid("as shown", in: ["typed": ascii(shown)], out: ["digits": ascii(digits), "number-shown": ascii(shown)])
        valid(
            "blanks anywhere", ["EdgeCase"], in: ["typed": ascii("  0 12345678901234567890123456789 ")],
            out: ["digits": ascii(digits), "number-shown": ascii(shown)])
        func refuse(_ comment: String, _ flag: String, _ typed: String) {
            invalid(comment, flag, "usage", base: base, in: ["typed": ascii(typed)])
        }
        refuse("29 digits", "Truncated", String(digits.dropLast()))
        refuse("31 digits", "TrailingData", digits + "0")
        refuse("a letter", "NonCanonical", digits.dropLast() + "O")
        refuse("a tab", "NonCanonical", shown.replacing(" ", with: "\t"))
        refuse("digits of full width", "NonCanonical", String(repeating: "\u{ff10}", count: 30))
        refuse("nothing", "Truncated", "")
    }

    private func addWords() {
        group("readKit")
        var base = 0
        for (comment, kit) in [
            ("random bytes", draw()("K", 32)), ("zeros", zeros(32)), ("ones", Bytes(repeating: 0xff, count: 32)),
        ] {
            let words = IdentityFileWriter.words(kit)
            let id = valid(
                comment, [comment == "random bytes" ? "Normal" : "EdgeCase"], in: ["words": ascii(words)],
                out: ["K": kit, "words": ascii(words)])
            if base == 0 { base = id }
        }
        func refuse(_ comment: String, _ flag: String, _ words: String) {
            invalid(comment, flag, "wrong_password", base: base, in: ["words": ascii(words)])
        }
        let abandon = Array(repeating: "abandon", count: 23).joined(separator: " ")
        refuse("no checksum", "BadChecksum", abandon + " abandon")
        refuse("another checksum", "BadChecksum", abandon + " zoo")
        refuse(
            "12 words, a kit of others", "BadWord",
            Array(repeating: "abandon", count: 11).joined(separator: " ") + " about")
        refuse("no words", "BadWord", "")
        refuse("an unknown word", "BadWord", abandon + " tresor")
        refuse("a word cut to four letters", "BadWord", "aban " + abandon.dropFirst(8) + " art")
        refuse("commas", "BadWord", abandon.replacing(" ", with: ",") + ",art")
        refuse("letters of another script", "BadWord", abandon + " \u{430}rt")
    }

    private func addKitSizes() {
        group("readKit")
        let kit = draw()("K", 32)
        let words = IdentityFileWriter.words(kit)
        func padded(_ count: Int) -> Bytes { ascii(words) + Bytes(repeating: 0x20, count: count - words.utf8.count) }
        let base = valid(
            "1024 bytes", ["EdgeCase"], in: ["words": padded(1024)], out: ["K": kit, "words": ascii(words)])
        invalid("1025 bytes", "Oversize", "wrong_password", base: base, in: ["words": padded(1025)])
        invalid(
            "1025 bytes, the last a line end", "Oversize", "wrong_password", base: base,
            in: ["words": padded(1024) + [0x0a]])
        addNumberedKits(kit, words.split(separator: " ").map(String.init))
    }

    /// The words as a kit on paper shows them.
    private func addNumberedKits(_ kit: Bytes, _ words: [String]) {
        func numbered(_ format: (Int, String) -> String) -> Bytes {
            ascii(words.enumerated().map { format($0 + 1, $1) }.joined(separator: "\n"))
        }
        let out: Values = ["K": kit, "words": ascii(words.joined(separator: " "))]
        let base = valid("numbered", ["EdgeCase"], in: ["words": numbered { " \($0) \($1)" }], out: out)
        let blanks = [
            "\u{a0}", "\u{85}", "\u{1680}", "\u{2003}", "\u{2028}", "\u{202f}", "\u{205f}", "\u{3000}", "\u{b}",
        ]
        let spread = words.enumerated().map { blanks[$0 % blanks.count] + $1 }.joined()
        valid("white space of Unicode", ["EdgeCase"], in: ["words": ascii(spread)], out: out)
        valid(
            "a byte-order mark in front", ["EdgeCase"],
            in: ["words": ascii("\u{feff}" + words.joined(separator: " "))], out: out)
        invalid(
            "a blank that is cut off", "BadWord", "wrong_password", base: base,
            in: ["words": ascii(words.joined(separator: " ")) + [0xe2, 0x80]])
        invalid(
            "a space of no width", "BadWord", "wrong_password", base: base,
            in: ["words": ascii(words.joined(separator: "\u{200b}"))])
        valid("numbered, with full stops", ["EdgeCase"], in: ["words": numbered { "\($0).\t\($1)" }], out: out)
        valid(
            "numbers anywhere, leading zeros among them", ["EdgeCase"],
            in: ["words": ascii("24. 07 ") + numbered { _, word in word } + ascii(" 99")], out: out)
        for (comment, numbered) in [
            ("numbers of three digits", numbered { "00\($0) \($1)" }), ("colons", numbered { "\($0): \($1)" }),
            ("two full stops", numbered { "\($0).. \($1)" }), ("no blank behind it", numbered { "\($0).\($1)" }),
            ("a full stop alone", numbered { _, word in ". \(word)" }),
            ("digits of another script", numbered { _, word in "\u{661} \(word)" }),
            ("numbers alone", numbered { number, _ in "\(number)." }),
        ] {
            invalid("numbered: \(comment)", "BadWord", "wrong_password", base: base, in: ["words": numbered])
        }
        addForeignKits(words, base: base)
    }

    /// The words as other programs write them: a character that is no separator belongs to a word.
    private func addForeignKits(_ words: [String], base: Int) {
        let wide = words.joined(separator: " ").utf16.map { u16(Int($0)) }
        for (comment, typed) in [
            ("a comma and a blank between two words", ascii(words.joined(separator: ", "))),
            ("hyphens", ascii(words.joined(separator: "-"))),
            ("UTF-16 with a byte-order mark, low bytes first", [0xff, 0xfe] + wide.flatMap { $0.reversed() }),
            ("UTF-16 with a byte-order mark, high bytes first", [0xfe, 0xff] + join(wide)),
        ] as [(String, Bytes)] {
            invalid(comment, "BadWord", "wrong_password", base: base, in: ["words": typed])
        }
    }

    private func addErrors() {
        group("exitCode")
        let table: [(String, Int)] = [
            ("failed", 1), ("not_found", 10), ("busy", 11), ("wrong_password", 12), ("no_access", 13), ("altered", 14),
            ("forked", 15),
            ("unverified", 16), ("waiting", 17), ("store", 18), ("unsupported", 19), ("usage", 64),
            ("interrupted", 130),
        ]
        var base = 0
        for (name, code) in table {
            base = valid("the error \(name)", in: ["error": ascii(name)], out: ["exit code": [UInt8(code)]])
        }
        invalid("no error of this specification", "NonCanonical", "usage", base: base, in: ["error": ascii("Altered")])
        invalid("no name", "Truncated", "usage", base: base, in: ["error": []])
    }
}

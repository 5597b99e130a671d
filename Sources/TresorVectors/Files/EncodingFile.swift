// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

extension VectorFile {
    static func encoding() -> VectorFile {
        let file = VectorFile(
            "encoding", section: "4",
            purpose: "every object that is read: the one form, and what is not it; armour; ids; evidence")
        file.addObjects()
        file.addEvidence()
        file.addArmour()
        file.addIDs()
        file.addCleanupJournal()
        file.addArmourFaults()
        file.addMoreIDs()
        file.addKeptWraps()
        file.addImpossibleGenerations()
        file.addMarks()
        return file
    }

    private func addObjects() {
        group("reencode")
        let log = Cast.fullLog()
        let wrap = Wrapping(log.current, tresor: log.tresor, for: Cast.bert, eseed: draw()("eseed", 64)).bytes
        let heads = [draw()("first", 32), draw()("second", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        let file = FileFixture().base.bytes
        func pins(_ people: [Person]) -> Bytes {
            preamble("tresorP1") + join(people.map { join(u64(1_767_300_000), [0], prefixed($0.chain)) })
        }
        let objects: [(String, String, Bytes)] = [
            ("tresorC1", "a chain", Cast.gwenRenewed.chain), ("tresorE1", "an entry", log.entries[2]),
            ("tresorW1", "a wrap", wrap),
            ("tresorF1", "a sealed file", file), ("tresorP1", "two pins", pins([Cast.bert, Cast.gwen])),
            (
                "tresorH1", "two heads",
                preamble("tresorH1") + u64(1_767_300_000) + join(heads.map { join($0, u64(7), draw()("hash", 32)) })
            ),
            ("tresorL1", "a local log copy", log.kept),
            (
                "tresorD1", "a device share",
                join(preamble("tresorD1"), Cast.anna.user, draw()("device", 16), draw()("half", 32))
            ),
        ]
        for (magic, comment, object) in objects {
            let base = valid(comment, in: ["magic": ascii(magic), "object": object], out: ["object": object])
            func refuse(_ comment: String, _ flag: String, _ error: String, _ object: Bytes) {
                invalid(comment, flag, error, base: base, in: ["object": object])
            }
            refuse(
                "another release", "WrongMagic", magic == "tresorD1" ? "unsupported" : "unsupported",
                object.replacing(at: 7, with: [0x39]))
            refuse("no object of ours", "WrongMagic", "altered", object.replacing(at: 0, with: [0x54]))
            refuse("suite 2", "WrongSuite", "unsupported", object.replacing(at: magic == "tresorW1" ? 8 : 9, with: [2]))
            if magic != "tresorW1" {
                refuse("version 2", "WrongVersion", "unsupported", object.replacing(at: 8, with: [2]))
            }
            refuse(
                "the first 9 bytes", "Truncated", magic == "tresorW1" || magic != "tresorD1" ? "altered" : "altered",
                Bytes(object.prefix(9)))
            refuse("nothing", "Truncated", "altered", [])
            if magic != "tresorF1" {
                refuse("a byte is missing", "Truncated", "altered", Bytes(object.dropLast()))
                refuse("a byte behind", "TrailingData", "altered", object + [0])
            }
        }
        addHomeObjects(heads)
    }

    private func addHomeObjects(_ heads: [Bytes]) {
        let row = { (tresor: Bytes) in join(tresor, u64(7), zeros(32)) }
        let base = valid(
            "no heads", ["EdgeCase"], in: ["magic": ascii("tresorH1"), "object": preamble("tresorH1") + u64(0)],
            out: ["object": preamble("tresorH1") + u64(0)])
        valid(
            "no pins", ["EdgeCase"], in: ["magic": ascii("tresorP1"), "object": preamble("tresorP1")],
            out: ["object": preamble("tresorP1")])
        valid(
            "an empty log", ["EdgeCase"], in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1")],
            out: ["object": preamble("tresorL1")])
        invalid(
            "heads that fall", "NonCanonical", "altered", base: base,
            in: ["object": preamble("tresorH1") + u64(0) + row(heads[1]) + row(heads[0])])
        invalid(
            "one tresor twice", "NonCanonical", "altered", base: base,
            in: ["object": preamble("tresorH1") + u64(0) + row(heads[0]) + row(heads[0])])
        invalid(
            "heads with an own time after the last", "Oversize", "altered", base: base,
            in: ["object": preamble("tresorH1") + u64(253_402_300_800)])
        invalid(
            "an entry of no bytes", "LengthOverflow", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + u32(0)])
        invalid(
            "an entry longer than 1 MiB", "Oversize", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + u32((1 << 20) + 1)])
        invalid(
            "an entry of 2^32 − 1 bytes", "LengthOverflow", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + [255, 255, 255, 255]])
        let pin = join(u64(1_767_300_000), [2], prefixed(Cast.bert.chain))
        invalid(
            "a pin that is replaced by 2", "NonCanonical", "altered",
            in: ["magic": ascii("tresorP1"), "object": preamble("tresorP1") + pin])
        let late = join(u64(253_402_300_800), [0], prefixed(Cast.bert.chain))
        invalid(
            "a pin of the year 10 000", "Oversize", "altered",
            in: ["magic": ascii("tresorP1"), "object": preamble("tresorP1") + late])
    }

    private func addEvidence() {
        group("evidence")
        let log = Cast.fullLog()
        for (comment, verified, shown) in [
            ("two entries of one number", log.entries[4], log.entries[5]),
            ("a shorter log", log.entries[4], log.entries[3]), ("an empty store, and no kept entry", [], []),
        ] {
            let evidence = join(
                preamble("tresorV1"), log.tresor, u64(4), log.head(at: 4).1, prefixed(verified), prefixed(shown))
            valid(
                comment,
                in: [
                    "tresor": log.tresor, "sequence": u64(4), "hash": log.head(at: 4).1, "verified": verified,
                    "shown": shown,
                ],
                out: ["evidence": evidence, "evidence hash": hash("tresor/v1/evidence-hash", evidence)])
        }
    }

    private func addArmour() {
        group("dearmour")
        var bases: [Int] = []
        for count in [0, 1, 2, 3, 47, 48, 49, 96, 100] {
            let bytes = draw()("bytes", count)
            bases.append(
                valid(
                    "\(count) bytes", [count == 0 || count % 48 == 0 ? "EdgeCase" : "Normal"],
                    in: ["kind": ascii("TRESOR CARD"), "text": Armoured.text(bytes, kind: "TRESOR CARD")],
                    out: ["bytes": bytes]))
        }
        let bytes = draw()("bytes", 100)
        let base = valid(
            "CRLF everywhere", ["EdgeCase"],
            in: ["kind": ascii("TRESOR FILE"), "text": Armoured.text(bytes, eol: "\r\n")], out: ["bytes": bytes])
        let text = String(decoding: Armoured.text(bytes), as: UTF8.self)
        func refuse(_ comment: String, _ flag: String = "NonCanonical", text: String) {
            invalid(comment, flag, "altered", base: base, in: ["text": ascii(text)])
        }
        let lines = text.split(separator: "\n").map(String.init)
        refuse("without the last line end", text: String(text.dropLast()))
        refuse("a line end too many", "TrailingData", text: text + "\n")
        refuse("a blank before it", text: " " + text)
        refuse("a line before it", text: "x\n" + text)
        refuse("another kind at the end", text: text.replacing("END TRESOR FILE", with: "END TRESOR CARD"))
        refuse("another kind", "WrongMagic", text: text.replacing("TRESOR FILE", with: "TRESOR CARD"))
        refuse("lower case", text: text.replacing("BEGIN", with: "begin"))
        refuse("a header line", text: text.replacing("-----\n", with: "-----\nVersion: 1\n\n", maxReplacements: 1))
        refuse(
            "lines of 60",
            text: ([lines[0]] + [
                String(lines[1].prefix(60)), String(lines[1].suffix(4)) + lines[2], lines[3], lines[4],
            ]).joined(separator: "\n") + "\n")
        refuse(
            "one long line",
            text: ([lines[0], lines[1] + lines[2] + lines[3], lines[4]]).joined(separator: "\n") + "\n")
        refuse("an empty line", text: text.replacing("\n", with: "\n\n", maxReplacements: 1))
        refuse("mixed line ends", text: text.replacing("\n", with: "\r\n", maxReplacements: 1))
        refuse("a blank in a line", text: text.replacing(String(lines[1].prefix(4)), with: lines[1].prefix(3) + " "))
        refuse(
            "the alphabet of URLs", text: lines[0] + "\n" + String(repeating: "-", count: 4) + "\n" + lines[4] + "\n")
        refuse("no padding", "Truncated", text: text.replacing("=", with: ""))
        refuse("padding in the middle", text: lines[0] + "\nAA==AAAA\n" + lines[4] + "\n")
        refuse("unused bits that are set", text: lines[0] + "\nAB==\n" + lines[4] + "\n")
        refuse("unused bits that are set, one padding character", text: lines[0] + "\nAAB=\n" + lines[4] + "\n")
        refuse("three padding characters", text: lines[0] + "\nA===\n" + lines[4] + "\n")
        refuse("the end is missing", "Truncated", text: lines[0] + "\n" + lines[1] + "\n")
        refuse("nothing", "Truncated", text: "")
    }

    private func addIDs() {
        group("id")
        valid("32 zero bytes", ["EdgeCase"], in: ["id": zeros(32)], out: ["text": ascii(Crockford.text(zeros(32)))])
        for count in [16, 32] {
            let id = draw()("id", count)
            valid("\(count) bytes", in: ["id": id], out: ["text": ascii(Crockford.text(id))])
        }
        group("namedBy")
        let id = draw()("id", 32)
        let text = Crockford.text(id)
        let base = valid("six characters", in: ["typed": ascii(String(text.prefix(6))), "id": id], out: ["id": id])
        valid("all", in: ["typed": ascii(text), "id": id], out: ["id": id])
        valid("in capitals", ["EdgeCase"], in: ["typed": ascii(text.uppercased()), "id": id], out: ["id": id])
        valid(
            "o for 0 and i, l for 1", ["EdgeCase"],
            in: ["typed": ascii(text.replacing("0", with: "o").replacing("1", with: "L")), "id": id], out: ["id": id])
        func refuse(_ comment: String, _ flag: String, _ typed: String) {
            invalid(comment, flag, "not_found", base: base, in: ["typed": ascii(typed)])
        }
        refuse("five characters", "Truncated", String(text.prefix(5)))
        refuse("nothing", "Truncated", "")
        refuse("the letter u", "NonCanonical", String(text.prefix(6)) + "u")
        refuse("one character more than all", "TrailingData", text + "0")
        refuse("another id", "WrongMember", Crockford.text(draw()("other", 32)))
        refuse("a blank", "NonCanonical", String(text.prefix(6)) + " ")
    }
}

/// Ids as SPEC §4.3 writes them.
enum Crockford {
    static func text(_ bytes: Bytes) -> String {
        let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let bits = bytes.flatMap { byte in (0..<8).map { byte >> UInt8(7 - $0) & 1 } }
        return stride(from: 0, to: bits.count, by: 5).reduce(into: "") { text, start in
            var value = 0
            for index in start..<(start + 5) { value = value << 1 | (index < bits.count ? Int(bits[index]) : 0) }
            text.append(digits[value])
        }
    }
}

extension VectorFile {
    static func text() -> VectorFile {
        let file = VectorFile("text", section: "4.4", purpose: "names, numbers and words")
        file.addNames()
        file.addTypedNames()
        file.addTypedNumbers()
        file.addWords()
        file.addErrors()
        file.addKitSizes()
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

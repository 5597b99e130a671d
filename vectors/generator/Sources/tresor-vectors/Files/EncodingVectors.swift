// SPDX-License-Identifier: Apache-2.0

/// Objects, armour, ids and evidence (SPEC §4).
struct EncodingVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "encoding", section: "4",
            purpose: "every object that is read: the one form, and what is not it; armour; ids; evidence")
        let vectors = Self(file: file)
        let home = HomeObjectVectors(file: file)
        vectors.addObjects()
        vectors.addEvidence()
        vectors.addArmour()
        vectors.addIDs()
        home.addCleanupJournal()
        vectors.addArmourFaults()
        vectors.addMoreIDs()
        home.addKeptWraps()
        home.addImpossibleGenerations()
        home.addMarks()
        ExportVectors(file: file).addExport()
        ExportVectors(file: file).addNotedStores()
        ExportVectors(file: file).addKnownServices()
        RecordHomeVectors(file: file).addKeptPacks()
        RecordHomeVectors(file: file).addOutbox()
        RecordHomeVectors(file: file).addHeldOutbox()
        OwnTresorVectors(file: file).addObjects()
        return file
    }

    private func addObjects() {
        group("reencode")
        let log = Cast.fullLog()
        let wrap = Wrapping(log.current, tresor: log.tresor, for: Cast.bert, eseed: draw()("eseed", 64)).bytes
        let heads = [draw()("first", 32), draw()("second", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        let file = FileFixture().base.bytes
        func pins(_ people: [Person]) -> Bytes { PinWriter.object(people.map { PinWriter($0) }) }
        let objects: [(String, String, Bytes)] = [
            ("tresorC1", "a chain", Cast.gwenRenewed.chain), ("tresorE1", "an entry", log.entries[2]),
            ("tresorW1", "a wrap", wrap),
            ("tresorF1", "a sealed file", file), ("tresorP2", "two pins", pins([Cast.bert, Cast.gwen])),
            (
                "tresorH2", "two heads",
                HeadRow.object(
                    heads.map { HeadRow(tresor: $0, pinned: HeadRow.head(7, draw()("hash", 32))) },
                    ownTime: 1_767_300_000)
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
        let row = { (tresor: Bytes) in HeadRow(tresor: tresor, pinned: HeadRow.head(7, zeros(32))).bytes }
        let base = valid(
            "no heads", ["EdgeCase"], in: ["magic": ascii("tresorH2"), "object": preamble("tresorH2") + u64(0)],
            out: ["object": preamble("tresorH2") + u64(0)])
        valid(
            "no pins", ["EdgeCase"], in: ["magic": ascii("tresorP2"), "object": preamble("tresorP2")],
            out: ["object": preamble("tresorP2")])
        valid(
            "an empty log", ["EdgeCase"], in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1")],
            out: ["object": preamble("tresorL1")])
        invalid(
            "heads that fall", "NonCanonical", "altered", base: base,
            in: ["object": preamble("tresorH2") + u64(0) + row(heads[1]) + row(heads[0])])
        invalid(
            "one tresor twice", "NonCanonical", "altered", base: base,
            in: ["object": preamble("tresorH2") + u64(0) + row(heads[0]) + row(heads[0])])
        invalid(
            "heads with an own time after the last", "Oversize", "altered", base: base,
            in: ["object": preamble("tresorH2") + u64(253_402_300_800)])
        invalid(
            "an entry of no bytes", "LengthOverflow", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + u32(0)])
        invalid(
            "an entry longer than 1 MiB", "Oversize", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + u32((1 << 20) + 1)])
        invalid(
            "an entry of 2^32 − 1 bytes", "LengthOverflow", "altered",
            in: ["magic": ascii("tresorL1"), "object": preamble("tresorL1") + [255, 255, 255, 255]])
        var pin = PinWriter(Cast.bert)
        pin.replaced = 2
        invalid(
            "a pin that is replaced by 2", "NonCanonical", "altered",
            in: ["magic": ascii("tresorP2"), "object": PinWriter.object([pin])])
        let late = PinWriter(Cast.bert, time: 253_402_300_800)
        invalid(
            "a pin of the year 10 000", "Oversize", "altered",
            in: ["magic": ascii("tresorP2"), "object": PinWriter.object([late])])
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

    private func addArmourFaults() {
        group("dearmour")
        let bytes = draw()("bytes", 96)
        let text = String(decoding: Armoured.text(bytes), as: UTF8.self)
        let base = valid(
            "two full lines and no other", ["EdgeCase"], in: ["kind": ascii("TRESOR FILE"), "text": ascii(text)],
            out: ["bytes": bytes])
        func refuse(_ comment: String, _ flag: String, _ text: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["text": text])
        }
        let lines = text.split(separator: "\n").map(String.init)
        let end = "\n" + lines[3] + "\n"
        refuse(
            "a last line of four padding characters", "NonCanonical", ascii(text.replacing(end, with: "\n====" + end)))
        refuse("a blank at the end of a line", "NonCanonical", ascii(text.replacing(lines[1], with: lines[1] + " ")))
        refuse("a carriage return alone", "NonCanonical", ascii(text.replacing("\n", with: "\r")))
        refuse("a zero byte", "NonCanonical", ascii(text.replacing(String(lines[1].prefix(1)), with: "\u{0}")))
        refuse("a byte order mark", "NonCanonical", [0xef, 0xbb, 0xbf] + ascii(text))
        refuse(
            "a line end before the end line is missing", "Truncated", ascii(text.replacing(end, with: lines[3] + "\n")))
        refuse("lower case in the end line", "NonCanonical", ascii(text.replacing("END", with: "end")))
        refuse("the same block twice", "TrailingData", ascii(text + text))
        refuse("a blank in the begin line", "NonCanonical", ascii(text.replacing("FILE-----\n", with: "FILE----- \n")))
    }

    private func addMoreIDs() {
        group("namedBy")
        let id = draw()("id", 16)
        let text = Crockford.text(id)
        let base = valid("a device id, all 26 characters", in: ["typed": ascii(text), "id": id], out: ["id": id])
        func refuse(_ comment: String, _ flag: String, _ typed: String) {
            invalid(comment, flag, "not_found", base: base, in: ["typed": ascii(typed)])
        }
        let last = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let value = last.firstIndex(of: text.last ?? "0") ?? 0
        refuse("a missing bit of the last character is set", "NonCanonical", text.dropLast() + String(last[value | 1]))
        refuse("27 characters", "TrailingData", text + "0")
        refuse("a hyphen", "NonCanonical", text.prefix(6) + "-" + text.dropFirst(6))
        refuse("a letter beyond ASCII that folds to k", "NonCanonical", "\u{212a}" + text.dropFirst())
        refuse("six blanks", "NonCanonical", "      ")
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

// SPDX-License-Identifier: Apache-2.0

/// Preparing passwords, and opening with them (SPEC §8.1).
struct PasswordVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "password", section: "8.1", purpose: "preparing passwords, and opening with them at the floor of the cost")
        let vectors = Self(file: file)
        vectors.addPreparations()
        vectors.addPasswordTests()
        vectors.addNewPasswords()
        return file
    }

    private func addPreparations() {
        group("prepare")
        func add(_ comment: String, _ flag: String, _ typed: String, _ prepared: String) {
            valid(comment, [flag], in: ["typed": ascii(typed)], out: ["prepared": ascii(prepared)])
        }
        add("plain", "Normal", "correct horse battery staple", "correct horse battery staple")
        add("composed already", "PasswordNormalisation", "\u{e9}t\u{e9}", "\u{e9}t\u{e9}")
        add("decomposed", "PasswordNormalisation", "e\u{301}te\u{301}", "\u{e9}t\u{e9}")
        add("spaces of other scripts", "PasswordNormalisation", "a\u{a0}b\u{3000}c\u{2009}d", "a b c d")
        add("the angstrom sign", "PasswordNormalisation", "\u{212b}", "\u{c5}")
        add("marks in another order", "PasswordNormalisation", "q\u{307}\u{323}", "q\u{323}\u{307}")
        add("jamo compose", "PasswordNormalisation", "\u{1112}\u{1161}\u{11ab}", "\u{d55c}")
        add("compatibility forms stay", "EdgeCase", "\u{fb01}\u{ff21}", "\u{fb01}\u{ff21}")
        add("case and other spaces stay", "EdgeCase", " A  a ", " A  a ")
        add("beyond the basic plane", "EdgeCase", "\u{1f600}", "\u{1f600}")
        add("1024 bytes", "EdgeCase", String(repeating: "p", count: 1024), String(repeating: "p", count: 1024))
        add("longer prepared than typed", "EdgeCase", "\u{1d160}", "\u{1d158}\u{1d165}\u{1d16e}")
        func refuse(_ comment: String, _ flag: String, _ typed: Bytes) {
            invalid(comment, flag, "usage", base: 1, in: ["typed": typed])
        }
        refuse("nothing", "PasswordNormalisation", [])
        refuse("1025 bytes", "Oversize", Bytes(repeating: 0x70, count: 1025))
        for bytes: Bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0xc3]] {
            refuse("not UTF-8: \(hexText(bytes))", "BadUTF8", bytes)
        }
        for (comment, text) in [
            ("a tab", "a\tb"), ("a line end", "a\n"), ("NUL", "\u{0}"), ("a soft hyphen", "a\u{ad}b"),
            ("a zero-width joiner", "a\u{200d}b"),
            ("a line separator", "a\u{2028}b"), ("private use", "\u{e000}"), ("unassigned", "\u{378}"),
            ("a Hangul filler", "\u{3164}"), ("a variation selector", "a\u{fe0f}"), ("a tag character", "\u{e0061}"),
        ] { refuse(comment, "ControlInName", ascii(text)) }
        refuse("a noncharacter", "ControlInName", [0xef, 0xb7, 0x90])
    }

    /// Valid and invalid passwords, and the results of other Unicode versions.
    private func addNewPasswords() {
        group("setPassword")
        func add(_ comment: String, _ flag: String, _ typed: String, _ prepared: String) -> Int {
            valid(comment, [flag], in: ["typed": ascii(typed)], out: ["prepared": ascii(prepared)])
        }
        let base = add("eight code points", "EdgeCase", "12345678", "12345678")
        _ = add(
            "eight code points of four bytes each", "EdgeCase", String(repeating: "\u{1f600}", count: 8),
            String(repeating: "\u{1f600}", count: 8))
        _ = add("eight when they are prepared", "EdgeCase", "1234567\u{1d15e}", "1234567\u{1d157}\u{1d165}")
        func refuse(_ comment: String, _ typed: String, flag: String = "PasswordNormalisation") {
            invalid(comment, flag, "usage", base: base, in: ["typed": ascii(typed)])
        }
        refuse("seven code points", "1234567")
        refuse("seven code points of four bytes each", String(repeating: "\u{1f600}", count: 7))
        refuse("nine code points typed, seven prepared", "12345e\u{323}\u{302}a".replacing("12345", with: "1234") + "b")
        refuse("eight code points typed, seven prepared", "123456e\u{301}")
        refuse("nothing", "")
        group("prepare")
        let known = valid(
            "assigned in Unicode 15.0", ["EdgeCase"], in: ["typed": ascii("\u{1fae8}\u{11f04}\u{31350}")],
            out: ["prepared": ascii("\u{1fae8}\u{11f04}\u{31350}")])
        for (point, version) in [
            (UInt32(0x2ebf0), "15.1"), (0x2ffc, "15.1"), (0x31ef, "15.1"), (0x1c89, "16.0"), (0x105c9, "16.0"),
            (0x1fae9, "16.0"),
        ] {
            invalid(
                "assigned in Unicode \(version): U+\(String(point, radix: 16))", "PasswordNormalisation", "usage",
                base: known,
                in: ["typed": ascii(String(Character(Unicode.Scalar(point) ?? "?")))])
        }
    }

    private func addPasswordTests() {
        group("openWithPassword")
        var writer = IdentityFileWriter(Cast.anna, Draw(file: "password", id: 0))
        writer.slots = [writer.passwordSlot("anna's p\u{e9} word")]
        let seed = writer.person.newest.seed
        let output: Values = ["user": writer.person.user, "generation": u32(0)]
        let base = valid(
            "at the floor", in: ["file": writer.bytes, "typed": ascii("anna's p\u{e9} word")],
            mid: [
                "prepared": ascii("anna's p\u{e9} word"), "slot context": writer.context(writer.passwordFields()),
                "S": seed, "tag": IdentityFileWriter.tag(seed, writer.untagged),
            ], out: output)
        valid(
            "typed in NFD with another space", ["PasswordNormalisation"],
            in: ["file": writer.bytes, "typed": ascii("anna's pe\u{301}\u{a0}word")], out: output)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ input: Values) {
            invalid(comment, flag, error, base: base, in: input)
        }
        refuse("another case", "WrongPassword", "wrong_password", ["typed": ascii("Anna's p\u{e9} word")])
        refuse("a space more", "WrongPassword", "wrong_password", ["typed": ascii("anna's p\u{e9} word ")])
        refuse("nothing typed", "WrongPassword", "usage", ["typed": []])
        let file = writer.bytes
        refuse("a bit of the tag", "ModifiedTag", "altered", ["file": file.flipped(at: file.count - 1)])
        refuse(
            "a bit of Argon2id's salt", "ModifiedSalt", "wrong_password",
            ["file": file.flipped(at: file.count - 32 - 104 - 1)])
        var kit = writer
        kit.slots = [writer.kitSlot(Draw(file: "password", id: 0)("K", 32))]
        refuse("no password slot", "WrongPassword", "wrong_password", ["file": kit.bytes])
        let start = 14 + writer.person.chain.count + 2
        refuse(
            "4 passes in the slot: another key", "WeakKdf", "wrong_password",
            ["file": file.replacing(at: start + 29, with: u32(4))])
        refuse("2 passes in the slot", "WeakKdf", "altered", ["file": file.replacing(at: start + 29, with: u32(2))])
        refuse(
            "4 GiB and 1 KiB in the slot", "ExcessiveKdf", "altered",
            ["file": file.replacing(at: start + 25, with: u32(4_194_305))])
    }
}

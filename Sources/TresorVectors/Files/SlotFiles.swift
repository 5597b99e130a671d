// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// An identity file of SPEC §8, slot by slot.
struct IdentityFileWriter {
    var person: Person
    var slots: [Bytes] = []
    private let draw: Draw

    init(_ person: Person, _ draw: Draw) {
        self.person = person
        self.draw = draw
    }

    static func fields(kind: UInt8, id: Bytes, since: UInt64, _ rest: Bytes) -> Bytes { join([kind], id, u64(since), rest) }

    func context(_ fields: Bytes) -> Bytes { join(person.user, u32(person.generation), fields) }

    func slot(_ fields: Bytes, key: Bytes, seed: Bytes? = nil, tag: String) -> Bytes {
        let sealing = Sealing(key, "tresor/v1/slot-seal", context(fields), seed ?? person.newest.seed, salt: draw("slot salt \(tag)", 24))
        return fields + sealing.bytes
    }

    func id(_ tag: String) -> Bytes { draw("slot id \(tag)", 16) }

    func passwordFields(memory: Int = 65_536, passes: Int = 3, salt: Bytes? = nil) -> Bytes {
        Self.fields(kind: 1, id: id("password"), since: 1_767_225_600, join(u32(memory), u32(passes), salt ?? draw("argon2 salt", 16)))
    }

    func passwordSlot(_ password: String) -> Bytes {
        let salt = draw("argon2 salt", 16)
        let prepared = must(try SecretBytes(copying: ascii(password).span))
        enum SlotKeyUse: KeyUse {}
        let key: SecretKey<SlotKeyUse> = must(try Argon2id.key(password: prepared, salt: salt, cost: .floor))
        return slot(passwordFields(salt: salt), key: key.span.publicBytes, tag: "password")
    }

    static func kitKey(_ kit: Bytes) -> Bytes { derive(kit, "tresor/v1/kit-slot") }

    func kitSlot(_ kit: Bytes, tag: String = "kit") -> Bytes {
        let fields = Self.fields(kind: 2, id: id(tag), since: 1_767_225_601, derive(kit, "tresor/v1/kit-locator"))
        return slot(fields, key: Self.kitKey(kit), tag: tag)
    }

    func deviceSlot(_ device: Bytes, storeHalf: Bytes, name: String, until: UInt64, id: Bytes, tag: String) -> Bytes {
        let fields = Self.fields(kind: 3, id: id, since: 1_767_225_602, join(u16(name.utf8.count), ascii(name), u64(until)))
        return slot(fields, key: derive(device, "tresor/v1/slot-device", storeHalf), tag: tag)
    }

    var untagged: Bytes {
        join(preamble("tresorI1"), prefixed(person.chain), join(person.previous), u16(slots.count), join(slots))
    }

    static func tag(_ seed: Bytes, _ untagged: Bytes) -> Bytes {
        derive(derive(seed, "tresor/v1/identity-file"), "tresor/v1/identity-tag", untagged)
    }

    var bytes: Bytes { untagged + Self.tag(person.newest.seed, untagged) }

    /// The kit's words for 32 bytes.
    static func words(_ kit: Bytes) -> String {
        let key: SecretKey<KitUse> = must(try SecretKey(SecretBytes(copying: kit.span)))
        let recovery = RecoveryKit(key)
        let words = must(try recovery.words())
        return String(decoding: words.span.publicBytes, as: UTF8.self)
    }
}

extension VectorFile {
    static func slots() -> VectorFile {
        let file = VectorFile("slots", section: "8", purpose: "identity files: kit, devices, earlier seeds, the tag")
        file.addKitTests()
        file.addDeviceTests()
        file.addFileFaults()
        return file
    }

    private struct SlotFixture {
        let kit: Bytes
        let oldKit: Bytes
        let device: Bytes
        let storeHalf: Bytes
        let deviceID: Bytes
        var writer: IdentityFileWriter

        static let until: UInt64 = 1_800_000_000

        init(_ person: Person = Cast.emilRenewed) {
            let draw = Draw(file: "slots", id: 0)
            kit = draw("K", 32)
            oldKit = draw("old K", 32)
            device = draw("D", 32)
            storeHalf = draw("T", 32)
            deviceID = draw("device id", 16)
            writer = IdentityFileWriter(person, draw)
            writer.slots = [
                writer.kitSlot(kit),
                writer.deviceSlot(device, storeHalf: storeHalf, name: "laptop", until: Self.until, id: deviceID, tag: "device"),
            ]
        }

        var half: Bytes { join(preamble("tresorD1"), writer.person.user, deviceID, device) }
        var kitInput: Values { ["file": writer.bytes, "words": ascii(IdentityFileWriter.words(kit))] }
        var deviceInput: Values {
            ["file": writer.bytes, "device half": half, "store half": storeHalf, "now": u64(1_790_000_000)]
        }
        var output: Values { ["user": writer.person.user, "generation": u32(writer.person.generation)] }
        var middle: Values {
            let seed = writer.person.newest.seed
            return [
                "K": kit, "kit-slot": derive(kit, "tresor/v1/kit-slot"), "locator": derive(kit, "tresor/v1/kit-locator"),
                "slot-device": derive(device, "tresor/v1/slot-device", storeHalf), "S": seed,
                "identity-file": derive(seed, "tresor/v1/identity-file"), "tag": IdentityFileWriter.tag(seed, writer.untagged),
            ]
        }
    }

    private func addKitTests() {
        group("openWithKit")
        let fixture = SlotFixture()
        let base = valid("with two generations", in: fixture.kitInput, mid: fixture.middle, out: fixture.output)
        let words = IdentityFileWriter.words(fixture.kit)
        valid("in capitals, on lines", ["EdgeCase"], in: ["file": fixture.writer.bytes, "words": ascii(words.uppercased().split(separator: " ").joined(separator: "\n"))], mid: [:], out: fixture.output)
        var copy = fixture.writer
        copy.slots = [fixture.writer.slots[0]]
        valid("the kit copy: its only slot", in: ["file": copy.bytes, "words": ascii(words)], out: fixture.output)
        let three = SlotFixture(Cast.emilRenewed.renewed("emil", time: 1_767_500_000))
        valid("with three generations", ["EdgeCase"], in: three.kitInput, mid: three.middle, out: three.output)
        invalid("a kit that was replaced", "OldKit", "wrong_password", base: base, in: ["words": ascii(IdentityFileWriter.words(fixture.oldKit))])
        var none = fixture.writer
        none.slots = [fixture.writer.slots[1]]
        invalid("no kit slot", "OldKit", "wrong_password", base: base, in: ["file": none.bytes])
        let list = words.split(separator: " ").map(String.init)
        func refuse(_ comment: String, _ flag: String, _ words: [String]) {
            invalid(comment, flag, "wrong_password", base: base, in: ["words": ascii(words.joined(separator: " "))])
        }
        refuse("23 words", "BadWord", Array(list.dropLast()))
        refuse("25 words", "BadWord", list + ["abandon"])
        refuse("a word that is not in the list", "BadWord", ["tresor"] + list.dropFirst())
        refuse("a word cut short", "BadWord", [String(list[0].prefix(3)) + "zz"] + list.dropFirst())
        refuse("two words changed places", "BadChecksum", [list[1], list[0]] + list.dropFirst(2))
        refuse("another last word", "BadChecksum", list.dropLast() + [list[23] == "zoo" ? "zebra" : "zoo"])
        addTagFaults(base, fixture)
    }

    private func addTagFaults(_ base: Int, _ fixture: SlotFixture) {
        let writer = fixture.writer
        func refuse(_ comment: String, _ flag: String, _ error: String = "altered", file: Bytes) {
            invalid(comment, flag, error, base: base, in: ["file": file])
        }
        refuse("a bit of the tag", "ModifiedTag", file: writer.bytes.flipped(at: writer.bytes.count - 1))
        var dropped = writer
        dropped.slots = [writer.slots[0]]
        let tag = Bytes(writer.bytes.suffix(32))
        refuse("the device slot is dropped", "SwappedSlot", file: dropped.untagged + tag)
        var longer = writer
        longer.slots[1] = writer.deviceSlot(fixture.device, storeHalf: fixture.storeHalf, name: "laptop", until: 253_402_300_799, id: fixture.deviceID, tag: "longer")
        refuse("a device slot that expires later", "SwappedSlot", file: longer.untagged + tag)
        var reordered = writer
        reordered.slots.reverse()
        refuse("the slots changed places", "SwappedSlot", file: reordered.untagged + tag)
        let kitSlotStart = 14 + writer.person.chain.count + 104 * writer.person.previous.count + 2
        refuse("a bit of the kit slot's since", "SwappedSlot", "wrong_password", file: writer.bytes.flipped(at: kitSlotStart + 24))
        refuse("a bit of the locator", "SwappedSlot", "wrong_password", file: writer.bytes.flipped(at: kitSlotStart + 25))
        refuse("a bit of the kit slot's sealed seed", "ModifiedCiphertext", "wrong_password", file: writer.bytes.flipped(at: kitSlotStart + 57 + 56))
        refuse("a bit of the sealed earlier seed", "ModifiedCiphertext", file: writer.bytes.flipped(at: kitSlotStart - 2 - 48))
        var foreign = writer
        foreign.slots[0] = writer.slot(
            Bytes(writer.slots[0].prefix(57)), key: IdentityFileWriter.kitKey(fixture.kit), seed: Cast.fred.newest.seed, tag: "foreign")
        refuse("the seed of somebody else", "SwappedSlot", file: foreign.untagged + IdentityFileWriter.tag(Cast.fred.newest.seed, foreign.untagged))
        let other = Cast.emil.renewed("emil again", time: 1_767_400_001)
        var swapped = writer
        swapped.person = swapped.person.replacingPrevious(other.previous)
        refuse("an earlier seed sealed for another generation", "SwappedSlot", file: swapped.bytes)
        let wrong = Sealing(
            derive(writer.person.newest.seed, "tresor/v1/identity-previous"), "tresor/v1/previous-seal",
            Person.previousContext(user: writer.person.user, generation: 1), Cast.fred.newest.seed, salt: draw()("salt", 24))
        swapped.person = swapped.person.replacingPrevious([wrong.bytes])
        refuse("an earlier seed that is not its card's", "GenerationForked", file: swapped.bytes)
    }

    private func addDeviceTests() {
        group("openWithDevice")
        let fixture = SlotFixture()
        let base = valid("both halves", in: fixture.deviceInput, mid: fixture.middle, out: fixture.output)
        valid("in the last second", ["EdgeCase"], in: Values(fixture.deviceInput.pairs.dropLast() + [("now", .bytes(u64(SlotFixture.until)))]), out: fixture.output)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ input: Values) { invalid(comment, flag, error, base: base, in: input) }
        refuse("one second later", "ExpiredDevice", "no_access", ["now": u64(SlotFixture.until + 1)])
        refuse("long after", "ExpiredDevice", "no_access", ["now": u64(253_402_300_799)])
        refuse("a bit of the store's half", "WrongDeviceHalf", "altered", ["store half": fixture.storeHalf.flipped(at: 0)])
        refuse("a bit of the device's half", "WrongDeviceHalf", "altered", ["device half": fixture.half.flipped(at: 89)])
        refuse("31 bytes from the store", "WrongDeviceHalf", "altered", ["store half": Bytes(fixture.storeHalf.dropLast())])
        var revoked = fixture.writer
        revoked.slots = [fixture.writer.slots[0]]
        refuse("a device that was revoked", "RevokedDevice", "no_access", ["file": revoked.bytes])
        refuse("another device id", "RevokedDevice", "no_access", ["device half": fixture.half.flipped(at: 42)])
        refuse("the id of the kit slot", "RevokedDevice", "no_access", ["device half": fixture.half.replacing(at: 42, with: fixture.writer.id("kit"))])
        refuse("another person's half", "ChangedPerson", "no_access", ["device half": fixture.half.replacing(at: 10, with: Cast.fred.user)])
        refuse("89 bytes", "Truncated", "altered", ["device half": Bytes(fixture.half.dropLast())])
        refuse("91 bytes", "TrailingData", "altered", ["device half": fixture.half + [0]])
        refuse("another release of the half", "WrongMagic", "unsupported", ["device half": fixture.half.replacing(at: 7, with: [0x32])])
        refuse("version 2 of the half", "WrongVersion", "unsupported", ["device half": fixture.half.replacing(at: 8, with: [2])])
        refuse("suite 2 of the half", "WrongSuite", "unsupported", ["device half": fixture.half.replacing(at: 9, with: [2])])
        let file = fixture.writer.bytes
        refuse("a bit of the tag", "ModifiedTag", "altered", ["file": file.flipped(at: file.count - 1)])
        refuse("a bit of the device's name", "SwappedSlot", "altered", ["file": file.flipped(at: file.count - 32 - 104 - 9)])
    }

    private func addFileFaults() {
        group("readIdentityFile")
        let fixture = SlotFixture()
        let writer = fixture.writer
        let file = writer.bytes
        let base = valid("a file", in: ["file": file], out: ["file": file])
        func refuse(_ comment: String, _ flag: String, _ error: String = "altered", file: Bytes) {
            invalid(comment, flag, error, base: base, in: ["file": file])
        }
        func with(_ slots: [Bytes]) -> Bytes {
            var changed = writer
            changed.slots = slots
            return changed.bytes
        }
        refuse("another release", "WrongMagic", "unsupported", file: file.replacing(at: 7, with: [0x32]))
        refuse("version 2", "WrongVersion", "unsupported", file: file.replacing(at: 8, with: [2]))
        refuse("suite 2", "WrongSuite", "unsupported", file: file.replacing(at: 9, with: [2]))
        refuse("cut", "Truncated", file: Bytes(file.dropLast()))
        refuse("a byte behind", "TrailingData", file: file + [0])
        refuse("more than 1 MiB announced as chain", "Oversize", file: file.replacing(at: 10, with: u32(1 << 20)))
        refuse("a chain length of 2^32 − 1", "LengthOverflow", file: file.replacing(at: 10, with: [255, 255, 255, 255]))
        refuse("no slots", "LengthOverflow", file: with([]))
        refuse("257 slots announced", "Oversize", file: {
            let start = 14 + writer.person.chain.count + 104
            return file.replacing(at: start, with: u16(257))
        }())
        refuse("two slots of one id", "NonCanonical", file: with([writer.slots[1], writer.slots[1]]))
        refuse("two kit slots", "NonCanonical", file: with([writer.slots[0], writer.kitSlot(fixture.oldKit, tag: "second")]))
        let password = writer.passwordFields() + zeros(104)
        let second = IdentityFileWriter.fields(kind: 1, id: writer.id("other"), since: 0, join(u32(65_536), u32(3), zeros(16))) + zeros(104)
        refuse("two password slots", "NonCanonical", file: with([password, second]))
        refuse("a slot of kind 4", "WrongMagic", "unsupported", file: with([IdentityFileWriter.fields(kind: 4, id: writer.id("x"), since: 0, zeros(32)) + zeros(104)]))
        refuse("a slot of kind 0", "WrongMagic", "unsupported", file: with([IdentityFileWriter.fields(kind: 0, id: writer.id("x"), since: 0, []) + zeros(104)]))
        refuse("a since beyond the year 9999", "Oversize", file: with([IdentityFileWriter.fields(kind: 2, id: writer.id("x"), since: .max, zeros(32)) + zeros(104)]))
        refuse("a control character in a device's name", "ControlInName", file: with([
            writer.deviceSlot(fixture.device, storeHalf: fixture.storeHalf, name: "a\u{7}", until: 1, id: writer.id("x"), tag: "x")
        ]))
        for (memory, passes, flag) in [
            (65_535, 3, "WeakKdf"), (65_536, 2, "WeakKdf"), (0, 0, "WeakKdf"), (8, 3, "WeakKdf"), (4_194_305, 3, "ExcessiveKdf"),
            (65_536, 17, "ExcessiveKdf"), (0xffff_ffff, 0xffff_ffff, "ExcessiveKdf"),
        ] {
            refuse("\(memory) KiB and \(passes) passes", flag, file: with([writer.passwordFields(memory: memory, passes: passes) + zeros(104)]))
        }
    }

    static func password() -> VectorFile {
        let file = VectorFile("password", section: "8.1", purpose: "preparing passwords, and opening with them at the floor of the cost")
        file.addPreparations()
        file.addPasswordTests()
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
        func refuse(_ comment: String, _ flag: String, _ typed: Bytes) { invalid(comment, flag, "usage", base: 1, in: ["typed": typed]) }
        refuse("nothing", "PasswordNormalisation", [])
        refuse("1025 bytes", "Oversize", Bytes(repeating: 0x70, count: 1025))
        for bytes: Bytes in [[0xff], [0xc0, 0x80], [0xed, 0xa0, 0x80], [0xf4, 0x90, 0x80, 0x80], [0x61, 0xc3]] {
            refuse("not UTF-8: \(hexText(bytes))", "BadUTF8", bytes)
        }
        for (comment, text) in [
            ("a tab", "a\tb"), ("a line end", "a\n"), ("NUL", "\u{0}"), ("a soft hyphen", "a\u{ad}b"), ("a zero-width joiner", "a\u{200d}b"),
            ("a line separator", "a\u{2028}b"), ("private use", "\u{e000}"), ("unassigned", "\u{378}"),
            ("a Hangul filler", "\u{3164}"), ("a variation selector", "a\u{fe0f}"), ("a tag character", "\u{e0061}"),
        ] { refuse(comment, "ControlInName", ascii(text)) }
        refuse("a noncharacter", "ControlInName", [0xef, 0xb7, 0x90])
    }

    private func addPasswordTests() {
        group("openWithPassword")
        var writer = IdentityFileWriter(Cast.anna, Draw(file: "password", id: 0))
        writer.slots = [writer.passwordSlot("anna's p\u{e9} word")]
        let seed = writer.person.newest.seed
        let output: Values = ["user": writer.person.user, "generation": u32(0)]
        let base = valid(
            "at the floor", in: ["file": writer.bytes, "typed": ascii("anna's p\u{e9} word")],
            mid: ["prepared": ascii("anna's p\u{e9} word"), "slot context": writer.context(writer.passwordFields()), "S": seed, "tag": IdentityFileWriter.tag(seed, writer.untagged)], out: output)
        valid("typed in NFD with another space", ["PasswordNormalisation"], in: ["file": writer.bytes, "typed": ascii("anna's pe\u{301}\u{a0}word")], out: output)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ input: Values) { invalid(comment, flag, error, base: base, in: input) }
        refuse("another case", "WrongPassword", "wrong_password", ["typed": ascii("Anna's p\u{e9} word")])
        refuse("a space more", "WrongPassword", "wrong_password", ["typed": ascii("anna's p\u{e9} word ")])
        refuse("nothing typed", "WrongPassword", "usage", ["typed": []])
        let file = writer.bytes
        refuse("a bit of the tag", "ModifiedTag", "altered", ["file": file.flipped(at: file.count - 1)])
        refuse("a bit of Argon2id's salt", "ModifiedSalt", "wrong_password", ["file": file.flipped(at: file.count - 32 - 104 - 1)])
        var kit = writer
        kit.slots = [writer.kitSlot(Draw(file: "password", id: 0)("K", 32))]
        refuse("no password slot", "WrongPassword", "wrong_password", ["file": kit.bytes])
        let start = 14 + writer.person.chain.count + 2
        refuse("4 passes in the slot: another key", "WeakKdf", "wrong_password", ["file": file.replacing(at: start + 29, with: u32(4))])
        refuse("2 passes in the slot", "WeakKdf", "altered", ["file": file.replacing(at: start + 29, with: u32(2))])
        refuse("4 GiB and 1 KiB in the slot", "ExcessiveKdf", "altered", ["file": file.replacing(at: start + 25, with: u32(4_194_305))])
    }
}

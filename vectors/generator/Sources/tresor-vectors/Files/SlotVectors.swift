// SPDX-License-Identifier: Apache-2.0

/// Identity files: kit, devices, earlier seeds, the tag (SPEC §8).
struct SlotVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("slots", section: "8", purpose: "identity files: kit, devices, earlier seeds, the tag")
        let vectors = Self(file: file)
        let home = HomeVectors(file: file)
        vectors.addKitTests()
        vectors.addDeviceTests()
        vectors.addFileFaults()
        vectors.addForeignSeed()
        vectors.addSlotLimits()
        home.addHomeNames()
        home.addHomeMarks()
        RecordHomeVectors(file: file).addSealedOutbox()
        RecordHomeVectors(file: file).addPieces()
        LoginCopyVectors(file: file).addFiles()
        return file
    }

    private struct SlotFixture {
        let kit: Bytes
        let oldKit: Bytes
        let device: Bytes
        let serverShare: Bytes
        let deviceID: Bytes
        var writer: IdentityFileWriter

        static let until: UInt64 = 1_800_000_000

        init(_ person: Person = Cast.emilRenewed) {
            let draw = Draw(file: "slots", id: 0)
            kit = draw("K", 32)
            oldKit = draw("old K", 32)
            device = draw("D", 32)
            serverShare = draw("T", 32)
            deviceID = draw("device id", 16)
            writer = IdentityFileWriter(person, draw)
            writer.slots = [
                writer.kitSlot(kit),
                writer.deviceSlot(
                    device, serverShare: serverShare, name: "laptop", until: Self.until, id: deviceID, tag: "device"),
            ]
        }

        var deviceShare: Bytes { join(preamble("tresorD1"), writer.person.user, deviceID, device) }
        var kitInput: Values { ["file": writer.bytes, "words": ascii(IdentityFileWriter.words(kit))] }
        var deviceInput: Values {
            ["file": writer.bytes, "device share": deviceShare, "server share": serverShare, "now": u64(1_790_000_000)]
        }
        var output: Values { ["user": writer.person.user, "generation": u32(writer.person.generation)] }
        var middle: Values {
            let seed = writer.person.newest.seed
            return [
                "K": kit, "kit-slot": derive(kit, "tresor/v1/kit-slot"),
                "locator": derive(kit, "tresor/v1/kit-locator"),
                "slot-device": derive(device, "tresor/v1/slot-device", serverShare), "S": seed,
                "identity-file": derive(seed, "tresor/v1/identity-file"),
                "tag": IdentityFileWriter.tag(seed, writer.untagged),
            ]
        }
    }

    private func addKitTests() {
        group("openWithKit")
        let fixture = SlotFixture()
        let base = valid("with two generations", in: fixture.kitInput, mid: fixture.middle, out: fixture.output)
        let words = IdentityFileWriter.words(fixture.kit)
        valid(
            "in capitals, on lines", ["EdgeCase"],
            in: [
                "file": fixture.writer.bytes,
                "words": ascii(words.uppercased().split(separator: " ").joined(separator: "\n")),
            ], mid: [:], out: fixture.output)
        var copy = fixture.writer
        copy.slots = [fixture.writer.slots[0]]
        valid("the kit copy: its only slot", in: ["file": copy.bytes, "words": ascii(words)], out: fixture.output)
        let three = SlotFixture(Cast.emilRenewed.renewed("emil", time: 1_767_500_000))
        valid("with three generations", ["EdgeCase"], in: three.kitInput, mid: three.middle, out: three.output)
        invalid(
            "a kit that was replaced", "OldKit", "wrong_password", base: base,
            in: ["words": ascii(IdentityFileWriter.words(fixture.oldKit))])
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
        longer.slots[1] = writer.deviceSlot(
            fixture.device, serverShare: fixture.serverShare, name: "laptop", until: 253_402_300_799,
            id: fixture.deviceID,
            tag: "longer")
        refuse("a device slot that expires later", "SwappedSlot", file: longer.untagged + tag)
        var reordered = writer
        reordered.slots.reverse()
        refuse("the slots changed places", "SwappedSlot", file: reordered.untagged + tag)
        let kitSlotStart = 14 + writer.person.chain.count + 104 * writer.person.previous.count + 2
        refuse(
            "a bit of the kit slot's since", "SwappedSlot", "wrong_password",
            file: writer.bytes.flipped(at: kitSlotStart + 24))
        refuse(
            "a bit of the locator", "SwappedSlot", "wrong_password", file: writer.bytes.flipped(at: kitSlotStart + 25))
        refuse(
            "a bit of the kit slot's sealed seed", "ModifiedCiphertext", "wrong_password",
            file: writer.bytes.flipped(at: kitSlotStart + 57 + 56))
        refuse(
            "a bit of the sealed earlier seed", "ModifiedCiphertext",
            file: writer.bytes.flipped(at: kitSlotStart - 2 - 48))
        var foreign = writer
        foreign.slots[0] = writer.slot(
            Bytes(writer.slots[0].prefix(57)), key: IdentityFileWriter.kitKey(fixture.kit), seed: Cast.fred.newest.seed,
            tag: "foreign")
        refuse(
            "the seed of somebody else", "SwappedSlot",
            file: foreign.untagged + IdentityFileWriter.tag(Cast.fred.newest.seed, foreign.untagged))
        let other = Cast.emil.renewed("emil again", time: 1_767_400_001)
        var swapped = writer
        swapped.person = swapped.person.replacingPrevious(other.previous)
        refuse("an earlier seed sealed for another generation", "SwappedSlot", file: swapped.bytes)
        let wrong = Sealing(
            derive(writer.person.newest.seed, "tresor/v1/identity-previous"), "tresor/v1/previous-seal",
            Person.previousContext(user: writer.person.user, generation: 1), Cast.fred.newest.seed,
            salt: draw()("salt", 24))
        swapped.person = swapped.person.replacingPrevious([wrong.bytes])
        refuse("an earlier seed that is not its card's", "GenerationForked", file: swapped.bytes)
    }

    private func addDeviceTests() {
        group("openWithDevice")
        let fixture = SlotFixture()
        let base = valid("both shares", in: fixture.deviceInput, mid: fixture.middle, out: fixture.output)
        valid(
            "in the last second", ["EdgeCase"],
            in: Values(fixture.deviceInput.pairs.dropLast() + [("now", .bytes(u64(SlotFixture.until)))]),
            out: fixture.output)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ input: Values) {
            invalid(comment, flag, error, base: base, in: input)
        }
        refuse("one second later", "ExpiredDevice", "no_access", ["now": u64(SlotFixture.until + 1)])
        refuse("long after", "ExpiredDevice", "no_access", ["now": u64(253_402_300_799)])
        refuse(
            "a bit of the server share", "WrongDeviceShare", "altered",
            ["server share": fixture.serverShare.flipped(at: 0)])
        refuse(
            "a bit of the device share", "WrongDeviceShare", "altered",
            ["device share": fixture.deviceShare.flipped(at: 89)])
        refuse(
            "31 bytes from the store", "WrongDeviceShare", "altered",
            ["server share": Bytes(fixture.serverShare.dropLast())]
        )
        var revoked = fixture.writer
        revoked.slots = [fixture.writer.slots[0]]
        refuse("a device that was revoked", "RevokedDevice", "no_access", ["file": revoked.bytes])
        refuse("another device id", "RevokedDevice", "no_access", ["device share": fixture.deviceShare.flipped(at: 42)])
        refuse(
            "the id of the kit slot", "RevokedDevice", "no_access",
            ["device share": fixture.deviceShare.replacing(at: 42, with: fixture.writer.id("kit"))])
        refuse(
            "the device share of another person", "ChangedPerson", "no_access",
            ["device share": fixture.deviceShare.replacing(at: 10, with: Cast.fred.user)])
        refuse("89 bytes", "Truncated", "altered", ["device share": Bytes(fixture.deviceShare.dropLast())])
        refuse("91 bytes", "TrailingData", "altered", ["device share": fixture.deviceShare + [0]])
        refuse(
            "another release of the share", "WrongMagic", "unsupported",
            ["device share": fixture.deviceShare.replacing(at: 7, with: [0x32])])
        refuse(
            "version 2 of the share", "WrongVersion", "unsupported",
            ["device share": fixture.deviceShare.replacing(at: 8, with: [2])])
        refuse(
            "suite 2 of the share", "WrongSuite", "unsupported",
            ["device share": fixture.deviceShare.replacing(at: 9, with: [2])])
        let file = fixture.writer.bytes
        refuse("a bit of the tag", "ModifiedTag", "altered", ["file": file.flipped(at: file.count - 1)])
        refuse(
            "a bit of the device's name", "SwappedSlot", "altered",
            ["file": file.flipped(at: file.count - 32 - 104 - 9)])
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
        refuse(
            "a chain length of 2^32 − 1", "LengthOverflow", file: file.replacing(at: 10, with: [255, 255, 255, 255]))
        refuse("no slots", "LengthOverflow", file: with([]))
        refuse(
            "257 slots announced", "Oversize",
            file: {
                let start = 14 + writer.person.chain.count + 104
                return file.replacing(at: start, with: u16(257))
            }())
        refuse("two slots of one id", "NonCanonical", file: with([writer.slots[1], writer.slots[1]]))
        refuse(
            "two kit slots", "NonCanonical",
            file: with([writer.slots[0], writer.kitSlot(fixture.oldKit, tag: "second")]))
        let password = writer.passwordFields() + zeros(104)
        let second =
            IdentityFileWriter.fields(kind: 1, id: writer.id("other"), since: 0, join(u32(65_536), u32(3), zeros(16)))
            + zeros(104)
        refuse("two password slots", "NonCanonical", file: with([password, second]))
        refuse(
            "a slot of kind 5", "WrongMagic", "unsupported",
            file: with([IdentityFileWriter.fields(kind: 5, id: writer.id("x"), since: 0, zeros(32)) + zeros(104)]))
        refuse(
            "a slot of kind 0", "WrongMagic", "unsupported",
            file: with([IdentityFileWriter.fields(kind: 0, id: writer.id("x"), since: 0, []) + zeros(104)]))
        refuse(
            "a since beyond the year 9999", "Oversize",
            file: with([IdentityFileWriter.fields(kind: 2, id: writer.id("x"), since: .max, zeros(32)) + zeros(104)]))
        refuse(
            "a control character in a device's name", "ControlInName",
            file: with([
                writer.deviceSlot(
                    fixture.device, serverShare: fixture.serverShare, name: "a\u{7}", until: 1, id: writer.id("x"),
                    tag: "x"
                )
            ]))
        for (memory, passes, flag) in [
            (65_535, 3, "WeakKdf"), (65_536, 2, "WeakKdf"), (0, 0, "WeakKdf"), (8, 3, "WeakKdf"),
            (4_194_305, 3, "ExcessiveKdf"),
            (65_536, 17, "ExcessiveKdf"), (0xffff_ffff, 0xffff_ffff, "ExcessiveKdf"),
        ] {
            refuse(
                "\(memory) KiB and \(passes) passes", flag,
                file: with([writer.passwordFields(memory: memory, passes: passes) + zeros(104)]))
        }
    }

    /// A slot with a seed that does not belong to the card: without openSlot step 2 everything else would hold.
    private func addForeignSeed() {
        group("openWithKit")
        let draw = draw()
        let kit = draw("K", 32)
        var writer = IdentityFileWriter(Cast.gwen, draw)
        writer.slots = [writer.kitSlot(kit)]
        let base = valid(
            "generation 0, a kit alone", in: ["file": writer.bytes, "words": ascii(IdentityFileWriter.words(kit))],
            out: ["user": Cast.gwen.user, "generation": u32(0)])
        for (comment, seed) in [
            ("the seed of somebody else, and a tag by it", Cast.fred.newest.seed),
            ("the seed of a later generation, and a tag by it", Cast.gwenRenewed.newest.seed),
        ] {
            var foreign = writer
            foreign.slots = [
                writer.slot(
                    Bytes(writer.slots[0].prefix(57)), key: IdentityFileWriter.kitKey(kit), seed: seed, tag: comment)
            ]
            invalid(
                comment, "SwappedSlot", "altered", base: base,
                in: ["file": foreign.untagged + IdentityFileWriter.tag(seed, foreign.untagged)])
        }
    }

    private func addSlotLimits() {
        group("readIdentityFile")
        var writer = IdentityFileWriter(Cast.gwen, draw())
        func device(_ index: Int, name: Bytes) -> Bytes {
            let id = zeros(14) + u16(index)
            return IdentityFileWriter.fields(kind: 3, id: id, since: 0, join(u16(name.count), name, u64(0)))
                + zeros(104)
        }
        writer.slots = (0..<256).map { device($0, name: []) }
        let base = valid("256 slots", ["EdgeCase"], in: ["file": writer.bytes], out: ["file": writer.bytes])
        func refuse(_ comment: String, _ flag: String, _ slots: [Bytes]) {
            var changed = writer
            changed.slots = slots
            invalid(comment, flag, "altered", base: base, in: ["file": changed.bytes])
        }
        refuse("257 slots", "Oversize", writer.slots + [device(256, name: [])])
        refuse("a device's name of 257 bytes", "Oversize", [device(0, name: Bytes(repeating: 0x6e, count: 257))])
        refuse("256 slots, two of one id", "NonCanonical", Array(writer.slots.dropLast()) + [writer.slots[0]])
        for (memory, passes) in [(65_536, 3), (4_194_304, 16)] {
            var changed = writer
            changed.slots = [writer.passwordFields(memory: memory, passes: passes) + zeros(104)]
            valid(
                "\(memory) KiB and \(passes) passes", ["EdgeCase"], in: ["file": changed.bytes],
                out: ["file": changed.bytes])
        }
    }
}

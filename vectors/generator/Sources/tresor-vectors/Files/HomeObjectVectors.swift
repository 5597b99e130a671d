// SPDX-License-Identifier: Apache-2.0

/// The objects of a home: the cleanup journal, kept wraps and marks (SPEC §8.4, §8.5, §9.6).
struct HomeObjectVectors: TestWriter {
    let file: VectorFile

    /// The cleanup journal of a change of unlock methods, SPEC §8.4.
    func addCleanupJournal() {
        group("reencode")
        func sorted(_ name: String, _ count: Int) -> [Bytes] {
            [draw()("\(name) 1", count), draw()("\(name) 2", count)].sorted { $0.lexicographicallyPrecedes($1) }
        }
        let (kits, devices, slots) = (sorted("kit", 64), sorted("device", 48), sorted("slot", 16))
        let generations = [u32(1), u32(2)]
        func note(_ kits: [Bytes], _ devices: [Bytes], _ slots: [Bytes], _ generations: [Bytes] = []) -> Bytes {
            join([preamble("tresorO1")] + [kits, devices, slots, generations].map { u16($0.count) + join($0) })
        }
        let object = note(kits, devices, slots, generations)
        let base = valid(
            "a cleanup journal", in: ["magic": ascii("tresorO1"), "object": object], out: ["object": object])
        let empty = note([], [], [])
        valid("an empty note", ["EdgeCase"], in: ["magic": ascii("tresorO1"), "object": empty], out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("no object of ours", "WrongMagic", object.replacing(at: 0, with: [0x54]))
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("nothing", "Truncated", [])
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
        refuse("kits that fall", "NonCanonical", note(kits.reversed(), devices, slots, generations))
        refuse("a kit twice", "NonCanonical", note([kits[0], kits[0]], devices, slots, generations))
        refuse("devices that fall", "NonCanonical", note(kits, devices.reversed(), slots, generations))
        refuse("a slot twice", "NonCanonical", note(kits, devices, [slots[0], slots[0]], generations))
        refuse("generations that fall", "NonCanonical", note(kits, devices, slots, generations.reversed()))
        let many = (0..<4097).map { zeros(14) + u16($0) }
        valid(
            "4096 slots", ["EdgeCase"],
            in: ["magic": ascii("tresorO1"), "object": note([], [], many.dropLast())],
            out: ["object": note([], [], many.dropLast())])
        refuse("4097 slots", "Oversize", note([], [], many))
    }

    /// Generations that no identity can have condemn nothing.
    func addImpossibleGenerations() {
        group("reencode")
        for generation in [255, 256, Int(UInt32.max)] {
            let object = join(preamble("tresorO1"), u16(0), u16(0), u16(0), u16(1), u32(generation))
            valid(
                "a note of generation \(generation)", ["EdgeCase"],
                in: ["magic": ascii("tresorO1"), "object": object], out: ["object": object])
        }
    }

    /// Own wraps in a home, SPEC §8.5.
    func addKeptWraps() {
        group("reencode")
        let tresors = [draw()("one", 32), draw()("two", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        func kept(_ rows: [(Bytes, UInt64, Bytes)]) -> Bytes {
            join([preamble("tresorK1")] + rows.map { join($0.0, u64($0.1), u16($0.2.count), $0.2) })
        }
        let rows = [(tresors[0], UInt64(7)), (tresors[1], 2), (tresors[1], 3)].map { tresor, epoch in
            (tresor, epoch, draw()("wrap \(epoch) \(hexText(tresor))", 1287))
        }
        let object = kept(rows)
        let base = valid(
            "three kept wraps, two of them of one tresor", in: ["magic": ascii("tresorK1"), "object": object],
            out: ["object": object])
        let empty = preamble("tresorK1")
        valid("no kept wraps", ["EdgeCase"], in: ["magic": ascii("tresorK1"), "object": empty], out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("no object of ours", "WrongMagic", object.replacing(at: 0, with: [0x54]))
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("tresor ids that fall", "NonCanonical", kept(rows.reversed()))
        refuse("epochs of one tresor that fall", "NonCanonical", kept([rows[0], rows[2], rows[1]]))
        refuse("one epoch of a tresor twice", "NonCanonical", kept([rows[0], rows[0]]))
        refuse("a wrap of no bytes", "LengthOverflow", kept([(tresors[0], 1, [])]))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }

    /// Marks of a home, inside their seal, SPEC §8.5.
    func addMarks() {
        group("reencode")
        let tresors = [draw()("one", 32), draw()("two", 32), draw()("three", 32)].sorted {
            $0.lexicographicallyPrecedes($1)
        }
        func marks(_ rows: [(Bytes, UInt8)]) -> Bytes {
            join([preamble("tresorY1")] + rows.map { join($0.0, [$0.1]) })
        }
        let rows = Array(zip(tresors, [UInt8(1), 2, 3]))
        let object = marks(rows)
        let base = valid("three marks", in: ["magic": ascii("tresorY1"), "object": object], out: ["object": object])
        let empty = preamble("tresorY1")
        valid("no marks", ["EdgeCase"], in: ["magic": ascii("tresorY1"), "object": empty], out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("tresor ids that fall", "NonCanonical", marks(rows.reversed()))
        refuse("one tresor twice", "NonCanonical", marks([rows[0], rows[0]]))
        refuse("flags of which none is set", "NonCanonical", marks([(tresors[0], 0)]))
        refuse("a flag that is none", "NonCanonical", marks([(tresors[0], 4)]))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }
}

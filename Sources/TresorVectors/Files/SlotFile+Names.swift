// SPDX-License-Identifier: Apache-2.0

extension VectorFile {
    /// A slot with a seed that does not belong to the card: without openSlot step 2 everything else would hold.
    func addForeignSeed() {
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

    func addSlotLimits() {
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

    func addHomeNames() {
        group("openNames")
        let gwen = Cast.gwenRenewed
        let key = derive(gwen.newest.seed, "tresor/v1/home-key")
        let tresors = [draw()("one", 32), draw()("two", 32)].sorted { $0.lexicographicallyPrecedes($1) }
        func sealed(_ rows: [(Bytes, Bytes)], label: String = "tresor/v1/names-seal", key: Bytes? = nil) -> Bytes {
            let plain = join(rows.map { join($0.0, u16($0.1.count), $0.1) })
            return Sealing(
                key ?? derive(gwen.newest.seed, "tresor/v1/home-key"), label, gwen.user, plain,
                salt: draw()("salt", 24)
            ).bytes
        }
        func input(_ sealed: Bytes) -> Values {
            (["chain": gwen.chain, "S": gwen.newest.seed, "sealed names": sealed] as Values).with(
                "previous", gwen.previous)
        }
        let names = [ascii("plans"), ascii("plans of last year")]
        let rows = Array(zip(tresors, names))
        let base = valid(
            "two tresors", in: input(sealed(rows)), mid: ["home key": key],
            out: Values([("tresors", .list(tresors)), ("names", .list(names))]))
        valid(
            "none", ["EdgeCase"], in: input(sealed([])), out: Values([("tresors", .list([])), ("names", .list([]))]))
        func refuse(_ comment: String, _ flag: String, _ sealed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed names": sealed])
        }
        refuse("tresor ids that fall", "NonCanonical", sealed(rows.reversed()))
        refuse("one tresor twice", "NonCanonical", sealed([rows[0], rows[0]]))
        refuse("an empty name", "LengthOverflow", sealed([(tresors[0], [])]))
        refuse("a name of 257 bytes", "Oversize", sealed([(tresors[0], Bytes(repeating: 0x6e, count: 257))]))
        refuse("a line end in a name", "ControlInName", sealed([(tresors[0], ascii("a\n"))]))
        refuse("a bit of the tag", "ModifiedTag", { $0.flipped(at: $0.count - 1) }(sealed(rows)))
        refuse("sealed under the label of names in a log", "WrongLabel", sealed(rows, label: "tresor/v1/name-seal"))
        refuse(
            "sealed by another identity", "WrongKey",
            sealed(rows, key: derive(Cast.fred.newest.seed, "tresor/v1/home-key")))
        valid(
            "sealed by the generation before", ["EdgeCase"],
            in: input(sealed(rows, key: derive(Cast.gwen.newest.seed, "tresor/v1/home-key"))),
            out: Values([("tresors", .list(tresors)), ("names", .list(names))]))
    }
}

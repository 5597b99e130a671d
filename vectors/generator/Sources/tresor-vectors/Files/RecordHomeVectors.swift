// SPDX-License-Identifier: Apache-2.0

/// What a home keeps of records: kept packs, and the outbox inside its seal (SPEC §8.5).
struct RecordHomeVectors: TestWriter {
    let file: VectorFile

    func addKeptPacks() {
        group("reencode")
        func kept(_ rows: [(UInt64, Bytes)]) -> Bytes {
            join([preamble("tresorR1")] + rows.map { join(u64($0.0), u32($0.1.count), $0.1) })
        }
        let rows = [UInt64(1), 2, 511].map { ($0, draw()("pack \($0)", 700)) }
        let object = kept(rows)
        let base = valid(
            "three kept packs", in: ["magic": ascii("tresorR1"), "object": object], out: ["object": object])
        let empty = preamble("tresorR1")
        valid("no kept packs", ["EdgeCase"], in: ["magic": ascii("tresorR1"), "object": empty], out: ["object": empty])
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("suite 2", "WrongSuite", object.replacing(at: 9, with: [2]), error: "unsupported")
        refuse("sequences that fall", "NonCanonical", kept([rows[1], rows[0]]))
        refuse("a sequence twice", "NonCanonical", kept([rows[0], rows[0]]))
        refuse("a pack of no bytes", "LengthOverflow", kept([(1, [])]))
        refuse("a pack that is longer than the part", "LengthOverflow", empty + u64(1) + u32(Int(UInt32.max)))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "TrailingData", object + [0])
    }

    func addSealedOutbox() {
        group("openOutbox")
        let gwen = Cast.gwenRenewed
        let draw = draw()
        let (tresor, other) = (draw("tresor", 32), draw("other", 32))
        let item = ItemWriter("plan", .bytes(ascii("{}")))
        let outbox = join(preamble("tresorG1"), [0], u16(1), item.bytes)
        func seal(
            _ plain: Bytes, label: String = "tresor/v1/outbox-seal", of tresor: Bytes,
            by seed: Bytes = gwen.newest.seed
        ) -> Bytes {
            Sealing(derive(seed, "tresor/v1/home-key"), label, tresor, plain, salt: draw("salt", 24)).bytes
        }
        func input(_ sealed: Bytes) -> Values {
            (["chain": gwen.chain, "S": gwen.newest.seed, "tresor": tresor, "sealed outbox": sealed] as Values).with(
                "previous", gwen.previous)
        }
        let base = valid(
            "a set of changes", in: input(seal(outbox, of: tresor)),
            mid: ["home key": derive(gwen.newest.seed, "tresor/v1/home-key")], out: ["outbox": outbox])
        valid(
            "sealed by the generation before", ["EdgeCase"],
            in: input(seal(outbox, of: tresor, by: Cast.gwen.newest.seed)), out: ["outbox": outbox])
        func refuse(_ comment: String, _ flag: String, error: String = "altered", _ sealed: Bytes) {
            invalid(comment, flag, error, base: base, in: ["sealed outbox": sealed])
        }
        refuse("sealed for another tresor", "CrossTresor", seal(outbox, of: other))
        refuse("sealed under the label of marks", "WrongLabel", seal(outbox, label: "tresor/v1/marks-seal", of: tresor))
        refuse("sealed by another identity", "WrongKey", seal(outbox, of: tresor, by: Cast.fred.newest.seed))
        refuse("a bit of the tag", "ModifiedTag", { $0.flipped(at: $0.count - 1) }(seal(outbox, of: tresor)))
        refuse("a byte is missing", "Truncated", seal(Bytes(outbox.dropLast()), of: tresor))
        refuse(
            "a magic of another release", "WrongMagic", error: "unsupported",
            seal(outbox.replacing(at: 7, with: [0x32]), of: tresor))
    }

    func addOutbox() {
        group("reencode")
        let log = Cast.fullLog()
        let sent = join([1], prefixed(log.entries[2]), prefixed(draw()("pack", 700)))
        let plan = ItemWriter("plan", replaces: [3], .bytes(ascii("{}")))
        let newer = ItemWriter("plan", replaces: [3, 7], .bytes(ascii("{\"a\":1}")))
        let event = ItemWriter("event/1", .deleted)
        func changes(_ items: [ItemWriter]) -> Bytes { u16(items.count) + join(items.map(\.bytes)) }
        func outbox(_ sent: Bytes, _ pending: [Bytes]) -> Bytes { join([preamble("tresorG1"), sent] + pending) }
        let object = outbox(sent + changes([event, plan]), [changes([newer]), changes([event])])
        let base = valid(
            "a sent commit and two sets of changes", in: ["magic": ascii("tresorG1"), "object": object],
            out: ["object": object])
        for (comment, object) in [
            ("nothing to send", outbox([0], [])), ("changes alone", outbox([0], [changes([event, plan])])),
            ("a sent commit alone", outbox(sent + changes([plan]), [])),
        ] {
            valid(comment, ["EdgeCase"], in: ["magic": ascii("tresorG1"), "object": object], out: ["object": object])
        }
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("another release", "WrongMagic", object.replacing(at: 7, with: [0x39]), error: "unsupported")
        refuse("version 2", "WrongVersion", object.replacing(at: 8, with: [2]), error: "unsupported")
        refuse("a flag of 4", "NonCanonical", outbox([4], []))
        refuse("no flag", "Truncated", preamble("tresorG1"))
        refuse("a set of no changes", "LengthOverflow", outbox([0], [changes([])]))
        refuse("records that fall", "NonCanonical", outbox([0], [changes([plan, event])]))
        refuse("a record twice in a set", "NonCanonical", outbox([0], [changes([plan, plan])]))
        refuse("a record in two sets", "NonCanonical", outbox([0], [changes([plan]), changes([newer])]))
        refuse("no entry", "LengthOverflow", outbox([1] + u32(0) + u32(1) + [0] + changes([plan]), []))
        refuse(
            "a pack of no bytes", "LengthOverflow",
            outbox([1] + prefixed(log.entries[2]) + u32(0) + changes([plan]), []))
        refuse("a byte is missing", "Truncated", Bytes(object.dropLast()))
        refuse("a byte behind", "Truncated", object + [0])
    }

    /// What an outbox holds in pieces: contents, their attachments, and what is being written.
    func addHeldOutbox() {
        group("reencode")
        let draw = draw()
        let scan = ItemWriter("scan", .attachment(1, type: "image/png"))
        let film = ItemWriter("film", .attachment(3, type: "video/mp4"))
        let header = FileSealing.header(tresor: draw("tresor", 32), epoch: 2, head: (7, draw("head", 32)))
        let blob = draw("blob", 32) + u64(67_890)
        func row(_ number: Int, _ kind: UInt8, _ rest: Bytes) -> Bytes { join(u16(number), [kind], rest) }
        func made(_ number: Int, of content: Int, header other: Bytes? = nil) -> Bytes {
            row(number, 2, join(u16(content), u32(1), blob, other ?? header))
        }
        let (one, large) = (row(1, 1, u64(65_537)), row(3, 1, u64(1 << 20)))
        let written = row(2046, 0, u64(1_777_731_000))
        func changes(_ items: [ItemWriter]) -> Bytes { u16(items.count) + join(items.map(\.bytes)) }
        func outbox(_ rows: [Bytes], _ pending: [ItemWriter], sent: Bytes = []) -> Bytes {
            join(
                preamble("tresorG1"), [sent.isEmpty ? 2 : 3], sent, u16(rows.count), join(rows),
                join(pending.map { changes([$0]) }))
        }
        let all = [one, made(2, of: 1), large, row(4, 0, u64(0)), written]
        let sent = join(prefixed(Cast.fullLog().entries[2]), prefixed(draw("pack", 700)), changes([scan]))
        let object = outbox(all, [scan, film])
        let base = valid(
            "contents, an attachment, and what is being written", in: ["magic": ascii("tresorG1"), "object": object],
            out: ["object": object])
        for (comment, object) in [
            ("a sent commit of a content", outbox(all, [film], sent: sent)),
            ("nothing but what is being written", outbox([written], [])),
        ] {
            valid(comment, ["EdgeCase"], in: ["magic": ascii("tresorG1"), "object": object], out: ["object": object])
        }
        func refuse(_ comment: String, _ flag: String, _ object: Bytes, error: String = "altered") {
            invalid(comment, flag, error, base: base, in: ["object": object])
        }
        refuse("nothing held", "LengthOverflow", outbox([], []))
        refuse("numbers that fall", "NonCanonical", outbox([large, one], []))
        refuse("a number twice", "NonCanonical", outbox([one, one], []))
        refuse("number 0", "NonCanonical", outbox([row(0, 1, u64(65_537))], []))
        refuse("number 2047", "NonCanonical", outbox([row(2047, 1, u64(65_537))], []))
        refuse("kind 3", "NonCanonical", outbox([row(1, 3, u64(0))], []))
        refuse("a time beyond the last", "NonCanonical", outbox([row(1, 0, u64(253_402_300_800))], []))
        refuse("an attachment of nothing", "NonCanonical", outbox([made(2, of: 1)], []))
        refuse("an attachment of an attachment", "NonCanonical", outbox([one, made(2, of: 1), made(5, of: 2)], []))
        refuse("two attachments of one content", "NonCanonical", outbox([one, made(2, of: 1), made(5, of: 1)], [scan]))
        refuse("a change whose content is not held", "NonCanonical", outbox([large], [scan]))
        refuse(
            "a change whose content is being written", "NonCanonical",
            outbox([row(1, 0, u64(1_777_731_000))], [scan]))
        refuse(
            "a change whose content is an attachment", "NonCanonical",
            outbox([one, made(2, of: 1)], [ItemWriter("scan", .attachment(2))]))
        refuse(
            "two changes of one content", "NonCanonical", outbox([one], [scan, ItemWriter("other", .attachment(1))]))
        refuse(
            "a header of another release", "WrongMagic",
            outbox([one, made(2, of: 1, header: header.replacing(at: 7, with: [0x32]))], []), error: "unsupported")
        refuse("a byte is missing", "Truncated", Bytes(outbox([written], []).dropLast()))
    }

    /// A piece of a content, sealed for its number and its place.
    func addPieces() {
        group("openPiece")
        let gwen = Cast.gwenRenewed
        let draw = draw()
        let (tresor, other) = (draw("tresor", 32), draw("other", 32))
        let piece = draw("piece", 1000)
        func seal(
            _ number: Int = 3, _ place: UInt64 = 1, label: String = "tresor/v1/outbox-seal", of tresor: Bytes,
            by seed: Bytes = gwen.newest.seed, context: Bytes? = nil
        ) -> Bytes {
            let context = context ?? join(tresor, u16(number), u64(place))
            return Sealing(derive(seed, "tresor/v1/home-key"), label, context, piece, salt: draw("salt", 24)).bytes
        }
        func input(_ sealed: Bytes) -> Values {
            ([
                "chain": gwen.chain, "S": gwen.newest.seed, "tresor": tresor, "number": u16(3), "place": u64(1),
                "sealed piece": sealed,
            ] as Values).with("previous", gwen.previous)
        }
        let base = valid(
            "the second piece of a content", in: input(seal(of: tresor)),
            mid: ["home key": derive(gwen.newest.seed, "tresor/v1/home-key")], out: ["piece": piece])
        valid(
            "sealed by the generation before", ["EdgeCase"],
            in: input(seal(of: tresor, by: Cast.gwen.newest.seed)), out: ["piece": piece])
        func refuse(_ comment: String, _ flag: String, _ sealed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["sealed piece": sealed])
        }
        refuse("of another number", "WrongContext", seal(4, of: tresor))
        refuse("of another place", "WrongContext", seal(3, 0, of: tresor))
        refuse("of an outbox", "WrongContext", seal(of: tresor, context: tresor))
        refuse("sealed for another tresor", "CrossTresor", seal(of: other))
        refuse("sealed under the label of marks", "WrongLabel", seal(label: "tresor/v1/marks-seal", of: tresor))
        refuse("sealed by another identity", "WrongKey", seal(of: tresor, by: Cast.fred.newest.seed))
        refuse("a bit of the tag", "ModifiedTag", { $0.flipped(at: $0.count - 1) }(seal(of: tresor)))
    }
}

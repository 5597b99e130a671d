// SPDX-License-Identifier: Apache-2.0

/// Attachments against the item and the entry that name them (SPEC §19.2).
struct AttachmentVectors: TestWriter {
    let file: VectorFile

    private static let item = ItemWriter("scan", .attachment(1, type: "image/png"))

    /// A commit of an attachment, and what the store has of it.
    private func input(_ scene: RecordLog, _ attachment: Bytes?, entry: Bytes? = nil, item: ItemWriter) -> Values {
        var input = Values([
            ("tresor", .bytes(scene.log.tresor)), ("log", .list(scene.log.entries)),
            ("keys", .bytes(scene.log.current.tk)), ("entry", .bytes(entry ?? Self.commit(scene, attachment ?? []))),
            ("item", .bytes(item.bytes)),
        ])
        if let attachment { input = input.with("attachment", attachment) }
        return input
    }

    /// The next entry: a commit that names the attachment beside its pack.
    private static func commit(
        _ scene: RecordLog, _ attachment: Bytes, by author: Person = Cast.anna
    ) -> Bytes {
        let pack = scene.sealed(ItemWriter.pack([item]), by: author).bytes
        return scene.commit(pack, [Body.blob(attachment)], by: author)
    }

    func addAttachments(_ scene: RecordLog) {
        group("openAttachment")
        let whole = draw()("content", 70_000)
        func sealed(
            _ content: Bytes = whole, type: String = "image/png", record: String = "scan",
            by author: Person = Cast.anna, tresor: Bytes? = nil, epoch: EpochSecret? = nil,
            head: (UInt64, Bytes)? = nil, origin: FileSealing? = nil, signer: Person? = nil,
            faults: FileSealing.Faults = .init()
        ) -> FileSealing {
            scene.sealed(
                content, type: type, record: record, by: author, tresor: tresor, epoch: epoch, head: head,
                origin: origin, signer: signer, faults: faults)
        }
        func out(_ content: Bytes) -> Values {
            ["content hash": blake2b(32, content), "content size": u64(UInt64(content.count))]
        }
        let good = sealed().bytes
        let base = valid("a content of 70 000 bytes", in: input(scene, good, item: Self.item), out: out(whole))
        let empty = sealed([]).bytes
        valid("an empty content", ["EdgeCase"], in: input(scene, empty, item: Self.item), out: out([]))
        var later = scene
        for _ in 0..<2 { later.log.append(Cast.anna, (BodyType.unknown, [])) }
        valid(
            "sealed at an earlier head of the epoch", ["EdgeCase"], in: input(later, good, item: Self.item),
            out: out(whole))
        let pack = scene.sealed(ItemWriter.pack([Self.item])).bytes
        valid(
            "the second of two", ["EdgeCase"],
            in: input(
                scene, good, entry: scene.commit(pack, [Body.blob(empty), Body.blob(good)]),
                item: ItemWriter("scan", .attachment(2, type: "image/png"))), out: out(whole))
        addBytes(scene, good, base)
        func refuse(
            _ comment: String, _ flag: String, _ file: FileSealing, by author: Person = Cast.anna
        ) {
            invalid(
                comment, flag, "altered", base: base,
                in: ["entry": Self.commit(scene, file.bytes, by: author), "attachment": file.bytes])
        }
        let log = scene.log
        refuse("of another record", "SwappedRecord", sealed(record: "other"))
        refuse("of no record", "SwappedRecord", sealed(record: ""))
        refuse("of another type", "SwappedRecord", sealed(type: "image/jpeg"))
        refuse("of the type of a pack", "SwappedRecord", sealed(type: "tresor/pack"))
        refuse("of another tresor", "SwappedTresor", sealed(tresor: Log.begun(draw(), founder: Cast.anna).tresor))
        refuse("of the epoch before", "WrongEpoch", sealed(epoch: log.epochs[1], head: log.head(at: 3)))
        refuse("sealed under the key of the epoch before", "WrongKey", sealed(faults: .init(epoch: log.epochs[1])))
        refuse("the number of the commit as the head", "FutureHead", sealed(head: (log.sequence, log.head)))
        refuse("a head that is not on the chain", "HeadNotInLog", sealed(head: (log.sequence - 1, draw()("head", 32))))
        refuse("by another writer than the commit", "WrongAuthor", sealed(by: Cast.bert))
        refuse("of somebody else in the commit of a writer", "WrongAuthor", sealed(), by: Cast.bert)
        refuse("by a reader", "NotWriterAtHead", sealed(by: Cast.cleo))
        refuse("signed by somebody else", "WrongSigner", sealed(signer: Cast.bert))
        refuse("with a first author", "OriginInvalid", sealed(origin: sealed()))
        refuse(
            "padding that is not zero", "BadPadding",
            sealed(faults: .init(padding: Bytes(repeating: 1, count: sealed().padding.count))))
    }

    /// The answers of a store, and other forms.
    private func addBytes(_ scene: RecordLog, _ good: Bytes, _ base: Int) {
        let entry = Self.commit(scene, good)
        // Without a base, so that no attachment is inherited.
        invalid("no attachment", "Withheld", "store", in: input(scene, nil, entry: entry, item: Self.item))
        for (comment, flag, bytes) in [
            ("an empty attachment", "Truncated", []), ("a bit is changed", "ModifiedCiphertext", good.flipped(at: 400)),
            ("the last byte is missing", "Truncated", Bytes(good.dropLast())),
            ("a byte behind it", "TrailingData", good + [0]),
            (
                "another attachment of the same record", "SwappedRecord",
                scene.sealed(ascii("other"), type: "image/png", record: "scan").bytes
            ),
        ] as [(String, String, Bytes)] {
            invalid(comment, flag, "altered", base: base, in: ["attachment": bytes])
        }
        let flipped = good.flipped(at: good.count - 1)
        invalid(
            "a bit of the last tag, which the entry names", "ModifiedTag", "altered", base: base,
            in: ["entry": Self.commit(scene, flipped), "attachment": flipped])
        let armoured = Armoured.text(good)
        invalid(
            "armoured", "NonCanonical", "altered", base: base,
            in: ["entry": Self.commit(scene, armoured), "attachment": armoured])
        let another = good.replacing(at: 7, with: [0x32])
        invalid(
            "the magic tresorF2", "WrongMagic", "unsupported", base: base,
            in: ["entry": Self.commit(scene, another), "attachment": another])
        let pack = scene.sealed(ItemWriter.pack([Self.item])).bytes
        for (comment, flag, size) in [
            ("a byte more", "Truncated", good.count + 1), ("a byte less", "TrailingData", good.count - 1),
        ] {
            invalid(
                "the right hash, and \(comment) as its size", flag, "altered", base: base,
                in: ["entry": scene.commit(pack, [Body.blob(good, count: size)])])
        }
        invalid(
            "at a place that the commit does not have", "SwappedRecord", "altered", base: base,
            in: ["item": ItemWriter("scan", .attachment(2, type: "image/png")).bytes])
        let place = Values(input(scene, good, item: Self.item).pairs.filter { $0.0 != "keys" })
        invalid("without the key", "WrongKey", "no_access", in: place)
        invalid(
            "a key that the log does not know", "WrongKey", "altered", base: base,
            in: ["keys": scene.log.epochs[0].tk])
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A pack against its entry, and the bytes that a store shows for it (SPEC §19.2).
struct PackPlaceVectors: TestWriter {
    let file: VectorFile

    private static let item = ItemWriter("plan", .bytes(ascii("{}")))
    private static let content = ItemWriter.pack([item])

    /// The header, the author and the fields of a pack against the entry that names it.
    func addPlaces(_ scene: RecordLog, _ base: Int) {
        let log = scene.log
        func void(_ comment: String, _ sealed: FileSealing, by author: Person = Cast.anna, epoch: UInt64? = nil) {
            self.void(comment, entry: scene.commit(sealed.bytes, by: author, epoch: epoch), sealed.bytes, base)
        }
        func pack(
            _ content: Bytes = Self.content, type: String = "tresor/pack", record: String = "",
            by author: Person = Cast.anna, generation: Int? = nil, time: UInt64? = nil, tresor: Bytes? = nil,
            epoch: EpochSecret? = nil, head: (UInt64, Bytes)? = nil, origin: FileSealing? = nil,
            signer: Person? = nil, isVolume: Bool = false, faults: FileSealing.Faults = .init()
        ) -> FileSealing {
            scene.sealed(
                content, type: type, record: record, by: author, generation: generation, time: time, tresor: tresor,
                epoch: epoch, head: head, origin: origin, signer: signer, isVolume: isVolume, faults: faults)
        }
        let other = Log.begun(draw(), founder: Cast.anna)
        void("of another tresor", pack(tresor: other.tresor))
        void("the header's epoch is the one before", pack(epoch: log.epochs[1], head: log.head(at: 3)))
        void(
            "the header's epoch is the one before, under the key of the commit's epoch",
            pack(epoch: log.epochs[1], head: log.head(at: 3), faults: .init(epoch: log.current)))
        void("the header's epoch is one to come", pack(epoch: log.nextEpoch()))
        void("sealed under the key of the epoch before", pack(faults: .init(epoch: log.epochs[1])))
        void("sealed as a volume", pack(isVolume: true))
        void("the number of the commit as the head", pack(head: (log.sequence, log.head)))
        void("a head above the commit", pack(head: (log.sequence + 3, log.head)))
        void("a head that is not on the chain", pack(head: (log.sequence - 1, draw()("head", 32))))
        void("a head of an earlier epoch", pack(head: log.head(at: 3)))
        void("before its author came", pack(by: Cast.bert, head: log.head(at: 0)), by: Cast.bert)
        void("by another writer than the commit", pack(by: Cast.bert))
        void("by a reader", pack(by: Cast.cleo))
        void("by a stranger", pack(by: Cast.gwen))
        void("signed by somebody else", pack(signer: Cast.bert))
        void("of a generation that its author does not have", pack(generation: 1, signer: Cast.anna))
        void("of another type", pack(type: "application/json"))
        void("of no type", pack(type: ""))
        void("of the type of a volume", pack(type: "tresor/volume"))
        void("of a type of later releases", pack(type: "tresor/packs"))
        void("with a record name", pack(record: "plan"))
        void("with a first author", pack(origin: pack()))
        void("padding that is not zero", pack(faults: .init(padding: Bytes(repeating: 1, count: pack().padding.count))))
        void("padding of another size", pack(faults: .init(padding: zeros(pack().padding.count + 32))))
        void("a content length that does not fit", pack(faults: .init(contentLength: 1 << 40)))
        addEnds(scene)
        addEnvelopes(scene, base)
    }

    /// An author whose right to write ends: the time of the file counts.
    private func addEnds(_ scene: RecordLog) {
        var ending = RecordLog(Log.begun(scene.draw, founder: Cast.anna), scene.draw)
        let end = ending.log.time + 2 * Log.day
        ending.log.grant([Cast.bert], role: 2, notAfter: end)
        for (comment, flag, time, items) in [
            ("dated in the last second of its author", "EdgeCase", end, [Self.item]),
            ("dated after the last second of its author", "Void", end + 1, []),
        ] as [(String, String, UInt64, [ItemWriter])] {
            let pack = ending.sealed(Self.content, by: Cast.bert, time: time).bytes
            let input = Values([
                ("tresor", .bytes(ending.log.tresor)), ("log", .list(ending.log.entries)),
                ("history", .bytes(u64(0))), ("keys", .bytes(ending.log.current.tk)),
                ("entry", .bytes(ending.commit(pack, by: Cast.bert))), ("pack", .bytes(pack)),
            ])
            valid(
                comment, [flag], in: input,
                out: (["outcome": ascii(items.isEmpty ? "void" : "items")] as Values)
                    .with("item hashes", items.map { blake2b(32, $0.bytes) }))
        }
    }

    /// Bytes that the entry names and that are no pack at all.
    private func addEnvelopes(_ scene: RecordLog, _ base: Int) {
        let good = scene.sealed(Self.content).bytes
        for (comment, bytes) in [
            ("armoured", Armoured.text(good)), ("no magic of ours", good.replacing(at: 0, with: [0x54])),
            ("674 bytes of zero", zeros(674)), ("a bit of the ciphertext", good.flipped(at: good.count - 1)),
            ("a bit of the head's hash", good.flipped(at: 60)),
        ] {
            void(comment, entry: scene.commit(bytes), bytes, base)
        }
        for (comment, flag, bytes) in [
            ("version 2 of a sealed file", "WrongVersion", good.replacing(at: 8, with: [2])),
            ("suite 2", "WrongSuite", good.replacing(at: 9, with: [2])),
            ("the magic tresorF2", "WrongMagic", good.replacing(at: 7, with: [0x32])),
        ] {
            invalid(comment, flag, "unsupported", base: base, in: ["entry": scene.commit(bytes), "pack": bytes])
        }
    }

    /// The objects that a store shows, and who asks.
    func addBytes(_ scene: RecordLog, _ base: Int) {
        let pack = scene.sealed(Self.content).bytes
        let entry = scene.commit(pack)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ bytes: Bytes?) {
            let input: Values = ["entry": entry]
            // Without a base, so that no pack is inherited.
            let place = Values([
                ("tresor", .bytes(scene.log.tresor)), ("log", .list(scene.log.entries)), ("history", .bytes(u64(0))),
                ("keys", .bytes(scene.log.current.tk)), ("entry", .bytes(entry)),
            ])
            if let bytes {
                invalid(comment, flag, error, base: base, in: input.with("pack", bytes))
            } else {
                invalid(comment, flag, error, in: place)
            }
        }
        refuse("no pack", "Withheld", "store", nil)
        refuse("an empty pack", "Truncated", "altered", [])
        refuse("one bit is changed", "ModifiedCiphertext", "altered", pack.flipped(at: 400))
        refuse("the last byte is missing", "Truncated", "altered", Bytes(pack.dropLast()))
        refuse("a byte behind the pack", "TrailingData", "altered", pack + [0])
        refuse(
            "another pack of the same author", "SwappedRecord", "altered",
            scene.sealed(ItemWriter.pack([ItemWriter("other", .deleted)])).bytes)
        let wrong = hash("tresor/v1/entry-hash", pack) + u64(UInt64(pack.count))
        let (right, epoch) = (hash("tresor/v1/blob-hash", pack), scene.log.current.number)
        invalid(
            "a hash under another label", "WrongLabel", "altered", base: base,
            in: ["entry": scene.log.entry(Cast.anna, Body.commit([wrong], epoch: epoch)), "pack": pack])
        invalid(
            "the right hash and another size", "NonCanonical", "altered", base: base,
            in: [
                "entry": scene.log.entry(Cast.anna, Body.commit([right + u64(700)], epoch: epoch)), "pack": pack,
            ])
        invalid(
            "keys that the log does not know", "WrongKey", "altered", base: base,
            in: ["entry": entry, "pack": pack, "keys": scene.log.epochs[0].tk])
        addReaders(scene, base)
    }

    private func addReaders(_ scene: RecordLog, _ base: Int) {
        var early = scene
        early.log = Log.begun(scene.draw, founder: Cast.anna)
        early.log.grant([Cast.bert], role: 2)
        let pack = early.sealed(Self.content).bytes
        func reads(_ comment: String, _ outcome: String, _ scene: RecordLog, history: UInt64?, pack: Bytes?) {
            let bytes = scene.sealed(Self.content).bytes
            var input = Values([
                ("tresor", .bytes(scene.log.tresor)), ("log", .list(scene.log.entries)),
                ("entry", .bytes(scene.commit(bytes))), ("keys", .bytes(scene.log.current.tk)),
            ])
            if let history { input = input.with("history", u64(history)) }
            if let pack { input = input.with("pack", pack) }
            file.valid(
                comment, ["EdgeCase"], in: input,
                out: (["outcome": ascii(outcome)] as Values)
                    .with("item hashes", outcome == "items" ? [blake2b(32, Self.item.bytes)] : []))
        }
        let now = scene.sealed(Self.content).bytes
        reads("a reader from this very epoch on", "items", scene, history: 3, pack: now)
        reads("a reader from an epoch before on", "items", scene, history: 2, pack: now)
        reads("before the reader's time", "not mine", early, history: 2, pack: pack)
        reads("before the reader's time, and not there", "not mine", early, history: 2, pack: nil)
        reads("somebody who is no member", "not mine", scene, history: nil, pack: now)
    }
}

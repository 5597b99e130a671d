// SPDX-License-Identifier: Apache-2.0

/// Packs: every bound, and what is void, missing or not mine (SPEC §19.1, §19.2).
struct PackVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "pack", section: "19.2",
            purpose: "packs: each bound, and what is void, missing or not mine; attachments")
        let vectors = Self(file: file)
        file.group("openPack")
        let scene = RecordLog.begun(Draw(file: "pack", id: 0))
        let base = vectors.addItems(scene)
        vectors.addBodies(scene, base)
        vectors.addForms(scene, base)
        vectors.addUnknownParts(scene, base)
        PackPlaceVectors(file: file).addPlaces(scene, base)
        PackPlaceVectors(file: file).addBytes(scene, base)
        AttachmentVectors(file: file).addAttachments(scene)
        return file
    }

    private static let plan = ItemWriter("plan", .bytes(ascii("{}"), type: "application/json"))

    /// The pack opens.
    @discardableResult private func opens(
        _ comment: String, _ flags: [String] = ["Normal"], _ scene: RecordLog, _ items: [ItemWriter],
        attachments: [Bytes] = [], base: Int? = nil
    ) -> Int {
        let pack = scene.sealed(ItemWriter.pack(items)).bytes
        let own: Values = ["entry": scene.commit(pack, attachments), "pack": pack]
        let place = Values([
            ("tresor", .bytes(scene.log.tresor)), ("log", .list(scene.log.entries)), ("history", .bytes(u64(0))),
            ("keys", .bytes(scene.log.current.tk)),
        ])
        return file.valid(
            comment, flags, base: base, in: base == nil ? Values(place.pairs + own.pairs) : own,
            out: (["outcome": ascii("items")] as Values).with("item hashes", items.map { blake2b(32, $0.bytes) }))
    }

    /// The bytes are those that the entry names, and change nothing.
    private func void(
        _ comment: String, _ scene: RecordLog, _ content: Bytes, attachments: [Bytes] = [], _ base: Int
    ) {
        let pack = scene.sealed(content).bytes
        void(comment, entry: scene.commit(pack, attachments), pack, base)
    }

    private func addItems(_ scene: RecordLog) -> Int {
        let blob = draw(0)("blob", 32) + u64(674)
        let base = self.opens("one record", ["Normal"], scene, [Self.plan])
        func opens(_ comment: String, _ items: [ItemWriter], attachments: [Bytes] = []) {
            self.opens(comment, ["EdgeCase"], scene, items, attachments: attachments, base: base)
        }
        self.opens(
            "three records: a content, a deletion, an attachment", ["Normal"], scene,
            [
                ItemWriter("a", replaces: [1, 3], .bytes(ascii("new"))), ItemWriter("b", replaces: [2], .deleted),
                ItemWriter("c", .attachment(1)),
            ], attachments: [blob], base: base)
        opens("an empty content of no type", [ItemWriter("a", .bytes([], type: ""))])
        opens("a content of 65 536 bytes", [ItemWriter("a", .bytes(draw()("content", 65_536)))])
        opens(
            "a name and a type of 256 bytes",
            [
                ItemWriter(String(repeating: "n", count: 256), .bytes([1], type: String(repeating: "t", count: 256)))
            ])
        opens("a name that begins with tresor/", [ItemWriter("tresor/face", .bytes([1]))])
        opens(
            "all revisions up to the head are replaced",
            [
                ItemWriter("a", replaces: Array(0...4), .deleted),
                ItemWriter("b", replaces: [4], .bytes([1])),
            ])
        opens("a deletion of what was never there", [ItemWriter("a", replaces: [], .deleted)])
        opens("the greatest time", [ItemWriter("a", time: 253_402_300_799, .deleted)])
        opens(
            "the last of 1024 blobs", [ItemWriter("a", .attachment(1023))],
            attachments: (0..<1023).map { draw(0)("blob \($0)", 32) + u64(674) })
        opens("names by bytes: capitals first", [ItemWriter("B", .deleted), ItemWriter("a", .deleted)])
        opens("a pack of 1 MiB", Self.large(1 << 20))
        addManyRevisions(scene)
        return base
    }

    /// A log that is long enough for the greatest number of revisions.
    private func addManyRevisions(_ scene: RecordLog) {
        var long = scene
        for _ in 0..<16 { long.log.append(Cast.anna, (BodyType.unknown, [])) }
        let base = opens(
            "16 replaced revisions", ["EdgeCase"], long, [ItemWriter("a", replaces: Array(1...16), .deleted)])
        void(
            "17 replaced revisions", long,
            ItemWriter.pack([ItemWriter("a", replaces: Array(1...17), .deleted)]), base)
    }

    /// Items of which the pack has exactly this size.
    private static func large(_ count: Int) -> [ItemWriter] {
        var items = (10..<26).map { ItemWriter("\($0)", .bytes(zeros(65_000))) }
        let rest = count - ItemWriter.pack(items).count - ItemWriter("z", .bytes([])).bytes.count
        items.append(ItemWriter("z", .bytes(zeros(rest))))
        return items
    }

    /// The outcome of the log alone.
    private func addBodies(_ scene: RecordLog, _ base: Int) {
        let pack = scene.sealed(ItemWriter.pack([Self.plan])).bytes
        let (blob, epoch) = (Body.blob(pack), scene.log.current.number)
        for (comment, body) in [
            ("R38: no blob", Body.commit([], epoch: epoch)),
            ("R39: the epoch before", Body.commit([blob], epoch: epoch - 1)),
            ("R2: a byte behind the blobs", (BodyType.commit, Body.commit([blob], epoch: epoch).1 + [0])),
        ] {
            void("a void body, \(comment)", entry: scene.log.entry(Cast.anna, body), pack, base)
        }
        var left = scene
        left.log.append(Cast.cleo, Body.leave)
        // The header of the second pack names a head at which the mark is not set.
        for (comment, scene) in [("", left), (", and was not where the pack was sealed", scene)] {
            let late = scene.sealed(ItemWriter.pack([Self.plan])).bytes
            file.valid(
                "a void body, R40: *rekey pending* is set\(comment)", ["Void"], base: base,
                in: (["entry": left.commit(late), "pack": late] as Values).with("log", left.log.entries),
                out: (["outcome": ascii("void")] as Values).with("item hashes", [Bytes]()))
        }
    }

    /// Each bound of SPEC §19.1, passed by one.
    private func addForms(_ scene: RecordLog, _ base: Int) {
        let a = ItemWriter("a", .deleted)
        let good = ItemWriter.pack([a])
        func void(_ comment: String, _ content: Bytes, attachments: [Bytes] = []) {
            self.void(comment, scene, content, attachments: attachments, base)
        }
        func item(_ comment: String, _ change: (inout ItemWriter) -> Void) {
            var item = a
            change(&item)
            void(comment, ItemWriter.pack([item]))
        }
        void("no bytes", [])
        void("no items", ItemWriter.pack([]))
        void("one item more than there is", ItemWriter.pack([a], count: 2))
        void("one item fewer than there are", ItemWriter.pack([a, ItemWriter("b", .deleted)], count: 1))
        void("the last byte is missing", Bytes(good.dropLast()))
        void("a byte behind the items", good + [0])
        void("a record twice", ItemWriter.pack([a, a]))
        void("names that fall", ItemWriter.pack([ItemWriter("b", .deleted), a]))
        item("a record without a name") { $0.record = [] }
        item("a name of 257 bytes") { $0.record = Bytes(repeating: 0x6e, count: 257) }
        item("a name that is not UTF-8") { $0.record = [0xff] }
        item("a name with a line feed") { $0.record = ascii("a\nb") }
        item("a revision twice") { $0.replaces = [2, 2] }
        item("revisions that fall") { $0.replaces = [3, 2] }
        item("a revision above the head") { $0.replaces = [5] }
        item("the revision of the commit itself") { $0.replaces = [4, 5] }
        item("more revisions than there are bytes") { $0.count = 16 }
        item("a time beyond the last") { $0.time = 253_402_300_800 }
        item("a type of 257 bytes") { $0.content = .bytes([], type: String(repeating: "t", count: 257)) }
        item("a type with a bidirectional mark") { $0.content = .bytes([], type: "a\u{202e}b") }
        item("a content of 65 537 bytes") { $0.content = .bytes(zeros(65_537)) }
        item("a content longer than the pack") { $0.content = .raw(1, join(u16(0), u32(2), [1])) }
        let blob = draw(0)("blob", 32) + u64(674)
        for (comment, number) in [("the pack itself as an attachment", 0), ("an attachment that is not named", 2)] {
            void(comment, ItemWriter.pack([ItemWriter("a", .attachment(number))]), attachments: [blob])
        }
        void("an attachment where none is named", ItemWriter.pack([ItemWriter("a", .attachment(1))]))
        void("a pack of 1 MiB and one byte", ItemWriter.pack(Self.large((1 << 20) + 1)))
        item("a revision above the head, before kind 3") { item in
            item.replaces = [5]
            item.content = .raw(3, [])
        }
        void(
            "an attachment that is not named, before kind 3",
            ItemWriter.pack([ItemWriter("a", .attachment(1)), ItemWriter("b", .raw(3, []))]))
    }

    /// An object that a later release may bring is not void: the tresor is incomplete for this one.
    private func addUnknownParts(_ scene: RecordLog, _ base: Int) {
        let a = ItemWriter("a", .deleted)
        for hand: UInt8 in [1, 2, 255] {
            missing(
                "has_hand = \(hand)", "WrongVersion", "unsupported", scene, ItemWriter.pack([a], hand: [hand]), base)
        }
        for kind: UInt8 in [3, 255] {
            missing(
                "kind \(kind)", "WrongVersion", "unsupported", scene,
                ItemWriter.pack([ItemWriter("a", .raw(kind, []))]), base)
        }
        missing(
            "kind 3 after a name that falls: the order is checked last", "WrongVersion", "unsupported", scene,
            ItemWriter.pack([ItemWriter("b", .deleted), ItemWriter("a", .raw(3, []))]), base)
    }

    private func missing(
        _ comment: String, _ flag: String, _ error: String, _ scene: RecordLog, _ content: Bytes, _ base: Int
    ) {
        let pack = scene.sealed(content).bytes
        invalid(comment, flag, error, base: base, in: ["entry": scene.commit(pack), "pack": pack])
    }
}

extension TestWriter {
    func void(_ comment: String, entry: Bytes, _ pack: Bytes, _ base: Int) {
        file.valid(
            comment, ["Void"], base: base, in: ["entry": entry, "pack": pack],
            out: (["outcome": ascii("void")] as Values).with("item hashes", [Bytes]()))
    }
}

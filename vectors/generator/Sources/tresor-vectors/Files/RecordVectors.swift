// SPDX-License-Identifier: Apache-2.0

/// The words of a log with packs about each record, computed from SPEC §19.3 alone.
struct RecordsExpected {
    private var versions: [Bytes: [UInt64: ItemWriter]] = [:]
    private var void: [UInt64] = []
    private var missing: [(UInt64, String)] = []
    private var missingVolume = ""
    private var isByVolumes = false

    init(
        _ kept: [(UInt64, ItemWriter)], void: [UInt64] = [], missing: [(UInt64, String)] = [],
        missingVolume: String = "", byVolumes: Bool = false
    ) {
        for (sequence, item) in kept { versions[item.record, default: [:]][sequence] = item }
        (self.void, self.missing) = (void, missing)
        (self.missingVolume, isByVolumes) = (missingVolume, byVolumes)
    }

    private func heads(_ record: Bytes) -> [UInt64] {
        let versions = versions[record] ?? [:]
        let replaced = Set(versions.values.flatMap(\.replaces))
        return versions.keys.filter { !replaced.contains($0) }.sorted()
    }

    private static func isDeletion(_ item: ItemWriter) -> Bool {
        if case .deleted = item.content { true } else { false }
    }

    /// The contents of an attachment are not compared.
    private static func isAttachment(_ item: ItemWriter) -> Bool {
        if case .attachment = item.content { true } else { false }
    }

    /// The heads, the one that is shown first.
    private func ranked(_ record: Bytes) -> [(revision: UInt64, item: ItemWriter)] {
        let versions = versions[record] ?? [:]
        return heads(record).compactMap { revision in versions[revision].map { (revision, $0) } }.sorted { one, two in
            let (isOne, isTwo) = (Self.isDeletion(one.1), Self.isDeletion(two.1))
            return isOne == isTwo ? (one.1.time, one.0) > (two.1.time, two.0) : isTwo
        }.map { ($0.0, $0.1) }
    }

    /// The contents of a version, without its time.
    private static func said(_ item: ItemWriter) -> Bytes {
        var item = item
        (item.replaces, item.time) = ([], 0)
        return item.bytes
    }

    var out: Values {
        let names = versions.keys.filter { !heads($0).isEmpty }.sorted { $0.lexicographicallyPrecedes($1) }
        let shown = names.map { name in ranked(name).first.flatMap { Self.isDeletion($0.item) ? nil : $0 } }
        let aside = names.map { name in
            var said: [Bytes] = []
            return ranked(name).filter { version in
                let isNew = Self.isAttachment(version.item) || !said.contains(Self.said(version.item))
                said.append(Self.said(version.item))
                return isNew
            }.dropFirst().map(\.revision)
        }
        let contents: [Bytes] = shown.map { version in
            guard case .bytes(let bytes, _) = version?.item.content else { return [] }
            return blake2b(32, bytes)
        }
        return Values([
            ("names", .list(names)), ("heads", .list(names.map { join(heads($0).map { u64($0) }) })),
            ("shown", .list(shown.map { u64($0?.revision ?? 0) })),
            ("put aside", .list(aside.map { join($0.map { u64($0) }) })), ("content hashes", .list(contents)),
            ("void", .bytes(join(void.map { u64($0) }))), ("missing", .list(missing.map { u64($0.0) + ascii($0.1) })),
            ("missing volume", .bytes(ascii(missingVolume))), ("by volumes", .bytes([isByVolumes ? 1 : 0])),
        ])
    }

    /// The revisions that a change which has seen all this replaces.
    func replacedNow(_ record: String) -> [UInt64] { heads(ascii(record)) }
}

/// Tables of records (SPEC §19.3).
struct RecordVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "records", section: "19.3", purpose: "the table: what is shown, put aside, deleted, missing")
        let vectors = Self(file: file)
        file.group("readRecords")
        vectors.addTables()
        vectors.addRanks()
        vectors.addGaps()
        vectors.addReaders()
        vectors.addInterleavings(seesAll: false)
        vectors.addInterleavings(seesAll: true)
        return file
    }

    private func begun() -> RecordLog { RecordLog.begun(draw()) }

    private func reads(_ comment: String, _ scene: RecordLog, _ flags: [String] = ["Normal"]) {
        valid(comment, flags, in: scene.input(), out: RecordsExpected(scene.kept()).out)
    }

    private func addTables() {
        reads("no commits", begun(), ["EdgeCase"])
        var some = begun()
        some.put([ItemWriter("b", .bytes([1])), ItemWriter("c", .bytes([2]))])
        some.put([ItemWriter("a", .bytes([3]))], by: Cast.bert)
        reads("three records in two commits", some)
        some.put([ItemWriter("b", replaces: [5], .bytes([4])), ItemWriter("c", replaces: [5], .deleted)])
        reads("an edit and a deletion", some)
        some.put([ItemWriter("c", replaces: [7], .bytes([5]))])
        reads("a deleted record is there again", some)
        var both = begun()
        both.put([ItemWriter("a", .bytes([1]))])
        both.put([ItemWriter("a", .bytes([2]))])
        reads("one name, put by two who had not seen each other", both)
        both.put([ItemWriter("a", replaces: [5, 6], .bytes([3]))])
        reads("an edit that replaces both", both)
        var late = begun()
        late.put([ItemWriter("a", .bytes([1]))])
        late.put([ItemWriter("a", replaces: [5], .deleted)])
        late.put([ItemWriter("a", replaces: [5], .bytes([2]))])
        reads("an edit that had not seen a deletion stays", late)
        late.put([ItemWriter("a", replaces: [6], .bytes([3]))])
        reads("an edit that replaces the deletion alone", late)
        var strange = begun()
        strange.put([ItemWriter("a", replaces: [1, 2, 3], .bytes([1]))])
        strange.put([ItemWriter("b", replaces: [5], .bytes([2]))])
        reads("revisions that are no versions of the record replace nothing", strange, ["EdgeCase"])
    }

    private func addRanks() {
        func reads(_ comment: String, _ items: [ItemWriter]) {
            var scene = begun()
            for item in items { scene.put([item]) }
            self.reads(comment, scene)
        }
        func at(_ time: UInt64, _ content: Bytes, type: String = "text/plain") -> ItemWriter {
            ItemWriter("a", time: time, .bytes(content, type: type))
        }
        reads("the greatest time is shown", [at(30, [1]), at(20, [2]), at(10, [3])])
        reads("of equal times the greatest revision", [at(10, [1]), at(10, [2])])
        reads("a clock of 2099", [at(4_070_908_800, [1]), at(1_777_730_400, [2])])
        reads(
            "a content is shown before a later deletion", [at(10, [1]), ItemWriter("a", time: 99, .deleted)])
        reads("two deletions", [ItemWriter("a", time: 1, .deleted), ItemWriter("a", time: 2, .deleted)])
        reads("equal contents count as one", [at(10, [1]), at(20, [1]), at(30, [2]), at(5, [2])])
        reads("equal contents of two types count as two", [at(10, [1]), at(20, [1], type: "text/html")])
        let attachment = { (number: Int) in ItemWriter("a", time: 5, .attachment(number)) }
        var scene = begun()
        let blob = draw()("blob", 32) + u64(674)
        for item in [attachment(1), attachment(1), ItemWriter("a", time: 5, .bytes([], type: "text/plain"))] {
            let pack = scene.sealed(ItemWriter.pack([item])).bytes
            scene.append(scene.commit(pack, [blob]), pack: pack, items: [item])
        }
        self.reads("attachments of the same number count as two", scene, ["EdgeCase"])
    }

    /// Void and missing packs: the rest applies.
    private func addGaps() {
        var scene = begun()
        scene.put([ItemWriter("a", .bytes([1]))])
        let twice = scene.sealed(ItemWriter.pack([ItemWriter("a", .deleted), ItemWriter("a", .deleted)])).bytes
        scene.append(scene.commit(twice), pack: twice)
        scene.put([ItemWriter("b", .bytes([2]))])
        scene.append(scene.log.entry(Cast.anna, Body.commit([], epoch: 3)), pack: nil)
        scene.append(scene.log.entry(Cast.anna, (BodyType.commit, [1])), pack: nil)
        scene.put([ItemWriter("a", replaces: [5], .bytes([3]))])
        let void: [UInt64] = [6, 8, 9]
        func reads(
            _ comment: String, _ flag: String, without: Set<UInt64> = [], replacing: [UInt64: Bytes] = [:],
            missing: [(UInt64, String)]
        ) {
            let gone = missing.map(\.0)
            valid(
                comment, [flag], in: scene.input(without: without, replacing: replacing),
                out: RecordsExpected(
                    scene.kept { sequence, _ in !gone.contains(sequence) }, void: void.filter { !gone.contains($0) },
                    missing: missing
                ).out)
        }
        reads("a pack and two bodies that are void", "Void", missing: [])
        reads("the pack that replaces is missing", "Withheld", without: [10], missing: [(10, "store")])
        reads("the pack that is replaced is missing", "Withheld", without: [5], missing: [(5, "store")])
        reads(
            "an earlier pack in the place of a later one", "SwappedRecord",
            replacing: [10: scene.packs[0].bytes], missing: [(10, "altered")])
        reads("a void pack is missing", "Withheld", without: [6], missing: [(6, "store")])
        reads(
            "all packs are missing", "Withheld", without: [5, 6, 7, 10],
            missing: [5, 6, 7, 10].map { ($0, "store") })
        let later = scene.sealed(ItemWriter.pack([ItemWriter("a", .raw(9, []))])).bytes
        scene.append(scene.commit(later), pack: later)
        reads("a pack of a later release", "WrongVersion", missing: [(11, "unsupported")])
    }

    /// A member from now on lacks earlier versions and never later ones.
    private func addReaders() {
        var scene = RecordLog(Log.begun(draw(), founder: Cast.anna), draw())
        scene.put([ItemWriter("a", .bytes([1])), ItemWriter("b", .bytes([2]))])
        scene.log.grantFromNow([Cast.fred], role: 2)
        scene.put([ItemWriter("b", time: 1_777_730_399, .bytes([3]))], by: Cast.fred)
        scene.put([ItemWriter("b", replaces: [1], .bytes([4]))])
        let own = scene.kept { sequence, _ in sequence > 1 }
        reads("a member with full history", scene)
        valid(
            "a member from now on", in: scene.input(history: 2), out: RecordsExpected(own).out)
        valid(
            "a member from now on, who needs no earlier pack", ["EdgeCase"],
            in: scene.input(history: 2, without: [1]), out: RecordsExpected(own).out)
        var away = scene.input()
        away.pairs.removeAll { $0.0 == "history" }
        valid("somebody who is no member any more", ["EdgeCase"], in: away, out: RecordsExpected([]).out)
    }

    /// Two devices each edit, delete and edit one record, in every order of their commits.
    private func addInterleavings(seesAll: Bool) {
        for order in 0..<64 where (0..<6).count(where: { order >> $0 & 1 == 1 }) == 3 {
            var scene = begun()
            var steps = [0, 0]
            var own: [[UInt64]] = [[], []]
            for place in 0..<6 {
                let device = order >> place & 1
                let step = steps[device]
                let seen = seesAll ? RecordsExpected(scene.kept()).replacedNow("a") : own[device]
                let content: ItemWriter.Content =
                    step == 1 ? .deleted : .bytes([UInt8(device), UInt8(step)], type: "text/plain")
                // The clock of the second device is an hour behind.
                let time = scene.log.time - UInt64(device) * 3600
                let item = ItemWriter("a", replaces: seen, time: time, content)
                own[device] = [scene.put([item], by: device == 0 ? Cast.anna : Cast.bert)]
                steps[device] += 1
            }
            let word = (0..<6).map { order >> $0 & 1 == 0 ? "A" : "B" }.joined()
            reads("edit, delete, edit of two devices, \(seesAll ? "online" : "offline"): \(word)", scene)
        }
    }
}

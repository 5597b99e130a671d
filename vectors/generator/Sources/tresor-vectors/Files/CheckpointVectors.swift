// SPDX-License-Identifier: Apache-2.0

/// Volumes, and tables in which they stand for packs (SPEC §19.5).
struct CheckpointVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "checkpoint", section: "19.5", purpose: "checkpoints: volumes, newcomers who read them, false ones")
        let vectors = Self(file: file)
        let scene = vectors.scene()
        file.group("openVolume")
        vectors.addVolumes(scene)
        file.group("readRecords")
        vectors.addTables(scene)
        file.group("comparePacks")
        vectors.addComparisons(scene)
        return file
    }

    /// Commits 3 to 7 in epoch 2: `a` has three versions, of which the last two do not know each other; `b` is deleted.
    private func scene() -> RecordLog {
        let draw = Draw(file: "checkpoint", id: 0)
        var log = Log.begun(draw, founder: Cast.anna)
        log.grant([Cast.bert], role: 2)
        log.rotate()
        var scene = RecordLog(log, draw)
        scene.put([ItemWriter("a", .bytes([1])), ItemWriter("b", .bytes([2]))])
        scene.put([ItemWriter("a", replaces: [3], .bytes([3]))])
        scene.put([ItemWriter("a", replaces: [3], time: 1_777_730_401, .bytes([4]))], by: Cast.bert)
        scene.put([ItemWriter("b", replaces: [3], .deleted), ItemWriter("c", .bytes([5]))])
        scene.put([ItemWriter("d", .bytes([6]))])
        return scene
    }

    /// The versions that must be kept up to entry 6.
    private static func heads(_ scene: RecordLog) -> [(UInt64, ItemWriter)] {
        scene.kept { sequence, _ in (4...6).contains(sequence) }
    }

    private static func items(_ kept: [(UInt64, ItemWriter)]) -> Values {
        (["sequences": join(kept.map { u64($0.0) })] as Values)
            .with("item hashes", kept.map { blake2b(32, $0.1.bytes) })
    }

    private func addVolumes(_ scene: RecordLog) {
        let log = scene.log
        let place = Values([
            ("tresor", .bytes(log.tresor)), ("log", .list(log.entries)), ("index", .bytes(u64(0))),
            ("keys", .bytes(log.current.tk + log.current.hk)),
        ])
        func entry(_ volume: Bytes, upto: UInt64 = 6, by author: Person = Cast.anna) -> Bytes {
            log.entry(author, Body.checkpoint([Body.blob(volume)], upto: upto, epoch: log.current.number))
        }
        func sealed(_ content: Bytes) -> Bytes { scene.sealed(content, type: "tresor/volume", isVolume: true).bytes }
        let heads = Self.heads(scene)
        func opens(_ comment: String, _ kept: [(UInt64, ItemWriter)], base: Int? = nil) -> Int {
            let volume = sealed(ItemWriter.volume(kept))
            let own: Values = ["entry": entry(volume), "volume": volume]
            return file.valid(
                comment, [base == nil ? "Normal" : "EdgeCase"], base: base,
                in: base == nil ? Values(place.pairs + own.pairs) : own, out: Self.items(kept))
        }
        let base = opens("all heads", heads)
        _ = opens("everything", scene.kept { sequence, _ in sequence <= 6 }, base: base)
        _ = opens("nothing", [], base: base)
        let volume = sealed(ItemWriter.volume(heads))
        func refuse(_ comment: String, _ flag: String, _ error: String = "altered", _ bytes: Bytes, upto: UInt64 = 6) {
            invalid(comment, flag, error, base: base, in: ["entry": entry(bytes, upto: upto), "volume": bytes])
        }
        func content(_ comment: String, _ flag: String, _ bytes: Bytes, error: String = "altered", upto: UInt64 = 6) {
            refuse(comment, flag, error, sealed(bytes), upto: upto)
        }
        content("an item more than there is", "Truncated", ItemWriter.volume(heads, count: heads.count + 1))
        content("an item fewer than there are", "TrailingData", ItemWriter.volume(heads, count: heads.count - 1))
        content("a byte behind the items", "TrailingData", ItemWriter.volume(heads) + [0])
        content("no bytes", "Truncated", [])
        content("more items than there are bytes", "LengthOverflow", ItemWriter.volume(heads, count: 0xffff_ffff))
        content("items out of order", "NonCanonical", ItemWriter.volume(heads.reversed()))
        content("an item twice", "NonCanonical", ItemWriter.volume([heads[0], heads[0]]))
        content("an item of the genesis", "NonCanonical", ItemWriter.volume([(0, ItemWriter("a", .deleted))]))
        content("an item above the floor", "NonCanonical", ItemWriter.volume(heads), upto: 5)
        content(
            "an item that replaces itself", "NonCanonical",
            ItemWriter.volume([(4, ItemWriter("a", replaces: [4], .deleted))]))
        content(
            "an attachment that is the pack", "NonCanonical", ItemWriter.volume([(4, ItemWriter("a", .attachment(0)))]))
        content(
            "kind 3", "WrongVersion", ItemWriter.volume([(4, ItemWriter("a", .raw(3, [])))]), error: "unsupported")
        content(
            "kind 3 after an item that replaces itself", "NonCanonical",
            ItemWriter.volume([(4, ItemWriter("a", replaces: [4], .deleted)), (5, ItemWriter("a", .raw(3, [])))]))
        content(
            "kind 3 after a greater sequence: the order is checked last", "WrongVersion",
            ItemWriter.volume([(5, ItemWriter("a", .deleted)), (4, ItemWriter("a", .raw(3, [])))]),
            error: "unsupported")
        addVolumePlaces(
            scene, base, volume, { refuse($0, $1, $2, $3, upto: $4) }, { entry($0, upto: $1, by: $2) })
    }

    private func addVolumePlaces(
        _ scene: RecordLog, _ base: Int, _ volume: Bytes, _ refuse: (String, String, String, Bytes, UInt64) -> Void,
        _ entry: (Bytes, UInt64, Person) -> Bytes
    ) {
        let (log, content) = (scene.log, ItemWriter.volume(Self.heads(scene)))
        func wrong(
            _ comment: String, _ flag: String, type: String = "tresor/volume", record: String = "",
            by author: Person = Cast.anna, epoch: EpochSecret? = nil, head: (UInt64, Bytes)? = nil,
            origin: FileSealing? = nil, isVolume: Bool = true
        ) {
            let sealed = scene.sealed(
                content, type: type, record: record, by: author, epoch: epoch, head: head, origin: origin,
                isVolume: isVolume)
            refuse(comment, flag, "altered", sealed.bytes, 6)
        }
        wrong("sealed as a file", "WrongLabel", isVolume: false)
        wrong("of the type of a pack", "SwappedRecord", type: "tresor/pack")
        wrong("with a record name", "SwappedRecord", record: "a")
        wrong("by a writer", "WrongAuthor", by: Cast.bert)
        wrong("of the epoch before", "EpochNotCurrent", epoch: log.epochs[0])
        wrong("a head above the checkpoint", "FutureHead", head: (log.sequence, log.head))
        wrong("a head of an earlier epoch", "EpochNotCurrent", head: log.head(at: 1))
        wrong(
            "with a first author", "OriginInvalid",
            origin: scene.sealed(content, type: "tresor/volume", isVolume: true))
        let named = entry(volume, 6, Cast.anna)
        func asks(_ comment: String, _ flag: String, _ error: String, _ input: Values) {
            invalid(comment, flag, error, base: base, in: Values((["entry": named] as Values).pairs + input.pairs))
        }
        asks("another volume", "SwappedRecord", "altered", ["volume": scene.packs[0].bytes])
        asks("one bit is changed", "ModifiedCiphertext", "altered", ["volume": volume.flipped(at: 500)])
        asks("a member from now on", "HistoryKeyLeaked", "no_access", ["volume": volume, "keys": log.current.tk])
        asks(
            "the keys of the epoch before", "WrongKey", "altered",
            ["volume": volume, "keys": log.epochs[0].tk + log.epochs[0].hk])
        let place = Values([
            ("tresor", .bytes(log.tresor)), ("log", .list(log.entries)), ("entry", .bytes(named)),
            ("index", .bytes(u64(0))),
        ])
        invalid("no volume", "Withheld", "store", in: place.with("keys", log.current.tk + log.current.hk))
        invalid(
            "no volume for a member from now on: the key comes first", "HistoryKeyLeaked", "no_access",
            in: place.with("keys", log.current.tk))
    }

    private func addTables(_ scene: RecordLog) {
        let heads = Self.heads(scene)
        let later = scene.kept { sequence, _ in sequence > 6 }
        var told = scene
        told.checkpoint(
            [ItemWriter.volume(Array(heads.prefix(2))), ItemWriter.volume(Array(heads.dropFirst(2)))], upto: 6)
        func reads(
            _ comment: String, _ flag: String, _ scene: RecordLog, without: Set<UInt64> = [], volumes: [Bytes]? = nil,
            _ out: RecordsExpected
        ) {
            valid(comment, [flag], in: scene.input(without: without, volumes: volumes), out: out.out)
        }
        reads("who has the packs reads no volume", "Normal", told, RecordsExpected(scene.kept()))
        reads("who has the packs needs no volume", "Normal", told, volumes: [], RecordsExpected(scene.kept()))
        let old: Set<UInt64> = [3, 4, 5, 6]
        reads(
            "a newcomer reads the volumes", "Normal", told, without: old,
            RecordsExpected(heads + later, byVolumes: true))
        reads(
            "one pack is missing: the volumes stand for all", "EdgeCase", told, without: [3],
            RecordsExpected(heads + later, byVolumes: true))
        reads(
            "a pack above the floor is missing", "Withheld", told, without: old.union([7]),
            RecordsExpected(heads, missing: [(7, "store")], byVolumes: true))
        func incomplete(_ comment: String, _ flag: String, _ error: String, _ scene: RecordLog, volumes: [Bytes]?) {
            reads(
                comment, flag, scene, without: [3, 5], volumes: volumes,
                RecordsExpected(
                    scene.kept { sequence, _ in ![3, 5].contains(sequence) },
                    missing: [3, 5].map { ($0, "store") }, missingVolume: error))
        }
        incomplete("a volume is missing too", "Withheld", "store", told, volumes: [told.volumes[0]])
        incomplete("the volumes in another order", "SwappedRecord", "altered", told, volumes: told.volumes.reversed())
        var doubled = scene
        doubled.checkpoint([ItemWriter.volume(heads), ItemWriter.volume(heads)], upto: 6)
        incomplete("a second volume that begins anew", "NonCanonical", "altered", doubled, volumes: nil)
        var invented = scene
        invented.checkpoint([ItemWriter.volume([(2, ItemWriter("a", .bytes([9])))])], upto: 6)
        incomplete("an item of an entry that is no commit", "SwappedRecord", "altered", invented, volumes: nil)
        var attached = scene
        attached.checkpoint([ItemWriter.volume([(3, ItemWriter("a", .attachment(1)))])], upto: 6)
        incomplete("an attachment that its commit does not name", "SwappedRecord", "altered", attached, volumes: nil)
        var second = told
        second.put([ItemWriter("a", replaces: [4, 5], .bytes([7]))])
        second.checkpoint([ItemWriter.volume(second.kept { sequence, item in sequence > 5 })], upto: 9)
        reads(
            "a later checkpoint alone counts", "Normal", second, without: [3, 4, 5, 6, 7, 9],
            RecordsExpected(second.kept { sequence, _ in sequence > 5 }, byVolumes: true))
        reads("and changes nothing for who has the packs", "Normal", second, RecordsExpected(second.kept()))
        addVoidCommits(scene) { reads($0, $1, $2, without: $3, $4) }
    }

    /// Commits whose bodies are void, below the floor and above it.
    private func addVoidCommits(
        _ scene: RecordLog, _ reads: (String, String, RecordLog, Set<UInt64>, RecordsExpected) -> Void
    ) {
        var scene = scene
        let blob = draw(0)("blob", 32) + u64(674)
        // The epoch before is none of a commit any more (R39).
        func void(_ log: Log) -> Bytes { log.entry(Cast.anna, Body.commit([blob], epoch: log.current.number - 1)) }
        let below = scene.append(void(scene.log), pack: nil)
        let heads = scene.kept { sequence, _ in sequence >= 4 }
        var invented = scene
        invented.checkpoint([ItemWriter.volume(heads + [(below, ItemWriter("e", .bytes([9])))])], upto: below)
        reads(
            "an item of a commit whose body is void", "SwappedRecord", invented, [3],
            RecordsExpected(
                scene.kept { sequence, _ in sequence != 3 }, void: [below], missing: [(3, "store")],
                missingVolume: "altered"))
        scene.checkpoint([ItemWriter.volume(heads)], upto: below)
        let above = scene.append(void(scene.log), pack: nil)
        reads(
            "void commits below and above the floor, with all packs", "Void", scene, [],
            RecordsExpected(scene.kept(), void: [below, above]))
        reads(
            "volumes stand for a void commit too", "Void", scene, [3],
            RecordsExpected(heads, void: [above], byVolumes: true))
    }

    private func addComparisons(_ scene: RecordLog) {
        let heads = Self.heads(scene)
        func told(_ kept: [(UInt64, ItemWriter)]) -> RecordLog {
            var scene = scene
            scene.checkpoint([ItemWriter.volume(kept)], upto: 6)
            return scene
        }
        func holds(_ comment: String, _ kept: [(UInt64, ItemWriter)]) {
            valid(comment, in: told(kept).input(), out: Self.items(kept))
        }
        func refuse(_ comment: String, _ flag: String, _ kept: [(UInt64, ItemWriter)]) {
            invalid(comment, flag, "altered", in: told(kept).input())
        }
        holds("all heads", heads)
        holds("every revision", scene.kept { sequence, _ in sequence <= 6 })
        refuse("a head is not kept", "RolledBack", heads.filter { $0.0 != 4 })
        refuse("a deletion is not kept", "RolledBack", heads.filter { $0.1.record != ascii("b") })
        refuse("nothing is kept", "RolledBack", [])
        refuse(
            "another content", "SwappedRecord",
            heads.map { $0.0 == 5 ? (5, ItemWriter("a", replaces: [3], time: 1_777_730_401, .bytes([9]))) : $0 })
        refuse(
            "another time", "SwappedRecord",
            heads.map { $0.0 == 5 ? (5, ItemWriter("a", replaces: [3], time: 1, .bytes([4]))) : $0 })
        refuse(
            "an item more", "SwappedRecord", heads + [(6, ItemWriter("z", .bytes([1])))])
        var long = scene
        for revision in [8, 9, 10] as [UInt64] {
            long.put([ItemWriter("e", replaces: revision == 8 ? [] : [revision - 1], .bytes([UInt8(revision)]))])
        }
        for (comment, left, isWhole) in [
            ("the first version alone is not kept", 8, true), ("the second version alone is not kept", 9, false),
        ] as [(String, UInt64, Bool)] {
            var told = long
            let kept = long.kept { sequence, _ in sequence != left }
            told.checkpoint([ItemWriter.volume(kept)], upto: 10)
            if isWhole {
                valid(comment, in: told.input(), out: Self.items(kept))
            } else {
                invalid(comment, "RolledBack", "altered", in: told.input())
            }
        }
        var again = scene
        again.put([ItemWriter("a", replaces: [4, 5], .bytes([8]))])
        again.checkpoint([ItemWriter.volume(heads.filter { $0.1.record != ascii("a") })], upto: 6)
        valid(
            "what was replaced above the floor need not be kept", ["EdgeCase"], in: again.input(),
            out: Self.items(heads.filter { $0.1.record != ascii("a") }))
    }
}

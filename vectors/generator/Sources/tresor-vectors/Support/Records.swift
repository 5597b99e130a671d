// SPDX-License-Identifier: Apache-2.0

/// An item of SPEC §19.1, field by field.
struct ItemWriter {
    enum Content {
        case deleted
        case bytes(Bytes, type: String = "text/plain")
        case attachment(Int, type: String = "text/plain")
        /// A kind and what follows it.
        case raw(UInt8, Bytes)
    }

    var record: Bytes
    var replaces: [UInt64] = []
    var time: UInt64
    var content: Content
    /// The number of replaced revisions in place of the true one.
    var count: UInt8?

    init(_ record: String, replaces: [UInt64] = [], time: UInt64 = 1_777_730_400, _ content: Content) {
        (self.record, self.replaces, self.time, self.content) = (ascii(record), replaces, time, content)
    }

    var bytes: Bytes {
        let tail: Bytes =
            switch content {
            case .deleted: [0]
            case .bytes(let bytes, let type): join([1], u16(type.utf8.count), ascii(type), prefixed(bytes))
            case .attachment(let blob, let type): join([2], u16(type.utf8.count), ascii(type), u16(blob))
            case .raw(let kind, let bytes): [kind] + bytes
            }
        return join(
            u16(record.count), record, [count ?? UInt8(replaces.count)], join(replaces.map { u64($0) }), u64(time), tail
        )
    }

    static func pack(_ items: [ItemWriter], count: Int? = nil, hand: Bytes = [0]) -> Bytes {
        join(hand, u16(count ?? items.count), join(items.map(\.bytes)))
    }

    /// `Volume` of SPEC §19.5.
    static func volume(_ kept: [(UInt64, ItemWriter)], count: Int? = nil) -> Bytes {
        join(u32(count ?? kept.count), join(kept.map { u64($0.0) + $0.1.bytes }))
    }
}

/// A log with commits, and what a store has of them.
struct RecordLog {
    var log: Log
    let draw: Draw
    private(set) var packs: [(sequence: UInt64, bytes: Bytes)] = []
    private(set) var volumes: [Bytes] = []
    /// The commits, by number.
    private(set) var items: [UInt64: [ItemWriter]] = [:]

    init(_ log: Log, _ draw: Draw) {
        self.log = log
        self.draw = draw
    }

    /// Anna (owner), bert (writer), cleo (reader); epoch 2 with fred (writer from now on); epoch 3.
    static func begun(_ draw: Draw) -> RecordLog {
        var log = Log.begun(draw, founder: Cast.anna)
        log.grant([Cast.bert], role: 2)
        log.grant([Cast.cleo], role: 3)
        log.grantFromNow([Cast.fred], role: 2)
        log.rotate()
        return RecordLog(log, draw)
    }

    /// A pack as a sealed file; every part can be another than it should be.
    func sealed(
        _ content: Bytes, type: String = "tresor/pack", record: String = "", by author: Person = Cast.anna,
        generation: Int? = nil, time: UInt64? = nil, tresor: Bytes? = nil, epoch: EpochSecret? = nil,
        head: (UInt64, Bytes)? = nil, origin: FileSealing? = nil, signer: Person? = nil, isVolume: Bool = false,
        faults: FileSealing.Faults = .init()
    ) -> FileSealing {
        FileSealing(
            content, type: type, record: record, author: author, generation: generation, time: time ?? log.time,
            tresor: tresor ?? log.tresor, epoch: epoch ?? log.current,
            head: head ?? log.head(at: log.entries.count - 1), origin: origin,
            salt: draw("salt \(log.sequence)", 24), signer: signer, isVolume: isVolume, faults: faults)
    }

    /// The next entry: a commit of these bytes.
    func commit(_ pack: Bytes, _ attachments: [Bytes] = [], by author: Person = Cast.anna, epoch: UInt64? = nil)
        -> Bytes
    {
        log.entry(author, Body.commit([Body.blob(pack)] + attachments, epoch: epoch ?? log.current.number))
    }

    /// Commits items.
    @discardableResult mutating func put(_ items: [ItemWriter], by author: Person = Cast.anna) -> UInt64 {
        let pack = sealed(ItemWriter.pack(items), by: author).bytes
        return append(commit(pack, by: author), pack: pack, items: items)
    }

    @discardableResult mutating func append(_ entry: Bytes, pack: Bytes?, items: [ItemWriter]? = nil) -> UInt64 {
        let sequence = log.sequence
        if let items { self.items[sequence] = items }
        if let pack { packs.append((sequence, pack)) }
        log.append(entry)
        return sequence
    }

    /// The content of the volume that keeps these revisions of all that was committed.
    func kept(_ revisions: (UInt64, ItemWriter) -> Bool = { _, _ in true }) -> [(UInt64, ItemWriter)] {
        items.sorted { $0.key < $1.key }.flatMap { sequence, items in
            items.filter { revisions(sequence, $0) }.map { (sequence, $0) }
        }
    }

    /// A checkpoint with volumes of these contents.
    mutating func checkpoint(_ contents: [Bytes], upto: UInt64) {
        volumes = contents.map { sealed($0, type: "tresor/volume", isVolume: true).bytes }
        log.append(
            Cast.anna, Body.checkpoint(volumes.map { Body.blob($0) }, upto: upto, epoch: log.current.number))
    }

    /// The inputs of `readRecords` for a member with full history, or from an epoch on.
    func input(
        history: UInt64 = 0, without: Set<UInt64> = [], replacing: [UInt64: Bytes] = [:], volumes: [Bytes]? = nil
    ) -> Values {
        let keys = log.epochs.filter { $0.number >= history }.map {
            u64($0.number) + $0.tk + (history == 0 ? $0.hk : [])
        }
        let shown = packs.filter { !without.contains($0.sequence) }.map {
            u64($0.sequence) + (replacing[$0.sequence] ?? $0.bytes)
        }
        return Values([
            ("tresor", .bytes(log.tresor)), ("log", .list(log.entries)), ("history", .bytes(u64(history))),
            ("keys", .list(keys)), ("packs", .list(shown)), ("volumes", .list(volumes ?? self.volumes)),
        ])
    }
}

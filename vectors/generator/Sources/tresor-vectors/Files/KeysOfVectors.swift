// SPDX-License-Identifier: Apache-2.0

/// keysOf of SPEC §9.6: the keys that a member reaches from their wraps in the store.
struct KeysOfVectors: TestWriter {
    let file: VectorFile

    func addKeysOf() {
        group("keysOf")
        let stage = KeysStage(draw(), tag: "")
        let base = reach("the current epoch, by its own wrap", ["Normal"], stage, 5)
        reach("the epoch before, by the first link", ["Normal"], stage, 4)
        reach("an epoch between two links: by the least link that is not below it", ["EdgeCase"], stage, 3)
        reach("an epoch that the second link names", ["EdgeCase"], stage, 2)
        reach("an epoch behind the second link", ["EdgeCase"], stage, 1)
        for (comment, epoch) in [("epoch 0", UInt64(0)), ("an epoch beyond the current one", 6)] {
            invalid(comment, "WrongEpoch", "no_access", base: base, in: ["e": u64(epoch)])
        }
        invalid(
            "the store has no wrap of the member", "MissingWrap", "no_access", base: base,
            in: Values([]).with("wraps", [Bytes]()))
        invalid(
            "the store has a wrap of the member only for an earlier epoch", "MissingWrap", "no_access", base: base,
            in: Values([]).with("wraps", stage.wraps(Cast.bert, [4])))
        addKeysBehindSpoiledLinks()
        addKeysAmongMany(stage, base: base)
        addKeysFromNow(stage)
        invalid(
            "somebody who is no member", "UnknownMember", "no_access",
            in: stage.input(Cast.cleo, 5, stage.wraps(Cast.cleo, [5])))
        addKeysFromHome(stage)
        addKeysOfFailingStore(stage)
    }

    @discardableResult private func reach(
        _ comment: String, _ flags: [String], _ stage: KeysStage, _ epoch: Int, wraps: [Int] = [5]
    ) -> Int {
        let secret = stage.log.epochs[epoch - 1]
        return valid(
            comment, flags, in: stage.input(Cast.bert, epoch, stage.wraps(Cast.bert, wraps)),
            out: ["keys": secret.tk + secret.hk])
    }

    /// The back-link of epoch 3 names keys of epoch 2 that the log did not commit to.
    private func addKeysBehindSpoiledLinks() {
        let repaired = KeysStage(draw(), tag: " repaired", isSpoiled: true)
        reach("an epoch above a spoiled link", ["Normal"], repaired, 3)
        reach("behind a spoiled link, by the second link of epoch 5", ["EdgeCase"], repaired, 2)
        reach("further behind it", ["EdgeCase"], repaired, 1)
        let open = KeysStage(draw(), tag: " open", isSpoiled: true, isRepaired: false)
        reach("behind a spoiled link, by an own older wrap", ["EdgeCase"], open, 2, wraps: [2, 5])
        reach("further behind it, by an own older wrap and its back-link", ["EdgeCase"], open, 1, wraps: [2, 5])
    }

    /// The store gives several wraps of one epoch.
    private func addKeysAmongMany(_ stage: KeysStage, base: Int) {
        let own = stage.wraps(Cast.bert, [5])
        let spoiled = own.map { $0.flipped(at: $0.count - 1) }
        let older = stage.wraps(Cast.bert, [4]).map { u64(5) + $0.at(8, $0.count - 8) }
        let foreign = stage.wraps(Cast.cleo, [5])
        let many = own.flatMap { wrap in (1...16).map { wrap.flipped(at: wrap.count - $0) } }
        let secret = stage.log.epochs[4]
        let keys: Values = ["keys": secret.tk + secret.hk]
        valid(
            "several wraps of one epoch: the first that fits", ["EdgeCase"],
            in: stage.input(Cast.bert, 5, older + foreign + own + spoiled), out: keys)
        valid(
            "several wraps of one epoch: the first that fits does not open, the second does", ["EdgeCase"],
            in: stage.input(Cast.bert, 5, spoiled + own), out: keys)
        valid(
            "several wraps of one epoch: those that do not fit do not count, the sixteenth opens", ["EdgeCase"],
            in: stage.input(Cast.bert, 5, older + foreign + many.dropLast() + own), out: keys)
        invalid(
            "several wraps of one epoch: the seventeenth is not tried", "ModifiedTag", "altered", base: base,
            in: Values([]).with("wraps", foreign + many + own))
    }

    /// A member from epoch 2 on has one wrap for each epoch, and TK alone. The store also has a wrap of epoch 1 from
    /// another writer.
    private func addKeysFromNow(_ stage: KeysStage) {
        let wraps = stage.wraps(Cast.fred, [1, 2, 3, 4, 5])
        func reach(_ comment: String, _ epoch: Int) -> Int {
            valid(
                comment, in: stage.input(Cast.fred, epoch, wraps), out: ["keys": stage.log.epochs[epoch - 1].tk])
        }
        let base = reach("from now on: the first epoch, by its own wrap", 2)
        _ = reach("from now on: the current epoch", 5)
        invalid(
            "from now on: the epoch before the first, of which the store has a wrap", "WrongEpoch", "no_access",
            base: base, in: ["e": u64(1)])
        invalid(
            "from now on: an epoch whose wrap the store does not have", "MissingWrap", "no_access", base: base,
            in: Values([]).with("wraps", stage.wraps(Cast.fred, [1, 3, 4, 5])))
    }

    /// The home keeps own wraps. They serve if those of the store do not lead to the epoch.
    private func addKeysFromHome(_ stage: KeysStage) {
        let bert = Cast.bert
        func keys(_ epoch: Int) -> Values {
            ["keys": stage.log.epochs[epoch - 1].tk + stage.log.epochs[epoch - 1].hk]
        }
        func input(_ epoch: Int, store: [Bytes], home: Bytes) -> Values {
            stage.input(bert, epoch, store).with("kept wraps", home)
        }
        let newest = stage.kept(bert, [5])
        valid("the home alone has a wrap", in: input(5, store: [], home: newest), out: keys(5))
        valid("by the home's wrap and its links", ["EdgeCase"], in: input(1, store: [], home: newest), out: keys(1))
        let damaged = stage.wraps(bert, [5]).map { $0.flipped(at: $0.count - 1) }
        valid(
            "the store's wrap does not open, the home's does", ["EdgeCase"],
            in: input(5, store: damaged, home: newest), out: keys(5))
        let early = stage.kept(bert, [2])
        valid("by a kept wrap of an earlier epoch", ["EdgeCase"], in: input(1, store: [], home: early), out: keys(1))
        let behind = stage.log.entries.dropLast()
        valid(
            "the store is behind, and the home keeps a wrap of a later epoch", ["EdgeCase"],
            in: input(4, store: stage.wraps(bert, [4]), home: newest).replacing("log", Array(behind)), out: keys(4))
        let base = valid(
            "from now on: the home alone has the wrap of the epoch", ["EdgeCase"],
            in: stage.input(Cast.fred, 3, []).with("kept wraps", stage.kept(Cast.fred, [2, 3])),
            out: ["keys": stage.log.epochs[2].tk])
        invalid(
            "from now on: the home keeps wraps of other epochs", "MissingWrap", "no_access", base: base,
            in: ["e": u64(4)])
        invalid(
            "an epoch above the only kept wrap", "MissingWrap", "no_access", in: input(3, store: [], home: early))
        invalid(
            "a wrap of a later epoch than the log has", "WrongEpoch", "no_access",
            in: input(4, store: [], home: newest).replacing("log", Array(behind)))
        invalid(
            "a kept wrap of another tresor", "WrongTresor", "no_access",
            in: input(5, store: [], home: stage.kept(bert, [5], tresor: stage.log.tresor.flipped(at: 0))))
        invalid(
            "the wraps of store and home do not open", "ModifiedCiphertext", "altered",
            in: input(5, store: damaged, home: stage.kept(wraps: damaged)))
        invalid(
            "neither opens: the store's error comes first", "WrongSuite", "unsupported",
            in: input(
                5, store: stage.wraps(bert, [5]).map { $0.replacing(at: 8 + 8, with: [2]) },
                home: stage.kept(wraps: damaged)))
        invalid(
            "kept wraps that do not read are as if there were none", "Truncated", "no_access",
            in: input(5, store: [], home: newest.dropLast().map { $0 }))
    }

    /// A failing store does not affect the wraps of the home.
    private func addKeysOfFailingStore(_ stage: KeysStage) {
        func input(_ epoch: Int) -> Values {
            stage.input(Cast.bert, epoch, []).with("store fails", [1])
        }
        valid(
            "the store fails, and the home has the wrap", ["EdgeCase"],
            in: input(3).with("kept wraps", stage.kept(Cast.bert, [5])),
            out: ["keys": stage.log.epochs[2].tk + stage.log.epochs[2].hk])
        invalid("the store fails, and the home has none", "MissingWrap", "store", in: input(3))
        invalid(
            "the store fails, and the home's wrap is of an earlier epoch", "MissingWrap", "store",
            in: input(3).with("kept wraps", stage.kept(Cast.bert, [2])))
    }
}

/// A log of five epochs: bert reads all of it, fred from epoch 2 on, and epoch 5 links to epochs 4 and 2.
private struct KeysStage {
    private(set) var log: Log
    private let draw: Draw

    init(_ draw: Draw, tag: String, isSpoiled: Bool = false, isRepaired: Bool = true) {
        self.draw = draw
        log = Log.begun(draw, founder: Cast.anna, tag: tag)
        log.grant([Cast.bert], role: 3)
        log.grantFromNow([Cast.fred], role: 3)
        let second = log.current.link
        append(links: [isSpoiled ? second.flipped(at: 8) : second])
        append(links: [log.current.link])
        append(links: isRepaired ? [log.current.link, second] : [log.current.link])
    }

    private mutating func append(links: [Bytes]) {
        let next = log.epoch(UInt64(log.epochs.count + 1), links: links)
        log.append(Cast.anna, Body.epoch(next.statement), beginning: next)
    }

    /// The wraps of a member in the store: u64(epoch) ‖ wrap.
    func wraps(_ person: Person, _ epochs: [Int]) -> [Bytes] {
        epochs.map { number in
            let wrap = Wrapping(
                log.epochs[number - 1], tresor: log.tresor, for: person, history: person.user != Cast.fred.user,
                eseed: draw("eseed \(hexText(person.user)) \(number)", 64))
            return u64(UInt64(number)) + wrap.bytes
        }
    }

    /// The wraps of a member in the home: `KeptWraps` of SPEC §8.5.
    func kept(_ person: Person, _ epochs: [Int], tresor: Bytes? = nil) -> Bytes {
        kept(wraps: wraps(person, epochs), tresor: tresor)
    }

    /// - Parameter wraps: the wraps of the store.
    func kept(wraps: [Bytes], tresor: Bytes? = nil) -> Bytes {
        let rows = wraps.map { row in
            join(tresor ?? log.tresor, Bytes(row.prefix(8)), u16(row.count - 8), Bytes(row.dropFirst(8)))
        }
        return preamble("tresorK1") + join(rows)
    }

    func input(_ person: Person, _ epoch: Int, _ wraps: [Bytes]) -> Values {
        let identity: Values = [
            "tresor": log.tresor, "e": u64(UInt64(epoch)), "chain": person.chain, "S": person.newest.seed,
        ]
        return identity.with("previous", person.previous).with("log", log.entries).with("wraps", wraps)
    }
}

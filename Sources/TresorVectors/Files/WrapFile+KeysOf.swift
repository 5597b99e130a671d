// SPDX-License-Identifier: Apache-2.0

/// keysOf of SPEC §9.6: which keys a member reaches from the wraps that the store has of them.
extension VectorFile {
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
            "the store has no wrap of mine", "MissingWrap", "no_access", base: base,
            in: Values([]).with("wraps", [Bytes]()))
        invalid(
            "the store has a wrap of mine for an earlier epoch alone", "MissingWrap", "no_access", base: base,
            in: Values([]).with("wraps", stage.wraps(Cast.bert, [4])))
        addKeysBehindSpoiledLinks()
        addKeysAmongMany(stage, base: base)
        addKeysFromNow(stage)
        invalid(
            "somebody who is no member", "UnknownMember", "no_access",
            in: stage.input(Cast.cleo, 5, stage.wraps(Cast.cleo, [5])))
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
        let secret = stage.log.epochs[4]
        valid(
            "several wraps of one epoch: the first that fits", ["EdgeCase"],
            in: stage.input(Cast.bert, 5, older + foreign + own + spoiled), out: ["keys": secret.tk + secret.hk])
        invalid(
            "several wraps of one epoch: the first that fits does not open", "ModifiedTag", "altered", base: base,
            in: Values([]).with("wraps", spoiled + own))
        invalid(
            "several wraps of one epoch: behind one that does not fit, the first that fits does not open",
            "ModifiedTag",
            "altered", base: base, in: Values([]).with("wraps", foreign + spoiled + own))
    }

    /// A member from epoch 2 on has one wrap for each epoch, and TK alone. Somebody has also put a wrap of epoch 1 into the store.
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

    /// What the store has of a member: u64(epoch) ‖ wrap.
    func wraps(_ person: Person, _ epochs: [Int]) -> [Bytes] {
        epochs.map { number in
            let wrap = Wrapping(
                log.epochs[number - 1], tresor: log.tresor, for: person, history: person.user != Cast.fred.user,
                eseed: draw("eseed \(hexText(person.user)) \(number)", 64))
            return u64(UInt64(number)) + wrap.bytes
        }
    }

    func input(_ person: Person, _ epoch: Int, _ wraps: [Bytes]) -> Values {
        let identity: Values = [
            "tresor": log.tresor, "e": u64(UInt64(epoch)), "chain": person.chain, "S": person.newest.seed,
        ]
        return identity.with("previous", person.previous).with("log", log.entries).with("wraps", wraps)
    }
}

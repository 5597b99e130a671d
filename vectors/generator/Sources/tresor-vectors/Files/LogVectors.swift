// SPDX-License-Identifier: Apache-2.0

/// Entries and fold: every rule, broken alone (SPEC §9.1 to §9.4).
struct LogVectors: LogTestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile("log", section: "9.1", purpose: "entries and fold: every rule, broken alone")
        let vectors = Self(file: file)
        let snapshots = SnapshotVectors(file: file)
        let bodies = OpaqueBodyVectors(file: file)
        let limits = LogLimitVectors(file: file)
        let crowd = CrowdVectors(file: file)
        let members = MembershipVectors(file: file)
        file.group("fold")
        vectors.addHistory()
        vectors.addGenesisFaults()
        vectors.addEncodingFaults()
        vectors.addChainFaults()
        members.addAuthorFaults()
        members.addRoleFaults()
        members.addGrantFaults()
        members.addEpochFaults()
        members.addPersonFaults()
        members.addFounderFaults()
        crowd.addCrowd()
        file.group("fold")
        limits.addRemovalOfOwners()
        limits.addRotationByOthers()
        limits.addBackLinkLimits()
        crowd.addLargeEntries()
        snapshots.addSnapshots()
        file.group("fold")
        vectors.addGrantedCards()
        bodies.addOpaqueBodies()
        bodies.addRenewalsByOwners()
        bodies.addReusedKeys()
        snapshots.addLastTimes()
        file.group("fold")
        RecordBodyVectors(file: file).addBodies()
        snapshots.addCheckpoints()
        file.group("fold")
        ApprovalBodyVectors(file: file).addBodies()
        snapshots.addWaiting()
        crowd.addKnown()
        return file
    }

    /// A card is checked where a log grants it, not only where it is read by itself.
    private func addGrantedCards() {
        let log = Cast.fullLog()
        let later = Person("later", handle: [0xcd, 0xb8])
        let base = accept(
            "a handle of a code point that no Unicode assigns yet", ["EdgeCase"], log,
            log.entry(Cast.anna, Body.grant([later.chain], role: 3)))
        let gwen = Cast.gwen.newest
        func refuse(_ comment: String, _ flag: String, at offset: Int, _ bytes: Bytes) {
            let body = gwen.body.replacing(at: offset, with: bytes)
            let chain = body + gwen.signing.sign("tresor/v1/card-signature", body)
            self.refuse(comment, flag, 2, base: base, log, log.entry(Cast.anna, Body.grant([chain], role: 3)))
        }
        refuse(
            "a granted key with a coefficient of 3329", "ModulusOverflow", at: 116,
            [0x01, gwen.kemKey[1] & 0xf0 | 0x0d])
        for point in WrapVectors.lowOrder {
            refuse("a granted key with an X25519 half of low order", "LowOrderPoint", at: 116 + 1184, point)
        }
    }

    private func addHistory() {
        let log = Cast.fullLog()
        var prefix = log
        prefix = Log(log.draw, founder: log.founder)
        for entry in log.entries {
            accept("entry \(prefix.sequence) of the full log", ["Normal"], prefix, entry)
            prefix.append(entry)
        }
        accept(
            "a rename by an owner who is not the founder", ["Normal"], log,
            log.entry(Cast.dora, Body.rename(log.name("second", epoch: log.current, sequence: log.sequence).bytes)))
        accept("a writer leaves", ["Normal"], log, log.entry(Cast.bert, Body.leave))
        accept(
            "a role and a not-after", ["Normal"], log,
            log.entry(Cast.anna, Body.role(Cast.bert.user, 3, notAfter: log.time)))
        accept(
            "back as a reader, with every card the log knows", ["Normal"], log,
            log.entry(Cast.anna, Body.grant([Cast.emilRenewed.chain], role: 3)))
        accept(
            "back with a card more than the log knows", ["EdgeCase"], log,
            log.entry(Cast.anna, Body.grant([Cast.emilRenewed.renewed("emil", time: 1_767_500_000).chain], role: 3)))
        accept(
            "an owner without *rekey pending* begins an epoch", ["Normal"], log,
            log.entry(Cast.anna, Body.epoch(log.nextEpoch().statement)))
        var left = log
        left.append(Cast.cleo, Body.leave)
        accept(
            "a writer with full history begins an epoch when *rekey pending*", ["Normal"], left,
            left.entry(Cast.bert, Body.epoch(left.nextEpoch().statement)))
    }

    private func addGenesisFaults() {
        let draw = draw()
        let anna = Cast.anna
        let log = Log(draw, founder: anna)
        let epoch = log.epoch(1, links: nil)
        func name(_ log: Log) -> Bytes { log.name("interventions", epoch: epoch, sequence: 0).bytes }
        func genesis(
            _ log: Log, root: Bytes? = nil, chain: Bytes? = nil, approvers: [Bytes] = [], epoch: Bytes? = nil
        ) -> (Int, Bytes) {
            Body.genesis(
                root: root ?? log.root, chain: chain ?? anna.chain, approvers: approvers, name: name(log),
                epoch: epoch ?? log.epoch(1, links: nil).statement)
        }
        let base = accept("a genesis", ["Normal"], log, log.entry(anna, genesis(log)))
        refuse("a leave in place of the genesis", "ReorderedEntry", 6, base: base, log, log.entry(anna, Body.leave))
        refuse(
            "an entry of type epoch in place of the genesis", "ReorderedEntry", 6, base: base, log,
            log.entry(anna, Body.epoch(log.epoch(1, links: nil).statement)))
        refuse("a sequence number of 1", "SkippedEntry", 4, base: base, log, log.entry(anna, genesis(log), sequence: 1))
        refuse(
            "a previous hash", "WrongPrevious", 5, base: base, log,
            log.entry(anna, genesis(log), previous: draw("previous", 32)))
        let other = Body.root(founder: anna.user, cardHash: anna.newest.hash, random: draw("another", 32))
        refuse(
            "the root of another tresor", "CrossTresor", 7, base: base, log, log.entry(anna, genesis(log, root: other)))
        refuse(
            "one bit of the root's random bytes", "CrossTresor", 7, base: base, log,
            log.entry(anna, genesis(log, root: log.root.flipped(at: 96))))
        for (comment, flag, root, generation) in [
            (
                "another founder in the root", "WrongSigner",
                Body.root(founder: Cast.bert.user, cardHash: anna.newest.hash, random: draw("a", 32)), 0
            ),
            (
                "another card hash in the root", "WrongCard",
                Body.root(founder: anna.user, cardHash: Cast.bert.newest.hash, random: draw("b", 32)), 0
            ),
            ("a generation the chain does not have", "StaleGeneration", log.root, 1),
        ] {
            let tresor = hash("tresor/v1/tresor-id", root)
            refuse(
                comment, flag, 8, base: base, log,
                log.entry(anna, genesis(log, root: root), tresor: tresor, generation: generation),
                tresor: tresor)
        }
        refuse(
            "somebody else's chain", "WrongSigner", 8, base: base, log,
            log.entry(anna, genesis(log, chain: Cast.bert.chain)))
        refuse(
            "epoch 2", "EpochSkipped", 9, base: base, log,
            log.entry(anna, genesis(log, epoch: log.epoch(2, links: nil).statement)))
        refuse(
            "a back-link in epoch 1", "BackLinkWrong", 9, base: base, log,
            log.entry(anna, genesis(log, epoch: log.epoch(1, links: [epoch.link]).statement)))
        ApprovalBodyVectors(file: file).addGenesisFaults(base, log) { genesis(log, approvers: $0) }
        refuse(
            "signed by somebody else", "WrongSigner", 12, base: base, log,
            log.entry(anna, genesis(log), signedBy: Cast.bert))
        addTwoGenerationGenesis(draw)
    }

    private func addTwoGenerationGenesis(_ draw: Draw) {
        let gwen = Cast.gwenRenewed
        let log = Log(draw, founder: gwen, tag: " of gwen")
        let body = Body.genesis(
            root: log.root, chain: gwen.chain,
            name: log.name("plans", epoch: log.epoch(1, links: nil), sequence: 0).bytes,
            epoch: log.epoch(1, links: nil).statement)
        let base = accept("a founder in generation 1", ["EdgeCase"], log, log.entry(gwen, body))
        refuse(
            "signed by the founder's generation 0", "StaleGeneration", 12, base: base, log,
            log.entry(gwen, body, signedBy: Cast.gwen))
        refuse(
            "naming and signed by generation 0", "StaleGeneration", 8, base: base, log,
            log.entry(gwen, body, generation: 0))
    }

    private func addEncodingFaults() {
        let log = Cast.fullLog()
        let good = log.entry(Cast.anna, Body.role(Cast.bert.user, 3))
        let base = accept("a role", ["Normal"], log, good)
        func signed(_ change: (Bytes) -> Bytes) -> Bytes {
            let signed = change(log.signed(Cast.anna, Body.role(Cast.bert.user, 3)))
            return signed + Cast.anna.sign("tresor/v1/entry-signature", signed)
        }
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        for type in [0, 11, 12, 14, 127] {
            refuse("body type \(type)", "WrongMagic", 1, log.entry(Cast.anna, (type, [])))
        }
        refuse("the magic tresorE2", "WrongMagic", 1, signed { $0.replacing(at: 7, with: [0x32]) })
        refuse("a card's magic", "WrongMagic", 1, signed { $0.replacing(at: 6, with: [0x43]) })
        refuse("no magic of ours", "WrongMagic", 2, signed { $0.replacing(at: 0, with: [0x54]) })
        refuse("version 2", "WrongVersion", 1, signed { $0.replacing(at: 8, with: [2]) })
        refuse("suite 2", "WrongSuite", 1, signed { $0.replacing(at: 9, with: [2]) })
        refuse("suite 0", "WrongSuite", 1, signed { $0.replacing(at: 9, with: [0]) })
        refuse("a team", "WrongMagic", 1, log.entry(Cast.anna, (BodyType.role, join([2], Cast.bert.user, [3], u64(0)))))
        refuse("role 0", "NonCanonical", 2, log.entry(Cast.anna, Body.role(Cast.bert.user, 0)))
        refuse("role 4", "NonCanonical", 2, log.entry(Cast.anna, Body.role(Cast.bert.user, 4)))
        refuse(
            "a not-after beyond the year 9999", "Oversize", 2,
            log.entry(Cast.anna, Body.role(Cast.bert.user, 3, notAfter: 253_402_300_800)))
        refuse(
            "a time beyond the year 9999", "Oversize", 2,
            log.entry(Cast.anna, Body.role(Cast.bert.user, 3), time: 253_402_300_800))
        refuse(
            "a byte behind the body's fields", "TrailingData", 2,
            log.entry(Cast.anna, (BodyType.role, Body.role(Cast.bert.user, 3).1 + [0])))
        refuse("a byte behind the signature", "TrailingData", 2, good + [0])
        refuse("a byte of the signature is missing", "Truncated", 2, Bytes(good.dropLast()))
        refuse("nothing", "Truncated", 2, [])
        refuse("the first 100 bytes", "Truncated", 2, Bytes(good.prefix(100)))
        refuse(
            "a body length of 2^32 − 1", "LengthOverflow", 2,
            signed { $0.replacing(at: 128, with: [255, 255, 255, 255]) })
        refuse("a body length one too great", "LengthOverflow", 2, signed { $0.replacing(at: 128, with: u32(43)) })
        refuse(
            "from_now = 2", "NonCanonical", 2,
            log.entry(Cast.anna, (BodyType.grant, join(u16(1), [1], prefixed(Cast.gwen.chain), [3], u64(0), [2]))))
        refuse(
            "an empty chain", "LengthOverflow", 2,
            log.entry(Cast.anna, (BodyType.grant, join(u16(1), [1], prefixed([]), [3], u64(0), [0]))))
        refuse(
            "10 001 people announced", "Oversize", 2,
            log.entry(Cast.anna, (BodyType.remove, u16(10_001) + log.nextEpoch().statement))
        )
        let short = EpochSecret.statement(number: 4, content: zeros(32), history: zeros(32), backLink: zeros(72 + 71))
        refuse("a back-link of 71 bytes", "LengthOverflow", 2, log.entry(Cast.anna, Body.epoch(short)))
        refuse("two cards in a renew", "TrailingData", 2, log.entry(Cast.anna, Body.renew(Cast.gwenRenewed.chain)))
    }

    private func addChainFaults() {
        let log = Cast.fullLog()
        let other = Log.begun(draw(), founder: Cast.anna)
        let rename = Body.rename(log.name("new", epoch: log.current, sequence: log.sequence).bytes)
        let base = accept("a rename", ["Normal"], log, log.entry(Cast.anna, rename))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse("signed for another tresor", "CrossTresor", 3, log.entry(Cast.anna, rename, tresor: other.tresor))
        refuse(
            "one bit of the tresor id", "CrossTresor", 3,
            log.entry(Cast.anna, rename, tresor: log.tresor.flipped(at: 31)))
        refuse("the number after the next", "SkippedEntry", 4, log.entry(Cast.anna, rename, sequence: log.sequence + 1))
        refuse("the number of the head", "ReplayedEntry", 4, log.entry(Cast.anna, rename, sequence: log.sequence - 1))
        refuse("the newest entry again", "ReplayedEntry", 4, log.entries[log.entries.count - 1])
        refuse("an earlier entry again", "ReplayedEntry", 4, log.entries[1])
        refuse("the greatest number", "SkippedEntry", 4, log.entry(Cast.anna, rename, sequence: .max))
        refuse(
            "the hash of the entry before the head", "WrongPrevious", 5,
            log.entry(Cast.anna, rename, previous: log.head(at: 6).1))
        refuse(
            "one bit of the hash", "WrongPrevious", 5, log.entry(Cast.anna, rename, previous: log.head.flipped(at: 0)))
        refuse("zeros for the hash", "WrongPrevious", 5, log.entry(Cast.anna, rename, previous: zeros(32)))
        let genesis = Body.genesis(
            root: log.root, chain: Cast.anna.chain, name: log.name("new", epoch: log.epochs[0], sequence: 0).bytes,
            epoch: log.epochs[0].statement)
        refuse("a second genesis", "ReorderedEntry", 6, log.entry(Cast.anna, genesis))
        let foreign = Body.genesis(
            root: other.root, chain: Cast.anna.chain, name: log.name("new", epoch: log.epochs[0], sequence: 0).bytes,
            epoch: log.epochs[0].statement)
        refuse("the genesis of another tresor, renumbered", "ReorderedEntry", 6, log.entry(Cast.anna, foreign))
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Keys of people who wait: wraps, releases, evidence (SPEC §9.11).
struct ApprovalVectors: TestWriter {
    let file: VectorFile

    static func make() -> VectorFile {
        let file = VectorFile(
            "approval", section: "9.11", purpose: "keys of people who wait, wraps of approvers, releases")
        let vectors = Self(file: file)
        let stage = ApprovalStage(Draw(file: "approval", id: 0))
        vectors.addApproverWraps(stage)
        vectors.addWaitingWraps(stage)
        vectors.addKeysOf(stage)
        return file
    }

    private func identity(_ person: Person, _ log: Log, _ epoch: UInt64) -> Values {
        let values: Values = [
            "tresor": log.tresor, "e": u64(epoch), "chain": person.chain, "S": person.newest.seed,
        ]
        return values.with("previous", person.previous).with("log", log.entries)
    }

    private func addApproverWraps(_ stage: ApprovalStage) {
        group("openApproval")
        let log = stage.log
        let (olga, otto) = (ApprovalStage.olga, ApprovalStage.otto)
        func wrap(_ epoch: Int, _ person: Person) -> (bytes: Bytes, hpke: HPKEWrapping, info: Bytes) {
            Approval.approverWrap(log.epochs[epoch - 1], tresor: log.tresor, for: person, eseed: draw()("eseed", 64))
        }
        func key(_ epoch: Int, _ person: Person) -> Values {
            [
                "A": Approval.key(log.epochs[epoch - 1], tresor: log.tresor),
                "A_u": Approval.key(log.epochs[epoch - 1], tresor: log.tresor, of: ApprovalStage.hugo.user),
            ]
        }
        func input(_ wrap: Bytes, _ person: Person, _ epoch: UInt64) -> Values {
            identity(person, log, epoch).with("wrap", wrap).with("user", ApprovalStage.hugo.user)
        }
        let made = wrap(2, olga)
        let base = valid(
            "an approver's wrap", in: input(made.bytes, olga, 2),
            mid: ["info": made.info, "enc": made.hpke.enc, "ct": made.hpke.ciphertext, "HK": log.epochs[1].hk],
            out: key(2, olga))
        valid("of an earlier epoch", in: input(wrap(1, otto).bytes, otto, 1), out: key(1, otto))
        invalid("for another approver", "WrongKey", "altered", base: base, in: ["wrap": wrap(2, otto).bytes])
        invalid("of another epoch", "WrongEpoch", "altered", base: base, in: ["wrap": wrap(1, olga).bytes])
        invalid(
            "a bit of the ciphertext", "ModifiedCiphertext", "altered", base: base,
            in: ["wrap": made.bytes.flipped(at: 1210)])
        let plain = Wrapping(log.epochs[1], tresor: log.tresor, for: olga, history: false, eseed: draw()("eseed", 64))
        invalid("under the label of members", "WrongLabel", "altered", base: base, in: ["wrap": plain.bytes])
    }

    private func addWaitingWraps(_ stage: ApprovalStage) {
        group("openWaitingWrap")
        let (log, hugo, jan) = (stage.log, ApprovalStage.hugo, ApprovalStage.jan)
        func wrap(_ epoch: Int, _ person: Person, history: Bool = true, key: Bytes? = nil) -> (
            bytes: Bytes, sealed: Sealing
        ) {
            Approval.waitingWrap(
                stage.full.epochs[epoch - 1], tresor: log.tresor, for: person, history: history, key: key,
                salt: draw()("salt \(epoch)", 24), eseed: draw()("eseed \(epoch)", 64))
        }
        func approved(_ log: Log, _ grant: Int, _ people: [Person], from first: UInt64? = nil, keys: Bytes? = nil)
            -> Log
        {
            var log = log
            log.append(
                ApprovalStage.approve(log, grant, people, from: first, by: ApprovalStage.otto, stage.draw, keys: keys)
                    .entry)
            return log
        }
        func input(_ wrap: Bytes, _ person: Person, _ epoch: UInt64, _ log: Log) -> Values {
            identity(person, log, epoch).with("wrap", wrap)
        }
        let both = [hugo, ApprovalStage.ines]
        let after = approved(log, 3, both)
        let made = wrap(2, hugo)
        let keys = log.epochs[1]
        let base = valid(
            "full history: TK and HK", in: input(made.bytes, hugo, 2, after),
            mid: ["A u": Approval.key(keys, tresor: log.tresor, of: hugo.user), "sealed": made.sealed.bytes],
            out: ["keys": keys.tk + keys.hk])
        let jans = approved(stage.full.dropped(to: 8), 4, [jan], from: 2)
        let fromNow = valid(
            "from now: TK of the first epoch", in: input(wrap(2, jan, history: false).bytes, jan, 2, jans),
            out: ["keys": stage.full.epochs[1].tk])
        valid(
            "from now: TK of the newest epoch", in: input(wrap(3, jan, history: false).bytes, jan, 3, jans),
            out: ["keys": stage.full.epochs[2].tk])
        invalid("before the approval", "Waiting", "waiting", base: base, in: Values([]).with("log", log.entries))
        invalid(
            "a member's plain wrap", "NonCanonical", "altered", base: base,
            in: [
                "wrap": Wrapping(keys, tresor: log.tresor, for: hugo, eseed: draw()("eseed", 64)).bytes
            ])
        invalid(
            "sealed under the key of somebody else who waits", "WrongKey", "altered", base: base,
            in: [
                "wrap": wrap(2, hugo, key: Approval.key(keys, tresor: log.tresor, of: ApprovalStage.ines.user)).bytes
            ])
        invalid(
            "sealed under the key of all", "WrongKey", "altered", base: base,
            in: [
                "wrap": wrap(2, hugo, key: Approval.key(keys, tresor: log.tresor)).bytes
            ])
        invalid("for somebody else", "WrongKey", "altered", base: base, in: ["wrap": wrap(2, ApprovalStage.ines).bytes])
        invalid(
            "TK alone for full history", "NonCanonical", "altered", base: base,
            in: ["wrap": wrap(2, hugo, history: false).bytes])
        invalid("TK and HK from now on", "NonCanonical", "altered", base: fromNow, in: ["wrap": wrap(2, jan).bytes])
        invalid(
            "a release of another key", "WrongKey", "altered", base: base,
            in: Values([]).with("log", approved(log, 3, both, keys: draw()("A", 32)).entries))
        let wrong = EpochSecret(
            tresor: log.tresor, number: 2, tk: draw()("TK", 32), hk: keys.hk, links: [log.epochs[0].link],
            salt: draw()("salt", 24))
        let forged = Approval.waitingWrap(
            wrong, tresor: log.tresor, for: hugo, salt: draw()("salt", 24), eseed: draw()("eseed", 64))
        invalid("another TK than the log committed to", "WrongKey", "altered", base: base, in: ["wrap": forged.bytes])
        invalid(
            "an epoch whose key was not released", "WrongEpoch", "altered", base: base,
            in: [
                "wrap": wrap(1, hugo).bytes, "e": u64(1),
            ])
        invalid(
            "a bit of the ciphertext", "ModifiedCiphertext", "altered", base: base,
            in: ["wrap": made.bytes.flipped(at: 1300)])
    }

    /// A member who waited reaches earlier epochs by the back-links, and later ones by plain wraps.
    private func addKeysOf(_ stage: ApprovalStage) {
        group("keysOf")
        let hugo = ApprovalStage.hugo
        var log = stage.log
        let wrap = Approval.waitingWrap(
            log.epochs[1], tresor: log.tresor, for: hugo, salt: draw()("salt", 24), eseed: draw()("eseed", 64)
        ).bytes
        func input(_ log: Log, _ epoch: UInt64, _ wraps: [Bytes]) -> Values {
            identity(hugo, log, epoch).with("wraps", wraps)
        }
        func keys(_ epoch: Int) -> Values { ["keys": log.epochs[epoch - 1].tk + log.epochs[epoch - 1].hk] }
        let waiting = log
        var refused = waiting
        refused.append(ApprovalStage.olga, Body.refuse(waiting.head(at: 3).1))
        log.append(ApprovalStage.approve(log, 3, [hugo, ApprovalStage.ines], by: ApprovalStage.otto, stage.draw).entry)
        let base = valid("by the release", in: input(log, 2, [u64(2) + wrap]), out: keys(2))
        valid("by the release and the back-link", in: input(log, 1, [u64(2) + wrap]), out: keys(1))
        invalid("somebody who waits", "Waiting", "waiting", base: base, in: Values([]).with("log", waiting.entries))
        invalid(
            "somebody refused", "UnknownMember", "no_access", base: base,
            in: Values([]).with("log", refused.entries))
        log.rotate()
        let plain = Wrapping(log.epochs[2], tresor: log.tresor, for: hugo, eseed: draw()("eseed", 64)).bytes
        valid("by a plain wrap of a later epoch", in: input(log, 2, [u64(3) + plain]), out: keys(2))
        valid("by the release, behind a later epoch", ["EdgeCase"], in: input(log, 2, [u64(2) + wrap]), out: keys(2))
        invalid("a later epoch, by the release", "MissingWrap", "no_access", in: input(log, 3, [u64(2) + wrap]))
    }
}

extension Log {
    /// The log up to its first entries, with the epochs that they began.
    func dropped(to count: Int) -> Log {
        var log = Log(draw, founder: founder)
        var known = 0
        for entry in entries.prefix(count) {
            // Entries 0, 4 and 7 of the stage begin epochs.
            let begins = [0, 4, 7].contains(log.entries.count)
            log.append(entry, beginning: begins ? epochs[known] : nil)
            if begins { known += 1 }
        }
        return log
    }
}

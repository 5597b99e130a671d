// SPDX-License-Identifier: Apache-2.0

/// Bodies unknown to a reader, SPEC §9.3: checked only after their author.
struct OpaqueBodyVectors: LogTestWriter {
    let file: VectorFile

    func addOpaqueBodies() {
        var log = Cast.fullLog()
        let end = log.time + 10 * Log.day
        log.append(Cast.anna, Body.role(Cast.dora.user, 1, notAfter: end))
        let body = (BodyType.unknown, ascii("a body that no release knows"))
        let base = accept("an additive body by an owner", ["EdgeCase"], log, log.entry(Cast.anna, body))
        accept("an additive body by a writer", ["EdgeCase"], log, log.entry(Cast.bert, body))
        accept("an additive body of no bytes", ["EdgeCase"], log, log.entry(Cast.bert, (BodyType.unknown + 1, [])))
        accept("the greatest additive body", ["EdgeCase"], log, log.entry(Cast.fred, (65_535, body.1)))
        var marked = log
        marked.append(Cast.cleo, Body.leave)
        accept("an additive body while *rekey pending* is set", ["EdgeCase"], marked, marked.entry(Cast.bert, body))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        refuse("an additive body by a reader", "WrongRole", 15, log.entry(Cast.cleo, body))
        refuse("an additive body by a stranger", "UnknownMember", 11, log.entry(Cast.gwen, body))
        refuse(
            "an additive body signed by somebody else", "WrongSigner", 12, log.entry(Cast.anna, body, signedBy: bert))
        refuse("an additive body by somebody removed", "RemovedAuthor", 13, log.entry(Cast.emilRenewed, body))
        refuse("an additive body after its author's date", "NotAfter", 16, log.entry(Cast.dora, body, time: end + 1))
        refuse("an additive body in another place", "SkippedEntry", 4, log.entry(Cast.anna, body, sequence: 99))
        addUnknownBodies(log, base)
    }

    /// An unknown body below 128 ends the log for this release only if an entitled author wrote it.
    private func addUnknownBodies(_ log: Log, _ base: Int) {
        let unknown = (BodyType.withdrawn, ascii("withdrawn"))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse("an unknown body by an owner", "WrongMagic", 1, log.entry(Cast.anna, unknown))
        refuse("an unknown body by a reader", "WrongMagic", 1, log.entry(Cast.cleo, unknown))
        refuse("an unknown body by a stranger", "UnknownMember", 11, log.entry(Cast.gwen, unknown))
        refuse(
            "an unknown body without a signature that holds", "WrongSigner", 12,
            log.entry(Cast.anna, unknown).flipped(at: 170))
        refuse("an unknown body by somebody removed", "RemovedAuthor", 13, log.entry(Cast.emilRenewed, unknown))
        refuse("an unknown body of another tresor", "CrossTresor", 3, log.entry(Cast.anna, unknown, tresor: zeros(32)))
        refuse(
            "a body that is none, by a stranger", "UnknownMember", 11, log.entry(Cast.gwen, (BodyType.role, [1, 2, 3])))
        refuse("a body that is none, by an owner", "NonCanonical", 2, log.entry(Cast.anna, (BodyType.role, [1, 2, 3])))
        refuse(
            "a body that is none, after its author's date", "NotAfter", 16,
            log.entry(Cast.dora, (BodyType.role, [1, 2, 3]), time: 253_402_300_799))
    }

    /// An owner may add the next card of another person: its succession proves it.
    func addRenewalsByOwners() {
        let log = Cast.fullLog()
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        let again = bert.renewed("bert", time: 1_767_500_001)
        let emil = Cast.emilRenewed.renewed("emil", time: 1_767_500_002)
        let base = accept(
            "a member's next card, by an owner: *rekey pending* is set", ["Normal"], log,
            log.entry(Cast.dora, Body.renew(bert.newest.card)))
        accept(
            "the next card of somebody removed, by an owner: *rekey pending* is not set", ["EdgeCase"], log,
            log.entry(Cast.anna, Body.renew(emil.newest.card)))
        let anna = Cast.anna.renewed("anna", time: 1_767_500_003)
        accept(
            "the founder's next card, by another owner", ["Normal"], log,
            log.entry(Cast.dora, Body.renew(anna.newest.card)))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse("a member's next card, by a writer", "NotOwner", 15, log.entry(Cast.fred, Body.renew(bert.newest.card)))
        refuse("a member's next card, by a reader", "NotOwner", 15, log.entry(Cast.cleo, Body.renew(bert.newest.card)))
        refuse(
            "a stranger's next card, by an owner", "UnknownMember", 27,
            log.entry(Cast.anna, Body.renew(Cast.gwenRenewed.newest.card)))
        refuse(
            "the card after the next, by an owner", "GenerationSkipped", 27,
            log.entry(Cast.anna, Body.renew(again.newest.card)))
        refuse(
            "a card of generation 0, by an owner", "GenerationForked", 27,
            log.entry(Cast.anna, Body.renew(Cast.bert.newest.card)))
        let forged = ForgedCards.successor(of: Cast.bert, signedBy: Cast.gwen)
        refuse(
            "a next card that the present one has not signed, by an owner", "WrongSigner", 27,
            log.entry(Cast.anna, Body.renew(forged)))
        var renewed = log
        renewed.append(Cast.dora, Body.renew(bert.newest.card))
        let later = accept(
            "the person signs with the generation that the owner put in", ["Normal"], renewed,
            renewed.entry(bert, Body.leave))
        self.refuse(
            "the person signs with the generation before", "StaleGeneration", 14, base: later, renewed,
            renewed.entry(Cast.bert, Body.leave))
    }

    /// R48: no key of the log comes back.
    func addReusedKeys() {
        let log = Cast.fullLog()
        let next = log.nextEpoch()
        func again(_ tk: Bytes, _ hk: Bytes) -> Bytes {
            EpochSecret(
                tresor: log.tresor, number: 4, tk: tk, hk: hk, links: [log.current.link], salt: draw()("salt", 24)
            ).statement
        }
        let base = accept(
            "an epoch with keys of its own", ["Normal"], log, log.entry(Cast.anna, Body.epoch(next.statement)))
        func refuse(_ comment: String, _ body: (Int, Bytes)) {
            self.refuse(comment, "EpochReused", 48, base: base, log, log.entry(Cast.anna, body))
        }
        for epoch in log.epochs {
            refuse("the TK of epoch \(epoch.number) again", Body.epoch(again(epoch.tk, next.hk)))
            refuse("the HK of epoch \(epoch.number) again", Body.epoch(again(next.tk, epoch.hk)))
        }
        let reused = again(log.epochs[1].tk, next.hk)
        refuse("a removal with the TK of epoch 2", Body.remove([Cast.cleo.user], epoch: reused))
        let name = log.name("interventions", epoch: next, sequence: log.sequence).bytes
        refuse(
            "a grant from now on with the TK of epoch 2",
            Body.grant([Cast.gwen.chain], role: 3, fromNow: (reused, name)))
    }
}

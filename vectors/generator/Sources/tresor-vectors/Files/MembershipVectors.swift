// SPDX-License-Identifier: Apache-2.0

/// Rules about authors, roles, grants, epochs and people (SPEC §9.3).
struct MembershipVectors: LogTestWriter {
    let file: VectorFile

    func addAuthorFaults() {
        let log = Cast.fullLog()
        let rename = Body.rename(log.name("new", epoch: log.current, sequence: log.sequence).bytes)
        let good = log.entry(Cast.anna, rename)
        let base = accept("another rename", ["Normal"], log, good)
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse("by somebody who never was in", "UnknownMember", 11, log.entry(Cast.gwen, Body.leave))
        refuse(
            "by a generation that the log does not know", "StaleGeneration", 11,
            log.entry(Cast.anna, rename, generation: 1))
        refuse("a bit of the signature's R", "WrongSigner", 12, good.flipped(at: good.count - 64))
        refuse("a bit of the signature's S", "WrongSigner", 12, good.flipped(at: good.count - 32))
        refuse("a bit of the time", "WrongSigner", 12, good.flipped(at: 125))
        refuse("signed by another owner", "WrongSigner", 12, log.entry(Cast.anna, rename, signedBy: Cast.dora))
        let signed = log.signed(Cast.anna, rename)
        for label in ["tresor/v1/file-signature", "tresor/v1/card-signature"] {
            refuse("the signature of \(label)", "CrossTypeSignature", 12, signed + Cast.anna.sign(label, signed))
        }
        refuse("S + L", "NonCanonicalS", 12, signed + EdgeSignature.addingOrder(Bytes(good.suffix(64))))
        refuse(
            "S + L, of another entry", "NonCanonicalS", 12,
            {
                let leave = log.entry(Cast.bert, Body.leave)
                return Bytes(leave.dropLast(64)) + EdgeSignature.addingOrder(Bytes(leave.suffix(64)))
            }())
        let message = prefixed(ascii("tresor/v1/entry-signature")) + signed
        refuse(
            "R is the neutral point, and the equation holds", "SmallOrderR", 12,
            signed + EdgeSignature.neutralR(Cast.anna.newest.signing, message))
        refuse("a removed member who renews", "RemovedAuthor", 13, log.entry(Cast.emilRenewed, Body.leave))
        refuse(
            "a removed member by the earlier generation", "RemovedAuthor", 13,
            log.entry(Cast.emilRenewed, Body.leave, generation: 0))
        addRenewedAuthorFaults(log)
    }

    private func addRenewedAuthorFaults(_ log: Log) {
        var log = log
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        log.append(bert, Body.renew(bert.newest.card), generation: 0)
        let base = accept(
            "the renewed writer begins an epoch", ["Normal"], log,
            log.entry(bert, Body.epoch(log.nextEpoch().statement)))
        refuse(
            "by the generation that was replaced", "StaleGeneration", 14, base: base, log,
            log.entry(bert, Body.epoch(log.nextEpoch().statement), generation: 0))
        refuse(
            "the replaced generation leaves", "StaleGeneration", 14, base: base, log,
            log.entry(bert, Body.leave, generation: 0))
    }

    func addRoleFaults() {
        let log = Cast.fullLog()
        let next = log.nextEpoch().statement
        let base = accept(
            "an owner adds a member", ["Normal"], log, log.entry(Cast.dora, Body.grant([Cast.gwen.chain], role: 3)))
        let name = log.name("new", epoch: log.current, sequence: log.sequence).bytes
        for (who, person) in [("a writer", Cast.bert), ("a reader", Cast.cleo), ("a writer from now on", Cast.fred)] {
            refuse(
                "\(who) adds a member", "NotOwner", 15, base: base, log,
                log.entry(person, Body.grant([Cast.gwen.chain], role: 3)))
            refuse(
                "\(who) removes somebody", "NotOwner", 15, base: base, log,
                log.entry(person, Body.remove([Cast.dora.user], epoch: next)))
            refuse(
                "\(who) changes a role", "NotOwner", 15, base: base, log,
                log.entry(person, Body.role(Cast.cleo.user, 2)))
            refuse("\(who) renames", "NotOwner", 15, base: base, log, log.entry(person, Body.rename(name)))
            refuse("\(who) begins an epoch", "NotOwner", 15, base: base, log, log.entry(person, Body.epoch(next)))
        }
        var marked = log
        marked.append(Cast.cleo, Body.leave)
        let rotated = accept(
            "an owner, when *rekey pending*", ["Normal"], marked,
            marked.entry(Cast.dora, Body.epoch(marked.nextEpoch().statement)))
        refuse(
            "a writer from now on begins an epoch, when *rekey pending*", "WrongRole", 15, base: rotated, marked,
            marked.entry(Cast.fred, Body.epoch(marked.nextEpoch().statement)))
        addDateFaults()
    }

    private func addDateFaults() {
        var log = Cast.fullLog()
        let end = log.time + 10 * Log.day
        log.append(Cast.anna, Body.role(Cast.dora.user, 1, notAfter: end))
        let rename = Body.rename(log.name("late", epoch: log.current, sequence: log.sequence).bytes)
        let base = accept("an owner in the last second", ["EdgeCase"], log, log.entry(Cast.dora, rename, time: end))
        accept("an owner leaves after the end", ["EdgeCase"], log, log.entry(Cast.dora, Body.leave, time: end + 1))
        refuse("one second after the end", "NotAfter", 16, base: base, log, log.entry(Cast.dora, rename, time: end + 1))
        refuse(
            "long after the end", "NotAfter", 16, base: base, log, log.entry(Cast.dora, rename, time: 253_402_300_799))
    }

    func addGrantFaults() {
        let log = Cast.fullLog()
        let next = log.nextEpoch()
        let name = log.name("interventions", epoch: next, sequence: log.sequence).bytes
        let pair = [Cast.gwen, Cast.house].sorted { $0.user.lexicographicallyPrecedes($1.user) }
        let base = accept(
            "two people from now on", ["Normal"], log,
            log.entry(Cast.anna, Body.grant(pair.map(\.chain), role: 2, fromNow: (next.statement, name))))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ body: (Int, Bytes)) {
            self.refuse(comment, flag, rule, base: base, log, log.entry(Cast.anna, body))
        }
        refuse("nobody", "UnknownMember", 17, Body.grant([], role: 2))
        refuse("falling user ids", "DuplicateMember", 17, Body.grant(pair.reversed().map(\.chain), role: 2))
        refuse("the same person twice", "DuplicateMember", 17, Body.grant([Cast.gwen.chain, Cast.gwen.chain], role: 2))
        refuse("nobody is removed", "UnknownMember", 17, Body.remove([], epoch: next.statement))
        refuse(
            "one person removed twice", "DuplicateMember", 17,
            Body.remove([Cast.cleo.user, Cast.cleo.user], epoch: next.statement))
        refuse("a reader who is in", "DuplicateMember", 18, Body.grant([Cast.cleo.chain], role: 2))
        refuse("the founder, who is in", "DuplicateMember", 18, Body.grant([Cast.anna.chain], role: 1))
        refuse("an older chain than the log knows", "GenerationForked", 19, Body.grant([Cast.emil.chain], role: 3))
        let other = Cast.emil.renewed("emil again", time: 1_767_400_001)
        refuse("another card of a known generation", "GenerationForked", 19, Body.grant([other.chain], role: 3))
        refuse(
            "an owner from now on", "WrongRole", 20,
            Body.grant([Cast.gwen.chain], role: 1, fromNow: (next.statement, name)))
        refuse(
            "two owners from now on", "WrongRole", 20,
            Body.grant(pair.map(\.chain), role: 1, fromNow: (next.statement, name)))
        for (number, flag) in [(UInt64(3), "EpochReused"), (5, "EpochSkipped")] {
            let wrong = log.epoch(number, links: [log.current.link]).statement
            refuse(
                "from now on, epoch \(number)", flag, 23, Body.grant([Cast.gwen.chain], role: 3, fromNow: (wrong, name))
            )
        }
        let bare = log.epoch(4, links: nil).statement
        refuse(
            "from now on without a back-link", "BackLinkWrong", 23,
            Body.grant([Cast.gwen.chain], role: 3, fromNow: (bare, name)))
    }

    func addEpochFaults() {
        let log = Cast.fullLog()
        let next = log.nextEpoch().statement
        let removal = accept(
            "a removal", ["Normal"], log, log.entry(Cast.anna, Body.remove([Cast.cleo.user], epoch: next)))
        let rotation = accept("a rotation", ["Normal"], log, log.entry(Cast.anna, Body.epoch(next)))
        for (number, flag) in [
            (UInt64(3), "EpochReused"), (1, "EpochReused"), (5, "EpochSkipped"), (.max, "EpochSkipped"),
            (0, "EpochReused"),
        ] {
            let wrong = log.epoch(number, links: [log.current.link]).statement
            refuse("epoch \(number)", flag, 23, base: rotation, log, log.entry(Cast.anna, Body.epoch(wrong)))
            refuse(
                "a removal with epoch \(number)", flag, 23, base: removal, log,
                log.entry(Cast.anna, Body.remove([Cast.cleo.user], epoch: wrong)))
        }
        let bare = log.epoch(4, links: nil).statement
        refuse("without a back-link", "BackLinkWrong", 23, base: rotation, log, log.entry(Cast.anna, Body.epoch(bare)))
        refuse(
            "a removal without a back-link", "BackLinkWrong", 23, base: removal, log,
            log.entry(Cast.anna, Body.remove([Cast.cleo.user], epoch: bare)))
        refuse(
            "somebody who never was in", "UnknownMember", 24, base: removal, log,
            log.entry(Cast.anna, Body.remove([Cast.gwen.user], epoch: next)))
        refuse(
            "a removed member", "UnknownMember", 24, base: removal, log,
            log.entry(Cast.anna, Body.remove([Cast.emil.user], epoch: next)))
        refuse(
            "the founder", "FounderRemoved", 25, base: removal, log,
            log.entry(Cast.dora, Body.remove([Cast.anna.user], epoch: next)))
        refuse(
            "oneself", "FounderRemoved", 25, base: removal, log,
            log.entry(Cast.dora, Body.remove([Cast.dora.user], epoch: next)))
    }

    func addPersonFaults() {
        let log = Cast.fullLog()
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        let again = bert.renewed("bert", time: 1_767_500_001)
        let base = accept("a renewal", ["Normal"], log, log.entry(bert, Body.renew(bert.newest.card), generation: 0))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse(
            "the card that is there already", "GenerationForked", 15,
            log.entry(Cast.bert, Body.renew(Cast.bert.newest.card)))
        refuse("the card after the next", "GenerationSkipped", 27, log.entry(Cast.bert, Body.renew(again.newest.card)))
        refuse(
            "somebody else's next card, by a writer", "ChangedPerson", 15,
            log.entry(Cast.bert, Body.renew(Cast.gwenRenewed.newest.card)))
        let forged = ForgedCards.successor(of: Cast.bert, signedBy: Cast.gwen)
        refuse(
            "a next card that the present one has not signed", "WrongSigner", 27,
            log.entry(Cast.bert, Body.renew(forged)))
        let role = accept(
            "a reader becomes a writer", ["Normal"], log, log.entry(Cast.anna, Body.role(Cast.cleo.user, 2)))
        func refuseRole(_ comment: String, _ flag: String, _ rule: Int, _ body: (Int, Bytes)) {
            self.refuse(comment, flag, rule, base: role, log, log.entry(Cast.dora, body))
        }
        refuseRole("the role of somebody who never was in", "UnknownMember", 28, Body.role(Cast.gwen.user, 2))
        refuseRole("the role of a removed member", "UnknownMember", 28, Body.role(Cast.emil.user, 2))
        refuseRole("the founder becomes a reader", "FounderRemoved", 29, Body.role(Cast.anna.user, 3))
        refuseRole(
            "the founder gets a not-after", "FounderRemoved", 29, Body.role(Cast.anna.user, 1, notAfter: log.time))
        refuseRole("the role that is there", "DuplicateMember", 30, Body.role(Cast.cleo.user, 3))
        refuseRole("the role that is there, of a writer", "DuplicateMember", 30, Body.role(Cast.bert.user, 2))
        refuseRole("an owner who has no history key", "WrongRole", 31, Body.role(Cast.fred.user, 1))
        refuseRole(
            "the same with a not-after", "HistoryKeyLeaked", 31, Body.role(Cast.fred.user, 1, notAfter: log.time))
    }

    func addFounderFaults() {
        var log = Cast.fullLog()
        let alone = Log.begun(draw(), founder: Cast.anna)
        let aloneBase = accept(
            "the only member renames", ["Normal"], alone,
            alone.entry(Cast.anna, Body.rename(alone.name("x", epoch: alone.current, sequence: 1).bytes)))
        self.refuse(
            "the only owner leaves", "FounderRemoved", 26, base: aloneBase, alone, alone.entry(Cast.anna, Body.leave))
        var dated = log
        dated.append(Cast.anna, Body.role(Cast.dora.user, 1, notAfter: log.time + Log.day))
        let datedBase = accept(
            "the owner with a not-after leaves", ["Normal"], dated, dated.entry(Cast.dora, Body.leave))
        self.refuse(
            "the last owner without not-after leaves", "NotAfter", 26, base: datedBase, dated,
            dated.entry(Cast.anna, Body.leave))
        log.append(Cast.anna, Body.leave)
        log.rotate(by: Cast.dora)
        let base = accept(
            "the founder comes back as owner", ["EdgeCase"], log,
            log.entry(Cast.dora, Body.grant([Cast.anna.chain], role: 1)))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ body: (Int, Bytes)) {
            self.refuse(comment, flag, rule, base: base, log, log.entry(Cast.dora, body))
        }
        refuse("the founder comes back as a reader", "WrongRole", 21, Body.grant([Cast.anna.chain], role: 3))
        refuse(
            "the founder comes back as owner with a not-after", "NotAfter", 21,
            Body.grant([Cast.anna.chain], role: 1, notAfter: log.time + 9))
        refuse("the only lasting owner becomes a reader", "FounderRemoved", 32, Body.role(Cast.dora.user, 3))
        refuse(
            "the only lasting owner gets a not-after", "NotAfter", 32,
            Body.role(Cast.dora.user, 1, notAfter: log.time + 9))
    }
}

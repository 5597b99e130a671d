// SPDX-License-Identifier: Apache-2.0

/// A log with two approvers, people who wait by several grants, and keys that change while they wait.
struct ApprovalStage {
    static let olga = Person("olga")
    static let otto = Person("otto")
    static let olgaRenewed = olga.renewed("olga", time: 1_767_400_000)
    static let hugo = Person("hugo")
    static let ines = Person("ines")
    static let inesRenewed = ines.renewed("ines", time: 1_767_400_000)
    static let jan = Person("jan")
    static let kim = Person("kim")

    let draw: Draw
    /// Bert was approved; hugo and ines wait by entry 3 for all, jan by entry 4 from epoch 2 on.
    private(set) var log: Log
    /// The same, and more: kim was refused, bert and jan approved, otto is an approver no more.
    private(set) var full: Log

    init(_ draw: Draw) {
        self.draw = draw
        var log = Log.begun(draw, founder: Cast.anna, approvers: [Self.olga, Self.otto])
        log.grant([Cast.bert], role: 2)
        let (bert, _) = Self.approve(log, 1, [Cast.bert], by: Self.olga, draw)
        log.append(bert)
        log.grant([Self.hugo, Self.ines], role: 3, notAfter: 1_900_000_000)
        log.grantFromNow([Self.jan], role: 3)
        self.log = log
        log.grant([Self.kim], role: 1)
        log.append(Self.otto, Body.refuse(log.head(at: 5).1))
        log.rotate()
        let (jan, _) = Self.approve(log, 4, [Self.jan], from: 2, by: Self.olga, draw)
        log.append(jan)
        log.append(Cast.anna, Body.approvers([Self.olga.chain]))
        full = log
    }

    /// An approval of people who wait by a grant, and their releases.
    static func approve(
        _ log: Log, _ grant: Int, _ people: [Person], from first: UInt64? = nil, by author: Person, _ draw: Draw,
        keys wrong: Bytes? = nil
    ) -> (entry: Bytes, releases: [Bytes]) {
        let hash = log.head(at: grant).1
        let releases = Person.byUser(people).map { person in
            Approval.release(
                log, grant: hash, to: person, from: first, keys: wrong,
                eseed: draw("release \(grant) \(log.sequence) \(hexText(person.user))", 64)
            ).bytes
        }
        return (log.entry(author, Body.approve(hash, epoch: log.current.number, releases)), releases)
    }
}

/// The bodies of approval, and the rules that wait on them (SPEC §9.2, §9.3, §9.11).
struct ApprovalBodyVectors: LogTestWriter {
    let file: VectorFile

    private var anna: Person { Cast.anna }
    private var olga: Person { ApprovalStage.olga }
    private var otto: Person { ApprovalStage.otto }
    private var hugo: Person { ApprovalStage.hugo }
    private var ines: Person { ApprovalStage.ines }
    private var jan: Person { ApprovalStage.jan }

    @discardableResult private func takes(_ comment: String, base: Int? = nil, _ log: Log, _ entry: Bytes) -> Int {
        accept(comment, ["Normal"], base: base, log, entry)
    }

    private static let crowd = (0..<17).map { Person("approver \($0)") }

    /// - Parameter genesis: the body with these chains as approvers.
    func addGenesisFaults(_ base: Int, _ log: Log, _ genesis: ([Bytes]) -> (Int, Bytes)) {
        func entry(_ people: [Person]) -> Bytes { log.entry(anna, genesis(people.map(\.chain))) }
        takes("an approver", base: base, log, entry([olga]))
        accept("16 approvers", ["EdgeCase"], base: base, log, entry(Person.byUser(Array(Self.crowd.prefix(16)))))
        refuse("17 approvers", "Oversize", 34, base: base, log, entry(Person.byUser(Self.crowd)))
        refuse(
            "approvers by falling user id", "NonCanonical", 34, base: base, log,
            entry(Person.byUser([olga, otto]).reversed()))
        refuse("an approver twice", "NonCanonical", 34, base: base, log, entry([olga, olga]))
        refuse("the founder as an approver", "WrongRole", 34, base: base, log, entry([anna]))
        var user = genesis([olga.chain])
        // The approver as a principal of type 1, introduced by a chain.
        let place = log.root.count + 4 + anna.chain.count + 2
        user.1[place] = 1
        refuse("an approver of principal type 1", "WrongMagic", 1, base: base, log, log.entry(anna, user))
        user.1[place] = 2
        refuse("an approver of principal type 2", "WrongMagic", 1, base: base, log, log.entry(anna, user))
    }

    func addBodies() {
        let stage = ApprovalStage(draw())
        addHistory(stage)
        addWaitingFaults(stage)
        addApprovals(stage)
        addApprovers(stage)
        addRenewals(stage)
    }

    private func addHistory(_ stage: ApprovalStage) {
        var log = Log(stage.full.draw, founder: stage.full.founder)
        for entry in stage.full.entries {
            accept("entry \(log.sequence) of a log with approvers", ["Normal"], log, entry)
            log.append(entry)
        }
    }

    private func addWaitingFaults(_ stage: ApprovalStage) {
        let log = stage.log
        let base = takes("a waiting person leaves", log, log.entry(hugo, Body.leave))
        takes(
            "a waiting person is removed", base: base, log,
            log.entry(anna, Body.remove([hugo.user], epoch: log.nextEpoch().statement)))
        takes("an epoch while people wait", base: base, log, log.entry(anna, Body.epoch(log.nextEpoch().statement)))
        takes(
            "a waiting person leaves after their date", base: base, log,
            log.entry(hugo, Body.leave, time: 1_900_000_001))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        let blob = draw(0)("blob", 32) + u64(674)
        refuse("a waiting person commits", "WrongRole", 13, log.entry(hugo, Body.commit([blob], epoch: 2)))
        refuse("a waiting person writes an additive body", "WrongRole", 13, log.entry(hugo, (BodyType.unknown, [1])))
        refuse("a waiting person renames", "WrongRole", 13, log.entry(hugo, Body.rename(zeros(588))))
        refuse(
            "a waiting person renews after their date", "WrongRole", 16,
            log.entry(ines, Body.renew(ApprovalStage.inesRenewed.newest.card), time: 1_900_000_001))
        refuse(
            "a waiting person renews somebody else", "WrongRole", 15,
            log.entry(hugo, Body.renew(ApprovalStage.inesRenewed.newest.card)))
        refuse("a waiting person is granted again", "WrongRole", 18, log.entry(anna, Body.grant([hugo.chain], role: 3)))
        refuse("an approver is granted", "WrongRole", 18, log.entry(anna, Body.grant([olga.chain], role: 3)))
        refuse("the role of a waiting person", "UnknownMember", 28, log.entry(anna, Body.role(hugo.user, 2)))
        refuse(
            "an approver is removed", "UnknownMember", 24,
            log.entry(anna, Body.remove([olga.user], epoch: log.nextEpoch().statement)))
        refuse("the role of an approver", "UnknownMember", 28, log.entry(anna, Body.role(olga.user, 2)))
        refuse("an approver leaves", "WrongRole", 13, log.entry(olga, Body.leave))
        refuse("an approver begins an epoch", "WrongRole", 13, log.entry(olga, Body.epoch(log.nextEpoch().statement)))
        refuse(
            "an approver adds somebody", "WrongRole", 13,
            log.entry(olga, Body.grant([ApprovalStage.kim.chain], role: 3)))
        refuse("an approver commits", "WrongRole", 13, log.entry(olga, Body.commit([blob], epoch: 2)))
        refuse(
            "a grant of principal type 3", "WrongMagic", 1,
            log.entry(anna, (BodyType.grant, join(u16(1), [3], prefixed(ApprovalStage.kim.chain), [3], u64(0), [0]))))
    }

    private func addApprovals(_ stage: ApprovalStage) {
        let log = stage.log
        let people = Person.byUser([hugo, ines])
        let good = ApprovalStage.approve(log, 3, people, by: otto, stage.draw)
        let base = takes("an approval of two people", log, good.entry)
        let grant = log.head(at: 3).1
        func entry(
            _ releases: [Bytes], grant: Bytes? = nil, epoch: UInt64 = 2, by author: Person? = nil,
            generation: Int? = nil
        ) -> Bytes {
            log.entry(
                author ?? otto, Body.approve(grant ?? log.head(at: 3).1, epoch: epoch, releases), generation: generation
            )
        }
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        takes(
            "an approval from now on: the key of each epoch", base: base, log,
            ApprovalStage.approve(log, 4, [jan], from: 2, by: olga, stage.draw).entry)
        takes("a refusal", base: base, log, log.entry(olga, Body.refuse(grant)))
        for (comment, author) in [("an owner", anna), ("a writer", Cast.bert), ("a waiting person", hugo)] {
            refuse("\(comment) approves", "WrongRole", 13, entry(good.releases, by: author))
            refuse("\(comment) refuses", "WrongRole", 13, log.entry(author, Body.refuse(grant)))
        }
        refuse("a stranger approves", "UnknownMember", 11, entry(good.releases, by: Cast.gwen))
        refuse(
            "signed by the other approver", "WrongSigner", 12,
            log.entry(otto, Body.approve(grant, epoch: 2, good.releases), signedBy: olga))
        refuse(
            "of a grant that the log does not have", "WrongContext", 35,
            entry(good.releases, grant: draw(0)("grant", 32)))
        refuse("of a grant that was approved", "Replayed", 35, entry(good.releases, grant: log.head(at: 1).1))
        refuse("of an entry that is no grant", "WrongContext", 35, entry(good.releases, grant: log.head(at: 2).1))
        refuse(
            "a refusal of a grant that was approved", "Replayed", 35, log.entry(olga, Body.refuse(log.head(at: 1).1)))
        refuse("a refusal of nothing", "WrongContext", 35, log.entry(olga, Body.refuse(zeros(32))))
        refuse("of the epoch before", "WrongEpoch", 36, entry(good.releases, epoch: 1))
        refuse("of the epoch after", "WrongEpoch", 36, entry(good.releases, epoch: 3))
        refuse("of nobody", "NonCanonical", 37, entry([]))
        refuse("of one of two", "NonCanonical", 37, entry([good.releases[0]]))
        refuse("in falling order", "NonCanonical", 37, entry(good.releases.reversed()))
        refuse("of one person twice", "NonCanonical", 37, entry([good.releases[0], good.releases[0]]))
        let janRelease = ApprovalStage.approve(log, 4, [jan], from: 2, by: olga, stage.draw).releases
        refuse(
            "and of somebody who waits by another grant", "WrongContext", 37,
            entry(Bytes.sorted(good.releases + janRelease)))
        refuse("the releases of another grant", "WrongContext", 37, entry(janRelease))
        func length(_ count: Int) -> Bytes { u16(count) + zeros(count) }
        let head = good.releases[0].at(0, 37 + 1120)
        refuse("with two keys for full history", "NonCanonical", 37, entry([head + length(80), good.releases[1]]))
        refuse("with 49 bytes", "NonCanonical", 37, entry([head + length(49), good.releases[1]]))
        refuse("with 47 bytes", "Truncated", 2, entry([head + length(47), good.releases[1]]))
        refuse(
            "of generation 1, which the log does not have", "StaleGeneration", 37,
            entry([good.releases[0].replacing(at: 33, with: u32(1)), good.releases[1]]))
        refuse(
            "a byte behind the releases", "TrailingData", 2,
            log.entry(otto, (BodyType.approve, Body.approve(grant, epoch: 2, good.releases).1 + [0])))
        refuse("a byte behind a refusal", "TrailingData", 2, log.entry(otto, (BodyType.refuse, grant + [0])))
        refuse(
            "a release for a principal of type 3", "WrongMagic", 1,
            entry([[3] + Bytes(good.releases[0].dropFirst()), good.releases[1]]))
        addReplays(stage, good)
    }

    /// An approval is worth nothing once its grant is decided, also when the person is granted again.
    private func addReplays(_ stage: ApprovalStage, _ good: (entry: Bytes, releases: [Bytes])) {
        let grant = stage.log.head(at: 3).1
        func replay(_ comment: String, _ prepare: (inout Log) -> Void) {
            var log = stage.log
            prepare(&log)
            let base = takes("\(comment): a rename", log, log.entry(anna, Body.rename(zeros(588))))
            self.refuse(
                "\(comment): the approval comes too late", "Replayed", 35, base: base, log,
                log.entry(otto, Body.approve(grant, epoch: log.current.number, good.releases)))
        }
        replay("after a refusal") { $0.append(olga, Body.refuse(grant)) }
        replay("after a removal") { $0.remove([hugo, ines]) }
        replay("after a removal and another grant") {
            $0.remove([hugo, ines])
            $0.grant([hugo, ines], role: 3)
        }
        var rotated = stage.log
        rotated.rotate()
        let again = ApprovalStage.approve(rotated, 3, [hugo, ines], by: otto, stage.draw)
        let base = takes("after another epoch, anew", rotated, again.entry)
        refuse(
            "after another epoch, as before", "WrongEpoch", 36, base: base, rotated,
            rotated.entry(otto, Body.approve(grant, epoch: 2, good.releases)))
        let late = ApprovalStage.approve(rotated, 4, [jan], from: 3, by: otto, stage.draw)
        refuse("from now on, without the key of the first epoch", "NonCanonical", 37, base: base, rotated, late.entry)
    }

    private func addApprovers(_ stage: ApprovalStage) {
        let log = stage.log
        func entry(_ people: [Person], by author: Person? = nil) -> Bytes {
            log.entry(author ?? anna, Body.approvers(people.map(\.chain)))
        }
        let base = takes("other approvers", log, entry(Person.byUser([otto, ApprovalStage.kim])))
        accept("the same approvers", ["EdgeCase"], base: base, log, entry(Person.byUser([olga, otto])))
        accept(
            "an approver with a card more than the log knows", ["EdgeCase"], base: base, log,
            entry([ApprovalStage.olgaRenewed]))
        takes("no approvers", base: base, log, entry([]))
        accept(
            "16 approvers from then on", ["EdgeCase"], base: base, log,
            entry(Person.byUser(Array(Self.crowd.prefix(16)))))
        func refuse(_ comment: String, _ flag: String, _ rule: Int, _ entry: Bytes) {
            self.refuse(comment, flag, rule, base: base, log, entry)
        }
        refuse("17 approvers from then on", "Oversize", 34, entry(Person.byUser(Self.crowd)))
        refuse("falling approvers", "NonCanonical", 34, entry(Person.byUser([olga, otto]).reversed()))
        refuse("a member as an approver", "WrongRole", 34, entry([Cast.bert]))
        refuse("a waiting person as an approver", "WrongRole", 34, entry([hugo]))
        refuse("approvers named by a writer", "WrongRole", 15, entry([otto], by: Cast.bert))
        refuse("approvers named by an approver", "WrongRole", 13, entry([otto], by: olga))
        refuse("approvers of principal type 1", "WrongMagic", 1, log.entry(anna, Body.approvers([otto.chain], type: 1)))
        refuse(
            "a byte behind the approvers", "TrailingData", 2,
            log.entry(anna, (BodyType.approvers, Body.approvers([otto.chain]).1 + [0])))
        var without = log
        without.append(anna, Body.approvers([]))
        takes(
            "nobody waits without approvers", without,
            without.entry(anna, Body.grant([ApprovalStage.kim.chain], role: 3)))
        let dropped = takes(
            "an approver who is dropped may be granted", without, without.entry(anna, Body.grant([olga.chain], role: 3))
        )
        self.refuse(
            "an approver who is dropped approves", "RemovedAuthor", 13, base: dropped, without,
            ApprovalStage.approve(without, 3, [hugo, ines], by: olga, stage.draw).entry)
        var renewed = log
        renewed.append(olga, Body.renew(ApprovalStage.olgaRenewed.newest.card))
        let known = takes(
            "an approver in a newer generation", renewed,
            renewed.entry(anna, Body.approvers([ApprovalStage.olgaRenewed.chain])))
        self.refuse(
            "an approver with a card less than the log knows", "StaleGeneration", 34, base: known, renewed,
            renewed.entry(anna, Body.approvers([olga.chain])))
    }

    private func addRenewals(_ stage: ApprovalStage) {
        var log = stage.log
        takes("a waiting person renews", log, log.entry(ines, Body.renew(ApprovalStage.inesRenewed.newest.card)))
        takes("an owner renews an approver", log, log.entry(anna, Body.renew(ApprovalStage.olgaRenewed.newest.card)))
        let renewal = log.entry(olga, Body.renew(ApprovalStage.olgaRenewed.newest.card))
        takes("an approver renews: *rekey pending* is not set", log, renewal)
        log.append(renewal)
        let newer = ApprovalStage.approve(log, 3, [hugo, ines], by: ApprovalStage.olgaRenewed, stage.draw)
        let base = takes("an approval by the newer generation", log, newer.entry)
        refuse(
            "an approval by the older generation", "StaleGeneration", 14, base: base, log,
            ApprovalStage.approve(log, 3, [hugo, ines], by: olga, stage.draw).entry)
        log.append(ines, Body.renew(ApprovalStage.inesRenewed.newest.card))
        let anew = ApprovalStage.approve(log, 3, [hugo, ApprovalStage.inesRenewed], by: otto, stage.draw)
        let other = takes("an approval for the newer generation", log, anew.entry)
        refuse(
            "an approval for the older generation", "StaleGeneration", 37, base: other, log,
            ApprovalStage.approve(log, 3, [hugo, ines], by: otto, stage.draw).entry)
    }
}

extension Bytes {
    fileprivate static func sorted(_ list: [Bytes]) -> [Bytes] {
        list.sorted { $0.dropFirst().lexicographicallyPrecedes($1.dropFirst()) }
    }
}

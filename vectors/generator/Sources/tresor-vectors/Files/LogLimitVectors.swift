// SPDX-License-Identifier: Apache-2.0

/// Removals of owners, and the limits of rotations and back-links (SPEC §9.3).
struct LogLimitVectors: LogTestWriter {
    let file: VectorFile

    /// After the founder has left, a departing owner with a date could otherwise leave no one with the right to write.
    func addRemovalOfOwners() {
        var log = Cast.fullLog()
        log.grant([Cast.house], role: 1)
        log.grant([Cast.gwen], role: 1, notAfter: log.time + 30 * Log.day)
        log.append(Cast.anna, Body.leave)
        log.rotate(by: Cast.dora)
        let next = log.nextEpoch().statement
        let both = [Cast.dora.user, Cast.house.user].sorted { $0.lexicographicallyPrecedes($1) }
        let base = accept(
            "an owner with a not-after removes one of two lasting owners", ["EdgeCase"], log,
            log.entry(Cast.gwen, Body.remove([Cast.house.user], epoch: next)))
        refuse(
            "an owner with a not-after removes both lasting owners", "FounderRemoved", 33, base: base, log,
            log.entry(Cast.gwen, Body.remove(both, epoch: next)))
        log.remove([Cast.house], by: Cast.gwen)
        let last = log.nextEpoch().statement
        let alone = accept(
            "an owner with a not-after removes a reader", ["Normal"], log,
            log.entry(Cast.gwen, Body.remove([Cast.cleo.user], epoch: last)))
        refuse(
            "an owner with a not-after removes the only lasting owner", "FounderRemoved", 33, base: alone, log,
            log.entry(Cast.gwen, Body.remove([Cast.dora.user], epoch: last)))
        accept(
            "an owner with a not-after becomes a lasting one", ["EdgeCase"], log,
            log.entry(Cast.gwen, Body.role(Cast.gwen.user, 1)))
    }

    func addRotationByOthers() {
        var log = Cast.fullLog()
        log.grant([Cast.house], role: 3)
        log.append(Cast.cleo, Body.leave)
        let next = log.nextEpoch().statement
        let base = accept(
            "a writer with full history, when *rekey pending*", ["Normal"], log, log.entry(Cast.bert, Body.epoch(next)))
        refuse(
            "a reader with full history begins an epoch, when *rekey pending*", "WrongRole", 15, base: base, log,
            log.entry(Cast.house, Body.epoch(next)))
        refuse(
            "a writer removes somebody, when *rekey pending*", "NotOwner", 15, base: base, log,
            log.entry(Cast.bert, Body.remove([Cast.house.user], epoch: next)))
    }

    func addBackLinkLimits() {
        let log = Cast.fullLog()
        func rotation(_ backLink: Bytes) -> Bytes {
            let next = log.nextEpoch()
            let statement = EpochSecret.statement(
                number: next.number, content: EpochSecret.commitment("tresor/v1/commit-tk", log.tresor, next.tk),
                history: EpochSecret.commitment("tresor/v1/commit-hk", log.tresor, next.hk), backLink: backLink)
            return log.entry(Cast.anna, Body.epoch(statement))
        }
        let greatest = rotation(zeros(295_048))
        let base = valid(
            "a back-link of 4096 links, as far as its size tells", ["EdgeCase"],
            in: Values([("tresor", .bytes(log.tresor)), ("log", .list(log.entries)), ("entry", .bytes(greatest))]),
            out: Self.state(log, greatest).with("void", Bytes()))
        func refuse(_ comment: String, _ flag: String, _ size: Int) {
            self.refuse(comment, flag, 2, base: base, log, rotation(zeros(size)))
        }
        refuse("a back-link of 4097 links", "Oversize", 295_120)
        refuse("a back-link of 71 bytes", "LengthOverflow", 72 + 71)
        refuse("a back-link of 73 bytes", "LengthOverflow", 72 + 73)
        refuse("a back-link of fewer bytes than anything sealed", "LengthOverflow", 71)
        let none = log.epoch(4, links: []).statement
        accept(
            "a back-link that seals no link: its author reached nothing", ["EdgeCase"], log,
            log.entry(Cast.anna, Body.epoch(none)))
    }
}

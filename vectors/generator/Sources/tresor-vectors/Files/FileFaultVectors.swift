// SPDX-License-Identifier: Apache-2.0

/// Files that are refused (SPEC §10.5).
struct FileFaultVectors: FileTestWriter {
    let file: VectorFile

    private func refuse(
        _ comment: String, _ flag: String, _ error: String, _ fixture: FileFixture, _ file: Bytes, base: Int = 2
    ) {
        invalid(comment, flag, error, base: base, in: ["file": file])
    }

    func addHeaderFaults(_ fixture: FileFixture) {
        let file = fixture.base.bytes
        func refuse(_ comment: String, _ flag: String, _ bytes: Bytes) { refuse(comment, flag, "altered", bytes) }
        func refuse(_ comment: String, _ flag: String, _ error: String, _ bytes: Bytes) {
            self.refuse(comment, flag, error, fixture, bytes)
        }
        refuse("another release", "WrongMagic", "unsupported", file.replacing(at: 7, with: [0x32]))
        refuse("no object of ours", "WrongMagic", file.replacing(at: 0, with: [0]))
        refuse("version 2", "WrongVersion", "unsupported", file.replacing(at: 8, with: [2]))
        refuse("version 0", "WrongVersion", "unsupported", file.replacing(at: 8, with: [0]))
        refuse("suite 2", "WrongSuite", "unsupported", file.replacing(at: 9, with: [2]))
        refuse("an epoch beyond the log", "FutureHead", "no_access", file.replacing(at: 42, with: u64(4)))
        refuse("a bit of the epoch", "ModifiedHeader", file.replacing(at: 42, with: u64(2)))
        refuse("epoch 0", "ModifiedHeader", "no_access", file.replacing(at: 42, with: u64(0)))
        refuse("a bit of the head's number", "ModifiedHeader", file.flipped(at: 57))
        refuse("a bit of the head's hash", "ModifiedHeader", file.flipped(at: 58))
        refuse("a bit of the salt", "ModifiedSalt", file.flipped(at: 90))
        refuse("a bit of the commitment", "ModifiedCommitment", file.flipped(at: 114))
        refuse("a bit of the ciphertext", "ModifiedCiphertext", file.flipped(at: 146))
        refuse("a bit of the tag", "ModifiedTag", file.flipped(at: file.count - 1))
        for count in [0, 7, 89, 90, 145, 673] { refuse("\(count) bytes of it", "Truncated", Bytes(file.prefix(count))) }
        refuse("one byte more", "TrailingData", file + [0])
        refuse("armour of another kind", "WrongMagic", Armoured.text(file, kind: "TRESOR CARD"))
        refuse("armour without its last line end", "NonCanonical", Bytes(Armoured.text(file).dropLast()))
        let other = Log.begun(draw(), founder: Cast.anna)
        let foreign = FileSealing(
            fixture.content, author: Cast.anna, time: other.time, tresor: other.tresor, epoch: other.current,
            head: other.head(at: 0),
            salt: draw()("salt", 24))
        refuse("a file of another tresor", "SwappedTresor", "no_access", foreign.bytes)
        refuse(
            "a file of another tresor, its header changed", "SwappedTresor",
            FileSealing.header(tresor: fixture.log.tresor, epoch: 3, head: fixture.log.head(at: 7))
                + foreign.sealing.bytes)
        invalid("another key", "WrongKey", "altered", base: 2, in: ["TK": fixture.log.epochs[1].tk])
        invalid("an unrelated key", "WrongKey", "altered", base: 2, in: ["TK": draw()("TK", 32)])
        let sealing = fixture.base.sealing
        let name = Sealing(
            fixture.log.current.tk, "tresor/v1/name-seal", fixture.base.header, fixture.base.payload, salt: sealing.salt
        )
        refuse("sealed under the label of names", "WrongLabel", fixture.base.header + name.bytes)
        let bare = Sealing(fixture.log.current.tk, "tresor/v1/file-seal", [], fixture.base.payload, salt: sealing.salt)
        refuse("sealed without the header as context", "WrongContext", fixture.base.header + bare.bytes)
    }

    func addPayloadFaults(_ fixture: FileFixture) {
        func refuse(_ comment: String, _ flag: String, _ file: FileSealing) { refuse(comment, flag, "altered", file) }
        func refuse(_ comment: String, _ flag: String, _ error: String, _ file: FileSealing) {
            self.refuse(comment, flag, error, fixture, file.bytes)
        }
        func sealed(_ faults: FileSealing.Faults) -> FileSealing {
            fixture.seal(fixture.content, draw(), faults: faults)
        }
        let size = fixture.base.padding.count
        refuse("a padding byte of 1", "BadPadding", sealed(.init(padding: zeros(size).replacing(at: 0, with: [1]))))
        refuse(
            "the last padding byte", "BadPadding",
            sealed(.init(padding: zeros(size).replacing(at: size - 1, with: [0x80]))))
        refuse("a padding byte too many", "BadPadding", sealed(.init(padding: zeros(size + 1))))
        refuse("32 padding bytes too many", "BadPadding", sealed(.init(padding: zeros(size + 32))))
        for (length, comment) in [
            (UInt64(0), "0"), (1 << 63, "2^63"), (.max, "2^64 − 1"), (512, "greater than the payload"),
        ] {
            refuse("a content length of \(comment)", "BadContentLength", sealed(.init(contentLength: length)))
        }
        refuse(
            "a content length of one more", "BadContentLength",
            sealed(.init(contentLength: UInt64(fixture.content.count + 1))))
        refuse(
            "a content length of one less", "BadContentLength",
            sealed(.init(contentLength: UInt64(fixture.content.count - 1))))
        refuse("has_origin = 2", "NonCanonical", sealed(.init(originFlag: 2)))
        refuse("has_origin = 1 and none", "OriginInvalid", sealed(.init(originFlag: 1)))
        refuse(
            "a control character in the record name", "ControlInName",
            fixture.seal(fixture.content, draw(), record: "a\u{0}b"))
        refuse(
            "a right-to-left override in the type", "ControlInName",
            fixture.seal(fixture.content, draw(), type: "a\u{202e}b"))
        refuse(
            "a record name of 257 bytes", "Oversize",
            fixture.seal(fixture.content, draw(), record: String(repeating: "r", count: 257)))
        refuse("a time beyond the year 9999", "Oversize", fixture.seal(fixture.content, draw(), time: 253_402_300_800))
        refuse("signed by another writer", "WrongAuthor", fixture.seal(fixture.content, draw(), signer: Cast.bert))
        refuse(
            "naming another writer", "WrongAuthor",
            fixture.seal(fixture.content, draw(), author: Cast.bert, signer: Cast.anna))
        let base = fixture.base
        let cross = Cast.anna.sign("tresor/v1/entry-signature", base.message)
        refuse("the signature of entries", "CrossTypeSignature", sealed(.init(signature: cross)))
        refuse("S + L", "NonCanonicalS", sealed(.init(signature: EdgeSignature.addingOrder(base.signature))))
        let message = join(prefixed(ascii("tresor/v1/file-signature")), base.message)
        refuse(
            "R is the neutral point, and the equation holds", "SmallOrderR",
            sealed(.init(signature: EdgeSignature.neutralR(Cast.anna.newest.signing, message))))
        let other = fixture.seal(ascii("{}"), draw())
        refuse("the signature of another content", "WrongAuthor", sealed(.init(signature: other.signature)))
        refuse(
            "sealed by somebody who never was in", "UnknownMember", "no_access",
            fixture.seal(fixture.content, draw(), author: Cast.gwen))
        refuse(
            "a generation that the log does not have", "StaleGeneration", "no_access",
            fixture.seal(fixture.content, draw(), generation: 1))
    }

    func addRightFaults(_ fixture: FileFixture) {
        func refuse(_ comment: String, _ flag: String, _ error: String, _ file: FileSealing) {
            self.refuse(comment, flag, error, fixture, file.bytes)
        }
        refuse("by a reader", "NotWriterAtHead", "no_access", fixture.seal(fixture.content, draw(), author: Cast.cleo))
        refuse(
            "by somebody removed before the head", "NotWriterAtHead", "no_access",
            fixture.seal(fixture.content, draw(), author: Cast.emilRenewed))
        refuse(
            "by a writer at a head before they were in", "NotWriterAtHead", "no_access",
            fixture.seal(fixture.content, draw(), head: 7, author: Cast.gwen))
        func at(_ comment: String, _ flag: String, _ error: String, head: Int, sealed: Int, _ author: Person) {
            var keyed = fixture.input(
                fixture.seal(fixture.content, draw(), head: head, epoch: sealed, author: author).bytes, epoch: sealed)
            keyed = Values(keyed.pairs.filter { ["TK", "file"].contains($0.0) })
            if sealed == 3 { keyed = Values(keyed.pairs.filter { $0.0 == "file" }) }
            invalid(comment, flag, error, base: 2, in: keyed)
        }
        at("by a writer at a head before the grant", "NotWriterAtHead", "no_access", head: 0, sealed: 1, Cast.bert)
        at("at a head where *rekey pending* is set", "RekeyPendingIgnored", "no_access", head: 5, sealed: 1, Cast.anna)
        at(
            "at a head where *rekey pending* is set, by a writer", "RekeyPendingIgnored", "no_access", head: 5,
            sealed: 1,
            Cast.bert)
        at("an old epoch at a newer head", "EpochNotCurrent", "altered", head: 7, sealed: 1, Cast.anna)
        at("a new epoch at an older head", "EpochNotCurrent", "altered", head: 3, sealed: 3, Cast.anna)
        at(
            "the epoch before at the head that began another", "EpochNotCurrent", "altered", head: 7, sealed: 2,
            Cast.anna)
        func claiming(_ head: (UInt64, Bytes), _ author: Person, epoch: UInt64? = nil) -> FileSealing {
            FileSealing(
                fixture.content, author: author, time: fixture.log.time, tresor: fixture.log.tresor,
                epoch: epoch.map { fixture.log.epoch($0, links: nil) } ?? fixture.log.current, head: head,
                salt: draw()("salt", 24))
        }
        refuse("a head beyond the log", "FutureHead", "store", claiming((8, draw()("head", 32)), Cast.anna))
        refuse("another hash at a known number", "HeadNotInLog", "forked", claiming((7, draw()("head", 32)), Cast.bert))
        refuse(
            "the hash of another entry", "HeadNotInLog", "forked", claiming((7, fixture.log.head(at: 6).1), Cast.bert))
        refuse(
            "another hash at a known number, by a reader", "HeadNotInLog", "no_access",
            claiming((7, draw()("head", 32)), Cast.cleo))
        refuse("the greatest number", "FutureHead", "store", claiming((.max, draw()("head", 32)), Cast.anna))
        refuse(
            "a head beyond the log, of an epoch before the current one", "FutureHead", "altered",
            claiming((8, draw()("head", 32)), Cast.anna, epoch: 2))
        refuse(
            "a head beyond the log, of an epoch beyond it too", "FutureHead", "store",
            claiming((8, draw()("head", 32)), Cast.anna, epoch: 4))
        refuse(
            "an epoch beyond the log at a head of it", "EpochNotCurrent", "no_access",
            claiming(fixture.log.head(at: 7), Cast.anna, epoch: 4))
        addDateFaults(fixture)
        addGenerationFaults(fixture)
    }

    private func addDateFaults(_ fixture: FileFixture) {
        var log = fixture.log
        let end = log.time + Log.day * 5
        log.append(Cast.anna, Body.role(Cast.bert.user, 2, notAfter: end))
        let dated = fixture.with(log)
        let base = accept(
            "in the last second of the author's time", ["EdgeCase"], dated,
            dated.seal(dated.content, draw(), author: Cast.bert, time: end), dated.content)
        for late in [end + 1, 253_402_300_799] {
            refuse(
                "dated after the author's not-after", "NotAfter", "no_access", dated,
                dated.seal(dated.content, draw(), author: Cast.bert, time: late).bytes, base: base)
        }
    }

    private func addGenerationFaults(_ fixture: FileFixture) {
        var log = fixture.log
        let bert = Cast.bert.renewed("bert", time: 1_767_500_000)
        log.append(bert, Body.renew(bert.newest.card), generation: 0)
        log.rotate()
        let renewed = fixture.with(log)
        let base = accept(
            "by the new generation", ["Normal"], renewed, renewed.seal(renewed.content, draw(), author: bert),
            renewed.content)
        refuse(
            "by the generation that was replaced, at a head behind it", "StaleGeneration", "no_access", renewed,
            renewed.seal(renewed.content, draw(), author: bert, generation: 0).bytes, base: base)
        let early = renewed.seal(renewed.content, draw(), head: 7, epoch: 3, author: bert)
        invalid(
            "by the new generation, at a head before it", "StaleGeneration", "no_access", base: base,
            in: ["TK": log.epochs[2].tk, "file": early.bytes])
        accept(
            "by the earlier generation, at a head before the renewal", ["EdgeCase"], renewed,
            renewed.seal(renewed.content, draw(), head: 7, epoch: 3, author: bert, generation: 0), renewed.content,
            epoch: 3)
    }

    func addOriginFaults(_ fixture: FileFixture) {
        let earlier = fixture.seal(fixture.content, draw(), head: 3, epoch: 1, author: Cast.bert)
        func refuse(_ comment: String, _ flag: String, _ error: String, _ origin: Bytes) {
            self.refuse(comment, flag, error, fixture, fixture.seal(fixture.content, draw(), originBytes: origin).bytes)
        }
        let origin = earlier.origin
        refuse("a bit of the origin's signature", "OriginInvalid", "altered", origin.flipped(at: 197))
        refuse("a bit of the origin's time", "OriginInvalid", "altered", origin.flipped(at: 133))
        refuse("an origin by somebody else", "OriginInvalid", "altered", origin.replacing(at: 90, with: Cast.anna.user))
        refuse("an origin of another release", "OriginInvalid", "altered", origin.replacing(at: 8, with: [2]))
        refuse("an origin with another magic", "OriginInvalid", "altered", origin.replacing(at: 7, with: [0x32]))
        refuse("an origin by a stranger", "OriginInvalid", "no_access", origin.replacing(at: 90, with: Cast.gwen.user))
        let reader = fixture.seal(fixture.content, draw(), head: 3, epoch: 1, author: Cast.cleo)
        refuse("an origin by a reader", "OriginInvalid", "no_access", reader.origin)
        let marked = fixture.seal(fixture.content, draw(), head: 5, epoch: 1, author: Cast.bert)
        refuse("an origin at a head where *rekey pending* is set", "RekeyPendingIgnored", "no_access", marked.origin)
        let mixed = fixture.seal(fixture.content, draw(), head: 6, epoch: 1, author: Cast.bert)
        refuse("an origin whose epoch is not its head's", "OriginInvalid", "altered", mixed.origin)
        let other = Log.begun(draw(), founder: Cast.anna)
        let foreign = FileSealing(
            fixture.content, author: Cast.anna, time: other.time, tresor: other.tresor, epoch: other.current,
            head: other.head(at: 0),
            salt: draw()("salt", 24))
        refuse("an origin of another tresor", "SwappedTresor", "altered", foreign.origin)
        let renamed = fixture.seal(fixture.content, draw(), head: 3, epoch: 1, author: Cast.bert, record: "other.json")
        refuse("an origin of another record", "OriginInvalid", "altered", renamed.origin)
        let twice = fixture.seal(fixture.content, draw(), head: 3, epoch: 1, author: Cast.bert, origin: earlier)
        refuse("an origin that had an origin itself", "OriginInvalid", "altered", twice.origin)
        let late = fixture.seal(fixture.content, draw(), author: Cast.bert)
        let before = fixture.seal(fixture.content, draw(), head: 3, epoch: 1, originBytes: late.origin)
        invalid(
            "an origin at a later head than the file's", "OriginInvalid", "altered", base: 2,
            in: ["TK": fixture.log.epochs[0].tk, "file": before.bytes])
    }

    func addExpectationFaults(_ fixture: FileFixture) {
        let file = fixture.base
        let base = valid(
            "all expectations hold", ["Normal"],
            in: fixture.input(file.bytes).with("expected tresor", fixture.log.tresor).with(
                "expected record", ascii("plan.json")
            )
            .with("expected author", Cast.anna.user).with("current author", [1]),
            out: ["content hash": blake2b(32, fixture.content), "content size": u64(UInt64(fixture.content.count))])
        invalid(
            "another tresor was expected", "SwappedTresor", "altered", base: base,
            in: ["expected tresor": draw()("tresor", 32)])
        invalid(
            "another record was expected", "SwappedRecord", "altered", base: base,
            in: ["expected record": ascii("plan2.json")])
        invalid("no record was expected", "SwappedRecord", "altered", base: base, in: ["expected record": []])
        invalid(
            "another author was expected", "WrongAuthor", "altered", base: base, in: ["expected author": Cast.bert.user]
        )
        var log = fixture.log
        log.remove([Cast.bert])
        let former = fixture.with(log)
        let old = former.seal(former.content, draw(), head: 7, epoch: 3, author: Cast.bert)
        let shown = accept("by somebody who was removed since", ["EdgeCase"], former, old, former.content, epoch: 3)
        invalid(
            "a current author was wanted, and this one was removed since", "NotWriterAtHead", "no_access", base: shown,
            in: ["current author": [1]])
        addReturns(fixture)
    }

    /// A file sealed before its author left does not become current when they return.
    private func addReturns(_ fixture: FileFixture) {
        func add(_ comment: String, _ log: Log, _ former: FileSealing, epoch: Int) {
            let returned = fixture.with(log)
            let shown = accept(
                "\(comment): sealed before, shown as from a former author", ["EdgeCase"], returned, former,
                returned.content, epoch: epoch)
            invalid(
                "\(comment): sealed before, and a current author was wanted", "NotWriterAtHead", "no_access",
                base: shown, in: ["current author": [1]])
            let sealed = returned.seal(returned.content, draw(), author: Cast.bert)
            accept("\(comment): sealed after the return", ["EdgeCase"], returned, sealed, returned.content)
        }
        let before = fixture.seal(fixture.content, draw(), author: Cast.bert)
        var left = fixture.log
        left.remove([Cast.bert])
        left.grant([Cast.bert], role: 2)
        add("removed and granted again", left, before, epoch: 3)
        var demoted = fixture.log
        demoted.append(Cast.anna, Body.role(Cast.bert.user, 3))
        demoted.append(Cast.anna, Body.role(Cast.bert.user, 2))
        add("made a reader and a writer again", demoted, before, epoch: 3)
        var promoted = fixture.log
        promoted.append(Cast.anna, Body.role(Cast.bert.user, 1))
        accept(
            "a writer who became an owner stays current", ["EdgeCase"], fixture.with(promoted), before,
            fixture.content)
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The histories of vectors/scenario.
enum Scenarios {
    static func all() -> [Scenario] {
        [
            share(), shareAgain(), leave(), fromNow(), race(), removedWriter(), rollback(), fork(), swappedWraps(),
            dishonestOwner(), generation(), changedPerson(), interrupted(), pinnedAuthor(), oldHome(), renewedFounder(),
            replacedPin(), withheldEpoch(), emptyLinks(), ApprovalScenario.approval(),
        ]
    }

    static let anna = Cast.anna
    static let bert = Cast.bert
    static let house = Cast.house
    static let plan = ascii("{\"resourceType\":\"CarePlan\"}")

    static func begun(_ tag: String) -> Log { Log.begun(Draw(file: "scenario/\(tag)", id: 1), founder: anna) }

    static func seal(
        _ log: Log, _ author: Person, head: Int? = nil, epoch: Int? = nil, generation: Int? = nil, tag: String
    ) -> FileSealing {
        FileSealing(
            plan, author: author, generation: generation, time: log.time, tresor: log.tresor,
            epoch: epoch.map { log.epochs[$0 - 1] } ?? log.current, head: log.head(at: head ?? log.entries.count - 1),
            salt: log.draw("salt \(tag)", 24))
    }

    /// Genesis by anna, then a grant to each.
    static func started(
        _ name: String, _ purpose: String, _ grants: [(String, Person, UInt8)], pins: [String: [Person]]? = nil
    ) -> (Scenario, Log) {
        var log = begun(name)
        let scenario = Scenario(
            name, purpose, tresor: log.tresor, people: [("anna", anna)] + grants.map { ($0.0, $0.1) }, pins: pins)
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        for (handle, person, role) in grants {
            log.grant([person], role: role)
            scenario.append(
                "anna lets \(handle) in", log.entries[log.entries.count - 1], wraps: [(person, log.current, true)])
        }
        return (scenario, log)
    }

    private static func share() -> Scenario {
        var (scenario, log) = started("share", "sharing and revoking", [("house", house, 3)])
        let first = seal(log, anna, tag: "first")
        scenario.open("a file that anna sealed", by: "house", first, content: plan)
        scenario.open("a reader's file", by: "anna", seal(log, house, tag: "reader"), error: "no_access")
        log.remove([house])
        scenario.append("anna removes dr-house", log.entries[2], wraps: [(anna, log.current, true)], removing: [house])
        let second = seal(log, anna, tag: "second")
        scenario.open("a file of the new epoch", by: "house", second, error: "no_access")
        scenario.open(
            "the old file, which the store's word no longer opens for him", by: "house", first, error: "no_access")
        scenario.open("anna opens both: the old", by: "anna", first, content: plan)
        scenario.open("anna opens both: the new", by: "anna", second, content: plan)
        return scenario
    }

    private static func shareAgain() -> Scenario {
        var (scenario, log) = started("share-again", "revoked, and shared with again", [("house", house, 3)])
        let first = seal(log, anna, tag: "first")
        log.remove([house])
        scenario.append("anna removes dr-house", log.entries[2], wraps: [(anna, log.current, true)], removing: [house])
        let between = seal(log, anna, tag: "between")
        scenario.open("after his removal", by: "house", between, error: "no_access")
        log.grant([house], role: 2)
        scenario.append("anna adds him again, as a writer", log.entries[3], wraps: [(house, log.current, true)])
        scenario.open("a file sealed during his absence", by: "house", between, content: plan)
        scenario.open("what was sealed before", by: "house", first, content: plan)
        scenario.open("his own file", by: "anna", seal(log, house, tag: "his"), content: plan, current: true)
        scenario.open(
            "a file that he dates to his absence", by: "anna", seal(log, house, head: 2, tag: "dated"),
            error: "no_access")
        return scenario
    }

    private static func leave() -> Scenario {
        var (scenario, log) = started(
            "leave", "somebody leaves, and the key is changed first", [("bert", bert, 2), ("house", house, 3)])
        log.append(house, Body.leave)
        scenario.append("dr-house leaves", log.entries[3], removing: [house])
        scenario.open("a file sealed nevertheless", by: "anna", seal(log, anna, tag: "ignored"), error: "no_access")
        scenario.open(
            "a file sealed nevertheless, by bert", by: "anna", seal(log, bert, tag: "ignored by bert"),
            error: "no_access")
        let late = log.entry(house, Body.leave)
        scenario.show("the store shows an entry of his behind it", log.entries + [late])
        scenario.show("and the true log again", log.entries)
        log.rotate(by: bert)
        scenario.append(
            "bert, a writer, changes the key", log.entries[4],
            wraps: [(anna, log.current, true), (bert, log.current, true)])
        let file = seal(log, bert, tag: "rotated")
        scenario.open("bert's file under the new key", by: "anna", file, content: plan)
        scenario.open("who left", by: "house", file, error: "no_access")
        return scenario
    }

    private static func fromNow() -> Scenario {
        var log = begun("from-now")
        let scenario = Scenario(
            "from-now", "a member without history", tresor: log.tresor, people: [("anna", anna), ("house", house)])
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        let before = seal(log, anna, tag: "before")
        log.grantFromNow([house], role: 3)
        scenario.append(
            "dr-house reads from now on", log.entries[1],
            wraps: [(anna, log.current, true), (house, log.current, false)])
        let after = seal(log, anna, tag: "after")
        scenario.open("sealed before", by: "house", before, error: "no_access")
        scenario.open("sealed after", by: "house", after, content: plan)
        scenario.open("anna opens what was before", by: "anna", before, content: plan)
        log.rotate()
        scenario.append(
            "another epoch", log.entries[2], wraps: [(anna, log.current, true), (house, log.current, false)])
        scenario.open("the epoch in between, by its own wrap", by: "house", after, content: plan)
        let leaked = Wrapping(log.current, tresor: log.tresor, for: house, history: true, eseed: log.draw("leak", 64))
        scenario.putWrap(
            "a history key in his wrap", user: house, epoch: 3, leaked.bytes, except: ["house": .init(keys: "altered")])
        return scenario
    }

    private static func race() -> Scenario {
        var (scenario, log) = started("race", "two owners act at once", [("bert", bert, 1)])
        let rename = Body.rename(log.name("second", epoch: log.current, sequence: 2).bytes)
        let loser = log.entry(bert, rename)
        log.grant([house], role: 3)
        scenario.append("anna adds dr-house", log.entries[2], wraps: [(house, log.current, true)])
        scenario.append("bert's rename of the same moment", loser)
        log.append(bert, Body.rename(log.name("second", epoch: log.current, sequence: 3).bytes))
        scenario.append("bert tries again", log.entries[3])
        scenario.show("the store shows bert's first try instead", Array(log.entries[..<2]) + [loser])
        scenario.show("and the true log again", log.entries)
        return scenario
    }

    private static func removedWriter() -> Scenario {
        var (scenario, log) = started("removed-writer", "a removed writer goes on writing", [("bert", bert, 2)])
        let kept = log
        log.remove([bert])
        scenario.append("anna removes bert", log.entries[2], wraps: [(anna, log.current, true)], removing: [bert])
        let old = seal(kept, bert, tag: "old head")
        scenario.open("under the old key, at the old head", by: "anna", old, content: plan)
        scenario.open("the same, when a current author is wanted", by: "anna", old, error: "no_access", current: true)
        scenario.open(
            "under the old key, at the new head", by: "anna", seal(log, bert, epoch: 1, tag: "mixed"),
            error: "no_access")
        let stolen = seal(log, bert, tag: "stolen")
        scenario.open("under the new key, had he got it", by: "anna", stolen, error: "no_access")
        var branch = kept
        branch.grant([house], role: 3, by: bert)
        scenario.show("the store shows an entry that bert made up", branch.entries)
        scenario.show("and the true log again", log.entries)
        return scenario
    }

    private static func rollback() -> Scenario {
        var (scenario, log) = started("rollback", "the store goes back", [("house", house, 3)])
        log.remove([house])
        scenario.append("anna removes dr-house", log.entries[2], wraps: [(anna, log.current, true)], removing: [house])
        scenario.show("the log of before", Array(log.entries[..<2]))
        scenario.show("the genesis alone", Array(log.entries[..<1]))
        scenario.show("nothing", [])
        scenario.open("a file while the store shows nothing", by: "anna", seal(log, anna, tag: "file"), error: "forked")
        scenario.show("the true log again", log.entries)
        scenario.show("with the last entry damaged", Array(log.entries[..<2]) + [log.entries[2].flipped(at: 130)])
        return scenario
    }

    private static func fork() -> Scenario {
        var (scenario, log) = started(
            "fork", "two histories, noticed through a file", [("bert", bert, 1), ("house", house, 3)])
        var branch = log
        log.append(anna, Body.rename(log.name("true", epoch: log.current, sequence: 3).bytes))
        branch.append(bert, Body.rename(branch.name("false", epoch: branch.current, sequence: 3).bytes))
        let claiming = seal(branch, bert, tag: "branch")
        scenario.append("anna renames", log.entries[3])
        scenario.open("a file of an accomplice that names the other branch", by: "house", claiming, error: "forked")
        scenario.open("a file that names the true head", by: "house", seal(log, anna, tag: "true"), content: plan)
        scenario.show("the other branch", branch.entries)
        scenario.open("anything, while the store shows the other branch", by: "house", claiming, error: "forked")
        scenario.show("the true branch again", log.entries)
        return scenario
    }

    private static func swappedWraps() -> Scenario {
        let (scenario, log) = started(
            "swapped-wraps", "the store hands out wraps of others", [("bert", bert, 2), ("house", house, 3)])
        func wrap(_ person: Person, tag: String) -> Bytes {
            Wrapping(log.current, tresor: log.tresor, for: person, eseed: log.draw("eseed \(tag)", 64)).bytes
        }
        let spoiled: [String: Scenario.Exception] = ["house": .init(keys: "altered")]
        scenario.putWrap(
            "bert's wrap under dr-house's name", user: house, epoch: 1, wrap(bert, tag: "bert"), except: spoiled)
        scenario.deleteWrap("none for bert", user: bert, epoch: 1, except: spoiled)
        scenario.putWrap("a new one for bert", user: bert, epoch: 1, wrap(bert, tag: "again"), except: spoiled)
        scenario.open(
            "with a spoiled wrap", by: "house", seal(log, anna, tag: "file"), error: "altered", except: spoiled)
        scenario.putWrap("a new one for dr-house", user: house, epoch: 1, wrap(house, tag: "house"))
        return scenario
    }

    private static func dishonestOwner() -> Scenario {
        var (scenario, log) = started(
            "dishonest-owner", "keys that the log did not commit to, keys used twice, a spoiled back-link",
            [("house", house, 3)])
        let other = EpochSecret(
            tresor: log.tresor, number: 2, tk: log.draw("other TK", 32), hk: log.draw("other HK", 32),
            links: [log.current.link], salt: log.draw("other salt", 24))
        log.rotate()
        scenario.append(
            "an epoch, with another key for dr-house", log.entries[2],
            wraps: [(anna, log.current, true), (house, other, true)], except: ["house": .init(keys: "altered")])
        let file = FileSealing(
            plan, author: anna, time: log.time, tresor: log.tresor, epoch: other, head: log.head(at: 2),
            salt: log.draw("x", 24))
        scenario.open(
            "a file under the key that only he was given", by: "anna", file, error: "altered",
            except: ["house": .init(keys: "altered")])
        return scenario
    }

    private static func generation() -> Scenario {
        var (scenario, log) = started("generation", "anna renews her identity", [("house", house, 3)])
        let before = seal(log, anna, tag: "before")
        let renewed = anna.renewed("anna", time: log.time)
        scenario.renewIdentity("anna has new keys in her home", "anna", renewed)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        let waiting: [String: Scenario.Exception] = ["house": .init(founder: "renewed")]
        scenario.append("her new card is in the log", log.entries[2], except: waiting)
        log.founder = renewed
        log.rotate()
        scenario.append(
            "and a new epoch", log.entries[3], wraps: [(renewed, log.current, true), (house, log.current, true)],
            except: waiting)
        let after = seal(log, renewed, tag: "after")
        scenario.open("what the compared generation signed", by: "house", before, content: plan, except: waiting)
        scenario.open("what the new generation signed", by: "house", after, error: "unverified", except: waiting)
        scenario.pin("they compare numbers again", by: "house", renewed)
        scenario.open("what the new generation signed, now", by: "house", after, content: plan)
        scenario.open(
            "the old generation at the new head", by: "house", seal(log, renewed, generation: 0, tag: "stale"),
            error: "no_access")
        return scenario
    }

    private static func changedPerson() -> Scenario {
        let impostor = Person("impostor", handle: ascii("anna"))
        let (scenario, log) = started(
            "changed-person", "the founder is not the person that was compared",
            [("bert", bert, 2), ("house", house, 3)],
            pins: ["anna": [bert, house], "bert": [impostor], "house": []])
        _ = scenario
        let views: [String: Scenario.Exception] = [
            "bert": .init(founder: "changed"), "house": .init(founder: "unverified"),
        ]
        let checked = Scenario(
            "changed-person", "the founder is not the person that was compared", tresor: log.tresor,
            people: [("anna", anna), ("bert", bert), ("house", house)],
            pins: ["anna": [bert, house], "bert": [impostor], "house": []])
        checked.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)], except: views)
        checked.append("anna adds bert", log.entries[1], wraps: [(bert, log.current, true)], except: views)
        checked.append("anna adds dr-house", log.entries[2], wraps: [(house, log.current, true)], except: views)
        let file = seal(log, anna, tag: "file")
        checked.open(
            "somebody else was compared under the handle", by: "bert", file, error: "unverified", except: views)
        checked.open("nobody was compared", by: "house", file, error: "unverified", except: views)
        let compared: [String: Scenario.Exception] = ["bert": .init(founder: "changed")]
        checked.pin("they compare", by: "house", anna, except: compared)
        checked.open("now", by: "house", file, content: plan, except: compared)
        return checked
    }

    private static func interrupted() -> Scenario {
        var log = begun("interrupted")
        let scenario = Scenario(
            "interrupted-share", "a store that keeps half of what it was given", tresor: log.tresor,
            people: [("anna", anna), ("house", house)])
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        log.grant([house], role: 3)
        scenario.append("the grant is there, the wrap is not", log.entries[1])
        let file = seal(log, anna, tag: "file")
        scenario.open("without a wrap", by: "house", file, error: "no_access")
        let wrap = Wrapping(log.current, tresor: log.tresor, for: house, eseed: log.draw("eseed", 64))
        scenario.putWrap(
            "half a wrap", user: house, epoch: 1, Bytes(wrap.bytes.prefix(600)),
            except: ["house": .init(keys: "altered")])
        scenario.putWrap("the wrap is put again", user: house, epoch: 1, wrap.bytes)
        scenario.open("with a wrap", by: "house", file, content: plan)
        return scenario
    }
}

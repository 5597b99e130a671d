// SPDX-License-Identifier: Apache-2.0

/// Histories that depend on the compared people and on the time of the comparison.
extension Scenarios {
    /// The log vouches for members that no one compared. A compared person is trusted up to the compared generation.
    static func pinnedAuthor() -> Scenario {
        var log = begun("pinned-author")
        let impostor = Person("impostor", handle: ascii("bert"))
        let renewed = bert.renewed("bert", time: 1_767_350_000)
        let again = bert.renewed("bert again", time: 1_767_350_001)
        let scenario = Scenario(
            "pinned-author", "authors against pins", tresor: log.tresor,
            people: [("anna", anna), ("bert", bert), ("house", house), ("cleo", Cast.cleo), ("dora", Cast.dora)],
            pins: [
                "anna": [renewed, house], "bert": [anna], "house": [anna, bert], "cleo": [anna, impostor],
                "dora": [anna, again],
            ])
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        for (person, role) in [(bert, UInt8(2)), (house, 3), (Cast.cleo, 3), (Cast.dora, 3)] {
            log.grant([person], role: role)
            scenario.append(
                "anna adds a member", log.entries[log.entries.count - 1], wraps: [(person, log.current, true)])
        }
        let early = seal(log, bert, tag: "early")
        scenario.open("by who was compared", by: "house", early, content: plan)
        scenario.open("by who was compared with a longer chain", by: "anna", early, content: plan)
        scenario.open("somebody else is pinned under the author's handle", by: "cleo", early, error: "unverified")
        scenario.renewIdentity("bert has new keys", "bert", renewed)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        scenario.append("his new card is in the log", log.entries[5])
        scenario.open(
            "another card of a generation was compared than the log has", by: "dora", early, error: "forked")
        log.rotate()
        let members = [anna, renewed, house, Cast.cleo, Cast.dora]
        scenario.append("anna changes the key", log.entries[6], wraps: members.map { ($0, log.current, true) })
        let late = seal(log, renewed, tag: "late")
        scenario.open("by a generation that was not compared", by: "house", late, error: "unverified")
        scenario.open("by a generation that was", by: "anna", late, content: plan)
        scenario.open("by oneself", by: "bert", late, content: plan)
        let resealed = FileSealing(
            plan, author: anna, time: log.time, tresor: log.tresor, epoch: log.current, head: log.head(at: 6),
            origin: late, salt: log.draw("salt resealed", 24))
        scenario.open("sealed again by who was compared", by: "house", resealed, error: "unverified")
        scenario.open("what the earlier generation sealed", by: "house", early, content: plan)
        scenario.pin("they compare numbers again", by: "house", renewed)
        scenario.open("now", by: "house", resealed, content: plan)
        return scenario
    }

    /// A home restored from an old copy, and a founder compared before the log knew.
    static func oldHome() -> Scenario {
        var log = begun("old-home")
        let renewed = anna.renewed("anna", time: 1_767_350_000)
        let scenario = Scenario(
            "old-home", "a home restored from an old copy, and a founder compared before the log knew",
            tresor: log.tresor, people: [("anna", anna), ("house", house), ("cleo", Cast.cleo)],
            pins: ["anna": [house, Cast.cleo], "house": [anna], "cleo": [renewed]])
        let ahead: [String: Scenario.Exception] = ["cleo": .init(founder: "unverified")]
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)], except: ahead)
        for person in [house, Cast.cleo] {
            log.grant([person], role: 3)
            scenario.append(
                "anna adds a member", log.entries[log.entries.count - 1], wraps: [(person, log.current, true)],
                except: ahead)
        }
        let file = seal(log, anna, tag: "file")
        scenario.open("the log shows an older generation", by: "cleo", file, error: "unverified", except: ahead)
        scenario.open("before anna's new number is compared", by: "house", file, content: plan, except: ahead)
        let both = ahead.merging(["house": .init(founder: "unverified")]) { old, _ in old }
        scenario.pin("house compares anna's new number", by: "house", renewed, except: both)
        scenario.open("a tresor that was verified before", by: "house", file, content: plan, except: both)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        scenario.append(
            "another device of anna puts her new card into the log", log.entries[3],
            except: ahead.merging(["anna": .init(founder: "renewed")]) { old, _ in old })
        log.founder = renewed
        log.rotate()
        let stale: [String: Scenario.Exception] = ["anna": .init(keys: "no_access", founder: "renewed")]
        scenario.append(
            "and changes the key", log.entries[4],
            wraps: [renewed, house, Cast.cleo].map { ($0, log.current, true) }, except: stale)
        scenario.open(
            "with an old copy of the home, by the wrap of the epoch before", by: "anna", file, content: plan,
            except: stale)
        scenario.open(
            "the same home and what the new generation sealed", by: "anna", seal(log, renewed, tag: "new too"),
            error: "unverified", except: stale)
        scenario.open(
            "what the new generation sealed", by: "cleo", seal(log, renewed, tag: "new"), content: plan, except: stale)
        scenario.renewIdentity("anna's home has the new keys", "anna", renewed)
        scenario.open("now", by: "anna", file, content: plan)
        return scenario
    }
    /// The founder's generation at the head decides, independent of the sealer.
    static func renewedFounder() -> Scenario {
        var log = begun("renewed-founder")
        let scenario = Scenario(
            "renewed-founder", "files of another author before and after the founder renewed", tresor: log.tresor,
            people: [("anna", anna), ("bert", bert), ("house", house)])
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        for (person, role) in [(bert, UInt8(2)), (house, 3)] {
            log.grant([person], role: role)
            scenario.append(
                "anna adds somebody", log.entries[log.entries.count - 1], wraps: [(person, log.current, true)])
        }
        let before = seal(log, bert, tag: "before")
        let renewed = anna.renewed("anna", time: log.time)
        let waiting: [String: Scenario.Exception] = [
            "bert": .init(founder: "renewed"), "house": .init(founder: "renewed"),
        ]
        scenario.renewIdentity("anna has new keys", "anna", renewed)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        scenario.append("her new card is in the log", log.entries[3], except: waiting)
        log.founder = renewed
        log.rotate()
        scenario.append(
            "and a new epoch", log.entries[4],
            wraps: [renewed, bert, house].map { ($0, log.current, true) }, except: waiting)
        let after = seal(log, bert, tag: "after")
        scenario.open(
            "bert's file at a head of the compared generation", by: "house", before, content: plan, except: waiting)
        scenario.open(
            "bert's file at a head of a generation that nobody compared", by: "house", after, error: "unverified",
            except: waiting)
        scenario.open("the same, by bert himself", by: "bert", after, error: "unverified", except: waiting)
        scenario.pin(
            "house compares anna's new number", by: "house", renewed, except: waiting.filter { $0.key == "bert" })
        scenario.open("now", by: "house", after, content: plan, except: waiting.filter { $0.key == "bert" })
        return scenario
    }
    /// A pin replaced by another person gives no more trust than none.
    static func replacedPin() -> Scenario {
        var log = begun("replaced-pin")
        let impostor = Person("impostor", handle: ascii("bert"))
        let again = bert.renewed("bert again", time: 1_767_350_001)
        let scenario = Scenario(
            "replaced-pin", "authors whose pin was replaced by another person's", tresor: log.tresor,
            people: [("anna", anna), ("bert", bert), ("house", house), ("cleo", Cast.cleo), ("dora", Cast.dora)],
            pins: [
                "anna": [bert], "bert": [anna], "house": [anna, impostor], "cleo": [anna, impostor],
                "dora": [anna],
            ], replaced: ["house": [bert], "cleo": [again], "dora": [bert]])
        scenario.append("anna makes a tresor", log.entries[0], wraps: [(anna, log.current, true)])
        for (person, role) in [(bert, UInt8(2)), (house, 3), (Cast.cleo, 3), (Cast.dora, 3)] {
            log.grant([person], role: role)
            scenario.append(
                "anna adds somebody", log.entries[log.entries.count - 1], wraps: [(person, log.current, true)])
        }
        let file = seal(log, bert, tag: "file")
        scenario.open("another person was pinned in the author's place", by: "house", file, error: "unverified")
        scenario.open(
            "the same, the pin that was replaced being longer than the log's chain", by: "cleo", file,
            error: "unverified")
        scenario.open("nobody is pinned in the author's place", by: "dora", file, content: plan)
        let renewed = bert.renewed("bert", time: 1_767_350_000)
        scenario.renewIdentity("bert has new keys", "bert", renewed)
        log.append(renewed, Body.renew(renewed.newest.card), generation: 0)
        scenario.append("his new card is in the log", log.entries[5])
        log.rotate()
        scenario.append(
            "anna changes the key", log.entries[6],
            wraps: [anna, renewed, house, Cast.cleo, Cast.dora].map { ($0, log.current, true) })
        let late = seal(log, renewed, tag: "late")
        scenario.open(
            "another card of a generation than the pin that was replaced has", by: "cleo", late, error: "unverified")
        scenario.open("a newer generation than the pin that was replaced has", by: "dora", late, content: plan)
        scenario.open("by who was compared with the earlier generation", by: "anna", late, error: "unverified")
        return scenario
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// New keys that this home has compared and no log knows, a member's and a founder's who left (SPEC §9.7).
    @Suite struct SupersededCards {
        let stage: CommandStage
        let anna: Session
        let max: Session
        let house: Session
        let tresor: TresorID

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.person("anna")
            max = try await stage.person("max")
            house = try await stage.person("house")
            try stage.world.introduce(anna, max, house)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.share(tresor, with: [max], as: .owner)
            try await anna.share(tresor, with: [house], as: .writer)
            try stage.write(Array("plan".utf8), to: "plan")
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@old.tresor")
            for name in ["max", "house"] { try await stage.expect(0, as: name, "decrypt", "@old.tresor") }
        }

        private func withholds(_ lie: CommandStage.Lie) -> Bool { lie == .withholdsAllWraps }

        @Test(arguments: [CommandStage.Lie.none, .withholdsAllWraps, .showsOldCards])
        func A203_whatWasStolenWithAnOldCardOpensNothingNew(lie: CommandStage.Lie) async throws {
            // The thief keeps the old home; the new keys live in another.
            let (next, sealed) = try house.identity.renewCard(time: stage.world.clock.now)
            let renewed = try await stage.settle(next, previous: [sealed], at: "house-new")
            try renewed.client.people.pinBlocking(anna.identity.chain)
            try anna.client.people.pinBlocking(next.chain)
            stage.tell(lie)
            let rotated = try await stage.expect(withholds(lie) ? 18 : 0, as: "anna", "rotate", "-t", "plans", "--yes")
            #expect(rotated.error.contains("plans now has the new keys of house, which you compared"))
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            let log = try await stage.expect(0, as: "anna", "log", "-t", "plans")
            #expect(log.text.contains("added new keys of house, generation 1"))
            let thief = try await stage.expect(13, as: "house", "decrypt", "@new.tresor")
            #expect(thief.output.isEmpty)
            stage.evil.behave()
            try await stage.expect(13, as: "house", "decrypt", "@new.tresor")
            for file in ["@old.tresor", "@new.tresor"] {
                #expect(try await stage.expect(0, as: "house-new", "decrypt", file).text == "plan")
            }
        }

        /// Files of the old generation are not current for a home that has compared the new one.
        @Test func A203_theOldGenerationIsNotCurrent() async throws {
            try await stage.expect(0, as: "house", "encrypt", "-t", "plans", "@plan", "-o", "@theirs.tresor")
            try await stage.expect(0, as: "anna", "decrypt", "--current", "@theirs.tresor")
            try anna.client.people.pinBlocking(try await stage.renew(house, at: "house").identity.chain)
            try await stage.expect(13, as: "anna", "decrypt", "--current", "@theirs.tresor")
            let opened = try await stage.expect(0, as: "anna", "decrypt", "@theirs.tresor")
            #expect(opened.error.contains("from house (verified, has new keys since "))
            let check = try await stage.expect(0, as: "anna", "check", "--deep", "@theirs.tresor")
            #expect(check.text.contains(/^warn .*theirs.tresor".*has new keys since/.anchorsMatchLineEndings()))
        }

        @Test(arguments: [CommandStage.Lie.none, .withholdsAllWraps, .showsOldCards])
        func A203_aFounderWhoLeftAndRenewedStopsNobody(lie: CommandStage.Lie) async throws {
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "--me", "--yes")
            let next = try await stage.renew(anna, at: "anna")
            try max.client.people.pinBlocking(next.identity.chain)
            stage.tell(lie)
            let opened = try await stage.expect(0, as: "max", "decrypt", "@old.tresor")
            #expect(opened.text == "plan" && opened.error.contains(", left "), "\(opened.error)")
            try await stage.expect(0, as: "max", "members", "-t", "plans", "--at", "1")
            // The key must change because she left. A store that hides its wraps is reported once.
            try await stage.expect(
                withholds(lie) ? 18 : 0, as: "max", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await stage.expect(0, as: "max", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await stage.expect(withholds(lie) ? 18 : 0, as: "max", "rotate", "-t", "plans", "--yes")
            try await stage.expect(withholds(lie) ? 18 : 0, as: "max", "revoke", "-t", "plans", "house", "--yes")
            let log = try await stage.expect(0, as: "max", "log", "-t", "plans")
            #expect(log.text.contains("added new keys of anna, generation 1"))
            stage.evil.behave()
            try await stage.expect(0, as: "max", "share", "-t", "plans", "house", "--role", "owner")
            try await stage.expect(0, as: "max", "share", "-t", "plans", "anna", "--role", "owner")
            // House has to compare the new keys first: the file is newer than they are in the log.
            try await stage.expect(16, as: "house", "decrypt", "@new.tresor")
            try house.client.people.pinBlocking(next.identity.chain)
            for name in ["max", "house", "anna"] {
                #expect(try await stage.expect(0, as: name, "decrypt", "@new.tresor").text == "plan", "\(name)")
            }
            try await stage.expect(0, as: "max", "revoke", "-t", "plans", "--me", "--yes")
        }
    }
}

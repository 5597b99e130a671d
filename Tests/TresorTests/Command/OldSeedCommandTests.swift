// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// The thief of an old seed, a store and a stale home against a renewal (SPEC §7.5, §8.4).
    @Suite struct OldSeeds {
        let stage: CommandStage
        let bob: Session

        init() async throws {
            stage = try CommandStage()
            bob = try await stage.person("bob")
            try stage.write(Array("plan".utf8), to: "plan")
        }

        /// Anna renews; the thief has a copy of her home of before.
        ///
        /// - Returns: the tresor that the thief founds, and anna before and after. A file of it lies in `dose.tresor`.
        private func trap() async throws -> (tresor: TresorID, old: Identity, new: Identity) {
            let anna = try await stage.person("anna")
            try stage.world.introduce(anna, bob)
            let plans = try await anna.tresors.create(Name(typed: "plans")).tresor
            try stage.copy("anna", to: "thief")
            let me = try await stage.renew(anna, at: "anna")
            try await me.tresors.perform(.renew, on: plans)
            try await me.tresors.perform(.rotate, on: plans)
            let thief = stage.inLeague(anna.identity, at: "thief")
            let trap = try await thief.tresors.create(Name(typed: "medication")).tresor
            try await thief.share(trap, with: [bob], as: .owner)
            try stage.write(try await thief.seal("dose", in: trap).bytes, to: "dose.tresor")
            return (trap, anna.identity, me.identity)
        }

        @Test(arguments: [CommandStage.Lie.none, .withholdsAllWraps, .showsOldCards])
        func A201_whatAThiefFoundsIsNotMine(lie: CommandStage.Lie) async throws {
            let trap = try await trap().tresor.description
            stage.tell(lie)
            let list = try await stage.expect(0, as: "anna", "list")
            #expect(list.text.contains(/\nplans +anna +owner +1 +2 +ok\nnot verified:\n/), "\(list.text)")
            // Without a wrap not even the name is readable, and the entry still lies apart.
            let words = lie == .withholdsAllWraps ? "no access" : "made with your old keys"
            #expect(list.text.hasSuffix(" anna  owner  2       1    \(words)\n"), "\(list.text)")
            let (home, writes) = (try stage.home("anna"), stage.evil.writeCount)
            let refused = try await stage.expect(16, as: "anna", "decrypt", "@dose.tresor")
            #expect(refused.output.isEmpty && refused.error.contains("was made with your old keys"))
            try await stage.expect(16, as: "anna", "encrypt", "-t", trap, "@plan", "-o", "@x.tresor")
            try await stage.expect(16, as: "anna", "rotate", "-t", trap, "--yes")
            try await stage.expect(16, as: "anna", "share", "-t", trap, "bob", "--role", "writer")
            try await stage.expect(16, as: "anna", "revoke", "-t", trap, "bob", "--yes")
            // Only a person at a terminal can confirm it.
            try await stage.expect(64, as: "anna", "verify", "--mine", trap)
            let isReadable = lie != .withholdsAllWraps
            try await stage.expect(
                isReadable ? 0 : 13, as: "anna", "decrypt", "--accept-unverified", "@dose.tresor")
            #expect(try stage.home("anna") == home && stage.evil.writeCount == writes)
            stage.evil.behave()
            try await stage.expect(0, as: "anna", "revoke", "-t", trap, "--me", "--yes")
            try await stage.expect(0, as: "anna", "check", "--deep")
        }

        @Test func A201_whoComparedTheNewNumberIsToldWhatProvesNothing() async throws {
            let (trap, old, new) = try await trap()
            // Cards are public: the thief puts the newest one into the log.
            try await stage.append(.renew(RenewBody(new.chain.newest)), by: old, to: trap)
            try bob.client.people.pinBlocking(new.chain)
            let (home, writes) = (try stage.home("bob"), stage.evil.writeCount)
            for words in [
                ["encrypt", "-t", trap.description, "@plan", "-o", "@x.tresor"], ["decrypt", "@dose.tresor"],
                ["rotate", "-t", trap.description, "--yes"],
            ] {
                let refused = try await stage.run(as: "bob", words)
                #expect(refused.code == 16 && refused.output.isEmpty, "\(words): \(refused.code) \(refused.error)")
                let reason = "signed with the new keys of anna, the owner: somebody with the old ones may have made it"
                #expect(refused.error.contains(reason), "\(words): \(refused.error)")
            }
            #expect(try stage.home("bob") == home && stage.evil.writeCount == writes)
        }

        private let rotation = ["rotate", "--identity", "--no-kit", "--yes", "--password-file", "@password", "--json"]

        /// - Returns: the generation that the command says it made; `nil` where it said none.
        private func rotate(_ code: Int32, as name: String = "anna") async throws -> Int? {
            let ending = try await stage.run(as: name, rotation)
            #expect(ending.code == code, "\(ending.text)\(ending.error)")
            return ending.text.firstMatch(of: /"generation":(\d+)/).flatMap { Int($0.1) }
        }

        @Test func A202_nothingTurnsARenewalIntoNothing() async throws {
            let client = stage.client("anna")
            let anna = try await client.makeIdentity(
                handle: Name(typed: "anna"), password: try password("anna"), cost: .floor)
            try await anna.people.publishCard()
            try stage.write(Array("password of anna".utf8), to: "password")
            #expect(chmod(stage.path("password"), 0o600) == 0)
            let old = anna.identity.chain.bytes
            try stage.copy("anna", to: "stale")
            #expect(try await rotate(0) == 1)
            // The old card is no unfinished renewal, however often a store shows it; nor is a tresor that names it.
            stage.evil.late(old, old)
            #expect(try await rotate(0) == 2)
            try bob.client.people.pinBlocking(anna.identity.chain)
            let bait = try await bob.tresors.create(Name(typed: "bait")).tresor
            try await bob.share(bait, with: [anna])
            #expect(try await rotate(16) == nil)
            #expect(try client.identityFileBlocking().chain.newest.generation == 3)

            let (home, stale) = (try stage.home("anna"), try stage.home("stale"))
            let writes = stage.evil.writeCount
            // A stale copy of the home, another person's card in place of the own one, and a store that does not
            // answer.
            #expect(try await rotate(15, as: "stale") == nil)
            let other = bob.identity.chain.bytes
            stage.evil.showCards { _ in other }
            #expect(try await rotate(14) == nil)
            stage.evil.behave()
            stage.evil.fail(after: 0, behind: false)
            #expect(try await rotate(18) == nil)
            #expect(try stage.home("anna") == home && stage.home("stale") == stale)
            #expect(stage.evil.writeCount == writes)
        }

        /// Of an old copy is said only what follows this home's keys. Another person's card accuses nobody.
        @Test func A202_anotherCardInThePlaceOfTheOwnOneIsToldApart() async throws {
            let first = try await stage.person("anna")
            let anna = try await stage.renew(first, at: "anna")
            let time = stage.world.clock.now
            let cards = [
                (bob.identity.chain, 14, "damaged, forged, or not what was asked for"),
                (try first.identity.renewCard(time: time).0.chain, 15, "other keys of yours, signed with your older"),
                (try anna.identity.renewCard(time: time).0.chain, 15, "newer keys of yours: this home is an old copy"),
            ]
            for (chain, code, words) in cards {
                let bytes = chain.bytes
                stage.evil.showCards { _ in bytes }
                for act in [["card", "--publish"], ["recover", "--new-kit", "--kit", "@kit"], ["check"]] {
                    let ending = try await stage.run(as: "anna", act)
                    #expect(ending.code == Int32(code), "\(act): \(ending.text)\(ending.error)")
                    #expect((ending.text + ending.error).contains(words), "\(act): \(ending.text)\(ending.error)")
                }
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// A writer, or a second owner, who locks everybody out, and a store that helps them (SPEC §9.6).
    @Suite struct WithheldEpochs {
        enum Villain: CaseIterable { case writer, owner }

        let stage: CommandStage
        let anna: Session
        let bob: Session
        let tresor: TresorID

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.person("anna")
            bob = try await stage.person("bob")
            let house = try await stage.person("house")
            try stage.world.introduce(anna, bob, house)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.share(tresor, with: [house])
            try stage.write(Array("plan".utf8), to: "plan")
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@old.tresor")
            try await stage.expect(0, as: "house", "decrypt", "@old.tresor")
        }

        private func admit(_ villain: Villain) async throws {
            try await anna.share(tresor, with: [bob], as: villain == .owner ? .owner : .writer)
        }

        /// A writer has to mark the tresor by a renewal of hers; an owner begins two epochs, one behind the other.
        ///
        /// - Returns: the newest epoch. A file of it lies in `theirs.tresor`.
        private func lockOut(_ villain: Villain) async throws -> UInt64 {
            let first = try await anna.keyRing.keys(of: 1, in: stage.state(of: tresor))
            var author = bob.identity
            if villain == .writer {
                author = try await stage.renew(bob, at: "bob").identity
                try await stage.append(.renew(RenewBody(author.chain.newest)), by: author, generation: 0, to: tresor)
            }
            var theirs = try await stage.withhold(by: author, in: tresor, linking: first)
            if villain == .owner { theirs = try await stage.withhold(by: author, in: tresor, linking: theirs.keys) }
            try stage.write(theirs.file.bytes, to: "theirs.tresor")
            return theirs.keys.epoch
        }

        private func expectPlan(_ file: String, as name: String) async throws {
            let opened = try await stage.expect(0, as: name, "decrypt", "@\(file)")
            #expect(opened.text == "plan", "\(name) \(file)")
        }

        @Test(arguments: Villain.allCases, [CommandStage.Lie.none, .withholdsAllWraps])
        func A200_theFounderReadsRevokesAndContinues(villain: Villain, lie: CommandStage.Lie) async throws {
            try await admit(villain)
            let epoch = try await lockOut(villain)
            stage.tell(lie)
            for name in ["anna", "house"] { try await expectPlan("old.tresor", as: name) }
            let refused = try await stage.expect(13, as: "anna", "decrypt", "@theirs.tresor")
            #expect(refused.output.isEmpty && refused.error.contains("you have no key \(epoch) of plans"))
            let check = try await stage.expect(0, as: "anna", "check")
            let withholds = lie != .none
            #expect(check.text.contains("key \(epoch), begun by bob, reaches \(withholds ? 0 : 1) of 3 members"))
            // A store that does not return a new object is reported at once.
            try await stage.expect(withholds ? 18 : 0, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            for file in ["old.tresor", "new.tresor"] { try await expectPlan(file, as: "anna") }
            stage.evil.behave()
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            for name in ["anna", "house"] {
                for file in ["old.tresor", "new.tresor"] { try await expectPlan(file, as: name) }
            }
            try await stage.expect(13, as: "bob", "decrypt", "@new.tresor")
            #expect(try await stage.state(of: tresor).epoch == epoch + 1)
            try await stage.expect(0, as: "anna", "check", "--deep", "@old.tresor", "@new.tresor")
        }

        /// The wraps of the epochs before are enough.
        @Test func A200_oldWrapsAloneAreEnough() async throws {
            try await admit(.writer)
            _ = try await lockOut(.writer)
            stage.tell(.givesOldWraps)
            try anna.client.home.delete(.wraps)
            try await expectPlan("old.tresor", as: "anna")
            // The store does not return the new wraps, and the command reports it. The rotation counts.
            try await stage.expect(18, as: "anna", "rotate", "-t", "plans", "--yes")
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            stage.evil.behave()
            for file in ["old.tresor", "new.tresor"] { try await expectPlan(file, as: "house") }
        }

        /// A store that first shows it and then not is another history, and nothing is sent into that.
        @Test(arguments: Villain.allCases)
        func A200_aLockoutThatIsHiddenAgainIsForked(villain: Villain) async throws {
            try await admit(villain)
            let count = try await stage.entries(of: tresor).count
            _ = try await lockOut(villain)
            try await stage.expect(0, as: "anna", "list")
            stage.evil.frozen(count)
            let (home, writes) = (try stage.home("anna"), stage.evil.writeCount)
            try await stage.expect(15, as: "anna", "decrypt", "@old.tresor")
            try await stage.expect(15, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await stage.expect(15, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            try await stage.expect(15, as: "anna", "rotate", "-t", "plans", "--yes")
            try await stage.expect(15, as: "anna", "list")
            try await stage.expect(15, as: "anna", "check")
            #expect(try stage.home("anna") == home && stage.evil.writeCount == writes)
            let known = try await stage.expect(0, as: "anna", "decrypt", "--accept-forked", "@old.tresor")
            #expect(known.text == "plan")
            stage.evil.behave()
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await expectPlan("new.tresor", as: "house")
        }

        /// A home that has lost its own wraps depends on the store, and says that it is the store's fault.
        @Test func A200_withoutAnyWrapTheStoreIsAtFault() async throws {
            try await anna.tresors.perform(.rotate, on: tresor)
            try anna.client.home.delete(.wraps)
            stage.tell(.withholdsAllWraps)
            let writes = stage.evil.writeCount
            try await stage.expect(18, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await stage.expect(13, as: "anna", "decrypt", "@old.tresor")
            #expect(stage.evil.writeCount == writes)
            stage.evil.behave()
            try await stage.expect(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@new.tresor")
            try await expectPlan("old.tresor", as: "anna")
        }
    }
}

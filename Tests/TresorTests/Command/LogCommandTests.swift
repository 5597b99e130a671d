// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// Logs with unexpected entries, and stores that show too little of a log.
    @Suite struct Logs {
        let stage: CommandStage
        let anna: Session
        let bob: Session
        let house: Session
        let tresor: TresorID

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.person("anna")
            bob = try await stage.person("bob")
            house = try await stage.person("house")
            try stage.world.introduce(anna, bob, house)
            tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            try await anna.share(tresor, with: [house])
            try stage.write(Array("plan".utf8), to: "plan")
            try await seal("old.tresor")
            try await stage.expect(0, as: "house", "decrypt", "@old.tresor")
        }

        private func seal(_ file: String, as name: String = "anna") async throws {
            try await stage.expect(0, as: name, "encrypt", "-t", "plans", "@plan", "-o", "@\(file)")
        }

        /// A body of a later release, by anybody.
        private func entry(_ type: UInt16, by author: Identity, isSigned: Bool = true) async throws -> [UInt8] {
            let head = try await stage.state(of: tresor).head
            let leave = try Entry(
                tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: author,
                time: stage.world.clock.now, body: .leave)
            let body = [UInt8](repeating: 1, count: 40)
            let signed =
                Array(leave.signed.dropLast(6)) + bigEndianBytes(type) + bigEndianBytes(UInt32(body.count)) + body
            return isSigned ? try author.entry(signed) : signed + [UInt8](repeating: 0, count: 64)
        }

        private func expectEverywhere(_ code: Int32) async throws {
            let writes = stage.evil.writeCount
            for words in [
                ["list"], ["log", "-t", "plans"], ["members", "-t", "plans"], ["check"], ["decrypt", "@old.tresor"],
                ["revoke", "-t", "plans", "house", "--yes"], ["encrypt", "-t", "plans", "@plan", "-o", "@x.tresor"],
            ] {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.code == code, "\(words): \(ending.text)\(ending.error)")
            }
            #expect(stage.evil.writeCount == writes)
            let opened = try await stage.expect(0, as: "anna", "decrypt", "--accept-forked", "@old.tresor")
            #expect(opened.text == "plan")
        }

        /// A stranger, a reader or an unsigned entry cannot claim that there is a newer release.
        @Test(arguments: [99, 200] as [UInt16])
        func A205_theBodyOfNobodyEntitledIsNoNewerRelease(type: UInt16) async throws {
            stage.evil.append(try await entry(type, by: identity("stranger")))
            try await expectEverywhere(13)
            stage.evil.append(try await entry(type, by: anna.identity, isSigned: false))
            try await expectEverywhere(14)
            if type >= 128 {
                stage.evil.append(try await entry(type, by: house.identity))
                try await expectEverywhere(13)
            }
            stage.evil.behave()
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "house", "--yes")
        }

        @Test func A205_theBodyOfAnEntitledAuthorIsANewerRelease() async throws {
            stage.evil.append(try await entry(99, by: anna.identity))
            try await expectEverywhere(19)
            stage.evil.behave()
            try await seal("new.tresor")
        }

        @Test func A205_anAdditiveBodyStopsNothing() async throws {
            try await anna.share(tresor, with: [bob], as: .writer)
            try await stage.append(.additive(AdditiveBody(type: 200, [1, 2])), by: bob.identity, to: tresor)
            for name in ["anna", "house"] {
                #expect(try await stage.expect(0, as: name, "decrypt", "@old.tresor").text == "plan")
                try await stage.expect(0, as: name, "list")
                try await stage.expect(0, as: name, "members", "-t", "plans")
                let log = try await stage.expect(0, as: name, "log", "-t", "plans")
                #expect(log.text.contains(/bob +added an entry of kind 200, which this release does not know/))
                let check = try await stage.expect(0, as: name, "check")
                #expect(check.text.contains("entry 3 is of kind 200, which this release does not know"))
            }
            try await seal("new.tresor", as: "bob")
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            // The store that takes it away again shows another history.
            stage.evil.drop(3)
            try await stage.expect(14, as: "house", "list")
            stage.evil.frozen(3)
            try await stage.expect(15, as: "house", "list")
        }

        @Test func recordsAreNamedInTheLog() async throws {
            let blob = Blob(hash: .zero, size: 674)
            for body in [
                EntryBody.commit(CommitBody(epoch: 1, blobs: [blob])),
                .checkpoint(CheckpointBody(upto: 2, epoch: 1, volumes: [blob])),
                .commit(CommitBody(epoch: 7, blobs: [blob])),
            ] {
                try await stage.append(body, by: anna.identity, to: tresor)
            }
            let log = try await stage.expect(0, as: "anna", "log", "-t", "plans")
            #expect(log.text.contains(/anna +changed records/))
            #expect(log.text.contains(/anna +sealed the records again/))
            let check = try await stage.expect(0, as: "anna", "check")
            #expect(check.text.contains("entry 4 breaks rule R39 and has no effect"))
        }

        /// A206: under a clock that no owner's entry gives reason to believe, nothing is sealed and no date ends.
        @Test func A206_theClockOf2090EndsNoDate() async throws {
            let day: UInt64 = 86_400
            let now = stage.world.clock.now
            try await anna.share(tresor, with: [bob], as: .writer, notAfter: now + 30 * day)
            stage.world.clock.now = 3_786_912_000
            let writes = stage.evil.writeCount
            for words in [
                ["encrypt", "-t", "plans", "@plan", "-o", "@x.tresor"], ["rotate", "-t", "plans", "--yes"],
                ["revoke", "-t", "plans", "house", "--yes"], ["share", "-t", "plans", "house", "--role", "writer"],
            ] {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.code == 1, "\(words): \(ending.text)\(ending.error)")
                #expect(ending.error.contains("this clock says 2090-01-01, too far from the newest entry"))
            }
            #expect(stage.evil.writeCount == writes)
            // An act under that clock where no date stands, and then the true one.
            let other = try await anna.tresors.create(Name(typed: "other")).tresor
            try await stage.expect(0, as: "anna", "rotate", "-t", "other", "--yes")
            stage.world.clock.now = now + day
            let refused = try await stage.run(as: "anna", ["share", "-t", "other", "bob", "--until", "2026-06-30"])
            #expect(refused.code == 1)
            #expect(refused.error.contains("the newest entry of an owner of other is of 2090-01-01"))
            try await anna.share(other, with: [bob], as: .reader, notAfter: now + 58 * day)
            for name in ["plans", "other"] {
                let sealed = try await stage.expect(0, as: "anna", "encrypt", "-t", name, "@plan", "-o", "@y.tresor")
                #expect(!sealed.error.contains("was removed"), "\(sealed.error)")
            }
            for id in [tresor, other] { #expect(try await stage.state(of: id).members[bob.identity.user] != nil) }
        }

        /// A207: two epochs with one key are refused by the log, in whichever order files are opened.
        @Test func A207_aKeyUsedTwiceIsToldByTheLogAlone() async throws {
            try await anna.share(tresor, with: [bob], as: .owner)
            try await anna.tresors.perform(.rotate, on: tresor)
            try await seal("r2.tresor")
            let state = try await stage.state(of: tresor)
            let second = try await bob.keyRing.keys(of: 2, in: state)
            let secret = try second.secret()
            let third = try EpochKeys(epoch: 3, unwrapped: secret.span)
            let r3 = try FileSealer.sealFile(
                [1], type: .empty, record: .empty, keys: third, state: state, author: bob.identity,
                time: stage.world.clock.now)
            try stage.write(r3.bytes, to: "r3.tresor")
            try stage.copy("anna", to: "late")
            try await stage.expect(0, as: "anna", "list")
            let entry = try Entry(
                tresor: tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: bob.identity,
                time: stage.world.clock.now, body: .epoch(EpochBody(try third.statement(of: tresor, linking: [second])))
            )
            stage.evil.append(entry.bytes)
            for name in ["anna", "late", "house"] {
                for files in [
                    ["@old.tresor", "@r2.tresor", "@r3.tresor"], ["@r3.tresor", "@r2.tresor", "@old.tresor"],
                ] {
                    let ending = try await stage.run(as: name, ["decrypt", "--any-record", "-C", "@."] + files)
                    #expect(ending.code == 14, "\(name): \(ending.error)")
                    for file in files { try await stage.expect(14, as: name, "decrypt", file) }
                }
                try await stage.expect(14, as: name, "log", "-t", tresor.description)
            }
            stage.evil.behave()
            for file in ["@r2.tresor", "@old.tresor"] { try await stage.expect(0, as: "late", "decrypt", file) }
        }

        /// A208: a member who returns makes no older file current again. A store that hides the removal deceives only
        /// those who never saw it.
        @Test func A208_aReturnMakesNothingCurrentAgain() async throws {
            try await anna.share(tresor, with: [bob], as: .writer)
            let count = try await stage.entries(of: tresor).count
            try await seal("his.tresor", as: "bob")
            try await stage.expect(0, as: "anna", "revoke", "-t", "plans", "bob", "--yes")
            try await stage.expect(0, as: "anna", "share", "-t", "plans", "bob", "--role", "writer")
            try await stage.expect(13, as: "anna", "decrypt", "--current", "@his.tresor")
            let opened = try await stage.expect(0, as: "anna", "decrypt", "@his.tresor")
            #expect(opened.error.contains("from bob (verified, removed "))
            stage.evil.frozen(count)
            try await stage.expect(0, as: "house", "decrypt", "--current", "@his.tresor")
            try await stage.expect(15, as: "anna", "decrypt", "@his.tresor")
            stage.evil.behave()
            try await stage.expect(13, as: "house", "decrypt", "--current", "@his.tresor")
            try await seal("again.tresor", as: "bob")
            for name in ["anna", "house"] {
                try await stage.expect(0, as: name, "decrypt", "--current", "@again.tresor")
            }
        }

        /// A210: sealed again, a file would open to a member who was added from now on.
        @Test(arguments: [CommandStage.Lie.none, .withholdsAllWraps])
        func A210_resealWaitsForMembersFromNow(lie: CommandStage.Lie) async throws {
            try await anna.share(tresor, with: [bob], fromNow: true)
            stage.tell(lie)
            let before = try stage.bytes("old.tresor")
            let refused = try await stage.expect(64, as: "anna", "reseal", "@old.tresor")
            #expect(refused.error.contains("is older than the access of bob, who could open it afterwards"))
            #expect(try stage.bytes("old.tresor") == before)
            try await stage.expect(0, as: "anna", "reseal", "--accept-newcomers", "@old.tresor")
            stage.evil.behave()
            for name in ["anna", "bob", "house"] {
                #expect(try await stage.expect(0, as: name, "decrypt", "@old.tresor").text == "plan")
            }
        }

        /// A219: a store that is behind takes no access away; this home opens the files that it has verified before.
        @Test(arguments: [CommandStage.Lie.none, .withholdsAllWraps])
        func A219_aStoreThatIsBehindIsNoLossOfAccess(lie: CommandStage.Lie) async throws {
            let count = try await stage.entries(of: tresor).count
            try await anna.tresors.perform(.rotate, on: tresor)
            try await seal("new.tresor")
            stage.tell(lie)
            stage.evil.frozen(count)
            let behind = try await stage.expect(18, as: "house", "decrypt", "@new.tresor")
            #expect(behind.error.contains("the store is behind, or the file is damaged or not genuine"))
            #expect(try await stage.expect(0, as: "house", "decrypt", "@old.tresor").text == "plan")
            stage.evil.behave()
            try await stage.expect(0, as: "house", "decrypt", "@new.tresor")
            stage.tell(lie)
            stage.evil.frozen(count)
            for file in ["@old.tresor", "@new.tresor"] {
                try await stage.expect(15, as: "house", "decrypt", file)
                #expect(try await stage.expect(0, as: "house", "decrypt", "--accept-forked", file).text == "plan")
            }
        }
    }
}

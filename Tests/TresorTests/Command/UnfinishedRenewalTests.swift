// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// Commands after a renewal of one's keys that was interrupted (SPEC §9.7, `renew`).
    @Suite struct UnfinishedRenewals {
        @Test func eachCommandSaysHowToFinishIt() async throws {
            let stage = try CommandStage()
            let anna = try await stage.personWithPassword("anna")
            try stage.write(Array("words".utf8), to: "plan")
            try await stage.expect(0, as: "anna", "create", "plans")
            let renewed = try await anna.renewal.renew(password: password("anna"), cost: .floor, kit: nil)
            _ = try await renewed.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            let message = "tresor: your new keys are not in all your tresors yet\ntresor: hint: tresor "
            let found = try await stage.expect(0, as: "anna", "check").text
            let way = /your new keys are not in all your tresors yet: tresor .*rotate --identity\n/
            #expect(found.contains(way), "\(found)")
            for words in [["list"], ["encrypt", "-t", "plans", "@plan", "-o", "@sealed"]] {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.error.contains(message), "\(words): \(ending.error)")
                #expect(ending.error.contains(" rotate --identity\n"), "\(words): \(ending.error)")
            }
            // A damaged journal closes nothing: check says that it is damaged.
            let journal = try #require(try anna.client.home.read(.cleanupJournal))
            try anna.client.home.replace(.cleanupJournal, with: [1])
            try await stage.expect(0, as: "anna", "list")
            try anna.client.home.replace(.cleanupJournal, with: journal)
            let finish = ["rotate", "--identity", "--no-kit", "--yes", "--password-file", "@password"]
            let ending = try await stage.run(as: "anna", finish)
            #expect(ending.code == 0, "\(ending.error)")
            #expect(!ending.error.contains(message), "\(ending.error)")
            let after = try await stage.expect(0, as: "anna", "list")
            #expect(!after.error.contains(message), "\(after.error)")
        }
    }
}

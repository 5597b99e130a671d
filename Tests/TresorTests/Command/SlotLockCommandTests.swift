// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// Commands that change the key slots while another one waits for a store that does not answer (SPEC §8.4).
    @Suite struct SlotLocks {
        let stage: CommandStage
        let anna: Session
        private let message =
            "another command changes the password, the kit or the devices of this home; waiting for it"

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.personWithPassword("anna")
        }

        private func changes() throws -> [[String]] {
            let device = try #require(try anna.client.device.idBlocking()).description
            return [
                ["passwd", "--new-password-file", "@password", "--argon2id", "64,3"], ["remember", "--name", "desk"],
                ["device", "revoke", device, "--yes"], ["rotate", "--identity", "--no-kit", "--yes"],
                ["keygen", "zoe", "--force", "--no-kit", "--argon2id", "64,3"],
            ]
        }

        /// Runs a command while somebody else has the lock for so long.
        private func run(
            _ words: [String], whileLockedFor time: Duration
        ) async throws -> (ending: CommandStage.Ending, waited: Duration) {
            let other = Mutex<SlotLock?>(try anna.client.home.slotLock())
            let waited = Mutex(Duration.zero)
            var wait = SlotWait()
            wait.pause = { step in
                let now = waited.withLock { total in
                    total += step
                    return total
                }
                if now >= time { other.withLock { $0 = nil } }
            }
            let ending = try await stage.run(
                as: "anna", words + ["--password-file", "@password"], slotWait: wait)
            other.withLock { $0 = nil }
            return (ending, waited.withLock { $0 })
        }

        @Test func A107_aChangeSaysWhatItWaitsForAndIsBusyInTheEnd() async throws {
            let before = try stage.home("anna")
            for words in try changes() {
                let (ending, waited) = try await run(words, whileLockedFor: .seconds(3_600))
                #expect(ending.code == 11, "\(words): \(ending.text)\(ending.error)")
                #expect(ending.output.isEmpty, "\(words): \(ending.text)")
                #expect(waited == .seconds(60), "\(words)")
                #expect(ending.error.split(separator: message, omittingEmptySubsequences: false).count == 2, "\(words)")
                #expect(try stage.home("anna") == before, "\(words)")
            }
        }

        @Test func A107_aChangeGoesOnWhenTheOtherEnds() async throws {
            let words = ["remember", "--name", "desk"]
            let (ending, waited) = try await run(words, whileLockedFor: .seconds(7))
            #expect(ending.code == 0, "\(ending.error)")
            #expect(waited == .seconds(7))
            #expect(ending.error.contains(message))
            try await stage.expect(0, as: "anna", "list")
        }

        /// Reading, and what changes no slot, waits for nobody.
        @Test func nothingElseWaits() async throws {
            for words in [["list"], ["create", "plans"], ["card"], ["check"]] {
                let (ending, waited) = try await run(words, whileLockedFor: .seconds(3_600))
                #expect(ending.code == 0, "\(words): \(ending.text)\(ending.error)")
                #expect(waited == .zero, "\(words)")
            }
        }
    }
}

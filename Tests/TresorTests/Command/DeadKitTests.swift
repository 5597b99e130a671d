// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// A recovery kit that does not become valid: nobody is told to print it, and no file of it stays (SPEC §8.2).
    @Suite struct DeadKits {
        @Test func aKitThatTheStoreDoesNotKeepIsTakenBack() async throws {
            let stage = try CommandStage()
            let anna = try await stage.personWithPassword("anna")
            let acts = [
                ["recover", "--new-kit", "--kit", "@kit"],
                ["rotate", "--identity", "--kit", "@kit", "--yes", "--argon2id", "64,3"],
            ].map { $0 + ["--password-file", "@password"] }
            let before = try anna.client.identityFileBlocking().bytes
            let copies = Mutex<[[UInt8]]>([])
            stage.evil.showKitCopy { copy in
                if let copy { copies.withLock { $0.append(copy) } }
                return nil
            }
            for words in acts {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.code == 18, "\(words): \(ending.error)")
                #expect(!ending.error.contains("print it"), "\(words): \(ending.error)")
                #expect(ending.error.contains("kit\" was removed: it opens nothing\n"), "\(ending.error)")
                #expect(!FileManager.default.fileExists(atPath: stage.path("kit")), "\(words)")
                #expect(try anna.client.identityFileBlocking().bytes == before, "\(words)")
                let copy = try IdentityFile(try #require(copies.withLock { $0.last }))
                let locator = try #require(copy.kitLocator)
                #expect(try await stage.evil.truth.kitCopy(locator: locator) == nil, "\(words)")
            }
            #expect(Set(copies.withLock { $0 }).count == acts.count)
            // A later cleanup deletes a copy that the store does not delete now: nobody goes on with these words.
            stage.evil.failDeletions()
            let left = try await stage.run(as: "anna", acts[0])
            #expect(left.code == 18 && left.error.contains("was removed: it is not valid, but its copy may still be"))
            stage.evil.behave()
            stage.evil.showKitCopy { $0.map { $0 + [0] } }
            let unsure = try await stage.run(as: "anna", acts[0])
            #expect(unsure.code == 18 && unsure.error.contains("kit\" was removed: it opens nothing\n"))
            #expect(!FileManager.default.fileExists(atPath: stage.path("kit")))
            stage.evil.showKitCopy { $0 }
            try await stage.expect(0, as: "anna", "list")
            for words in acts {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.code == 0, "\(words): \(ending.error)")
                #expect(ending.error.contains("kit\"; print it and keep it apart from this machine\n"))
                try FileManager.default.removeItem(atPath: stage.path("kit"))
            }
        }

        /// Two runs may have the same words: the one that ends first does not destroy them.
        @Test func theWordsThatAnotherRunMayPutInForceStay() async throws {
            let stage = try CommandStage()
            let anna = try await stage.personWithPassword("anna")
            let other = Mutex<SlotLock?>(try anna.client.home.slotLock())
            var wait = SlotWait()
            wait.patience = .zero
            let ending = try await stage.run(as: "anna", Self.words, slotWait: wait)
            other.withLock { $0 = nil }
            #expect(ending.code == 11, "\(ending.error)")
            #expect(ending.error.contains("another command changes the kit of this home: the recovery kit in \""))
            let kept = try stage.bytes("kit")
            #expect(try await stage.run(as: "anna", Self.words).code == 0)
            #expect(try stage.bytes("kit") == kept)
        }

        /// The other run with the same words fails, and removes their file, before the first one makes them valid.
        @Test func theWordsOfAValidKitAreWrittenAgain() async throws {
            let stage = try CommandStage()
            let anna = try await stage.personWithPassword("anna")
            let held = try HeldSlots(of: anna.client.home)
            let others = Mutex<[CommandStage.Ending]>([])
            var wait = SlotWait()
            wait.pause = { _ in
                held.end()
                guard others.withLock({ $0.isEmpty }) else { return }
                stage.evil.showKitCopy { _ in nil }
                if let other = try? await stage.run(as: "anna", Self.words) { others.withLock { $0.append(other) } }
                stage.evil.showKitCopy { $0 }
                #expect(!FileManager.default.fileExists(atPath: stage.path("kit")))
            }
            let ending = try await stage.run(as: "anna", Self.words, slotWait: wait)
            let other = try #require(others.withLock { $0.first })
            #expect(other.code == 18 && other.error.contains("kit\" was removed: it opens nothing\n"), "\(other.error)")
            #expect(ending.code == 0, "\(ending.error)")
            let locator = try Self.locator(of: stage.bytes("kit"))
            #expect(try anna.client.identityFileBlocking().kitLocator == locator)
        }

        /// Another run with the same words has removed their file, and the act fails behind the moment from which they are
        /// valid.
        @Test func theWordsOfAKitThatIsValidAreWrittenAgainAlthoughTheActFails() async throws {
            let stage = try CommandStage()
            let anna = try await stage.personWithPassword("anna")
            stage.evil.failDeletions()
            stage.evil.beforeNextDeletion { try? FileManager.default.removeItem(atPath: stage.path("kit")) }
            let ending = try await stage.run(as: "anna", Self.words)
            #expect(ending.code == 18, "\(ending.error)")
            let locator = try Self.locator(of: stage.bytes("kit"))
            #expect(try anna.client.identityFileBlocking().kitLocator == locator)
        }

        /// Nobody reads that a kit stays whose words are gone: another file has its name by now.
        @Test(arguments: [false, true])
        func aKitWhoseWordsAreGoneIsToBeMadeAgain(actFails: Bool) async throws {
            let stage = try CommandStage()
            _ = try await stage.personWithPassword("anna")
            if actFails { stage.evil.failDeletions() }
            stage.evil.beforeNextDeletion {
                try? FileManager.default.removeItem(atPath: stage.path("kit"))
                try? stage.write([7], to: "kit")
            }
            let ending = try await stage.run(as: "anna", Self.words)
            #expect(ending.code == (actFails ? 18 : 64), "\(ending.error)")
            let said = ending.error.components(separatedBy: "the recovery kit is valid, but its words are not in")
            #expect(said.count == 2 && !ending.error.contains("print it"), "\(ending.error)")
            #expect(try stage.bytes("kit") == [7])
        }

        private static let words = ["recover", "--new-kit", "--kit", "@kit", "--password-file", "@password"]

        private static func locator(of words: [UInt8]) throws -> Hash256 {
            let typed = try SecretBytes(copying: words.span)
            let kit = try RecoveryKit(typed: typed)
            return try kit.locator()
        }
    }
}

/// Another change of the key slots, which has begun.
private final class HeldSlots: Sendable {
    private let lock: Mutex<SlotLock?>

    init(of home: some Home) throws { lock = Mutex(try home.slotLock()) }

    func end() { lock.withLock { $0 = nil } }
}

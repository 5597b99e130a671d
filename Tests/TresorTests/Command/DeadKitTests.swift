// SPDX-License-Identifier: Apache-2.0

import Foundation
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
            stage.evil.showKitCopy { _ in nil }
            for words in acts {
                let ending = try await stage.run(as: "anna", words)
                #expect(ending.code == 18, "\(words): \(ending.error)")
                #expect(!ending.error.contains("print it"), "\(words): \(ending.error)")
                #expect(ending.error.contains("kit\" would open nothing, and was removed\n"), "\(ending.error)")
                #expect(!FileManager.default.fileExists(atPath: stage.path("kit")), "\(words)")
                #expect(try anna.client.identityFileBlocking().bytes == before, "\(words)")
            }
            // A copy that the store may have is deleted by the next cleanup, so that nobody goes on with these words.
            stage.evil.showKitCopy { $0.map { $0 + [0] } }
            let unsure = try await stage.run(as: "anna", acts[0])
            #expect(unsure.code == 18 && unsure.error.contains("kit\" would open nothing, and was removed\n"))
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
    }
}

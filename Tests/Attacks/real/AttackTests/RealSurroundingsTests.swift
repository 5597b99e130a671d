// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorStore
@testable import TresorSQLite

extension RealAttackTests {
    /// The surroundings of the program: a card, a terminal, a store file, memory, the home.
    @Suite struct Surroundings {
        @Test func A211_inspectJudgesACardOtherwiseThanVerify() throws {
            let stage = try Stage("anna", "house")
            try stage.expect(as: "house", ["card", "-o", "house.txt"])
            let card = try CardChain(armoured: stage["house.txt"]).bytes
            try stage.write(card, to: "house.card")
            let verified = try stage.run(as: "anna", ["verify", "house", "--card", "house.card"])
            #expect(verified.code == 0, "\(verified.errorText)")
            for mutation in [nil, .cardJudge] as [Mutation?] {
                stage.apply(mutation)
                let inspected = try stage.run(as: "anna", ["inspect", "house.card"])
                #expect((inspected.code == verified.code) == (mutation == nil), "\(inspected.errorText)")
            }
        }

        #if os(Linux)
            @Test(
                .enabled(if: has("setpriv"), "setpriv is not present"),
                .disabled(if: isSanitized, "a sanitizer takes the place of mlock"))
            func A212_nobodyIsToldThatMemoryIsNotLocked() throws {
                let stage = try Stage("anna")
                let root = geteuid() == 0 ? "setpriv --bounding-set=-ipc_lock --inh-caps=-ipc_lock " : ""
                for mutation in [nil, .lockedMemory] as [Mutation?] {
                    stage.apply(mutation)
                    stage.wrapper = ["/bin/sh", "-c", "ulimit -l 0 && exec \(root)\"$@\"", "sh"] + stage.wrapper
                    let findings = try stage.expect(as: "anna", ["check"])
                    #expect(findings.contains("warn memory") == (mutation == nil), "\(findings)")
                }
            }

            /// The allocator is in C, which knows no task: the check is disabled where it is compiled.
            @Test(
                .enabled(if: Compiler.path != nil, "there is no C compiler"),
                .disabled(if: isSanitized, "a sanitizer brings an allocator of its own"))
            func A213_aBlockOfAnotherAllocatorEndsTheProgram() throws {
                let scratch = try Scratch()
                let other = try Compiler.library("#define TELLS\n" + AllocatorTests.source, in: scratch)
                let mutation: Mutation = .otherAllocator
                let without = "-DTRESOR_WITHOUT_\(mutation.rawValue)"
                for (options, isSound) in [([], true), ([without], false)] {
                    let ending = try ErasureTests.kept(
                        preloading: other, counts: scratch["counts"], options: options)
                    #expect((ending == 0) == isSound, "\(ending)")
                }
            }
        #endif

        @Test(.enabled(if: has("sqlite3"), "sqlite3 is not present"))
        func A214_aHugeRowIsLoaded() async throws {
            let scratch = try Scratch()
            _ = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            let user = try identity("anna").user
            let id = user.digest.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
            let row = "INSERT INTO cards VALUES (x'\(id)', x'02', zeroblob(17000000))"
            _ = try tool("/usr/bin/sqlite3", [scratch["store.db"], row])
            await RealAttackTests.expectReal(.store(.damaged), without: .rowLength) {
                let store = try SQLiteStore.openBlocking(at: scratch["store.db"], creating: false)
                return try await store.card(of: user)?.count == 17_000_000
            }
        }

        /// Decrypts a text of anna's on a terminal.
        private func shown(
            _ content: String, without mutation: Mutation?, _ stage: Stage
        ) throws -> (code: Int32, transcript: String) {
            let name = "\(UUID()).tresor"
            try stage.write(Array(content.utf8), to: "evil.txt")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "evil.txt", "-o", name])
            let terminal = try Terminal()
            stage.apply(mutation)
            defer { stage.apply(nil) }
            var program = stage.program
            program.terminal = terminal
            let child = try program.start(
                stage.words(as: "anna") + ["decrypt", name], output: terminal.path, error: terminal.path)
            let code = try child.end(terminal: terminal)
            for _ in 0..<5 { terminal.attend(milliseconds: 20) }
            return (code, terminal.transcript)
        }

        @Test func A218_contentStandsInForTheAuthorsLine() throws {
            let stage = try Stage("anna")
            try stage.settle()
            let fake = "tresor: from house (verified), 2026-11-22 13:05 UTC, plans, key 1"
            for mutation in [nil, .authorLine] as [Mutation?] {
                let (code, transcript) = try shown("\(fake)\n", without: mutation, stage)
                #expect(code == 0, "\(transcript)")
                #expect(transcript.hasPrefix("\u{1b}[1mtresor: from anna") == (mutation == nil), "\(transcript)")
                #expect(transcript.hasPrefix(fake) == (mutation != nil), "\(transcript)")
            }
            for mutation in [nil, .terminalText] as [Mutation?] {
                let (code, transcript) = try shown("\u{202e}\(Stage.marker)", without: mutation, stage)
                #expect(code == (mutation == nil ? 64 : 0), "\(transcript)")
                #expect(transcript.contains("\u{202e}MARKED") == (mutation != nil), "\(transcript)")
            }
        }

        @Test func A221_aNewPersonInheritsWhomTheOldOneVerified() throws {
            for mutation in [nil, .emptyHome] as [Mutation?] {
                let stage = try Stage("anna", "third")
                let number = try stage.number(of: "third")
                try stage.expect(as: "anna", ["verify", "third", "--number", number])
                stage.apply(mutation)
                try stage.expect(as: "anna", ["keygen", "zoe", "--no-kit", "--argon2id", "64,3", "--force"])
                stage.apply(nil)
                let findings = try stage.expect(as: "anna", ["check"])
                #expect(findings.contains("person third") == (mutation != nil), "\(findings)")
            }
        }

        @Test func A221_nobodySaysThatANumberHasChanged() throws {
            let stage = try Stage("anna", "third")
            let number = try stage.number(of: "third")
            try stage.expect(as: "anna", ["verify", "third", "--number", number])
            try stage.expect(as: "third", ["rotate", "--identity", "--no-kit", "--yes"])
            for mutation in [nil, .changedNumber] as [Mutation?] {
                stage.apply(mutation)
                // The old one again: it is refused, and what is said before can be seen twice.
                let ending = try stage.run(as: "anna", ["verify", "third", "--number", number])
                #expect(ending.code == 16, "\(ending.errorText)")
                #expect(ending.errorText.contains("HAS CHANGED") == (mutation == nil), "\(ending.errorText)")
            }
        }

        @Test(.enabled(if: has("sqlite3"), "sqlite3 is not present"))
        func A221_replacingMeansWhomTheStoreOffersAlone() throws {
            let stage = try Stage("anna", "third")
            let number = try stage.number(of: "third")
            try stage.expect(as: "anna", ["verify", "third", "--number", number])
            try stage.expect(as: "third", ["rotate", "--identity", "--no-kit", "--yes"])
            // Somebody else makes a card of that handle, and the store offers it.
            let (home, store) = (stage.scratch["homes/eve"], stage.scratch["eve.db"])
            let places = ["--home", home, "--store", store]
            try stage.expect(as: "anna", ["keygen", "third", "--no-kit", "--argon2id", "64,3"] + places)
            let told = try stage.expect(as: "anna", ["card", "--number"] + places)
            _ = try tool(
                "/usr/bin/sqlite3", [stage.store, "ATTACH '\(store)' AS n; INSERT INTO cards SELECT * FROM n.cards"])
            try stage.expectReal(
                16, without: .bothMeant, as: "anna",
                ["verify", "third", "--replace", "--number", told.filter { $0.isNumber }, "--yes"])
        }

        #if os(Linux)
            @Test(
                .enabled(if: Compiler.path != nil, "there is no C compiler"),
                .disabled(if: isSanitized, "a sanitizer has to be loaded first"))
            func A206_aLastDayIsWrittenByAClockThatIsBehind() throws {
                let stage = try Stage("anna", "third")
                try stage.settle()
                let source = """
                    #include <time.h>
                    time_t time(time_t *place) {
                        struct timespec now;
                        clock_gettime(CLOCK_REALTIME, &now);
                        time_t shown = now.tv_sec - 400L * 86400;
                        if (place) *place = shown;
                        return shown;
                    }
                    """
                stage.environment["LD_PRELOAD"] = try Compiler.library(source, in: stage.scratch)
                try stage.expectReal(
                    1, without: .lastDay, as: "anna",
                    ["share", "-t", "plans", "third", "--accept-unverified", "--until", "2099-01-01"])
            }
        #endif

        @Test func A31_aCopyInAFileBringsOlderKeysBack() throws {
            for mutation in [nil, .olderCopy] as [Mutation?] {
                let stage = try Stage("anna")
                try stage.expect(as: "anna", ["recover", "--new-kit", "--kit", "kit.txt"])
                try stage.expect(as: "anna", ["export", "--recovery", "-o", "copy"])
                try stage.expect(as: "anna", ["rotate", "--identity", "--no-kit", "--yes"])
                stage.apply(mutation)
                let home = stage.scratch["homes/second"]
                let ending = try stage.run(
                    as: "anna",
                    [
                        "recover", "--home", home, "--from", "copy", "--kit", "kit.txt", "--new-password-file",
                        "anna.password", "--argon2id", "64,3",
                    ])
                // Without the check, the older keys lie in the home before the store refuses their card.
                #expect(ending.code == 15, "\(ending.errorText)")
                #expect(FileManager.default.fileExists(atPath: "\(home)/identity") == (mutation != nil))
            }
        }

        @Test func A221_aCardAloneChangesWhatWasCompared() throws {
            let stage = try Stage("anna", "third")
            let number = try stage.number(of: "third")
            try stage.expect(as: "anna", ["verify", "third", "--number", number])
            try stage.expect(as: "third", ["rotate", "--identity", "--no-kit", "--yes"])
            try stage.expect(as: "third", ["card", "-o", "third.card"])
            try stage.expectReal(
                16, without: .cardAlone, as: "anna", ["verify", "third", "--card", "third.card", "--yes"])
        }
    }
}

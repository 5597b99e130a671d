// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCommand
@testable import TresorCrypto
@testable import TresorStore
@testable import TresorSQLite

extension RealAttackTests {
    /// Command line, host, embedded store.
    @Suite struct Commands {
        #if os(Linux)
            @Test(
                .enabled(if: Compiler.path != nil, "there is no C compiler"),
                .disabled(if: isSanitized, "a sanitizer has to be loaded first"))
            func A11_anotherLibraryIsUsed() throws {
                let stage = try Stage("anna")
                let source = "int crypto_core_ed25519_is_valid_point(const unsigned char *p) { return 1; }"
                stage.environment["LD_PRELOAD"] = try Compiler.library(source, in: stage.scratch)
                try stage.expectReal(1, without: .selfTest, as: "anna", ["list"])
            }
        #endif

        @Test func A19_anInputIsReadWithoutEnd() async throws {
            let scratch = try Scratch()
            try Data(count: 8 << 20).write(to: URL(fileURLWithPath: scratch["card"]))
            await RealAttackTests.expectReal(.altered, without: .inputLimit) {
                let input = try InputFile(scratch["card"], standardInput: StandardInput())
                return try input.readAll(limit: 1 << 20, tooLarge: CommandFailure(.altered, "")).count == 8 << 20
            }
        }

        @Test func A41_aPasswordStandsInTheEnvironment() throws {
            let stage = try Stage("anna")
            stage.environment["TRESOR_PASSWORD"] = "PASSWORD-0815-anna"
            try stage.expectReal(64, without: .passwordVariable, as: "anna", ["list"])
        }

        @Test func A97_lastMonthsFileLooksLikeTheNewest() throws {
            let stage = try Stage("anna")
            try stage.settle()
            try stage.write(Stage.plan(), to: "plan.json")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
            try stage.expect(as: "anna", ["rotate", "-t", "plans", "--yes"])
            for mutation in [nil, .olderState] as [Mutation?] {
                stage.apply(mutation)
                let ending = try stage.run(as: "anna", ["decrypt", "plan.tresor", "-o", "read.json"])
                #expect(ending.code == 0 && ending.errorText.contains("from anna"))
                #expect(
                    ending.errorText.contains("sealed before the log's newest entry") == (mutation == nil),
                    "\(ending.errorText)")
            }
        }

        /// A thief has an old kit, and another service takes its keys until their owner brings the new ones there.
        @Test func A27_nobodySaysWhereAnOldKitStillCounts() throws {
            let stage = try Stage("anna")
            let folder = stage.scratch["homes/anna"]
            let home = DirectoryHome(data: folder, state: "\(folder)/state")
            let file = try IdentityFile(try home.read(.identity) ?? [])
            let name = try #require(StoreName(Array("https://clinic.example".utf8)))
            let kept = try home.read(.notedStores)
            var noted = try kept.map { try NotedStores($0) } ?? NotedStores()
            _ = noted.note(name, of: TresorID(file.chain.user.digest))
            try home.replace(.notedStores, with: noted.bytes)
            let audience = try Audience(isSecure: true, host: "clinic.example", port: 443).hash()
            try KnownServices.meet(anyDigest(), at: audience, in: home)
            for mutation in [nil, .toldServices] as [Mutation?] {
                stage.apply(mutation)
                let ending = try stage.run(as: "anna", ["rotate", "--identity", "--no-kit", "--yes"])
                #expect(ending.code == 0, "\(ending.errorText)")
                let warning = "the service at \"https://clinic.example\" still takes your earlier keys"
                #expect(ending.errorText.contains(warning) == (mutation == nil), "\(ending.errorText)")
            }
        }

        @Test func A33_bothSharesLieOnOneDisk() throws {
            let stage = try Stage("anna")
            let home = stage.scratch["homes/anna"]
            try FileManager.default.copyItem(atPath: stage.store, toPath: "\(home)/store.db")
            let arguments = ["remember", "--store", "\(home)/store.db"]
            stage.isKept = { !$0.contains("store.db") }
            try stage.expectReal(64, without: .otherDisk, as: "anna", arguments)
            #expect(FileManager.default.fileExists(atPath: "\(home)/state/device-share"))
        }

        @Test func A50_aNumberIsNearlyRight() throws {
            let stage = try Stage("anna", "third")
            try stage.settle()
            var digits = Array(try stage.number(of: "third").filter(\.isNumber))
            digits[29] = digits[29] == "0" ? "1" : "0"
            try stage.expectReal(
                16, without: .typedNumber, as: "anna",
                ["share", "-t", "plans", "third", "--number", String(digits)])
            #expect(try stage.expect(as: "anna", ["members", "-t", "plans"]).contains("third"))
        }

        @Test(.enabled(if: has("sqlite3"), "sqlite3 is not present"))
        func A90_somebodyIsInWithoutTheKey() async throws {
            let scratch = try Scratch()
            let store = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            let world = World(store: store)
            let (anna, house) = (try await world.quick("anna"), try await world.quick("house"))
            try world.introduce(anna, house)
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            // Another wrap of this tresor cannot be put beside the owner's.
            let index = "CREATE UNIQUE INDEX halt ON wraps (tresor)"
            _ = try tool("/usr/bin/sqlite3", [scratch["store.db"], index])
            await RealAttackTests.expectReal(nil, without: .oneTransaction, isLate: true) {
                let error = await failure { try await anna.share(tresor, with: [house]) }
                #expect(error != nil)
                let count = try await log(tresor, in: store).count
                let wraps = try await store.wraps(of: house.identity.user, in: tresor, epoch: nil)
                return count == 2 && wraps.isEmpty
            }
        }

        @Test func A100_anOutputLeavesItsDirectory() async throws {
            await RealAttackTests.expectReal(command: .usage, without: .outputName) {
                let plan = try OutputPlan(inputs: ["in/.."], output: nil, directory: "out") { $0 }
                return plan.steps.map(\.target) == [.file("out/..")]
            }
        }

        @Test func A103_whatIsNoFileIsReplaced() async throws {
            let scratch = try Scratch()
            let home = DirectoryHome(data: scratch["home"], state: scratch["state"])
            try home.replace(.heads, with: [1])
            #expect(mkfifo(scratch["home/pins"], 0o600) == 0)
            await RealAttackTests.expectReal(.failed(.inputOutput), without: .replaceable) {
                try home.replace(.pins, with: [1])
                return try home.read(.pins) == [1]
            }
        }

        @Test func A104_theOutputIsTheInput() throws {
            let stage = try Stage("anna")
            try stage.settle()
            try stage.write(Stage.plan(), to: "plan.json")
            #expect(link(stage.scratch["plan.json"], stage.scratch["other.json"]) == 0)
            try stage.expectReal(
                64, without: .otherOutput, as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "other.json"])
            #expect(stage["other.json"].starts(with: Array("tresorF1".utf8)))
        }

        @Test func A105_aFileIsHalfWritten() async throws {
            let scratch = try Scratch()
            let home = DirectoryHome(data: scratch["home"], state: scratch["state"])
            try home.replace(.heads, with: [1])
            let half: [UInt8] = [2, 3]
            await RealAttackTests.expectReal(nil, without: .nameLast) {
                do {
                    // As if the process ended before all was written.
                    let file = try AtomicFile(at: scratch["home/heads"], mode: 0o600)
                    try file.write(half.span)
                }
                return try home.read(.heads) != [1]
            }
        }

        @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
        func A106_aFullDiskLooksLikeSuccess() async throws {
            let file = try FileDescriptor("/dev/full", O_WRONLY)
            func isTaken() throws(TresorError) -> Bool {
                let bytes: [UInt8] = [1]
                try SystemError.asFailed { () throws(SystemError) in try file.write(bytes.span.bytes) }
                return true
            }
            await RealAttackTests.expectReal(.failed(.full), without: .writeResult) { try isTaken() }
        }

        @Test func A106_blobsTakeTheRoomOfTheirDeletion() async throws {
            let scratch = try Scratch()
            let disk = Atomic<UInt64>(4 << 20)
            let store = try SQLiteStore.openBlocking(at: scratch["store.db"], creating: true) { _ in
                disk.load(ordering: .relaxed)
            }
            let part = [UInt8](repeating: 1, count: StoredBlob.partByteCount)
            let (hash, tresor) = (try anyDigest(), TresorID(try anyDigest()))
            try await store.putBlob(0, part, of: hash, in: tresor)
            // The write-ahead log of a deletion takes as much as a part.
            disk.store(UInt64(StoredBlob.partByteCount), ordering: .relaxed)
            await RealAttackTests.expectReal(.store(.full), without: .leftRoom) {
                try await store.putBlob(1, part, of: hash, in: tresor)
                return try await store.blob(hash, part: 1, in: tresor) == part
            }
        }

        @Test func A107_twoAreInOneHomeAtOnce() async throws {
            let scratch = try Scratch()
            let first = DirectoryHome(data: scratch["home"], state: scratch["state"])
            let second = DirectoryHome(data: scratch["home"], state: scratch["state"])
            await RealAttackTests.expectReal(.busy, without: .homeLock) {
                try first.exclusively { () throws(TresorError) in
                    try second.exclusively { () throws(TresorError) in true }
                }
            }
        }

        @Test(.enabled(if: has("sqlite3"), "sqlite3 is not present"))
        func A108_aStoreFileBringsAStatementOfItsOwn() async throws {
            let scratch = try Scratch()
            _ = try await SQLiteStore.open(at: scratch["store.db"], creating: true)
            _ = try tool(
                "/usr/bin/sqlite3",
                [scratch["store.db"], "CREATE TRIGGER evil AFTER INSERT ON wraps BEGIN DELETE FROM cards; END"])
            await RealAttackTests.expectReal(.store(.schema), without: .storeSchema) {
                _ = try SQLiteStore.openBlocking(at: scratch["store.db"], creating: false)
                return true
            }
        }

        @Test func A109_aRelativePlaceIsUsed() async throws {
            let environment = Environment(userHome: "/home/anna")
            await RealAttackTests.expectReal(command: .usage, without: .absolutePlace) {
                try Paths.directory("XDG_DATA_HOME", "here", ".local/share", environment) == "here/tresor"
            }
        }

        @Test func A110_nobodyAnswersAQuestionOfTrust() throws {
            let stage = try Stage("anna", "third")
            try stage.settle()
            try stage.write(Array("yes\n".utf8), to: "yes.txt")
            let user = try IdentityFile(stage["homes/third/identity"]).chain.user.description
            try stage.expectReal(
                16, without: .comparedNumber, as: "anna", ["share", "-t", "plans", user],
                input: stage.scratch["yes.txt"])
            #expect(try stage.expect(as: "anna", ["members", "-t", "plans"]).contains("third"))
        }

        @Test func A111_contentDrivesTheTerminal() throws {
            let stage = try Stage("anna")
            try stage.settle()
            try stage.write(Array("\u{1b}[31m\(Stage.marker)".utf8), to: "evil.txt")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "evil.txt", "-o", "evil.tresor"])
            let words = stage.words(as: "anna") + ["decrypt", "evil.tresor"]
            for (mutation, code) in [(nil, 64), (.terminalText, 0)] as [(Mutation?, Int32)] {
                let terminal = try Terminal()
                stage.apply(mutation)
                var program = stage.program
                program.terminal = terminal
                let child = try program.start(words, output: terminal.path, error: terminal.path)
                #expect(try child.end(terminal: terminal) == code)
                for _ in 0..<5 { terminal.attend(milliseconds: 20) }
                #expect(terminal.transcript.contains("\u{1b}[31mMARKED") == (code == 0))
            }
        }

        @Test func A112_aFailureAmongSeveralLooksLikeSuccess() throws {
            let stage = try Stage("anna")
            try stage.settle()
            try stage.write(Stage.plan(), to: "plan.json")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
            var damaged = stage["plan.tresor"]
            damaged[damaged.count - 1] ^= 1
            for name in ["one.tresor", "two.tresor"] { try stage.write(damaged, to: name) }
            try stage.expectReal(
                14, without: .everyInput, as: "anna",
                ["decrypt", "--any-record", "-C", ".", "one.tresor", "two.tresor"])
        }
    }
}

extension Stage {
    /// Anna's tresor. Her home has seen all there is.
    func settle() throws {
        try share(of: "anna")
        try expect(as: "anna", ["list"])
    }

    /// Lets the program run with a check disabled from now on.
    func apply(_ mutation: Mutation?) {
        wrapper = mutation.map { ["/bin/bash", "-c", "exec -a tresor:\($0.rawValue) \"$0\" \"$@\""] } ?? []
    }

    /// Runs an attack by the program as it is, when it is refused and nothing else happens, and by one with a check
    /// disabled.
    func expectReal(
        _ code: Int32, without mutation: Mutation, as person: String, _ arguments: [String],
        input: String = "/dev/null", source: SourceLocation = #_sourceLocation
    ) throws {
        try refuse(code, as: person, arguments, input: input, source: source)
        apply(mutation)
        defer { apply(nil) }
        let ending = try run(as: person, arguments, input: input)
        #expect(ending.code == 0, "without \(mutation): \(ending.errorText)", sourceLocation: source)
    }
}

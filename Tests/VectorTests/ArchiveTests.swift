// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorSQLite
import TresorStore

/// The archive of each release opens in all later ones, as will that of this one.
@Suite struct ArchiveTests {
    /// A folder of the archive; `nil` where it could not be made.
    struct Release: Sendable, CustomTestStringConvertible {
        let folder: URL?
        var testDescription: String { folder?.lastPathComponent ?? "none" }
    }

    static let releases: [Release] = {
        let archive = Repository.root.appendingPathComponent("vectors/archive")
        let names = (try? FileManager.default.contentsOfDirectory(atPath: archive.path)) ?? []
        let kept = names.filter { $0.hasPrefix("v") }.sorted().map { archive.appendingPathComponent($0) }
        return kept.map { Release(folder: $0) } + [Release(folder: try? made())]
    }()

    /// Lets `scripts/archive` write one of the program beside the tests.
    private static func made() throws -> URL {
        let bundle = try #require(CommandLine.arguments.first { $0.hasSuffix(".xctest") })
        let program = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("tresor")
        let folder = URL(fileURLWithPath: bundle).deletingLastPathComponent().appendingPathComponent("archive")
        try? FileManager.default.removeItem(at: folder)
        let script = Process()
        script.executableURL = Repository.root.appendingPathComponent("scripts/archive")
        script.arguments = [program.path, folder.path]
        let output = Pipe()
        script.standardOutput = output
        try script.run()
        let said = try output.fileHandleForReading.readToEnd() ?? Data()
        script.waitUntilExit()
        #expect(script.terminationStatus == 0)
        // The last line; before it the commands say what they made.
        let lines = String(decoding: said, as: UTF8.self).split(separator: "\n")
        return URL(fileURLWithPath: String(try #require(lines.last)))
    }

    @Test(arguments: releases) func nothingWasEdited(_ release: Release) throws {
        let folder = try #require(release.folder)
        let rows = try String(contentsOf: folder.appendingPathComponent("SHA256SUMS"), encoding: .utf8)
            .split(separator: "\n")
        var listed: Set = ["SHA256SUMS"]
        for row in rows {
            let path = String(row.split(separator: " ")[1].dropFirst(2))
            listed.insert(path)
            let bytes = try Data(contentsOf: folder.appendingPathComponent(path))
            #expect(row.hasPrefix(Repository.sha256(bytes)), "\(path)")
        }
        let present = try FileManager.default.subpathsOfDirectory(atPath: folder.path).filter {
            !isDirectory(folder.path + "/" + $0)
        }
        #expect(Set(present) == listed)
    }

    @Test(arguments: releases) func everybodyOpensWhatWasTheirs(_ release: Release) async throws {
        let stage = try Stage(try #require(release.folder))
        defer { stage.remove() }
        for person in ["anna", "dr-house"] {
            let session = try await stage.client(person).unlock(password: Password(typed: stage.password()))
            for name in ["plan.json", "long.txt", "empty", "note.txt", "renewed"] {
                let opened = try await session.files.open(
                    SealedFile(stage.bytes("files/\(name).tresor")), expecting: .anyTresor)
                #expect(opened.content == (try stage.bytes("files/\(name)")), "\(person) \(name)")
            }
            let findings = try await session.audit.check()
            #expect(!findings.isEmpty && findings.allSatisfy { $0.level == .ok }, "\(findings)")
        }
    }

    @Test(arguments: releases) func fromNowOpensNothingFromBefore(_ release: Release) async throws {
        let stage = try Stage(try #require(release.folder))
        defer { stage.remove() }
        let session = try await stage.client("eve").unlock(password: Password(typed: stage.password()))
        let early = try SealedFile(stage.bytes("files/long.txt.tresor"))
        let accepting = Expectations(acceptingUnverified: true)
        await #expect(throws: TresorError.noAccess) { try await session.files.open(early, expecting: accepting) }
        let late = try SealedFile(stage.bytes("files/note.txt.tresor"))
        #expect(try await session.files.open(late, expecting: accepting).content == stage.bytes("files/note.txt"))
    }

    @Test(arguments: releases) func kitsOpen(_ release: Release) async throws {
        let stage = try Stage(try #require(release.folder))
        defer { stage.remove() }
        for (person, kit) in [("anna", "kit-anna-renewed"), ("dr-house", "kit-dr-house"), ("eve", "kit-eve")] {
            let words = try stage.bytes(kit)
            let recovery = try RecoveryKit(typed: SecretBytes(copying: words.span))
            let client = try await stage.client(person)
            #expect(
                try client.identityFileBlocking().open(withKit: recovery).user
                    == client.identityFileBlocking().chain.user)
            let copy = try await client.store.kitCopy(locator: recovery.locator())
            #expect(
                try IdentityFile(try #require(copy)).open(withKit: recovery).user
                    == client.identityFileBlocking().chain.user)
        }
    }

    @Test(arguments: releases) func cardsRead(_ release: Release) async throws {
        let stage = try Stage(try #require(release.folder))
        defer { stage.remove() }
        for person in ["anna", "dr-house", "eve"] {
            let chain = try CardChain(Armour.card.dearmour(stage.bytes("card-\(person)")))
            let file = try await stage.client(person).identityFileBlocking()
            #expect(chain == file.chain)
        }
    }
}

private func isDirectory(_ path: String) -> Bool {
    var isDirectory: ObjCBool = false
    return FileManager.default.fileExists(atPath: path, isDirectory: &isDirectory) && isDirectory.boolValue
}

extension Expectations {
    fileprivate init(acceptingUnverified: Bool) {
        self = .anyTresor
        self.acceptingUnverified = acceptingUnverified
    }
}

/// A copy of an archive that may be written to, with the modes that a home has.
private struct Stage {
    let folder: URL

    init(_ archive: URL) throws {
        let base = FileManager.default.temporaryDirectory.appendingPathComponent("archive-\(UUID().uuidString)")
        folder = base
        try FileManager.default.copyItem(at: archive, to: base)
        let paths = try FileManager.default.subpathsOfDirectory(atPath: base.path).map { base.path + "/" + $0 }
        for path in [base.path] + paths {
            try FileManager.default.setAttributes(
                [.posixPermissions: isDirectory(path) ? 0o700 : 0o600], ofItemAtPath: path)
        }
    }

    func remove() { try? FileManager.default.removeItem(at: folder) }

    func bytes(_ path: String) throws -> [UInt8] {
        Array(try Data(contentsOf: folder.appendingPathComponent(path)))
    }

    func password() throws -> SecretBytes {
        let line = try bytes("password").dropLast()
        return try SecretBytes(copying: Array(line).span)
    }

    func client(_ person: String) async throws -> Client {
        let home = folder.appendingPathComponent(person).path
        return Client(
            home: DirectoryHome(data: home, state: home + "/state"),
            store: try await SQLiteStore.open(at: folder.appendingPathComponent("store.db").path, creating: false),
            clock: { 4_000_000_000 })
    }
}

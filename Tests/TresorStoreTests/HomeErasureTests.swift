// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCore
import TresorCrypto

@testable import TresorStore

/// The erasure of a home (SPEC §8.9).
@Suite struct HomeErasureTests {
    let scratch: Scratch
    let home: DirectoryHome

    init() throws {
        scratch = try Scratch()
        home = DirectoryHome(data: scratch["data"], state: scratch["state"])
        for object in DirectoryHomeTests.objects { try home.replace(object, with: [1]) }
    }

    private func isThere(_ object: HomeObject) -> Bool {
        FileManager.default.fileExists(atPath: home.path(of: object))
    }

    @Test func everyObjectGoes() throws {
        #expect(try home.outboxes() == [tresor(1): [1]])
        #expect(try !home.isEmpty())
        try home.erase([1], [tresor(1): [1]])
        for object in DirectoryHomeTests.objects { #expect(!isThere(object), "\(object.name)") }
        #expect(try home.isEmpty())
        #expect(!FileManager.default.fileExists(atPath: scratch["state"]))
        try home.erase(nil, [:])
        // The home may be used again.
        try home.replace(.identity, with: [2])
        #expect(try home.read(.identity) == [2])
    }

    /// A deleted tresor leaves such an outbox (SPEC §8.5).
    @Test func anOutboxWithoutAByteHasNoChange() throws {
        try home.replace(.outbox(tresor(1)), with: [])
        try home.replace(.outbox(tresor(2)), with: [2])
        #expect(try home.outboxes() == [tresor(2): [2]])
        try home.erase([1], [tresor(2): [2]])
        #expect(try home.isEmpty())
    }

    @Test func aFolderInThePlaceOfAFileIsFound() throws {
        let files = FileManager.default
        for object in DirectoryHomeTests.objects where !object.name.contains("/") || object == .deviceShare {
            #expect(home.folderForFile() == nil)
            try files.removeItem(atPath: home.path(of: object))
            try files.createDirectory(atPath: home.path(of: object), withIntermediateDirectories: false)
            #expect(home.folderForFile() == home.path(of: object))
            try files.removeItem(atPath: home.path(of: object))
        }
    }

    @Test func nothingGoesThatWasNotJudged() throws {
        #expect(throws: TresorError.busy) { try home.erase([2], [tresor(1): [1]]) }
        #expect(throws: TresorError.busy) { try home.erase(nil, [tresor(1): [1]]) }
        #expect(throws: TresorError.busy) { try home.erase([1], [:]) }
        #expect(throws: TresorError.busy) { try home.erase([1], [tresor(1): [2]]) }
        for object in DirectoryHomeTests.objects { #expect(isThere(object), "\(object.name)") }
    }

    @Test func anObjectIsFoundByItsName() {
        for object in DirectoryHomeTests.objects where object.name.contains("/") {
            #expect(HomeObject(named: object.name) == object)
            for name in [object.name + "x", "x" + object.name, object.name + ".0.0.0", object.name.uppercased()] {
                #expect(HomeObject(named: name) == nil, "\(name)")
            }
        }
        let hash = HomeObject.evidence(digest(3)).name.split(separator: "/")[1]
        for rest in ["note.txt", "\(hash)", "\(hash).00", "\(hash).+1", "\(hash).0.0", ""] {
            #expect(HomeObject(named: "logs/\(rest)") == nil, "\(rest)")
        }
    }

    /// Somebody's own files may lie in a folder of the home: they stay.
    @Test func whatIsNoObjectStays() throws {
        let files = FileManager.default
        let others = ["data/records/note.txt", "data/logs/\(String(repeating: "a", count: 64))", "data/evidence/A.pdf"]
        for name in others { try write([1], to: scratch[name]) }
        try home.erase([1], [tresor(1): [1]])
        #expect(try home.isEmpty())
        for name in others { #expect(files.fileExists(atPath: scratch[name]), "\(name)") }
        for object in DirectoryHomeTests.objects { #expect(!isThere(object), "\(object.name)") }
    }

    /// A directory with the name of an object is nobody's secret. A file that the system does not delete is an error.
    @Test func aDirectoryIsLeftAndAFileIsNot() throws {
        let files = FileManager.default
        let log = home.path(of: .log(tresor(1)))
        try files.removeItem(atPath: log)
        try files.createDirectory(atPath: log, withIntermediateDirectories: false)
        try home.erase([1], [tresor(1): [1]])
        for object in DirectoryHomeTests.objects { #expect(isThere(object) == (object == .log(tresor(1)))) }
        guard geteuid() != 0 else { return }
        try home.replace(.log(tresor(2)), with: [1])
        try setMode(0o500, of: scratch["data/logs"])
        #expect(throws: TresorError.failed(.readOnly)) { try home.erase(nil, [:]) }
        try setMode(0o700, of: scratch["data/logs"])
        #expect(isThere(.log(tresor(2))))
    }

    @Test(arguments: ["records", "logs", "evidence"]) func nothingGoesBehindALink(_ folder: String) throws {
        let files = FileManager.default
        #expect(home.linkedFolder() == nil)
        try files.moveItem(atPath: scratch["data/\(folder)"], toPath: scratch["elsewhere"])
        try files.createSymbolicLink(atPath: scratch["data/\(folder)"], withDestinationPath: scratch["elsewhere"])
        #expect(home.linkedFolder() == scratch["data/\(folder)"])
        #expect(throws: TresorError.failed(.permissions)) { try home.erase([1], [tresor(1): [1]]) }
        for object in DirectoryHomeTests.objects { #expect(isThere(object), "\(object.name)") }
    }

    @Test func aFolderThatWasNeverAHomeHasNoLock() throws {
        #expect(!home.hasLock())
        try home.exclusively { () throws(TresorError) in }
        #expect(home.hasLock())
    }

    /// A home that still has its identity judges by its heads; one without it has no pins, and nothing that was not sent.
    @Test func anErasureThatStopsMisleadsNobody() throws {
        let files = FileManager.default
        let (marks, heads) = (home.path(of: .marks), home.path(of: .heads))
        for path in [marks, heads] {
            try files.removeItem(atPath: path)
            try files.createDirectory(atPath: path, withIntermediateDirectories: false)
        }
        #expect(throws: TresorError.self) { try home.erase([1], [tresor(1): [1]]) }
        #expect(isThere(.identity) && isThere(.pins) && isThere(.knownLogins) && isThere(.knownServices))
        #expect(isThere(.evidence(digest(3))) && !isThere(.outbox(tresor(1))))
        try files.removeItem(atPath: marks)
        #expect(throws: TresorError.self) { try home.erase([1], [:]) }
        #expect(!isThere(.identity) && !isThere(.deviceShare) && !isThere(.cleanupJournal) && !isThere(.pins))
        #expect(isThere(.knownLogins) && isThere(.knownServices))
        try files.removeItem(atPath: heads)
        #expect(try !home.isEmpty())
        try home.erase(nil, [:])
        #expect(try home.isEmpty())
    }
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Synchronization
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

@testable import TresorCommand

@Suite("Moved homes")
struct MovedHomeTests {
    private let scratch: Scratch
    private let places: Paths

    init() throws {
        scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        places = try Paths(options: try GlobalOptions.parse([]), environment: environment)
    }

    /// Every object that a home can hold.
    private static func objects() throws -> [HomeObject] {
        let digest = try #require(Hash256([UInt8](repeating: 7, count: 32)))
        let tresor = TresorID(digest)
        return [
            .identity, .names, .pins, .heads, .notedStores, .knownServices, .knownLogins, .wraps, .cleanupJournal,
            .deviceShare, .log(tresor),
            .log(tresor, part: 1),
            .state(tresor), .evidence(digest),
        ]
    }

    private func fill() throws -> DirectoryHome {
        let home = DirectoryHome(data: places.data, state: places.state)
        for object in try Self.objects() { try home.replace(object, with: [1, 2, 3]) }
        return home
    }

    private func moved() async throws -> IdentityBackup {
        let moved = try #require(IdentityBackup(in: places))
        let home = DirectoryHome(data: places.data, state: places.state)
        #expect(try await moved.move(includingIdentity: true, in: home, after: SlotWait()))
        return moved
    }

    @Test("A221: a new identity inherits nothing: all that a home holds is moved, and can be used where it is")
    func A221_aNewIdentityInheritsNothing() async throws {
        let home = try fill()
        try scratch.write("kept", "store.db")
        let moved = try await moved()
        moved.stays()
        for object in try Self.objects() { #expect(try home.read(object) == nil, "\(object)") }
        #expect(try scratch.text("store.db") == "kept")
        let old = DirectoryHome(data: moved.path, state: Paths.join(moved.path, "state"))
        for object in try Self.objects() { #expect(try old.read(object) == [1, 2, 3], "\(object)") }
        #expect(IdentityBackup(in: places) == nil)
    }

    @Test("A221: what an identity left behind is moved without it; an identity that appeared is not")
    func A221_whatIsLeftOfAnIdentityIsMovedToo() async throws {
        let home = try fill()
        let early = try #require(IdentityBackup(in: places))
        #expect(try await !early.move(includingIdentity: false, in: home, after: SlotWait()))
        for object in try Self.objects() { #expect(try home.read(object) != nil, "\(object)") }
        try home.delete(.identity)
        let moved = try #require(IdentityBackup(in: places))
        #expect(!moved.hasIdentity)
        #expect(try await moved.move(includingIdentity: false, in: home, after: SlotWait()))
        moved.stays()
        for object in try Self.objects() { #expect(try home.read(object) == nil, "\(object)") }
    }

    @Test("It waits for a change of the key slots, as all other changes do")
    func slots() async throws {
        let home = try fill()
        let moved = try #require(IdentityBackup(in: places))
        let other = Mutex<SlotLock?>(try home.slotLock())
        let pauses = Mutex(0)
        var wait = SlotWait()
        wait.pause = { _ in
            if pauses.withLock({
                $0 += 1; return $0
            }) == 3 {
                other.withLock { $0 = nil }
            }
        }
        #expect(try await moved.move(includingIdentity: true, in: home, after: wait))
        moved.stays()
        #expect(pauses.withLock { $0 } == 3)
        #expect(try home.read(.identity) == nil)
    }

    @Test("A device share apart from the home stays on its own disk")
    func stateApart() async throws {
        var environment = Environment()
        (environment.dataHome, environment.stateHome) = (scratch.path("data"), scratch.path("state"))
        for name in ["data", "state"] {
            try FileManager.default.createDirectory(atPath: scratch.path(name), withIntermediateDirectories: true)
        }
        let places = try Paths(options: try GlobalOptions.parse([]), environment: environment)
        let home = DirectoryHome(data: places.data, state: places.state)
        for object in try Self.objects() { try home.replace(object, with: [1, 2, 3]) }
        let moved = try #require(IdentityBackup(in: places))
        #expect(try await moved.move(includingIdentity: true, in: home, after: SlotWait()))
        let name = moved.path.split(separator: "/").last.map(String.init) ?? ""
        #expect(FileManager.default.fileExists(atPath: "\(places.state)/\(name)/device-share"))
        moved.putBack()
        for object in try Self.objects() { #expect(try home.read(object) == [1, 2, 3], "\(object)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: places.state) == ["device-share"])
    }

    @Test("What is moved aside takes nobody's place")
    func free() async throws {
        try scratch.write("newest", "identity")
        let now = time(nil)
        let taken = (now..<(now + 100)).map { "identity.\($0)" }
        for name in taken { try scratch.write("older", name) }
        let moved = try await moved()
        moved.stays()
        for name in taken { #expect(try scratch.text(name) == "older") }
        let added = Set(scratch.names).subtracting(taken).subtracting(["lock", "slots.lock"])
        #expect(added.count == 1)
        #expect(try scratch.text("\(try #require(added.first))/identity") == "newest")
    }

    @Test("It comes back, unless another has taken its place")
    func back() async throws {
        let home = try fill()
        let before = scratch.names.filter { !$0.hasSuffix("lock") }
        try await moved().putBack()
        #expect(scratch.names.filter { !$0.hasSuffix("lock") } == before)
        for object in try Self.objects() { #expect(try home.read(object) == [1, 2, 3], "\(object)") }
        let moved = try await moved()
        try scratch.write("second", "identity")
        moved.putBack()
        #expect(try scratch.text("identity") == "second")
        #expect(try home.read(.pins) == nil)
    }

    @Test("Nothing is moved where there is nothing, and what was moved is no place for an output")
    func names() throws {
        #expect(IdentityBackup(in: places) == nil)
        let own = OwnFiles(places, passwords: [])
        #expect(own.contains(scratch.path("identity.1763800000")))
        #expect(own.contains(scratch.path("identity.1763800000/pins")))
        #expect(!own.contains(scratch.path("identity.txt")) && !own.contains(scratch.path("identity.")))
        #expect(!own.contains(scratch.path("out/pins")))
    }
}

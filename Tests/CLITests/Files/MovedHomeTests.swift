// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
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
            .identity, .names, .pins, .heads, .notedStores, .wraps, .cleanupJournal, .deviceShare, .log(tresor),
            .log(tresor, part: 1),
            .state(tresor), .evidence(digest),
        ]
    }

    private func fill() throws -> DirectoryHome {
        let home = DirectoryHome(data: places.data, state: places.state)
        for object in try Self.objects() { try home.replace(object, with: [1, 2, 3]) }
        return home
    }

    private func moved() throws -> IdentityBackup {
        let moved = try #require(IdentityBackup(in: places))
        #expect(try moved.move(includingIdentity: true))
        return moved
    }

    @Test("A221: a new identity inherits nothing: all that a home holds is moved, and can be used where it is")
    func A221_aNewIdentityInheritsNothing() throws {
        let home = try fill()
        try scratch.write("kept", "store.db")
        let moved = try moved()
        moved.stays()
        for object in try Self.objects() { #expect(try home.read(object) == nil, "\(object)") }
        #expect(try scratch.text("store.db") == "kept")
        let old = DirectoryHome(data: moved.path, state: Paths.join(moved.path, "state"))
        for object in try Self.objects() { #expect(try old.read(object) == [1, 2, 3], "\(object)") }
        #expect(IdentityBackup(in: places) == nil)
    }

    @Test("A221: what an identity left behind is moved without it; an identity that appeared is not")
    func A221_whatIsLeftOfAnIdentityIsMovedToo() throws {
        let home = try fill()
        let early = try #require(IdentityBackup(in: places))
        #expect(try !early.move(includingIdentity: false))
        for object in try Self.objects() { #expect(try home.read(object) != nil, "\(object)") }
        try home.delete(.identity)
        let moved = try #require(IdentityBackup(in: places))
        #expect(!moved.hasIdentity)
        #expect(try moved.move(includingIdentity: false))
        moved.stays()
        for object in try Self.objects() { #expect(try home.read(object) == nil, "\(object)") }
    }

    @Test("A device share apart from the home stays on its own disk")
    func stateApart() throws {
        var environment = Environment()
        (environment.dataHome, environment.stateHome) = (scratch.path("data"), scratch.path("state"))
        for name in ["data", "state"] {
            try FileManager.default.createDirectory(atPath: scratch.path(name), withIntermediateDirectories: true)
        }
        let places = try Paths(options: try GlobalOptions.parse([]), environment: environment)
        let home = DirectoryHome(data: places.data, state: places.state)
        for object in try Self.objects() { try home.replace(object, with: [1, 2, 3]) }
        let moved = try #require(IdentityBackup(in: places))
        #expect(try moved.move(includingIdentity: true))
        let name = moved.path.split(separator: "/").last.map(String.init) ?? ""
        #expect(FileManager.default.fileExists(atPath: "\(places.state)/\(name)/device-half"))
        moved.putBack()
        for object in try Self.objects() { #expect(try home.read(object) == [1, 2, 3], "\(object)") }
        #expect(try FileManager.default.contentsOfDirectory(atPath: places.state) == ["device-half"])
    }

    @Test("What is moved aside takes nobody's place")
    func free() throws {
        try scratch.write("newest", "identity")
        let now = time(nil)
        let taken = (now..<(now + 100)).map { "identity.\($0)" }
        for name in taken { try scratch.write("older", name) }
        let moved = try moved()
        moved.stays()
        for name in taken { #expect(try scratch.text(name) == "older") }
        let added = Set(scratch.names).subtracting(taken).subtracting(["lock", "slots.lock"])
        #expect(added.count == 1)
        #expect(try scratch.text("\(try #require(added.first))/identity") == "newest")
    }

    @Test("It comes back, unless another has taken its place")
    func back() throws {
        let home = try fill()
        let before = scratch.names.filter { !$0.hasSuffix("lock") }
        try moved().putBack()
        #expect(scratch.names.filter { !$0.hasSuffix("lock") } == before)
        for object in try Self.objects() { #expect(try home.read(object) == [1, 2, 3], "\(object)") }
        let moved = try moved()
        try scratch.write("second", "identity")
        moved.putBack()
        #expect(try scratch.text("identity") == "second")
        #expect(try home.read(.pins) == nil)
    }

    @Test("Nothing is moved where there is nothing, and what was moved is no place for an output")
    func names() throws {
        #expect(IdentityBackup(in: places) == nil)
        #expect(places.isOwn(scratch.path("identity.1763800000")))
        #expect(places.isOwn(scratch.path("identity.1763800000/pins")))
        #expect(!places.isOwn(scratch.path("identity.txt")) && !places.isOwn(scratch.path("identity.")))
        #expect(!places.isOwn(scratch.path("out/pins")))
    }
}

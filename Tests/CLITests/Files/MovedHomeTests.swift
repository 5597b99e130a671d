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
            .identity, .names, .pins, .heads, .notedStores, .knownServices, .wraps, .cleanupJournal, .deviceShare,
            .log(tresor),
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
        let own = OwnFiles(places, passwords: [])
        #expect(own.contains(scratch.path("identity.1763800000")))
        #expect(own.contains(scratch.path("identity.1763800000/pins")))
        #expect(!own.contains(scratch.path("identity.txt")) && !own.contains(scratch.path("identity.")))
        #expect(!own.contains(scratch.path("out/pins")))
    }
}

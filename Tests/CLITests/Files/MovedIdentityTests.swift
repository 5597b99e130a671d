// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Foundation
import Testing

@testable import TresorCommand

@Suite("Moved identities")
struct MovedIdentityTests {
    private let scratch: Scratch
    private let places: Places

    init() throws {
        scratch = try Scratch()
        var environment = Environment()
        environment.home = scratch.url.path
        places = try Places(options: try GlobalOptions.parse([]), environment: environment)
    }

    @Test("An identity that is moved aside takes nobody's place")
    func free() throws {
        try scratch.write("newest", "identity")
        let now = time(nil)
        let taken = (now..<(now + 100)).map { "identity.\($0)" }
        for name in taken { try scratch.write("older", name) }
        let moved = try #require(try MovedIdentity(in: places))
        moved.stays()
        for name in taken { #expect(try scratch.text(name) == "older") }
        let added = try #require(Set(scratch.names).subtracting(taken).first)
        #expect(scratch.names.count == 101)
        #expect(try scratch.text(added) == "newest")
    }

    @Test("It comes back, unless another has taken its place")
    func back() throws {
        try scratch.write("first", "identity")
        try #require(try MovedIdentity(in: places)).putBack()
        #expect(scratch.names == ["identity"])
        let moved = try #require(try MovedIdentity(in: places))
        try scratch.write("second", "identity")
        moved.putBack()
        #expect(try scratch.text("identity") == "second")
        #expect(scratch.names.count == 2)
    }

    @Test("None is moved where there is none, and one that was moved is no place for an output")
    func names() throws {
        #expect(try MovedIdentity(in: places) == nil)
        #expect(places.isOwn(scratch.path("identity.1763800000")))
        #expect(!places.isOwn(scratch.path("identity.txt")) && !places.isOwn(scratch.path("identity.")))
    }
}

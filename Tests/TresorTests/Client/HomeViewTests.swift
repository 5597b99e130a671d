// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// A home whose objects are read once in a turn.
@Suite struct HomeViewTests {
    private let disk = MemoryHome()
    private let turns = Turns()
    private let counting: CountingHome
    private let home: HomeView

    init() {
        counting = CountingHome(home: disk)
        home = HomeView(counting, as: nil, readings: HomeReadings(of: turns))
    }

    @Test(arguments: [HomeObject.identity, .pins, .heads, .names, .wraps, .marks])
    func anObjectIsReadOnceATurn(_ object: HomeObject) throws {
        #expect(try home.read(object) == nil)
        try disk.replace(object, with: [1])
        #expect(try home.read(object) == nil)
        #expect(counting.tally.counts == ["home \(object.kind)": 1])
        turns.end()
        #expect(try home.read(object) == [1])
    }

    @Test func withoutTurnsEveryStepReads() throws {
        let home = HomeView(counting, as: nil, readings: nil)
        #expect(try home.read(.heads) == nil)
        try disk.replace(.heads, with: [1])
        #expect(try home.read(.heads) == [1])
    }

    @Test func underTheLockEverythingIsReadAgain() throws {
        #expect(try home.read(.heads) == nil)
        try disk.replace(.heads, with: [1])
        #expect(try home.exclusively { () throws(TresorError) in try home.read(.heads) } == [1])
        try disk.replace(.heads, with: [2])
        try home.exclusively { () throws(TresorError) in
            #expect(try home.read(.heads) == [2])
            try home.replace(.heads, with: [3])
            #expect(try home.read(.heads) == [3])
        }
        #expect(try home.read(.heads) == [3])
    }

    @Test func aWriteEndsWhatWasBelieved() throws {
        for object in [HomeObject.pins, .heads] { #expect(try home.read(object) == nil) }
        for object in [HomeObject.pins, .heads] { try disk.replace(object, with: [1]) }
        try home.replace(.pins, with: [2])
        #expect(try home.read(.pins) == [2])
        #expect(try home.read(.heads) == [1])
        try home.delete(.pins)
        #expect(try home.read(.pins) == nil)
    }

    @Test func aSecretIsNeverHeld() throws {
        if try home.readSecret(.deviceShare) != nil { Issue.record("there is no secret yet") }
        let secret = try SecretBytes(copying: [1].span)
        try disk.replace(.deviceShare, withSecret: secret)
        guard let read = try home.readSecret(.deviceShare) else { throw TresorError.notFound }
        #expect(read.span.publicBytes == [1])
    }

    @Test func theSameBytesAreDecodedOnce() throws {
        var count = 0
        func decoded(_ bytes: [UInt8]) throws -> Int {
            try home.value(of: .pins, bytes) { (bytes) throws(TresorError) in
                count += 1
                guard bytes.count == 1 else { throw .altered }
                return Int(bytes[0])
            }
        }
        for bytes in [[1], [1], [2], [2], [1]] as [[UInt8]] { #expect(try decoded(bytes) == Int(bytes[0])) }
        #expect(count == 3)
        for _ in 0..<2 { #expect(throws: TresorError.altered) { try decoded([]) } }
        #expect(count == 5)
    }

    /// The identity file was read before anybody opened it, and is read no more once they lock it.
    @Test func nothingThatIsHeldIsShownAfterTheLock() async throws {
        let world = World()
        let anna = try await world.quick("anna", home: disk)
        let client = world.client(counting, seeing: nil, turns: turns)
        _ = try client.identityFileBlocking()
        let session = Session(client: client, identity: anna.identity)
        _ = try session.client.identityFileBlocking()
        #expect(counting.tally.counts == ["home identity": 1])
        session.lock()
        #expect(throws: TresorError.usage(.locked)) { try session.client.identityFileBlocking() }
        #expect(throws: TresorError.usage(.locked)) { try session.client.home.replace(.pins, with: []) }
        _ = try client.identityFileBlocking()
    }

    @Test func muchWorkEndsTheTurn() {
        for _ in 0..<255 { turns.count(file: 1) }
        #expect(turns.number == 0)
        turns.count(file: 1)
        #expect(turns.number == 1)
        for _ in 0..<255 { turns.count(file: 1) }
        turns.end()
        turns.count(file: 1)
        #expect(turns.number == 2)
        turns.count(file: 64 << 20)
        #expect(turns.number == 3)
    }
}

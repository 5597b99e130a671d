// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// A home that is read once an operation.
@Suite struct SteadyHomeTests {
    private final class Watch: Sendable {
        private let time = Mutex(Duration.zero)
        var now: Duration {
            get { time.withLock { $0 } }
            set { time.withLock { $0 = newValue } }
        }
    }

    private let disk = MemoryHome()
    private let watch = Watch()
    private let counting: CountingHome
    private let home: SteadyHome

    init() {
        counting = CountingHome(home: disk)
        home = SteadyHome(counting, clock: { [watch] in watch.now })
    }

    @Test(arguments: [HomeObject.identity, .pins, .heads, .names, .wraps, .marks])
    func anObjectIsReadOnceASecond(_ object: HomeObject) throws {
        #expect(try home.read(object) == nil)
        try disk.replace(object, with: [1])
        #expect(try home.read(object) == nil)
        #expect(counting.tally.counts == ["home \(object.kind)": 1])
        watch.now += SteadyHome.patience
        #expect(try home.read(object) == [1])
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
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

/// The people of previews are real.
@Suite struct PreviewCastTests {
    @Test func membersOfAPreviewReadEachOther() async throws {
        let cast = PreviewCast()
        let anna = try await cast.person("anna")
        let bob = try await cast.person("bob")
        let house = try await cast.person("dr-house")
        try cast.introduce(anna, bob, house)
        let plans = try await cast.tresor("interventions", of: anna, readers: [house], writers: [bob]).id
        let sealed = try await bob.files.seal([1, 2, 3], type: Name(typed: "text/plain"), in: plans)
        let opened = try await house.files.open(sealed, expecting: Expectations(tresor: plans))
        #expect(opened.content == [1, 2, 3])
        #expect(opened.author.handle.text == "bob")
        #expect(opened.author.time == cast.clock.now)
        #expect(try await anna.client.logs.state(of: plans).members.count == 3)
    }

    @Test func theClockShowsTheTimeThatIsSet() {
        let clock = FixedClock(5)
        let read = clock.read
        #expect(read() == 5)
        clock.now += 2
        #expect(read() == 7)
        clock.now = 1
        #expect(read() == 1)
    }

    @Test func aHomeInMemoryIsAHome() throws {
        let home = MemoryHome()
        try home.replace(.pins, with: [1])
        #expect(home.read(.pins) == [1])
        home.fill(after: 1)
        try home.replace(.pins, with: [2])
        #expect(throws: TresorError.failed(.full)) { try home.replace(.pins, with: [3]) }
        #expect(home.contents == ["pins": [2]])
        home.fill(after: nil)
        home.delete(.pins)
        #expect(home.read(.pins) == nil)
    }

    /// Another task waits for its turn; nothing of its change is lost.
    @Test func oneTaskAtATimeHasTheHome() async throws {
        let home = MemoryHome()
        try home.replace(.pins, with: [0, 0])
        try await withThrowingTaskGroup { group in
            for _ in 0..<4 {
                group.addTask {
                    for _ in 0..<100 {
                        try home.exclusively { () throws(TresorError) in
                            var bytes = home.read(.pins) ?? []
                            bytes[0] &+= 1
                            if bytes[0] == 0 { bytes[1] += 1 }
                            try home.replace(.pins, with: bytes)
                        }
                    }
                }
            }
            try await group.waitForAll()
        }
        #expect(home.read(.pins) == [UInt8(400 % 256), 1])
    }
}

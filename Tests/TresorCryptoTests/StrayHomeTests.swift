// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Foundation
    import Testing
    import TresorStore

    @testable import Tresor
    @testable import TresorCore
    @testable import TresorCrypto

    /// A39: what a home keeps of a secret goes from guarded memory to the file and back.
    @Suite(.disabled(if: isSanitized, "a sanitizer keeps copies of its own")) struct StrayHomeTests {
        @Test func A39_aHomeLeavesNoCopyOfASecretObject() async {
            await #expect(processExitsWith: .success) {
                let place = NSTemporaryDirectory() + "tresor-stray-\(UInt64.random(in: .min ... .max))"
                defer { try? FileManager.default.removeItem(atPath: place) }
                let home = DirectoryHome(data: place, state: place + "/state")
                let secret = try SecretBytes(randomCount: 90)
                try home.replace(.deviceShare, withSecret: secret)
                let written = MemoryScan.strayCopies(of: secret)
                #expect(written == 0)
                guard let read = try home.readSecret(.deviceShare) else { throw TresorError.notFound }
                let isSame = read.matches(secret)
                #expect(isSame)
                let copies = MemoryScan.strayCopies(of: secret)
                #expect(copies == 1, "the one in secret memory, and nothing else")
            }
        }

        @Test func A39_theShareOfADeviceLeavesNoCopy() async {
            await #expect(processExitsWith: .success) {
                let place = NSTemporaryDirectory() + "tresor-stray-\(UInt64.random(in: .min ... .max))"
                defer { try? FileManager.default.removeItem(atPath: place) }
                let home = DirectoryHome(data: place, state: place + "/state")
                let client = Client(home: home, store: MemoryStore(), clock: { 1_777_730_400 })
                let typed = Array("a password of anna".utf8)
                let anna = try await client.makeIdentity(
                    handle: Name(typed: "anna"), password: Password(typed: SecretBytes(copying: typed.span)),
                    cost: .floor)
                try await client.people.publishCard()
                _ = try await anna.unlocking.rememberDevice(name: .empty, until: 1_777_830_400)
                guard let share = try client.device.share() else { throw TresorError.notFound }
                let copies = MemoryScan.strayCopies(of: share.secret.bytes)
                #expect(copies == 0)
                _ = try await client.device.unlock()
                let later = MemoryScan.strayCopies(of: share.secret.bytes)
                #expect(later == 0)
            }
        }
    }
#endif

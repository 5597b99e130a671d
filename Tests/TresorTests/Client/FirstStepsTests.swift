// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// The first steps of a program: a folder, an identity, a person.
@Suite struct FirstStepsTests {
    private let world = World()

    @Test func aFolderIsAHome() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: "tresor-\(UUID().uuidString)")
        defer { try? FileManager.default.removeItem(at: folder) }
        let store = StageStores.seen(StageStores.make())
        let start = UInt64(Date.now.timeIntervalSince1970)
        let anna = try await Client(at: folder, store: store).makeIdentity(
            "anna", password: Password("correct horse battery"), cost: .floor)
        let plans = try await anna.create("plans")
        let file = try await plans.seal([1])
        let again = Client(at: folder.path(percentEncoded: false), store: store)
        let session = try await again.unlock(password: Password("correct horse battery"))
        let opened = try await session.tresor("plans").open(file)
        #expect(opened.author.time >= start && opened.author.time <= UInt64(Date.now.timeIntervalSince1970))
        #expect(try await again.people.lookup("anna").map(\.trust) == [.me])
        #expect(
            await failure { _ = try await again.makeIdentity("anna", password: Password("correct horse")) }
                == .usage(.identityExists))
        #expect(await failure { _ = try await again.unlock(password: Password("another horse")) } == .wrongPassword)
        let device = try await session.unlocking.rememberDevice(name: "tablet", until: .now + 1000)
        #expect(try await again.device.unlock().user == anna.user)
        #expect(try again.device.idBlocking() == device.id)
        #expect(
            FileManager.default.fileExists(atPath: folder.appending(path: "device").path(percentEncoded: false)))
    }

    @Test func aPasswordOfTextIsAPasswordOfBytes() throws {
        for text in ["correct horse", "pa\u{308}sswort", "x"] {
            let bytes = Array(text.utf8)
            let typed = try Password(typed: SecretBytes(copying: bytes.span))
            let password = try Password(text)
            let isSame = password.bytes.matches(typed.bytes)
            #expect(isSame)
        }
        for text in ["", "a\u{7}b"] {
            #expect(throws: TresorError.self) { _ = try Password(text) }
        }
    }

    @Test func aComparedNumberVerifies() async throws {
        let anna = try await world.quick("anna")
        let house = try await world.quick("dr-house")
        let number = try house.chain.number().grouped
        let person = try await anna.client.verify("dr-house", number: number)
        #expect(person.trust == .verified && person.user == house.user)
        #expect(try anna.people.pinnedBlocking().map(\.chain) == [house.chain])
        #expect(try await anna.client.verify(house.user.description, number: number) == person)
        #expect(try await anna.client.verify("anna", number: anna.chain.number().digits).trust == .me)
        #expect(try anna.people.pinnedBlocking().count == 1)
    }

    @Test func anotherNumberPinsNothing() async throws {
        let anna = try await world.quick("anna")
        let house = try await world.quick("dr-house")
        let eve = try await world.quick("eve")
        let before = anna.home
        let number = try eve.chain.number().digits
        #expect(await failure { _ = try await anna.client.verify("dr-house", number: number) } == .unverified)
        #expect(await failure { _ = try await anna.client.verify("nobody", number: number) } == .notFound)
        for text in ["", "12345", number + "0", "x" + number.dropFirst()] {
            let error = await failure { _ = try await anna.client.verify("dr-house", number: text) }
            #expect(error == .usage(.safetyNumber))
        }
        #expect(anna.home == before)
        #expect(try await anna.client.people.person(house.user).trust == .unverified)
    }

    @Test func A46_aKnownHandleKeepsItsPerson() async throws {
        let anna = try await world.quick("anna")
        let house = try await world.quick("dr-house")
        _ = try await anna.client.verify("dr-house", number: house.chain.number().digits)
        // Another person of that handle, in a store that shows only them.
        let other = World()
        let impostor = try await other.quick("dr-house")
        let client = other.session(of: anna, seeing: other.store).client
        let number = try impostor.chain.number().digits
        #expect(await failure { _ = try await client.verify("dr-house", number: number) } == .unverified)
        #expect(try client.people.pinnedBlocking().map(\.chain) == [house.chain])
        let replaced = try await client.verify("dr-house", number: number, replacing: true)
        #expect(replaced.user == impostor.user)
        #expect(try client.people.pinnedBlocking().filter { !$0.isReplaced }.map(\.chain) == [impostor.chain])
    }

    @Test func thePeopleWhoseNumbersWereComparedAreListed() async throws {
        let store = CountingStore(store: StageStores.make())
        let world = World(store: store)
        let anna = try await world.quick("anna")
        let house = try await world.quick("dr-house")
        _ = try await world.quick("eve")
        #expect(try await anna.people.verified() == [])
        _ = try await anna.client.verify("dr-house", number: house.chain.number().digits)
        let renewed = try await house.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        try await renewed.people.publishCard()
        #expect(try await anna.people.person(house.user).trust == .renewed(since: house.chain))
        store.tally.reset()
        #expect(try await anna.people.verified() == [Person(chain: house.chain, trust: .verified)])
        #expect(store.tally.counts == [:])
        // A person who was replaced under their handle is no longer listed.
        let other = World()
        let impostor = try await other.quick("dr-house")
        let client = other.session(of: anna, seeing: other.store).client
        let replaced = try await client.verify(
            "dr-house", number: impostor.chain.number().digits, replacing: true)
        #expect(try await client.people.verified() == [replaced])
    }

    @Test func theChainOfAHomeNeedsNoSecret() async throws {
        let home = MemoryHome()
        let client = world.client(home)
        #expect(try client.people.ownChain() == nil)
        let anna = try await world.quick("anna", home: home)
        #expect(try client.people.ownChain() == anna.chain)
        let renewed = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
        renewed.lock()
        #expect(try client.people.ownChain() == renewed.chain)
        #expect(try client.people.ownChain()?.newest.generation == 1)
        let bytes = try #require(home.contents[.identity])
        try home.replace(.identity, with: bytes.dropLast())
        #expect(await failure { _ = try client.people.ownChain() } == .altered)
    }

    @Test func aTrustedDeviceOpensUntilItsEnd() async throws {
        let anna = try await world.quick("anna")
        let start = TimeInterval(world.clock.now)
        let device = try await anna.unlocking.rememberDevice(
            name: "tablet", until: Date(timeIntervalSince1970: start + 100.75))
        #expect(device.end == Date(timeIntervalSince1970: start + 100))
        #expect(try await anna.unlocking.devices().map(\.end) == [device.end])
        world.clock.advance(by: 100)
        #expect(try await anna.client.device.unlock().user == anna.user)
        world.clock.advance(by: 1)
        #expect(await failure { _ = try await anna.client.device.unlock() } == .noAccess)
        for end in [Date.distantPast, Date(timeIntervalSince1970: 0.5), Date(timeIntervalSince1970: 1e13)] {
            #expect(
                await failure { _ = try await anna.unlocking.rememberDevice(name: "x", until: end) } == .usage(.time))
        }
        #expect(try await anna.unlocking.devices() == [device])
        let last = Date(timeIntervalSince1970: TimeInterval(Format.latestTime))
        #expect(try await anna.unlocking.rememberDevice(name: "desk", until: last).end == last)
    }
}

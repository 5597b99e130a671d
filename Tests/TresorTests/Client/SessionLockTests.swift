// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// A locked session has no keys, and reads and writes nothing.
@Suite struct SessionLockTests {
    private let world = World()
    private let home = MemoryHome()
    private let anna: Session
    private let house: Session
    private let plans: TresorHandle

    init() async throws {
        anna = try await world.quick("anna", home: home)
        house = try await world.quick("dr-house")
        try world.introduce(anna, house)
        plans = try await anna.create("plans")
    }

    /// The error of each call; `nil` where there is none.
    private func errors(_ doctor: Person, _ file: SealedFile, _ state: LogState) async -> [TresorError?] {
        let until = world.clock.now + 100
        return [
            await failure { _ = try await plans.seal([1]) },
            await failure { _ = try await plans.seal([NamedContent([1], type: .empty)]) },
            await failure { _ = try await plans.open(file) },
            await plans.open([ExpectedFile(file, expecting: .anyTresor)]).first?.error,
            await failure { _ = try await plans.reseal(file) },
            await failure { try await plans.share(with: doctor) },
            await failure { _ = try await plans.plan(.rotate) },
            await failure { _ = try await plans.members() },
            await failure { _ = try await plans.name() },
            await failure { _ = try await plans.log() },
            await failure { _ = try await anna.tresor("plans") },
            await failure { _ = try await anna.create("more") },
            await failure { _ = try await anna.tresors.name(in: state) },
            await failure { _ = try await anna.tresors.settle(plans.id) },
            await failure { try anna.tresors.hideBlocking(plans.id) },
            await failure { _ = try await anna.unlocking.makeKit() },
            await failure { _ = try await anna.unlocking.rememberDevice(name: .empty, until: until) },
            await failure { try await anna.unlocking.revokeDevices([]) },
            await failure { try await anna.renewal.check() },
            await failure { _ = try await anna.renewal.finishInEachTresor() },
            await failure { _ = try await anna.people.lookup("dr-house") },
            await failure { _ = try await anna.client.verify("dr-house", number: doctor.number().digits) },
            await failure { try await anna.people.publishCard() },
            await failure { _ = try await anna.keyRing.keys(of: 1, in: state) },
            await failure { _ = try anna.identity.sign(.entrySignature, [1]) },
        ]
    }

    @Test func nothingIsReadOrWrittenAfterwards() async throws {
        let doctor = try await anna.people.person(house.user)
        let file = try await plans.seal([1], record: "one")
        let state = try await plans.state()
        let copy = anna
        #expect(!anna.isLocked)
        anna.lock()
        #expect(anna.isLocked && copy.isLocked)
        let before = home.contents
        let reads = home.readCount
        for (number, error) in await errors(doctor, file, state).enumerated() {
            #expect(error == .usage(.locked), "call \(number)")
        }
        #expect(home.contents == before)
        #expect(home.readCount == reads)
        #expect(try await log(plans.id, in: world.store).count == 1)
        #expect(anna.handle.text == "anna" && anna.user == anna.chain.user)
        anna.lock()
    }

    @Test func theSameHomeIsUnlockedAgain() async throws {
        let file = try await plans.seal([1])
        let client = world.client(home)
        let other = Session(client: client, identity: try identityCopy())
        anna.lock()
        #expect(try await other.tresor(plans.id).open(file).content == [1])
        #expect(try client.identityFileBlocking().chain == anna.chain)
    }

    /// A second unlocking of the same identity: by a kit, without Argon2id.
    private func identityCopy() throws -> Identity {
        let kit = try RecoveryKit()
        let slot = try anna.identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: world.clock.now)
        return try IdentityFile(of: anna.identity, previous: [], slots: [slot]).open(withKit: kit)
    }

    @Test func theKeysAreReleased() async throws {
        _ = try await plans.seal([1])
        weak var keys: EpochKeys?
        do {
            let state = try await plans.state()
            let held = try await anna.keyRing.keys(of: 1, in: state)
            keys = held
            #expect(keys === held)
        }
        #expect(keys != nil)
        anna.lock()
        #expect(keys == nil)
    }
}

extension Result where Failure == TresorError {
    fileprivate var error: TresorError? {
        switch self {
        case .success: nil
        case .failure(let error): error
        }
    }
}

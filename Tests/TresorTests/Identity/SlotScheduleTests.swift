// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Two processes on one home (SPEC §8.4): while one changes the key slots and waits for the store, another one does
/// something else.
@Suite struct SlotScheduleTests {
    /// The deeds of somebody with a home.
    enum Act: String, CaseIterable, Sendable {
        case setKit, remember, forget, revoke, changePassword, endDevices, renew, cleanUp
        case unlock, createTresor, publish

        /// Those that call the store while they change the key slots.
        static let changes: [Act] = [.setKit, .remember, .forget, .revoke, .endDevices, .renew, .cleanUp]
    }

    /// A home with a kit and a trusted device, used by two processes.
    private struct House: Sendable {
        let store: any Store
        let home: MemoryHome
        let user: UserID
        let record = InterjectingStore.Record()
        /// The process that is interrupted by the other one.
        let first: Session
        let way: InterjectingStore
        let second: Session

        init() async throws {
            let world = World()
            store = world.store
            home = MemoryHome()
            let anna = try await world.quick("anna", home: home)
            user = anna.identity.user
            way = InterjectingStore(store, record)
            var client = Client(home: home, store: way, named: nil, turns: Turns(), clock: anna.client.clock)
            client.hooks.slotWait.patience = .zero
            first = Session(client: client, identity: anna.identity)
            let other = InterjectingStore(store, record)
            client = Client(home: home, store: other, named: nil, turns: Turns(), clock: anna.client.clock)
            client.hooks.slotWait.patience = .zero
            second = Session(client: client, identity: anna.identity)
            try await House.perform(.setKit, by: first)
            try await House.perform(.remember, by: first)
            // The rest of changes that were interrupted.
            let device = try DeviceID.random()
            let locator = try RecoveryKit().locator()
            try await way.putServerShare(
                [UInt8](repeating: 1, count: 32), deviceKey: anyDigest(), user: user, device: device)
            try await way.putKitCopy([1], locator: locator)
            try anna.client.cleanup.note(
                kits: [CleanupJournal.Kit(user: user, locator: locator)],
                devices: [CleanupJournal.Device(user: user, id: device)], slots: [device])
        }

        static func perform(_ act: Act, by session: Session) async throws {
            let client = session.client
            switch act {
            case .setKit: try await session.unlocking.setKit(try RecoveryKit())
            case .remember: _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            case .forget: try await client.device.forget()
            case .revoke:
                try await session.unlocking.revokeDevices(try client.identityFileBlocking().devices.map(\.id))
            case .changePassword: try await session.unlocking.changePassword(to: try password("new"), cost: .floor)
            case .endDevices:
                try await session.unlocking.changePasswordEndingDevices(to: try password("new"), cost: .floor)
            case .renew:
                let renewed = try await session.renewal.renew(
                    password: try password("new"), cost: .floor, kit: try RecoveryKit())
                try await renewed.renewal.finish()
            case .cleanUp: try await client.cleanUp()
            case .unlock: _ = try await client.device.unlock()
            case .createTresor: _ = try await session.tresors.create(Name(typed: "plans \(try DeviceID.random())"))
            case .publish: try await session.people.publishCard()
            }
        }

        /// Nothing is lost and nothing is left: what the file names is in the store, and nothing else.
        func check(_ place: Comment) async throws {
            let client = second.client
            try await client.cleanUp()
            let file = try IdentityFile(try #require(home.read(.identity)))
            for locator in record.locators {
                let copy = try await store.kitCopy(locator: locator)
                #expect((copy != nil) == (locator == file.kitLocator), place)
            }
            let share = try client.device.share()
            for device in record.devices {
                let kept = try await store.serverShare(user: user, device: device)
                #expect((kept != nil) == (device == share?.id), place)
            }
            let journal = try client.cleanup.journal()
            #expect(journal.kits.isEmpty && journal.devices.isEmpty, place)
            let slots = Set(file.devices.map(\.id))
            #expect(slots == Set(journal.slots).union(share.map { [$0.id] } ?? []), place)
            guard share != nil else { return }
            #expect(try await client.device.unlock().identity.user == user, place)
        }
    }

    /// The end of an act that meets a change: nothing, since the change is under way; or whatever the change has ended.
    /// A renewal that comes second finds the newer keys.
    private static func isExpected(_ error: TresorError?, of act: Act) -> Bool {
        switch error {
        case nil, .busy, .notFound, .noAccess: true
        case .forked: act == .renew
        default: false
        }
    }

    /// Every change, every place of a call of the store, every other command.
    @Test(arguments: Act.changes) func A107_everyActAtEveryCallOfAChange(_ change: Act) async throws {
        let trial = try await House()
        trial.way.interject([:])
        try await House.perform(change, by: trial.first)
        let count = trial.way.placeCount
        #expect(count > 0)
        for act in Act.allCases {
            for place in 0..<count {
                let house = try await House()
                let met = Mutex<TresorError?>(nil)
                house.way.interject([
                    place: { [second = house.second] in
                        let error = await failure { try await House.perform(act, by: second) }
                        met.withLock { $0 = error }
                    }
                ])
                let error = await failure { try await House.perform(change, by: house.first) }
                let (comment, meeting) = ("\(change), \(act) at \(place)" as Comment, met.withLock { $0 })
                #expect(Self.isExpected(meeting, of: act), comment)
                // Only an act that was done before the change began can have come before it.
                #expect(
                    error == nil || meeting == nil && Self.isExpected(error, of: change), "\(comment): \(error as Any)")
                try await house.check(comment)
            }
        }
    }

    /// Some changes one after another, each with acts at places that a seed determines.
    @Test(arguments: 0..<4) func A107_manyChangesAndActs(batch: Int) async throws {
        for seed in seeds("TRESOR_SLOT_SCHEDULES", else: 20, batch: batch, of: 4) {
            var dice = Dice(seed: seed)
            let house = try await House()
            for _ in 0..<3 {
                let change = Act.changes.randomElement(using: &dice) ?? .setKit
                var acts: [Int: @Sendable () async -> Void] = [:]
                for place in 0..<16 where Int.random(in: 0..<4, using: &dice) == 0 {
                    let act = Act.allCases.randomElement(using: &dice) ?? .unlock
                    acts[place] = { [second = house.second] in
                        let error = await failure { try await House.perform(act, by: second) }
                        #expect(Self.isExpected(error, of: act), "seed \(seed): \(act): \(error as Any)")
                    }
                }
                house.way.interject(acts)
                let error = await failure { try await House.perform(change, by: house.first) }
                #expect(Self.isExpected(error, of: change), "seed \(seed): \(change): \(error as Any)")
            }
            house.way.interject([:])
            try await house.check("seed \(seed)")
        }
    }
}

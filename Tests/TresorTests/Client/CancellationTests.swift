// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore

/// A cancelled call has changed nothing and says so, or it is done. The store cancels it at each of its calls in turn.
@Suite struct CancellationTests {
    /// The calls that change something, and some that only read.
    enum Deed: CaseIterable {
        case create, share, revoke, rotate, leave, publish, kit, remember, endDevices, password, renew
        case restoreEntry, appendLost, restoreWraps
        case seal, open, sealStream, sealMany, openMany, unlock, list, audit, records

        /// Whether nobody can see afterwards that it was done.
        var isReading: Bool {
            switch self {
            case .seal, .open, .sealStream, .sealMany, .openMany, .unlock, .list, .audit, .records: true
            default: false
            }
        }
    }

    /// A kit that a stage can hold.
    private final class HeldKit: Sendable {
        let kit: RecoveryKit

        init() throws { kit = try RecoveryKit() }
    }

    /// Two people, a tresor of the first, and a device of theirs.
    private struct Stage {
        let evil = EvilStore()
        let store: CancellingStore
        let world: World
        let home = MemoryHome()
        let anna: Session
        let house: Session
        let tresor: TresorID
        let file: SealedFile
        let device: DeviceID
        let newKit: HeldKit

        init(for deed: Deed) async throws {
            newKit = try HeldKit()
            let whole = CancellingStore(evil)
            world = World(store: whole)
            let owner = try await world.quick("anna", home: home)
            house = try await world.quick("house")
            try world.introduce(owner, house)
            tresor = try await owner.tresors.create(Name(typed: "plans")).tresor
            switch deed {
            case .revoke, .leave, .restoreEntry, .appendLost, .restoreWraps:
                try await owner.share(tresor, with: [house], as: .writer)
            default: break
            }
            file = try await owner.seal("plan", in: tresor)
            device = try await owner.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9).id
            _ = try await house.tresors.all()
            store = try await Self.damaged(whole, evil, tresor, for: deed)
            let session = world.session(of: owner, seeing: store)
            // New keys are in the home, and their card is not in the store.
            anna =
                deed == .publish
                ? try await session.renewal.renew(password: password("new"), cost: .floor, kit: nil) : session
        }

        /// The store as the deed meets it: whole, or without what the deed restores.
        private static func damaged(
            _ whole: CancellingStore, _ evil: EvilStore, _ tresor: TresorID, for deed: Deed
        ) async throws -> CancellingStore {
            switch deed {
            case .restoreEntry:
                evil.drop(0)
                evil.restored = []
                return whole
            case .appendLost, .restoreWraps:
                let backup = StageStores.make()
                let entries = try await log(tresor, in: whole).prefix(deed == .appendLost ? 1 : 2)
                for (index, entry) in entries.enumerated() {
                    let previous = index > 0 ? entries[index - 1] : nil
                    _ = try await backup.append(
                        LogChange(tresor: tresor, sequence: UInt64(index), after: previous, entry: entry))
                }
                return CancellingStore(backup)
            default: return whole
            }
        }

        /// Whose home the deed changes.
        func actor(of deed: Deed) -> Session { deed == .leave ? house : anna }

        /// The objects that the home holds beyond those that it has learnt by reading.
        func lasting(_ deed: Deed) -> [HomeObject: [UInt8]] {
            actor(of: deed).home.filter { object, _ in
                switch object.kind {
                case .heads, .log, .state, .names, .wraps: false
                default: true
                }
            }
        }

        /// Does the deed in a task that is cancelled at a call of the store, or before it begins.
        func error(of deed: Deed, cancelledAt call: Int?) async -> TresorError? {
            let (gate, opening) = AsyncStream<Void>.makeStream()
            let task = Task {
                for await _ in gate { break }
                return await failure { try await perform(deed) }
            }
            if let call { store.cancel(at: call) { task.cancel() } } else { task.cancel() }
            opening.finish()
            return await task.value
        }

        private func perform(_ deed: Deed) async throws {
            let text = try Name(typed: "text/plain")
            switch deed {
            case .create: _ = try await anna.tresors.create(Name(typed: "others"))
            case .share: try await anna.share(tresor, with: [house])
            case .revoke: try await anna.tresors.perform(.revoke([house.identity.user]), on: tresor)
            case .rotate: try await anna.tresors.perform(.rotate, on: tresor)
            case .leave: try await house.tresors.perform(.leave, on: tresor)
            case .publish: try await anna.client.people.publishCard()
            case .kit: try await anna.unlocking.setKit(newKit.kit)
            case .remember: _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 99)
            case .endDevices: try await anna.unlocking.revokeDevices([device])
            case .password:
                try await anna.unlocking.changePasswordEndingDevices(to: password("new"), cost: .floor)
            case .renew: _ = try await anna.renewal.renew(password: password("new"), cost: .floor, kit: nil)
            case .restoreEntry: _ = try await anna.client.audit.restoreEntries(of: tresor)
            case .appendLost: _ = try await anna.audit.restoreEntries(of: tresor)
            case .restoreWraps: try await anna.audit.restoreWraps(of: tresor)
            case .seal: _ = try await anna.seal("another", in: tresor)
            case .open: _ = try await anna.files.open(file)
            case .sealStream:
                var source = MemorySource(Array(repeating: 7, count: 1 << 20))
                var sink = MemorySink()
                _ = try await anna.files.seal(&source, to: &sink, type: text, in: tresor)
            case .sealMany:
                let contents = (0..<40).map { NamedContent([UInt8($0)], type: text) }
                _ = try await anna.files.seal(contents, in: tresor)
            case .openMany:
                for result in await anna.files.open(Array(repeating: file, count: 40)) { _ = try result.get() }
            case .unlock: _ = try await anna.client.device.unlock()
            case .list: _ = try await anna.tresors.all()
            case .audit: _ = try await anna.audit.check()
            case .records: _ = try await anna.client.logs.records(of: tresor)
            }
        }

        /// Whether the store and the home show the deed.
        func isDone(_ deed: Deed) async throws -> Bool {
            let user = house.identity.user
            func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }
            let file = try anna.client.identityFileBlocking()
            switch deed {
            case .create: return try await anna.tresors.named("others").count == 1
            case .share: return try await state().members[user] != nil
            case .revoke, .leave: return try await state().members[user] == nil
            case .rotate: return try await state().epoch == 2
            case .publish:
                let card = try await store.card(of: anna.identity.user)
                return file.chain.newest.generation == 1 && card == file.chain.bytes
            case .kit:
                let isPending = try anna.client.cleanup.isPendingBlocking()
                return try newKit.kit.locator() == file.kitLocator && !isPending
            case .remember:
                let id = try anna.client.device.share()?.id
                return file.devices.map(\.id) == [id] && id != device
            case .endDevices, .password:
                let isPending = try anna.client.cleanup.isPendingBlocking()
                return file.devices.isEmpty && !isPending
            case .renew: return file.chain.newest.generation == 1
            case .restoreEntry: return try await evil.restored == [log(tresor, in: evil.truth)[0]]
            case .appendLost: return try await log(tresor, in: store) == log(tresor, in: evil.truth)
            case .restoreWraps: return try await store.wraps(of: user, in: tresor, epoch: 1).count == 1
            default: return true
            }
        }
    }

    @Test(arguments: Deed.allCases.filter { $0 != .restoreEntry })
    func aCancelledCallChangedNothingOrIsDone(_ deed: Deed) async throws { try await cancel(deed) }

    @Test func aCancelledReturnOfAnEntryChangedNothingOrIsDone() async throws { try await cancel(.restoreEntry) }

    private func cancel(_ deed: Deed) async throws {
        let late = try await Stage(for: deed)
        let before = late.lasting(deed)
        let writes = late.store.writes
        #expect(await late.error(of: deed, cancelledAt: nil) == .cancelled)
        #expect(late.lasting(deed) == before && late.store.writes == writes)
        #expect(try await late.isDone(deed) == deed.isReading)
        for call in 0..<200 {
            let stage = try await Stage(for: deed)
            let before = stage.lasting(deed)
            let writes = stage.store.writes
            let error = await stage.error(of: deed, cancelledAt: call)
            if error == nil {
                #expect(try await stage.isDone(deed), "call \(call)")
            } else {
                #expect(error == .cancelled, "call \(call)")
                #expect(stage.lasting(deed) == before && stage.store.writes == writes, "call \(call)")
            }
            guard stage.store.hasCancelled else {
                #expect(error == nil)
                return
            }
        }
        Issue.record("it has no end")
    }

    /// A cancelled task works out no password.
    @Test func aCancelledPasswordMakesAndOpensNothing() async throws {
        let world = World()
        let home = MemoryHome()
        let client = world.client(home)
        let handle = try Name(typed: "anna")
        func cancelled(_ body: @escaping @Sendable () async throws -> Void) async -> TresorError? {
            let task = Task {
                withUnsafeCurrentTask { $0?.cancel() }
                return await failure(body)
            }
            return await task.value
        }
        let making = await cancelled {
            _ = try await client.makeIdentity(handle: handle, password: password("anna"), cost: .floor)
        }
        #expect(making == .cancelled)
        #expect(home.contents.isEmpty)
        let anna = try await client.makeIdentity(handle: handle, password: password("anna"), cost: .floor)
        let contents = home.contents
        #expect(await cancelled { _ = try await client.unlock(password: password("anna")) } == .cancelled)
        #expect(
            await cancelled { try await anna.unlocking.changePassword(to: password("new"), cost: .floor) }
                == .cancelled)
        #expect(home.contents == contents)
    }

    /// No clock: the batch stands still until the other file is open, and would stand so for ever.
    @Test func anUrgentOpenOvertakesABatch() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let file = try await anna.seal("plan", in: tresor)
        let urgent = try await anna.seal("urgent", in: tresor)
        let (begun, beginning) = AsyncStream<Void>.makeStream()
        let isOpen = Mutex(false)
        let batch = Task {
            await anna.files.open(Array(repeating: ExpectedFile(file, expecting: .anyTresor), count: 5000)) { _ in
                beginning.yield()
                while !isOpen.withLock({ $0 }) { usleep(1000) }
            }
        }
        for await _ in begun { break }
        #expect(try await anna.files.open(urgent).content == Array("urgent".utf8))
        // Other tasks run too: none waits for a thread.
        _ = try await anna.tresors.create(Name(typed: "others"))
        batch.cancel()
        isOpen.withLock { $0 = true }
        let results = await batch.value
        #expect(results.count == 5000)
        #expect(results.allSatisfy { $0 == .failure(.cancelled) })
    }

    @Test func aBatchSaysHowFarItIs() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let type = try Name(typed: "text/plain")
        for count in [0, 1, 16, 17, 100] {
            let reports = Mutex<[WorkDone]>([])
            let contents = (0..<count).map { NamedContent([UInt8($0)], type: type) }
            let files = try await anna.files.seal(contents, in: tresor) { done in reports.withLock { $0.append(done) } }
            _ = await anna.files.open(files.map { ExpectedFile($0, expecting: .anyTresor) }) { done in
                reports.withLock { $0.append(done) }
            }
            let said = reports.withLock { $0 }
            let end = WorkDone(UInt64(count), of: UInt64(count))
            #expect(said.count { $0 == end } == 2)
            #expect(said.last == end && said.allSatisfy { $0.total == UInt64(count) })
            #expect(end.fraction == 1)
        }
    }
}

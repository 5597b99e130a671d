// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// A home that lives as long as the test.
final class MemoryHome: Home {
    private let objects = Mutex<[HomeObject: [UInt8]]>([:])
    /// How many more writes succeed; `nil` for all.
    private let room = Mutex<Int?>(nil)

    /// How many more calls get the lock; `nil` for all.
    private let turns = Mutex<Int?>(nil)

    private let reads = Mutex(0)

    private let slots = SlotMutex()

    /// How often anything was read.
    var readCount: Int { reads.withLock { $0 } }

    func read(_ object: HomeObject) -> [UInt8]? {
        reads.withLock { $0 += 1 }
        return objects.withLock { $0[object] }
    }

    func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
        let isFull = room.withLock { room in
            guard let left = room else { return false }
            room = max(0, left - 1)
            return left == 0
        }
        guard !isFull else { throw .failed(.full) }
        objects.withLock { $0[object] = bytes }
    }

    func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
        guard let bytes = read(object) else { return nil }
        return try SecretBytes(copying: bytes.span)
    }

    func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
        try replace(object, with: (0..<bytes.count).map { bytes.span[$0] })
    }

    /// From now on so many writes succeed and the next ones find no space; `nil` makes room again.
    func fill(after writes: Int?) { room.withLock { $0 = writes } }

    func delete(_ object: HomeObject) { objects.withLock { $0[object] = nil } }

    func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
        let isHeld = turns.withLock { turns in
            guard let left = turns else { return false }
            turns = max(0, left - 1)
            return left == 0
        }
        guard !isHeld else { throw .busy }
        return try body()
    }

    func slotLock() -> SlotLock? { slots.lock() }

    /// Gives the lock to the next calls, and refuses it to those after them; `nil` gives it to all again.
    func hold(after calls: Int?) { turns.withLock { $0 = calls } }

    /// Everything in it, to show that nothing changed.
    var contents: [HomeObject: [UInt8]] { objects.withLock { $0 } }

    func copy() -> MemoryHome {
        let home = MemoryHome()
        let contents = contents
        home.objects.withLock { $0 = contents }
        return home
    }
}

/// A clock that a test sets.
final class TestClock: Sendable {
    private let time = Mutex<UInt64>(1_777_730_400)

    var now: UInt64 {
        get { time.withLock { $0 } }
        set { time.withLock { $0 = newValue } }
    }

    func advance(by seconds: UInt64) { time.withLock { $0 += seconds } }
}

/// Several people on one store.
struct World {
    var store: any Store
    let clock = TestClock()

    init(store: any Store = StageStores.make()) { self.store = store }

    /// Puts a chain into the store behind everybody's back, in the place of an earlier one.
    func publish(_ chain: CardChain, replacing former: CardChain) async throws {
        let outcome = try await StageStores.byHand { () async throws(TresorError) in
            try await store.putCard(
                chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: former.bytes)
        }
        guard outcome == .done else { throw TresorError.busy }
    }

    func client(_ home: any Home) -> Client {
        Client(home: home, store: StageStores.seen(store), clock: { [clock] in clock.now })
    }

    /// Makes and publishes a person; unlocks without Argon2id.
    func person(_ handle: String, home: MemoryHome = MemoryHome()) async throws -> Session {
        let client = client(home)
        let session = try await client.makeIdentity(
            handle: try Name(typed: handle), password: try password(handle), cost: .floor)
        try await session.people.publishCard()
        return session
    }

    /// Lets each verify the other.
    func introduce(_ people: Session...) throws {
        for one in people {
            for other in people where other.identity.user != one.identity.user {
                try one.client.people.pinBlocking(other.identity.chain)
            }
        }
    }
}

/// The password of a test person.
func password(_ handle: String) throws -> Password {
    let text = Array("password of \(handle)".utf8)
    return try Password(typed: try SecretBytes(copying: text.span))
}

/// Runs `body` and gives its error.
func failure(_ body: () async throws -> Void) async -> TresorError? {
    do {
        try await body()
        return nil
    } catch let error as TresorError {
        return error
    } catch {
        return .failed(.other)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import TresorRemote

/// The promises of a store, over HTTP.
@Suite struct RemoteConformanceTests {
    /// A service finds nobody by fewer than 3 bytes of a user id; `HTTPStoreTests` has what it does.
    /// Nobody sees its bytes, so that nobody can tell what is erased.
    static let claims = StoreClaim.all.filter { ![Promise.userPrefixes, .erasure].contains($0.promise) }

    @Test(arguments: claims)
    func everyPromiseIsKept(_ claim: StoreClaim) async throws {
        let clock = FixedClock()
        let people = SamplePeople()
        let handler = try OpenHandler(MemoryStore(), clock: clock.read, reading: people.reading)
        let transport = LoopbackTransport(into: handler, clock: clock.read)
        try await claim.check(
            at: StorePlace {
                SampleStore(base: HTTPStore(ServiceClient(over: transport, clock: clock.read)), people: people)
            })
    }
}

/// Real identities in the place of those whose user ids the checks make up, since a service wants signatures.
final class SamplePeople: Sendable {
    private struct State {
        var identities: [UserID: Identity] = [:]
        var samples: [UserID: UserID] = [:]
    }

    private let state = Mutex(State())

    /// The identity that speaks for a user id.
    func identity(of user: UserID) throws(TresorError) -> Identity {
        if let known = state.withLock({ $0.identities[user] }) { return known }
        let made = try Identity.make(handle: Name(typed: "sample"), time: 1_777_730_400)
        return state.withLock { state in
            let identity = state.identities[user] ?? made
            state.identities[user] = identity
            state.samples[identity.user] = user
            return identity
        }
    }

    /// Reads the frames of ``Frame``.
    var reading: OpenHandler.Reading {
        var reading = OpenHandler.Reading()
        reading.card = { (bytes) throws(TresorError) in
            let frame = try Frame(bytes)
            return (frame.user, frame.key)
        }
        reading.wrap = { (bytes) throws(TresorError) in
            let frame = try Frame(bytes)
            var decoder = ByteDecoder(frame.key)
            return (frame.user, try decoder.integer())
        }
        reading.speaker = { [self] user in state.withLock { $0.samples[user] ?? user } }
        return reading
    }
}

/// A made-up object with what a service reads in a real one: the person, and a handle or an epoch.
private struct Frame {
    let user: UserID
    let key: [UInt8]
    let content: [UInt8]

    init(_ user: UserID, _ key: [UInt8], _ content: [UInt8]) {
        (self.user, self.key, self.content) = (user, key, content)
    }

    init(_ user: UserID, epoch: UInt64, _ content: [UInt8]) {
        var encoder = ByteEncoder()
        encoder.integer(epoch)
        self.init(user, encoder.bytes, content)
    }

    init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        user = UserID(try decoder.digest())
        key = try decoder.vector16(0...Name.maximumByteCount)
        content = try decoder.raw(decoder.remaining)
    }

    var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.digest(user.digest)
        encoder.vector16(key)
        encoder.raw(content)
        return encoder.bytes
    }
}

/// A store over HTTP for the made-up objects of the checks.
private struct SampleStore: ForwardingStore {
    let base: HTTPStore
    let people: SamplePeople

    /// Calls in the name of a user id.
    private func speaking<Answer>(
        as user: UserID = UserID(.zero), _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await base.called(by: .person(people.identity(of: user)), call)
    }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await speaking(call) }

    func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await speaking { (store) async throws(TresorError) in
            try await store.putCard(
                Frame(user, handle, chain).bytes, user: user, handle: handle,
                replacing: replacing.map { Frame(user, handle, $0).bytes })
        }
    }

    func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        let bytes = try await speaking { (store) async throws(TresorError) in try await store.card(of: user) }
        guard let bytes else { return nil }
        return try Frame(bytes).content
    }

    func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        var chains: [[UInt8]] = []
        let found = try await speaking { (store) async throws(TresorError) in try await store.cards(handle: handle) }
        for bytes in found { chains.append(try Frame(bytes).content) }
        return chains
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let framed = LogChange(
            tresor: change.tresor, sequence: change.sequence, previous: change.previous, entry: change.entry,
            putting: change.putting.map(Self.framed), removingWrapsOf: change.removingWrapsOf, blobs: change.blobs)
        return try await speaking { (store) async throws(TresorError) in try await store.append(framed) }
    }

    func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
        let found = try await speaking { (store) async throws(TresorError) in
            try await store.wraps(of: user, in: tresor, epoch: epoch)
        }
        var wraps: [[UInt8]] = []
        for bytes in found { wraps.append(try Frame(bytes).content) }
        return wraps
    }

    func wraps(of users: [UserID], in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[[UInt8]]] {
        let found = try await speaking { (store) async throws(TresorError) in
            try await store.wraps(of: users, in: tresor, epoch: epoch)
        }
        var wraps: [[[UInt8]]] = []
        for own in found { wraps.append(try own.map { (bytes) throws(TresorError) in try Frame(bytes).content }) }
        return wraps
    }

    func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        try await speaking { (store) async throws(TresorError) in
            try await store.putWraps(wraps.map(Self.framed), in: tresor)
        }
    }

    private static func framed(_ wrap: StoredWrap) -> StoredWrap {
        StoredWrap(
            user: wrap.user, epoch: wrap.epoch, bytes: Frame(wrap.user, epoch: wrap.epoch, wrap.bytes).bytes)
    }

    func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        let own = try people.identity(of: user).user
        return try await speaking(as: user) { (store) async throws(TresorError) in try await store.tresors(of: own) }
    }

    func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        let own = try people.identity(of: user).user
        try await speaking(as: user) { (store) async throws(TresorError) in
            try await store.putServerShare(share, deviceKey: deviceKey, user: own, device: device)
        }
    }

    func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        let own = try people.identity(of: user).user
        return try await speaking(as: user) { (store) async throws(TresorError) in
            try await store.serverShare(user: own, device: device)
        }
    }

    func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        let own = try people.identity(of: user).user
        try await speaking(as: user) { (store) async throws(TresorError) in
            try await store.deleteServerShares(user: own, devices: devices)
        }
    }

    /// A service has no empty copy, so each has a byte more there.
    func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        try await speaking { (store) async throws(TresorError) in
            try await store.putKitCopy([0] + copy, locator: locator)
        }
    }

    func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        try await base.kitCopy(locator: locator).map { Array($0.dropFirst()) }
    }
}

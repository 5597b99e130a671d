// SPDX-License-Identifier: Apache-2.0

import Measuring
import Serving
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// Somebody who founds a tresor and names it again and again: the entries of a log.
final class Author: @unchecked Sendable {
    let session: Session
    let tresor: TresorID
    private let keys: EpochKeys
    private(set) var head: Head
    private var sessionKey: SessionKey?

    /// Publishes a card and founds a tresor.
    convenience init(_ handle: String, in store: any Store) async throws {
        try await self.init(try await Person.make(handle, in: store))
    }

    /// Founds a tresor.
    init(_ session: Session) async throws {
        self.session = session
        let state = try await session.tresors.create(Name(text: "plans"))
        tresor = state.tresor
        head = state.head
        keys = try await session.keyRing.keys(of: 1, in: state)
    }

    private init(session: Session, tresor: TresorID, keys: EpochKeys, head: Head) {
        self.session = session
        self.tresor = tresor
        self.keys = keys
        self.head = head
    }

    /// The same person before another service, where the log goes on in another way.
    func twin() -> Author { Author(session: session, tresor: tresor, keys: keys, head: head) }

    /// The next entry after a head.
    private func entry(after head: Head) throws -> Entry {
        let name = try SealedName(
            Name(text: "name \(head.sequence)"), kind: .empty, under: keys.content, tresor: tresor, epoch: 1,
            sequence: head.sequence + 1)
        return try Entry(
            tresor: tresor, sequence: head.sequence + 1, previous: head.hash, author: session.identity,
            time: Site.clock(), body: .rename(RenameBody(name)))
    }

    /// Appends entries to an embedded store.
    func grow(by count: Int, in store: any Store) async throws {
        for _ in 0..<count {
            let entry = try entry(after: head)
            let change = LogChange(
                tresor: tresor, sequence: entry.sequence, previous: entry.previous, entry: entry.bytes)
            guard try await store.append(change) == .done else { throw LoadFailure("the store refuses an entry") }
            head = Head(sequence: entry.sequence, hash: try entry.hash())
        }
    }

    /// Signs the requests of the next entries.
    ///
    /// - Returns: the requests, and the head after each.
    func requests(_ count: Int, to service: RunningServer.Addressee) throws -> [(request: TransportRequest, head: Head)]
    {
        let key =
            try sessionKey
            ?? SessionKey(
                of: session.identity, device: nil, server: service.server, audience: service.audience,
                since: Site.clock(), duration: 86_000)
        sessionKey = key
        var requests: [(request: TransportRequest, head: Head)] = []
        var head = head
        for _ in 0..<count {
            let entry = try entry(after: head)
            let body = AppendRequest(
                tresor: tresor, sequence: entry.sequence, previous: head.hash, entry: entry.bytes, wraps: [],
                removing: []
            ).bytes
            head = Head(sequence: entry.sequence, hash: try entry.hash())
            let authorization = try key.authorization(
                for: .append, body: body, id: try randomBytes(RequestStatement.idByteCount), time: Site.clock())
            requests.append(
                (
                    TransportRequest(
                        target: "/v1/append", authorization: authorization.text, body: body, timeout: .seconds(60),
                        maximumAnswerByteCount: ServiceOperation.maximumAnswerByteCount), head
                ))
        }
        return requests
    }

    /// Notes the end of the log after requests that were answered.
    func advance(to head: Head?) { self.head = head ?? self.head }
}

/// People with nothing but a card and a session.
enum Person {
    /// Makes an identity and publishes its card.
    static func make(_ handle: String, in store: any Store) async throws -> Session {
        try await make(try Identity.make(handle: Name(text: handle), time: Site.clock()), in: store)
    }

    /// Publishes the card of an identity.
    ///
    /// - Parameter previous: its sealed earlier seeds, the newest of them first.
    static func make(_ identity: Identity, previous: [[UInt8]] = [], in store: any Store) async throws -> Session {
        let client = Client(home: VolatileHome(), store: store, clock: Site.clock)
        let kit = try RecoveryKit()
        let slot = try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: Site.clock())
        try client.home.replace(
            .identity, with: try IdentityFile(of: identity, previous: previous, slots: [slot]).bytes)
        let session = Session(client: client, identity: identity)
        try await client.people.publishCard()
        return session
    }

    /// Makes an identity, stores its card, and returns a session with a service. The identity itself is gone then.
    static func visitor(_ handle: String, in store: any Store) async throws -> (
        UserID, (RunningServer.Addressee) throws -> SessionKey
    ) {
        let identity = try Identity.make(handle: Name(text: handle), time: Site.clock())
        let chain = identity.chain
        let outcome = try await store.putCard(
            chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
        guard outcome == .done else { throw LoadFailure("the store refuses a card") }
        return (
            chain.user,
            { service in
                try SessionKey(
                    of: identity, device: nil, server: service.server, audience: service.audience,
                    since: Site.clock(), duration: 86_000)
            }
        )
    }
}

/// A connection on which one thing after the other is appended.
enum AppendLine {
    /// Sends requests until the time is over.
    ///
    /// - Returns: the number of entries that were acknowledged, and the seconds that each took.
    static func run(
        _ requests: [(request: TransportRequest, head: Head)], over route: ConnectionTarget, seconds: Double
    ) throws -> [Double] {
        let connection = try Connection(to: route, for: ExchangeControl())
        let done = OutcomeAnswer(.done).bytes
        var times: [Double] = []
        let end = ContinuousClock.now + .seconds(seconds)
        for (request, _) in requests {
            let start = ContinuousClock.now
            guard start < end else { break }
            guard try connection.ask(request).body == done else { throw LoadFailure("an entry is not taken") }
            times.append(Measure.seconds(ContinuousClock.now - start))
        }
        return times
    }

    /// Sends the bytes of requests until the time is over, in the way in which peers are asked.
    ///
    /// - Returns: the number of entries that were acknowledged.
    static func run(_ requests: [[UInt8]], to port: Int, seconds: Double) throws -> Int {
        let connection = try PeerConnection(port)
        let done = OutcomeAnswer(.done).bytes
        var count = 0
        let end = ContinuousClock.now + .seconds(seconds)
        for request in requests {
            guard ContinuousClock.now < end else { break }
            let answer = try connection.exchange(request)
            guard answer.status == 200, answer.body == done else { throw LoadFailure("an entry is not taken") }
            count += 1
        }
        return count
    }
}

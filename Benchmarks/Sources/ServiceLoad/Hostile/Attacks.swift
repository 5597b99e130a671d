// SPDX-License-Identifier: Apache-2.0

import Foundation
import Serving

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// What one thread of an attack does until it is told that the attack is over.
typealias Line = @Sendable (Flag) throws -> Void

/// One attack of SPEC §14.2, as traffic.
protocol Attack: Sendable {
    /// Its row there, and what is sent.
    static var name: String { get }

    /// Puts into the store what it needs beforehand.
    init(in cast: Cast) async throws

    /// Makes its threads.
    func lines(to target: Target) throws -> [Line]

    /// Tries what the attack meant to prevent, and returns how often that was refused.
    func refusalsAfterwards(at target: Target) throws -> Int
}

extension Attack {
    /// Its row alone.
    static var row: String { String(name.prefix { $0 != "," }) }

    func refusalsAfterwards(at target: Target) throws -> Int { 0 }
}

/// A230: strangers announce bodies, and leave others unfinished, from four addresses.
struct StrangersBodies: Attack {
    static let name = "A230, bodies of strangers"

    private static let addressCount = 4
    private static let headsOfAddress = 4
    /// Bodies that lack a byte fill the room of strangers: 4 MiB of an address.
    private static let bodiesOfAddress = 64

    init(in cast: Cast) async throws {}

    func lines(to target: Target) throws -> [Line] {
        let announced = RawLine.bytes(.append, announcing: 16 << 20, [])
        let length = ServiceHead.smallByteCount
        let unfinished = RawLine.bytes(.register, announcing: length, [UInt8](repeating: 0, count: length - 1))
        return (0..<Self.addressCount).flatMap { address -> [Line] in
            let line = RawLine(from: address, to: target)
            let heads = [Line](
                repeating: { isOver in
                    while !isOver.isRaised {
                        line.exchange(announced)
                        usleep(250_000)
                    }
                }, count: Self.headsOfAddress)
            return heads + [{ isOver in Self.hold(unfinished, on: line, until: isOver) }]
        }
    }

    /// Begins bodies again and again: a service ends each after ten seconds.
    private static func hold(_ bytes: [UInt8], on line: RawLine, until isOver: Flag) {
        while !isOver.isRaised {
            let open = (0..<bodiesOfAddress).compactMap { _ in line.open(bytes) }
            let end = ContinuousClock.now + .seconds(10)
            while !isOver.isRaised, ContinuousClock.now < end { usleep(100_000) }
            for descriptor in open { close(descriptor) }
        }
    }
}

/// A231: an account has a log folded, of which no state is kept, on eight connections.
struct UnkeptState: Attack {
    static let name = "A231, a state that is not kept"

    private let adversary: Identity
    private let log: WrittenLog

    init(in cast: Cast) async throws {
        adversary = try await cast.adversary("mallory")
        log = try await WrittenLog(by: adversary, in: cast.store)
        // Their state takes more than 128 MiB.
        try await log.grant(cast.elders, .reader, in: cast.store)
    }

    func lines(to target: Target) throws -> [Line] {
        let session = try target.session(of: adversary)
        let body = PutWrapsRequest(tresor: log.tresor, wraps: [try log.wrapOfFounder()])
        return [Line](
            repeating: { isOver in
                var line = ClientLine(to: target)
                while !isOver.isRaised { _ = line.ask(try target.request(body, by: session)) }
            }, count: 8)
    }
}

/// A232: a writer fills tresors of four honest people.
struct FilledRoom: Attack {
    static let name = "A232, a writer who fills tresors"

    private let adversary: Identity
    private let founders: [Identity]
    private let logs: [WrittenLog]

    init(in cast: Cast) async throws {
        adversary = try await cast.adversary("mallory")
        founders = cast.authors.prefix(4).map(\.session.identity)
        var logs: [WrittenLog] = []
        for founder in founders {
            let log = try await WrittenLog(by: founder, in: cast.store)
            try await log.grant([adversary.chain], .writer, in: cast.store)
            logs.append(log)
        }
        self.logs = logs
    }

    func lines(to target: Target) throws -> [Line] {
        let adversary = adversary
        return logs.map { log -> Line in { isOver in try Self.fill(log, by: adversary, at: target, until: isOver) } }
    }

    private static func fill(_ log: WrittenLog, by adversary: Identity, at target: Target, until isOver: Flag) throws {
        var line = ClientLine(to: target)
        let session = try target.session(of: adversary)
        let part = [UInt8](repeating: 1, count: StoredBlob.partByteCount)
        while !isOver.isRaised {
            let entry = try log.unread([UInt8](repeating: 1, count: 60 << 10), by: adversary)
            if line.ask(try target.request(entry.request, by: session))?.body == OutcomeAnswer(.done).bytes {
                try log.advance(to: entry)
            }
            for _ in 0..<8 where !isOver.isRaised {
                guard let hash = Hash256(try randomBytes(Hash256.byteCount)) else { continue }
                let request = PutBlobRequest(tresor: log.tresor, hash: hash, part: 0, bytes: part)
                _ = line.ask(try target.request(request, by: session))
            }
        }
    }

    /// Each founder names the tresor that was filled.
    func refusalsAfterwards(at target: Target) throws -> Int {
        var line = ClientLine(to: target)
        return try zip(logs, founders).count { log, founder in
            let request = try target.request(try log.naming("named").request, by: try target.session(of: founder))
            return line.ask(request)?.body != OutcomeAnswer(.done).bytes
        }
    }
}

/// A233: the thief of an old seed asks for an account, from an address of their own.
struct OldSeed: Attack {
    static let name = "A233, an old seed"

    private let stolen: Identity

    init(in cast: Cast) async throws { stolen = cast.stolen }

    func lines(to target: Target) throws -> [Line] {
        let session = try target.session(of: stolen)
        let body = RegisterRequest(chain: stolen.chain.bytes, invitation: [], blinded: [])
        let line = RawLine(from: 8, to: target)
        return [Line](
            repeating: { isOver in
                while !isOver.isRaised { line.exchange(try target.request(body, by: session).wireBytes) }
            }, count: 4)
    }
}

/// A239: four accounts have large states kept, each as large as one that is kept may be.
struct LargeStates: Attack {
    static let name = "A239, states as large as are kept"

    private let adversaries: [Identity]
    private let logs: [WrittenLog]

    init(in cast: Cast) async throws {
        var adversaries: [Identity] = []
        var logs: [WrittenLog] = []
        for number in 0..<4 {
            let adversary = try await cast.adversary("mallory \(number)")
            let log = try await WrittenLog(by: adversary, in: cast.store)
            // Their states take about 100 MiB each.
            try await log.grant(Array(cast.elders.prefix(140)), .reader, in: cast.store)
            adversaries.append(adversary)
            logs.append(log)
        }
        self.adversaries = adversaries
        self.logs = logs
    }

    func lines(to target: Target) throws -> [Line] {
        try zip(adversaries, logs).map { adversary, log -> Line in
            let session = try target.session(of: adversary)
            let body = PutWrapsRequest(tresor: log.tresor, wraps: [try log.wrapOfFounder()])
            return { isOver in
                var line = ClientLine(to: target)
                while !isOver.isRaised { _ = line.ask(try target.request(body, by: session)) }
            }
        }
    }
}

/// A240: an account sends chains of 256 cards for nothing, on sixty connections.
struct LongChains: Attack {
    static let name = "A240, chains for nothing"

    private let adversary: Identity
    private let log: WrittenLog
    private let elders: [CardChain]

    init(in cast: Cast) async throws {
        adversary = try await cast.adversary("mallory", renewals: 254)
        log = try await WrittenLog(by: adversary, in: cast.store)
        elders = Array(cast.elders.prefix(2))
    }

    func lines(to target: Target) throws -> [Line] {
        let session = try target.session(of: adversary)
        let next = try adversary.renewCard(time: Site.clock()).identity
        let card = PutCardRequest(chain: next.chain.bytes, replacing: adversary.chain.cards[0].bytes)
        // Nobody has written the entry before it.
        let grant = try log.grant(elders, .reader, after: Head(sequence: 1, hash: .zero)).request
        let half: (@escaping TransportMaker) -> [Line] = { make in
            [Line](
                repeating: { isOver in
                    var line = ClientLine(to: target)
                    while !isOver.isRaised { _ = line.ask(try make()) }
                }, count: 30)
        }
        return half { try target.request(card, by: session) } + half { try target.request(grant, by: session) }
    }

    private typealias TransportMaker = @Sendable () throws -> TransportRequest
}

/// A243: requests that prove nothing come from the address of the honest people.
struct BadRequests: Attack {
    static let name = "A243, bad requests of a neighbour"

    private let stranger: Identity

    init(in cast: Cast) async throws {
        stranger = try Identity.make(handle: Name(text: "mallory"), time: Site.clock())
    }

    func lines(to target: Target) throws -> [Line] {
        let session = try target.session(of: stranger)
        return [
            { isOver in
                var line = ClientLine(to: target)
                for number in 0... {
                    guard !isOver.isRaised else { return }
                    _ = line.ask(try target.request(TresorsRequest(after: .zero), by: session))
                    // The first hundred bar the address; twenty a second keep it barred.
                    if number > 100 { usleep(50_000) }
                }
            }
        ]
    }
}

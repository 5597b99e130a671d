// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

@testable import TresorRemote

/// One person before a service that judges nothing, with faults on the way.
final class RemoteStage: Sendable {
    static let time: UInt64 = 1_777_730_400

    let handler: OpenHandler
    let transport: LoopbackTransport
    let store: HTTPStore
    let identity: Identity
    private let pauses: Pauses

    private final class Pauses: Sendable {
        let all = Mutex<[Duration]>([])
        let notices = Mutex<[ServiceNotice]>([])
    }

    /// The messages that the person was told.
    var told: [ServiceNotice] { pauses.notices.withLock { $0 } }

    /// The pauses before requests were sent again.
    var waited: [Duration] { pauses.all.withLock { $0 } }

    /// - Parameters:
    ///   - lead: the seconds by which the clock of the service is ahead.
    ///   - server: the id that the client expects.
    ///   - fault: chooses the fate of each exchange.
    init(
        lead: Int64 = 0, expecting server: Hash256? = nil,
        fault: @escaping @Sendable (Int) -> LoopbackTransport.Fault? = { _ in nil }
    ) throws {
        let ahead = { @Sendable in UInt64(Int64(Self.time) + lead) }
        let pauses = Pauses()
        self.pauses = pauses
        handler = try OpenHandler(MemoryStore(), clock: ahead)
        transport = LoopbackTransport(into: handler, clock: ahead, fault: fault)
        identity = try Identity.make(handle: Name(typed: "anna"), time: Self.time)
        store = HTTPStore(
            ServiceClient(
                over: transport, expecting: server,
                report: ServiceReport(notice: { notice in pauses.notices.withLock { $0.append(notice) } }),
                clock: { Self.time }, pause: { pause in pauses.all.withLock { $0.append(pause) } },
                steadyClock: { .zero }))
    }

    /// Makes calls in the name of the person.
    ///
    /// - Parameter home: the home of the person; `nil` for none.
    func asAnna<Answer>(
        from home: (any Home)? = nil, _ calls: (HTTPStore) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await calls(HTTPStore(store.service.speaking(as: .person(identity, from: home))))
    }

    /// Stores the chain of the person.
    func publish(from home: (any Home)? = nil) async throws(TresorError) -> StoreOutcome {
        let chain = identity.chain
        return try await asAnna(from: home) { (store) async throws(TresorError) in
            try await store.putCard(
                chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
        }
    }
}

/// An answer that is not done.
func refused(
    _ status: Int, _ error: TresorError, date: UInt64? = nil, era: Era = .first, retryAfter: UInt32? = nil,
    isOfService: Bool = true
) -> LoopbackTransport.Fault {
    .answering(
        TransportAnswer(
            status: status, isOfService: isOfService, date: date, retryAfter: retryAfter,
            body: Refusal(.invalid, error, era: era).body))
}

/// The error of a call, or `nil`.
func errorOf(_ body: () async throws -> Void) async -> TresorError? {
    do {
        try await body()
        return nil
    } catch {
        return error as? TresorError ?? .failed(.library)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto

/// A service that judges nothing: whoever signs a request may do what a store does. It answers in small pages.
final class OpenHandler: ServiceHandler {
    /// How it reads where a chain and a wrap belong, and who speaks.
    struct Reading: Sendable {
        var card: @Sendable ([UInt8]) throws(TresorError) -> (user: UserID, handle: [UInt8]) = {
            (bytes) throws(TresorError) in
            let chain = try CardChain(bytes)
            return (chain.user, chain.handle.bytes)
        }
        var wrap: @Sendable ([UInt8]) throws(TresorError) -> (user: UserID, epoch: UInt64) = {
            (bytes) throws(TresorError) in
            let wrap = try UnverifiedWrap(bytes)
            return (wrap.user, wrap.epoch)
        }
        var speaker: @Sendable (UserID) -> UserID = { $0 }
    }

    private struct State {
        var seen: [(operation: ServiceOperation, id: [UInt8])] = []
        var answers: [[UInt8]: ServiceReply] = [:]
        var deviceKeys: [DeviceID: Hash256] = [:]
    }

    let store: any Store
    /// The honest store behind it, for what no store is asked: the keys of people, and the end of a log.
    private let truth: any Store
    let server: Server
    /// Seconds since 1970 of this service's clock.
    let clock: @Sendable () -> UInt64
    private let reading: Reading
    private let pageCount: Int
    private let state = Mutex(State())

    init(
        _ store: any Store, behind truth: (any Store)? = nil, clock: @escaping @Sendable () -> UInt64,
        reading: Reading = Reading(), pageCount: Int = 7
    ) throws {
        self.store = store
        self.truth = truth ?? store
        self.clock = clock
        self.reading = reading
        self.pageCount = pageCount
        server = Server(key: try BLAKE2b.hash(.userID, [1]), memoryKiB: 262_144, passes: 3)
    }

    /// The operations that were asked for, with the ids of their requests; empty ids for those of anyone.
    var seen: [(operation: ServiceOperation, id: [UInt8])] { state.withLock { $0.seen } }

    /// The public keys of devices that were put with their server shares.
    var deviceKeys: [DeviceID: Hash256] { state.withLock { $0.deviceKeys } }

    func isHealthy() async -> Bool { true }

    func answer(_ call: ServiceCall) async -> ServiceReply {
        do {
            let (speaker, id) = try await speaker(of: call)
            state.withLock { $0.seen.append((call.operation, id)) }
            if call.operation.isChange, let kept = state.withLock({ $0.answers[id] }) { return kept }
            let reply = try await reply(to: call, from: speaker)
            state.withLock { $0.answers[id] = reply }
            return reply
        } catch let refusal as Refusal {
            return ServiceReply(refusal)
        } catch {
            let error = error as? TresorError ?? .failed(.other)
            // A service that refuses a log says that there is none. One behind this has refused the speaker.
            let isUnknown = call.operation == .entries && error == .noAccess
            return ServiceReply(isUnknown ? Refusal(.unauthorized, .noAccess) : Refusal(error))
        }
    }

    /// Checks the statement of the session and the signature of the request.
    private func speaker(of call: ServiceCall) async throws -> (user: UserID, id: [UInt8]) {
        guard call.operation.speaker != .anyone else { return (UserID(.zero), []) }
        let refused = Refusal(.unauthorized, .noAccess)
        guard let text = call.authorization, let authorization = try? Authorization(text) else { throw refused }
        let statement = authorization.statement
        let now = clock()
        guard (try? authorization.verify(call.operation, body: call.body)) != nil, try server.id() == statement.server,
            statement.since <= now + 300, now <= statement.until, authorization.time <= now + 300,
            now <= authorization.time + 300
        else { throw refused }
        if statement.kind == .device {
            guard call.operation.speaker == .device, let device = statement.device,
                let key = state.withLock({ $0.deviceKeys[device] }), (try? statement.verify(by: key)) != nil
            else { throw refused }
        } else if let chain = try await truth.card(of: statement.user).flatMap({ try? CardChain($0) }),
            let card = chain.card(generation: statement.generation)
        {
            guard (try? statement.verify(by: card.signingKey)) != nil else { throw refused }
        }
        return (reading.speaker(statement.user), authorization.id)
    }

    private func reply(to call: ServiceCall, from user: UserID) async throws -> ServiceReply {
        switch call.operation {
        case .server: return ServiceReply(ServerAnswer(server: server, registration: .open, approvers: []))
        case .card, .cards, .users, .putCard: return try await cards(call)
        case .entries, .append, .wraps, .putWraps, .tresors: return try await logs(call, user)
        case .putBlob, .blob, .blobs, .deleteBlobs: return try await blobs(call)
        case .putServerShare, .serverShare, .deleteServerShares: return try await shares(call, user)
        case .putKitCopy:
            let request = try PutKitCopyRequest(call.body)
            try await store.putKitCopy(request.copy, locator: request.locator)
        case .kitCopy:
            let request = try KitCopyRequest(call.body)
            return ServiceReply(KitCopyAnswer(copy: try await store.kitCopy(locator: request.locator) ?? []))
        case .putOffer: return ServiceReply(PutOfferAnswer(try await putOffer(PutOfferRequest(call.body))))
        case .deleteKitCopy: try await store.deleteKitCopy(locator: DeleteKitCopyRequest(call.body).locator)
        case .deleteTresor: try await store.deleteTresor(DeleteTresorRequest(call.body).tresor)
        default: throw Refusal(.invalid, .unsupported)
        }
        return ServiceReply(DoneAnswer())
    }

    private func putOffer(_ request: PutOfferRequest) async throws -> StoreOutcome? {
        guard let bytes = try await store.kitCopy(locator: request.locator) else { return nil }
        guard let taken = try DeviceMailbox(bytes).taking(request.offer) else { return .conflict }
        try await store.putKitCopy(taken.bytes, locator: request.locator)
        return .done
    }

    private func cards(_ call: ServiceCall) async throws -> ServiceReply {
        switch call.operation {
        case .card: ServiceReply(ChainAnswer(chain: try await store.card(of: CardRequest(call.body).user) ?? []))
        case .cards: ServiceReply(ChainsAnswer(chains: try await store.cards(handle: CardsRequest(call.body).handle)))
        case .users:
            ServiceReply(UsersAnswer(users: try await store.users(prefix: UsersRequest(call.body).prefix, limit: 64)))
        default:
            try await ServiceReply(put(PutCardRequest(call.body)))
        }
    }

    private func put(_ request: PutCardRequest) async throws -> OutcomeAnswer {
        let (user, handle) = try reading.card(request.chain)
        let replacing = request.replacing.isEmpty ? nil : request.replacing
        return OutcomeAnswer(
            try await store.putCard(request.chain, user: user, handle: handle, replacing: replacing))
    }

    private func logs(_ call: ServiceCall, _ user: UserID) async throws -> ServiceReply {
        switch call.operation {
        case .entries:
            let request = try EntriesRequest(call.body)
            let limit = min(Int(request.limit), pageCount)
            var page = try await store.entries(of: request.tresor, from: request.first, limit: limit + 1)
            let more = page.count > limit
            if more { page.removeLast() }
            return ServiceReply(EntriesAnswer(entries: page, more: more && !page.isEmpty))
        case .append: return ServiceReply(try await append(AppendRequest(call.body)))
        case .wraps:
            let request = try WrapsRequest(call.body)
            var wraps: [[[UInt8]]] = []
            for user in request.users.prefix(pageCount) {
                let stored = try await store.wraps(of: user, in: request.tresor, epoch: request.epoch)
                wraps.append(
                    try request.first == 0 ? stored : stored.filter { try reading.wrap($0).epoch >= request.first })
            }
            return ServiceReply(WrapsAnswer(wraps: wraps))
        case .putWraps:
            let request = try PutWrapsRequest(call.body)
            try await store.putWraps(try stored(request.wraps), in: request.tresor)
            return ServiceReply(DoneAnswer())
        default:
            let after = try TresorsRequest(call.body).after
            let rest = try await store.tresors(of: user).filter { after == .zero || TresorID(after) < $0 }
            return ServiceReply(
                TresorsAnswer(tresors: Array(rest.prefix(pageCount)), more: rest.count > pageCount))
        }
    }

    private func append(_ request: AppendRequest) async throws -> OutcomeAnswer {
        OutcomeAnswer(
            try await store.append(
                LogChange(
                    tresor: request.tresor, sequence: request.sequence, previous: request.previous,
                    entry: request.entry, putting: try stored(request.wraps), removingWrapsOf: request.removing,
                    blobs: request.blobs)))
    }

    private func blobs(_ call: ServiceCall) async throws -> ServiceReply {
        switch call.operation {
        case .putBlob:
            let request = try PutBlobRequest(call.body)
            try await store.putBlob(request.part, request.bytes, of: request.hash, in: request.tresor)
        case .blob:
            let request = try BlobRequest(call.body)
            let bytes = try await store.blob(request.hash, part: request.part, in: request.tresor)
            return ServiceReply(BlobAnswer(bytes: bytes ?? []))
        case .blobs:
            let request = try BlobsRequest(call.body)
            let found = try await store.blobs(Array(request.hashes.prefix(pageCount)), in: request.tresor)
            return ServiceReply(BlobsAnswer(blobs: found.map { $0 ?? [] }))
        default:
            let request = try DeleteBlobsRequest(call.body)
            try await store.deleteBlobs(request.hashes, in: request.tresor)
        }
        return ServiceReply(DoneAnswer())
    }

    private func stored(_ wraps: [[UInt8]]) throws -> [StoredWrap] {
        try wraps.map { bytes in
            let (user, epoch) = try reading.wrap(bytes)
            return StoredWrap(user: user, epoch: epoch, bytes: bytes)
        }
    }

    private func shares(_ call: ServiceCall, _ user: UserID) async throws -> ServiceReply {
        switch call.operation {
        case .putServerShare:
            let request = try PutServerShareRequest(call.body)
            state.withLock { $0.deviceKeys[request.device] = request.deviceKey }
            try await store.putServerShare(
                request.share, deviceKey: request.deviceKey, user: user, device: request.device)
            return ServiceReply(DoneAnswer())
        case .serverShare:
            let request = try ServerShareRequest(call.body)
            return ServiceReply(
                ServerShareAnswer(share: try await store.serverShare(user: user, device: request.device) ?? []))
        default:
            let devices = try DeleteServerSharesRequest(call.body).devices
            try await store.deleteServerShares(user: user, devices: devices.isEmpty ? nil : devices)
            return ServiceReply(DoneAnswer())
        }
    }
}

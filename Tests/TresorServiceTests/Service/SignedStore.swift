// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TresorCore
    import TresorCrypto
    import TresorService
    import TresorTesting

    /// The store that a service is, without a wire: each call is signed by its caller.
    ///
    /// Somebody without an account registers first, where everybody may.
    final class SignedStore: CalledStore {
        @TaskLocal private static var caller: TresorCore.Caller?

        private struct State {
            var signers: [UserID: Signer] = [:]
            var appends: [AppendRequest] = []
        }

        private let bench: Bench
        private let state = Mutex(State())

        init(_ bench: Bench) { self.bench = bench }

        /// The requests to append that were sent, in order.
        var appends: [AppendRequest] { state.withLock(\.appends) }

        func called<Answer>(
            by caller: TresorCore.Caller, _ calls: (any Store) async throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer {
            let result = await Self.$caller.withValue(caller) { () async -> Result<Answer, TresorError> in
                do throws(TresorError) { return .success(try await calls(self)) } catch { return .failure(error) }
            }
            return try result.get()
        }

        private func signer() async throws -> Signer {
            switch Self.caller?.key {
            case .person(let identity, _)?:
                let known = state.withLock { $0.signers[identity.user] }
                if let known, known.identity.generation == identity.generation { return known }
                let signer = try bench.signer(identity)
                if known == nil {
                    let registered = try await signer.ask(signer.registration())
                    if registered.state == .asked { _ = try await signer.ask(try signer.finishing()) }
                }
                state.withLock { $0.signers[identity.user] = signer }
                return signer
            default: throw TresorError.noAccess
            }
        }

        private func ask<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
            do {
                return try await signer().ask(request)
            } catch {
                throw (error as? TresorError) ?? .failed(.other)
            }
        }

        func putCard(
            _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
        ) async throws(TresorError) -> StoreOutcome {
            try await ask(PutCardRequest(chain: chain, replacing: replacing ?? [])).outcome
        }

        func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
            let chain = try await ask(CardRequest(user: user)).chain
            return chain.isEmpty ? nil : chain
        }

        func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
            try await ask(CardsRequest(handle: handle)).chains
        }

        func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
            guard UsersRequest.prefixByteCounts.contains(prefix.count) else { return [] }
            return Array(try await ask(UsersRequest(prefix: prefix)).users.prefix(limit))
        }

        func entries(of tresor: TresorID, from first: UInt64, limit: Int) async throws(TresorError) -> [[UInt8]] {
            var entries: [[UInt8]] = []
            while entries.count < limit {
                let page = try await ask(
                    EntriesRequest(
                        tresor: tresor, first: first + UInt64(entries.count), limit: UInt32(limit - entries.count)))
                entries += page.entries
                if !page.more { break }
            }
            return entries
        }

        func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
            let request = AppendRequest(
                tresor: change.tresor, sequence: change.sequence, previous: change.previous, entry: change.entry,
                wraps: change.putting.map(\.bytes), removing: change.removingWrapsOf,
                blobs: change.blobs)
            state.withLock { $0.appends.append(request) }
            return try await ask(request).outcome
        }

        func wraps(of user: UserID, in tresor: TresorID, epoch: UInt64?) async throws(TresorError) -> [[UInt8]] {
            try await ask(WrapsRequest(tresor: tresor, epoch: epoch, users: [user])).wraps[0]
        }

        func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
            _ = try await ask(PutWrapsRequest(tresor: tresor, wraps: wraps.map(\.bytes)))
        }

        func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
            _ = try await ask(DeleteTresorRequest(tresor: tresor))
        }

        func putBlob(
            _ part: UInt32, _ bytes: [UInt8], of hash: Hash256, in tresor: TresorID
        ) async throws(TresorError) {
            _ = try await ask(PutBlobRequest(tresor: tresor, hash: hash, part: part, bytes: bytes))
        }

        func blob(_ hash: Hash256, part: UInt32, in tresor: TresorID) async throws(TresorError) -> [UInt8]? {
            let bytes = try await ask(BlobRequest(tresor: tresor, hash: hash, part: part)).bytes
            return bytes.isEmpty ? nil : bytes
        }

        func blobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) -> [[UInt8]?] {
            guard !hashes.isEmpty else { return [] }
            return try await ask(BlobsRequest(tresor: tresor, hashes: hashes)).blobs.map { $0.isEmpty ? nil : $0 }
        }

        func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
            guard !hashes.isEmpty else { return }
            _ = try await ask(DeleteBlobsRequest(tresor: tresor, hashes: hashes))
        }

        func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
            try await ask(TresorsRequest(after: .zero)).tresors
        }

        func putServerShare(
            _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
        ) async throws(TresorError) {
            _ = try await ask(PutServerShareRequest(device: device, share: share, deviceKey: deviceKey))
        }

        func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
            let share = try await ask(ServerShareRequest(device: device)).share
            return share.isEmpty ? nil : share
        }

        func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
            _ = try await ask(DeleteServerSharesRequest(devices: devices ?? []))
        }

        func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
            _ = try await ask(PutKitCopyRequest(locator: locator, copy: copy))
        }

        func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
            let copy = try await ask(KitCopyRequest(locator: locator)).copy
            return copy.isEmpty ? nil : copy
        }

        func deleteKitCopy(locator: Hash256) async throws(TresorError) {
            _ = try await ask(DeleteKitCopyRequest(locator: locator))
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The store of a service, over HTTP (SPEC §18).
///
/// ```swift
/// let store = try HTTPStore("https://tresor.example.org")
/// let client = Client(home: home, store: store, clock: { UInt64(time(nil)) })
/// ```
///
/// The service judges each request by the person who makes it. Calls of a `Session` are made in the name of its person,
/// where it has this store itself: a store of your own in front of it passes no person on.
/// A call in nobody's name throws ``TresorError/noAccess``. Beside the errors of a ``Store``, calls throw
/// ``TresorError/noAccess``, ``TresorError/waiting`` and ``TresorError/unverified`` as the service says, and
/// ``TresorError/unsupported`` for a service of another release.
public struct HTTPStore: Sendable {
    /// The service itself, for the operations that no ``Store`` has.
    package let service: ServiceClient

    /// Names a service. Nothing is sent yet.
    ///
    /// - Parameters:
    ///   - address: `https://HOST` or `https://HOST:PORT`; `http://` for this machine alone.
    ///   - certificates: the path of a file with the certificates of the authorities to trust (PEM), in place of those
    ///     that `SSL_CERT_FILE` and `SSL_CERT_DIR` name, and of the system's.
    ///   - proxy: `HOST:PORT` of a proxy that makes connections (CONNECT); `nil` for none.
    /// - Throws: ``TresorError/usage(_:)`` for another form; ``TresorError/failed(_:)`` for a file of
    ///   certificates that cannot be read.
    public init(_ address: String, certificates: String? = nil, proxy: String? = nil) throws(TresorError) {
        try self.init(
            ServiceAddress(address), certificates: certificates,
            proxy: try proxy.map { text throws(TresorError) in try HostAndPort(text) },
            clock: { UInt64(max(0, time(nil))) })
    }

    /// Names a service whose id may be known.
    ///
    /// - Parameter report: takes what the client says beside answers and errors.
    package init(
        _ address: ServiceAddress, certificates: String?, proxy: HostAndPort?, expecting server: Hash256? = nil,
        report: ServiceReport = ServiceReport(), clock: @escaping @Sendable () -> UInt64
    ) throws(TresorError) {
        #if canImport(Darwin)
            let transport = URLSessionTransport(to: address)
            guard certificates == nil, proxy == nil else { throw .unsupported }
        #else
            let transport = try SocketTransport(
                to: address, authorities: Authorities(named: certificates), proxy: proxy)
        #endif
        self.init(ServiceClient(over: transport, expecting: server, report: report, clock: clock))
    }

    package init(_ service: ServiceClient) { self.service = service }

    /// The person or device that speaks must be this user.
    ///
    /// - Throws: ``TresorError/noAccess``.
    private func check(_ user: UserID) throws(TresorError) {
        guard service.caller?.user == user else { throw .noAccess }
    }
}

extension HTTPStore: CardStore {
    /// Stores the chain of the person who speaks. The service reads user id and handle in it.
    public func putCard(
        _ chain: [UInt8], user: UserID, handle: [UInt8], replacing: [UInt8]?
    ) async throws(TresorError) -> StoreOutcome {
        try await service.call(PutCardRequest(chain: chain, replacing: replacing ?? [])).outcome
    }

    /// Returns the card chain of a user id, or `nil`.
    public func card(of user: UserID) async throws(TresorError) -> [UInt8]? {
        let chain = try await service.call(CardRequest(user: user)).chain
        return chain.isEmpty ? nil : chain
    }

    /// Returns all card chains under a handle, compared as bytes.
    public func cards(handle: [UInt8]) async throws(TresorError) -> [[UInt8]] {
        try await service.call(CardsRequest(handle: handle)).chains
    }

    /// Returns the user ids that begin with `prefix`, in byte order, at most `limit` and at most 64. None for fewer than
    /// 3 bytes: a service lists nobody to people who know nobody.
    public func users(prefix: [UInt8], limit: Int) async throws(TresorError) -> [UserID] {
        guard UsersRequest.prefixByteCounts.contains(prefix.count), limit > 0 else { return [] }
        return Array(try await service.call(UsersRequest(prefix: prefix)).users.prefix(limit))
    }
}

extension HTTPStore: LogStore {
    /// Returns the entries of a log from `first` on, in order, at most `limit`. Reads on over the pages of the service.
    ///
    /// None for a log that the service refuses: it does so alike where it has none and where the speaker was never in it.
    public func entries(
        of tresor: TresorID, from first: UInt64, limit: Int
    ) async throws(TresorError) -> [[UInt8]] {
        var entries: [[UInt8]] = []
        while entries.count < limit {
            let (next, overflow) = first.addingReportingOverflow(UInt64(entries.count))
            guard !overflow else { break }
            let left = limit - entries.count
            let page = try await service.find(
                EntriesRequest(tresor: tresor, first: next, limit: UInt32(clamping: left)))
            guard let page else { break }
            guard page.entries.count <= left else { throw .store(.foreign) }
            entries += page.entries
            if !page.more { break }
        }
        return entries
    }

    /// Appends one entry with its blobs and changes its wraps, if the log still ends as `change` expects. Blobs that are
    /// too many for one request are put before.
    public func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let blobs = try await putLarge(change.blobs, in: change.tresor)
        return try await service.call(
            AppendRequest(
                tresor: change.tresor, sequence: change.sequence, previous: change.previous, entry: change.entry,
                wraps: change.putting.map(\.bytes), removing: change.removingWrapsOf, blobs: blobs)
        ).outcome
    }

    /// Compares an entry with that of the service, whose logs have no gaps.
    public func restore(
        _ entry: [UInt8], at sequence: UInt64, of tresor: TresorID
    ) async throws(TresorError) -> StoreOutcome {
        try await entries(of: tresor, from: sequence, limit: 1).first == entry ? .done : .conflict
    }

    /// Returns the wraps of one member of one tresor, by rising epoch; only those of `epoch` if given.
    public func wraps(
        of user: UserID, in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[UInt8]] {
        try await wraps(of: [user], in: tresor, epoch: epoch)[0]
    }

    /// The wraps that one request puts without an entry: they fit into 16 MiB.
    private static let wrapsOfRequest = 10_000

    /// Restores wraps, without an entry.
    public func putWraps(_ wraps: [StoredWrap], in tresor: TresorID) async throws(TresorError) {
        var rest = wraps[...]
        while !rest.isEmpty {
            let next = rest.prefix(Self.wrapsOfRequest)
            _ = try await service.call(PutWrapsRequest(tresor: tresor, wraps: next.map(\.bytes)))
            rest = rest.dropFirst(next.count)
        }
    }

    /// Returns the tresors in which the person who speaks has a wrap, in byte order.
    ///
    /// - Throws: ``TresorError/noAccess`` for another user id.
    public func tresors(of user: UserID) async throws(TresorError) -> [TresorID] {
        try check(user)
        var tresors: [TresorID] = []
        while true {
            let page = try await service.call(TresorsRequest(after: tresors.last?.digest ?? .zero))
            // Each page goes on after the one before, so that no service can have a client read for ever.
            for tresor in page.tresors {
                guard tresors.last.map({ $0 < tresor }) ?? true, tresors.count < Self.mostTresors else {
                    throw .store(.foreign)
                }
                tresors.append(tresor)
            }
            if !page.more { return tresors }
        }
    }

    /// Deletes a tresor that the person who speaks founded, or that its founder left to them.
    ///
    /// - Throws: ``TresorError/noAccess`` for anybody else, and for a tresor that is not there.
    public func deleteTresor(_ tresor: TresorID) async throws(TresorError) {
        _ = try await service.call(DeleteTresorRequest(tresor: tresor))
    }

    /// The most tresors that a person is believed to have: 2^20.
    private static let mostTresors = 1 << 20
}

extension HTTPStore: EscrowStore {
    /// Stores the server share of a device of the person who speaks.
    public func putServerShare(
        _ share: [UInt8], deviceKey: Hash256, user: UserID, device: DeviceID
    ) async throws(TresorError) {
        try check(user)
        guard share.count == 32 else { throw .usage(.outOfBounds) }
        _ = try await service.call(PutServerShareRequest(device: device, share: share, deviceKey: deviceKey))
    }

    /// Returns the server share of a device of the person who speaks, or of the device that speaks; or `nil`.
    public func serverShare(user: UserID, device: DeviceID) async throws(TresorError) -> [UInt8]? {
        try check(user)
        let share = try await service.call(ServerShareRequest(device: device)).share
        return share.isEmpty ? nil : share
    }

    /// Deletes the server shares of these devices of the person who speaks, or of all.
    public func deleteServerShares(user: UserID, devices: [DeviceID]?) async throws(TresorError) {
        try check(user)
        // On the wire, no device means all of them.
        guard devices?.isEmpty != true else { return }
        _ = try await service.call(DeleteServerSharesRequest(devices: devices ?? []))
    }

    /// Stores a sealed identity copy of the person who speaks.
    public func putKitCopy(_ copy: [UInt8], locator: Hash256) async throws(TresorError) {
        _ = try await service.call(PutKitCopyRequest(locator: locator, copy: copy))
    }

    /// Returns the sealed identity copy under a locator, or `nil`. Everybody may ask who knows the locator.
    public func kitCopy(locator: Hash256) async throws(TresorError) -> [UInt8]? {
        let copy = try await service.call(KitCopyRequest(locator: locator)).copy
        return copy.isEmpty ? nil : copy
    }

    /// Deletes a sealed identity copy of the person who speaks.
    public func deleteKitCopy(locator: Hash256) async throws(TresorError) {
        _ = try await service.call(DeleteKitCopyRequest(locator: locator))
    }
}

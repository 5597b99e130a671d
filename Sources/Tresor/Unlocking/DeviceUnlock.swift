// SPDX-License-Identifier: Apache-2.0

/// Unlocks this home's identity with this device instead of the password (SPEC §8.3).
public struct DeviceUnlock: Sendable {
    let client: Client

    private var home: any Home { client.home }
    private var store: any Store { client.store }
    private var clock: @Sendable () -> UInt64 { client.clock }

    /// Whether this device was remembered: its half is in the home.
    public func isRemembered() throws(TresorError) -> Bool {
        switch try home.readSecret(.deviceShare) {
        case .some: true
        case .none: false
        }
    }

    /// The id of this device, if it is remembered.
    public func id() throws(TresorError) -> DeviceID? {
        try share()?.id
    }

    /// Opens this home's identity with this device's half and the store's.
    ///
    /// - Throws: ``TresorError/notFound`` when the device is not remembered, or was being ended when that was interrupted; ``TresorError/noAccess`` when the
    ///   store has no half, or the slot is gone or expired; ``TresorError/altered`` when the halves do not belong together.
    public func unlock() async throws(TresorError) -> Session {
        // A slot comes before its half, so the half is looked at first.
        guard let half = try share() else { throw .notFound }
        let file = try client.identityFile()
        if !file.devices.contains(where: { $0.id == half.id }), try client.cleanup.endingDevices().contains(half.id) {
            try client.cleanup.destroyDeviceShare(of: half.id)
            throw .notFound
        }
        guard let bytes = try await store.serverShare(user: half.user, device: half.id) else { throw .noAccess }
        guard bytes.count == 32 else { throw .altered }
        let serverShare = try SecretBytes(copying: bytes.span)
        let session = Session(
            client: client, identity: try file.open(withDevice: half, serverShare: serverShare, now: clock()))
        let end = file.devices.first { $0.id == half.id }?.until ?? 0
        // A clock that was set back does not lengthen an expiry.
        if end != Format.latestTime {
            guard try client.heads().ownTime <= end else { throw .noAccess }
        }
        return session
    }

    /// Destroys this device's half, then the store's. Needs no password and is repeatable.
    ///
    /// - Throws: ``TresorError/store(_:)`` when the store's half could not be deleted; the half here is gone all the same, and repeating this
    ///   deletes the store's.
    public func forget() async throws(TresorError) {
        try destroyShare()
        try await client.cleanup.finish()
    }

    /// Destroys this device's half alone, and notes that the store's has to follow: for when the store cannot be reached. Both in one step: whoever
    /// settles sees both or none.
    public func destroyShare() throws(TresorError) {
        // A home that is not there is not made for this.
        do throws(TresorError) { guard try isRemembered() else { return } } catch {}
        try home.exclusively { () throws(TresorError) in
            if let half = try? share() {
                var left = CleanupJournal()
                left.devices = [CleanupJournal.Device(user: half.user, id: half.id)]
                left.slots = [half.id]
                try client.cleanup.add(left)
            }
            try home.delete(.deviceShare)
        }
    }

    func share() throws(TresorError) -> DeviceShare? {
        guard let bytes = try home.readSecret(.deviceShare) else { return nil }
        return try DeviceShare(bytes)
    }
}

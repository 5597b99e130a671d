// SPDX-License-Identifier: Apache-2.0

#if Server
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    /// People who come to a service.
    enum Newcomer {
        /// Makes the session of a person with a home in memory.
        static func session(
            of identity: Identity, on store: HTTPStore, clock: @escaping @Sendable () -> UInt64
        ) throws -> Session {
            let kit = try RecoveryKit()
            let slot = try identity.seal(
                under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
                since: clock())
            let home = MemoryHome()
            try home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
            return Session(client: Client(home: home, store: store, clock: clock), identity: identity)
        }

        /// Registers a person where everybody may, or by an invitation.
        static func register(
            _ identity: Identity, with service: ServiceClient, invitation: [UInt8] = [],
            time: UInt64 = SystemClock.read()
        ) async throws {
            let chain = identity.chain.bytes
            let service = service.speaking(as: .person(identity))
            _ = try await service.call(RegisterRequest(chain: chain, invitation: invitation, blinded: []))
            let statement = try LoginStatement(
                by: identity, server: try await service.serverID(), revision: 1, record: .zero, copy: .zero, time: time)
            let state = try await service.call(FinishRequest(record: [], statement: statement, copy: [])).state
            guard state == .active else { throw TresorError.waiting }
        }
    }
#endif

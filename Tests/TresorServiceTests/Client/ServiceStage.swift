// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// People with homes in memory, whose clients ask a service that judges.
    final class ServiceStage: Sendable {
        let bench: Bench

        init(_ bench: Bench) { self.bench = bench }

        /// A process of its own, as far as the service can tell.
        func process(
            fault: @escaping @Sendable (Int) -> LoopbackTransport.Fault? = { _ in nil }
        ) -> (store: HTTPStore, transport: LoopbackTransport) {
            let transport = LoopbackTransport(into: bench.service, clock: bench.clock.read, fault: fault)
            let client = ServiceClient(
                over: transport, clock: bench.clock.read, pause: { _ in }, steadyClock: { .zero })
            return (HTTPStore(client), transport)
        }

        /// A client of a home, in a process of its own.
        func client(of home: any Home, named name: String? = "https://tresor.example") -> Client {
            Client(
                home: home, store: process().store, named: name.flatMap { StoreName(Array($0.utf8)) },
                clock: bench.clock.read)
        }

        /// Somebody with an active account and a home in memory. Nobody knows the kit of their identity.
        func person(_ handle: String) async throws -> Session {
            let identity = try await bench.person(handle).identity
            let home = MemoryHome()
            let kit = try RecoveryKit()
            let slot = try Slot.kit(of: identity, kit: kit, time: bench.clock.now)
            try home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
            return Session(client: client(of: home), identity: identity)
        }

        /// The same person in another process.
        func again(_ session: Session) -> Session {
            Session(client: client(of: session.client.home), identity: session.identity)
        }

        /// The server shares and the kit copies that the service has.
        func escrow() async throws -> (shares: Int, copies: Int) {
            let rows = try await bench.rows()
            return (rows[7].count, rows[8].count)
        }
    }
#endif

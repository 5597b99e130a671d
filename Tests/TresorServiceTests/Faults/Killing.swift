// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorPostgres
    import TresorTesting

    @testable import TresorService

    /// A service of its own, whose processes a test kills: the program, and PostgreSQL with all that it starts.
    ///
    /// One task uses it at a time.
    final class KilledService {
        /// The processes that are killed.
        enum Victim: CaseIterable {
            case server
            /// The process of PostgreSQL that starts the others.
            case postmaster
            /// Any other process of PostgreSQL. All others end with it.
            case backend
        }

        private let site: Site
        private let cluster: PostgresCluster?
        private let store: String
        private let arguments: [String]
        /// More arguments for `tresor-server run`.
        private let running: [String]
        private(set) var port: Int
        private var server: ServerProcess?
        /// How often each was killed.
        private(set) var kills: [Victim: Int] = [:]

        /// Makes a service that knows these people.
        ///
        /// - Parameters:
        ///   - policy: arguments of `tresor-server init` that say more.
        ///   - names: hosts and ports under which clients know it, beside its own.
        init(_ kind: EngineKind, people: [Identity], policy: [String] = [], names: [String] = []) async throws {
            site = try Site()
            running = names.flatMap { ["--name", $0] } + ["--quota-requests", "1000000"]
            switch kind {
            case .sqlite:
                cluster = nil
                store = site["clinic.db"]
            case .postgres:
                let cluster = try PostgresCluster()
                self.cluster = cluster
                store = try cluster.address()
            }
            arguments = [store, "--server-key", site["server.key"]]
            // Below the ports that the system gives to clients, which could take it while the service is away.
            port = Int.random(in: 20_000..<32_000)
            let made = await ServerProcess.run(["init"] + arguments + ["--operator", try site.card()] + policy)
            try #require(made.code == 0, "\(made.error)")
            let engine = try await open()
            let accounts = people.map { Account.insertion(of: $0.chain, .active, invitation: nil, at: 1_777_730_400) }
            let inserted = try await engine.write(accounts)
            try #require(inserted.allSatisfy { $0 == 1 })
            await engine.close()
            try await start()
        }

        /// Opens its database, beside the program.
        func open() async throws -> any SQLEngine {
            if let location = PostgresLocation(store), cluster != nil { return try await PostgresEngine.open(location) }
            return try await SQLiteEngine.open(at: store, creating: false)
        }

        var victims: [Victim] { cluster == nil ? [.server] : Victim.allCases }

        /// Kills a process, and has it run again.
        ///
        /// - Parameter choice: chooses among the processes that can be the victim.
        func kill(_ victim: Victim, _ choice: UInt64) async throws {
            kills[victim, default: 0] += 1
            switch victim {
            case .server:
                server?.signal(SIGKILL)
                _ = await server?.end()
                try await start()
            case .postmaster:
                guard let cluster, let postmaster = cluster.processes.first else { return }
                Foundation.kill(postmaster, SIGKILL)
                try await Cores.apart { () throws(TresorError) in
                    do { try cluster.restart() } catch { throw .store(.other) }
                }
            case .backend:
                guard let others = cluster?.endableProcesses, !others.isEmpty else { return }
                Foundation.kill(others[Int(choice % UInt64(others.count))], SIGKILL)
            }
        }

        /// Stops the program as an operator does, and has it compare its database with its logs.
        func stopAndCheck() async throws {
            server?.signal(SIGTERM)
            let ending = await server?.end()
            #expect(ending?.code == 0, "\(ending?.error.suffix(300) ?? "")")
            server = nil
            let check = await ServerProcess.run(["check", store])
            #expect(check.code == 0, "\(check.output)\(check.error)")
            #expect(check.output.contains(": 0 findings"), "\(check.output)")
        }

        /// A database that recovers from a kill refuses the service until it is done.
        private func start() async throws {
            let end = ContinuousClock.now + .seconds(120)
            while ContinuousClock.now < end {
                let server = try ServerProcess(
                    ["run"] + arguments + ["--listen", "127.0.0.1:\(port)"] + running)
                self.server = server
                if await server.port() != nil { return }
                if kills.isEmpty { port = Int.random(in: 20_000..<32_000) }
                try await Task.sleep(for: .milliseconds(100))
            }
            throw TresorError.store(.unreachable)
        }
    }

    /// Numbers that a seed determines (SplitMix64).
    struct Dice: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) { state = seed }

        mutating func next() -> UInt64 {
            state &+= 0x9e37_79b9_7f4a_7c15
            var mixed = state
            mixed = (mixed ^ (mixed >> 30)) &* 0xbf58_476d_1ce4_e5b9
            mixed = (mixed ^ (mixed >> 27)) &* 0x94d0_49bb_1331_11eb
            return mixed ^ (mixed >> 31)
        }
    }
#endif

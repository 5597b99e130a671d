// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// Which file of revocations counts, where several lie about.
    @Suite struct RevokedPlaceTests {
        /// The service runs with `--revoked-log`, and the file of before lies where commands look for one.
        @Test func A237_aFileThatTheServiceLeftTakesNothing() async throws {
            let site = try Site()
            let made = await ServerProcess.run([
                "init", site["clinic.db"], "--operator", try site.card(), "--registration", "open",
            ])
            #expect(made.code == 0, "\(made.error)")
            let (left, used) = (site["server.key.revoked"], site["elsewhere.revoked"])
            func start(_ options: String...) async throws -> (ServerProcess, port: Int) {
                let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"] + options)
                return (server, try #require(await server.port(), "\(server.said)"))
            }
            func stop(_ server: ServerProcess) async -> String {
                server.signal(SIGTERM)
                let ending = await server.end()
                #expect(ending.code == 0, "\(ending.error)")
                return ending.error
            }
            _ = await stop(try await start().0)
            try FileManager.default.copyItem(atPath: left, toPath: used)
            let (server, port) = try await start("--revoked-log", used)
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            try await Newcomer.register(anna, with: try HTTPStore("http://127.0.0.1:\(port)").service)
            let before = try Data(contentsOf: URL(fileURLWithPath: left))
            func refuses(_ arguments: String...) async {
                let ending = await ServerProcess.run(arguments)
                let words = "the service last started with another file of revocations than \(left): name the file"
                #expect(ending.code == 15 && ending.error.contains(words), "\(ending.output)\(ending.error)")
            }
            await refuses("close", site["clinic.db"], "anna", "--yes")
            await refuses("withdraw", site["clinic.db"], "0011223344556677")
            let closing = ["close", site["clinic.db"], "anna", "--yes", "--revoked-log", used]
            _ = await stop(server)
            // It is the same when the service has stopped.
            await refuses("close", site["clinic.db"], "anna", "--yes")
            #expect(try Data(contentsOf: URL(fileURLWithPath: left)) == before)
            #expect(await ServerProcess.run(closing).code == 0)
            #expect(await ServerProcess.run(closing).output.contains("closed already"))
            // A start with the file of before says so.
            let older = "tresor-server: \(left) is older than the file of revocations with which the service last"
            var said = await stop(try await start().0)
            #expect(said.contains(older), "\(said)")
            said = await stop(try await start().0)
            #expect(!said.contains("older than"), "\(said)")
        }

        /// Each machine has a file of its own where the database takes several processes.
        @Test(.overEveryEngine) func A237_aFileThatAProcessUsesCounts() async throws {
            let bench = try await Bench()
            let deputy = try bench.stranger("deputy")
            let setup = ServiceSetup(server: bench.settings.server, operator: deputy.user, policy: Policy())
            try await setup.write(to: bench.engine, with: deputy.identity.chain, at: bench.clock.now)
            #expect(try await ServiceSetup.lastStart(in: bench.engine) == nil)
            let directory = try TestDirectory()
            let paths = ["a", "b"].map { directory[$0] }
            func options(_ store: String, _ path: String) -> (StoreOptions, RevokedLogOptions) {
                var (place, revocations) = (StoreOptions(), RevokedLogOptions())
                (place.store, place.serverKey, revocations.revokedLog) = (store, "server.key", path)
                return (place, revocations)
            }
            func open(_ path: String) throws -> RevokedLog {
                try RevokedLog.open(at: path, of: bench.service.id, creating: true)
            }
            let stores = ["clinic.db", "postgresql:///clinic"]
            for path in paths {
                let (place, revocations) = options(stores[1], path)
                try await revocations.noteStart(try open(path), place, bench.engine)
            }
            for (path, isLast) in zip(paths, [false, true]) {
                for store in stores {
                    let (place, revocations) = options(store, path)
                    let log = try open(path)
                    let taken = try await isTaken { try await revocations.checkLast(log, place, bench.engine) }
                    #expect(taken == isLast)
                }
            }
            // A process begins that has the first file.
            let process = try open(paths[0])
            for (store, counts) in zip(stores, [false, true]) {
                let (place, revocations) = options(store, paths[0])
                let command = try open(paths[0])
                let taken = try await isTaken { try await revocations.checkLast(command, place, bench.engine) }
                #expect(taken == counts && command.isShared && !process.isShared)
            }
        }

        private func isTaken(_ check: () async throws -> Void) async throws -> Bool {
            do {
                try await check()
                return true
            } catch {
                let failure = try #require(error as? ServerFailure)
                #expect(failure.error == .forked)
                return false
            }
        }
    }
#endif

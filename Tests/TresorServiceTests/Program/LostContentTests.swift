// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorRecords
    import TresorTesting

    @testable import Tresor
    @testable import TresorRemote
    @testable import TresorService

    /// A restored database lacks an attachment, of which no home has anything.
    @Suite struct LostContentTests {
        @Test func theCheckSaysHowTheContentComesBack() async throws {
            let site = try Site()
            let path = site["clinic.db"]
            let made = await ServerProcess.run([
                "init", path, "--operator", try site.card(), "--registration", "open",
            ])
            #expect(made.code == 0, "\(made.error)")
            let server = try ServerProcess(["run", path, "--listen", "127.0.0.1:0"])
            let port = try #require(await server.port(), "\(server.said)")
            let anna = try Identity.make(handle: Name(typed: "anna"), time: SystemClock.read())
            let store = try HTTPStore("http://127.0.0.1:\(port)")
            try await Newcomer.register(anna, with: store.service)
            let session = try Newcomer.session(of: anna, on: store, clock: SystemClock.read)
            let tresor = try await session.create("pics").id
            let records = session.records(in: tresor)
            try await records.put("scan1", [UInt8](repeating: 1, count: 90_000))
            #expect(try await records.sync().sentCount == 1)
            let accounts = await ServerProcess.run(["accounts", path])
            #expect(accounts.output.contains(#/  1  1  [0-9]{5,6}  anna\n/#), "\(accounts.output)")
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
            let engine = try await SQLiteEngine.open(at: path, creating: false)
            _ = try await engine.write([
                SQL(
                    """
                    UPDATE tresors SET bytes = bytes - (SELECT sum(length(b.bytes)) FROM blobs b
                    WHERE b.tresor = tresors.tresor AND length(b.bytes) > 60000)
                    """),
                SQL("DELETE FROM blobs WHERE length(bytes) > 60000"),
            ])
            await engine.close()
            let check = await ServerProcess.run(["check", path])
            let id = tresor.description.prefix(10)
            #expect(check.code == 18 && check.error.contains("a backup that has it brings it back"), "\(check.error)")
            #expect(
                check.output.contains(
                    "tresor \(id): 1 pack, attachment or volume is not there: a member runs tresor check --repair -t \(id)"
                ),
                "\(check.output)")
            withExtendedLifetime(site) {}
        }
    }
#endif

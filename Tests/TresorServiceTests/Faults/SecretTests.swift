// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorRemote

    @testable import TresorService

    /// A131: marked secrets and contents of requests, and every place in which a service could leave them.
    @Suite(.serialized, .longRun) struct SecretTests {
        private static let share = Array("MARKED-4711-THE-SERVER-SHARE-T-X".utf8)
        private static let copy = Array("MARKED-4711-THE-KIT-COPY".utf8)
        private static let handle = "marked-4711-handle"
        private static let body = Array("MARKED-4711-A-BODY".utf8)

        private static let marks = Marks([share, copy, Array(handle.utf8), body])

        /// Whether a program that crashes leaves a core file in its directory here.
        private static func leavesCores() async throws -> Bool {
            let directory = try TestDirectory()
            _ = try await Daemon.run([
                "/bin/sh", "-c", "ulimit -c unlimited && cd '\(directory.path)' && kill -SEGV $$",
            ])
            return try !FileManager.default.contentsOfDirectory(atPath: directory.path).isEmpty
        }

        @Test func A131_nothingOfARequestIsInLogMetricsOrCore() async throws {
            let site = try Site()
            let made = await ServerProcess.run([
                "init", site["clinic.db"], "--operator", try site.card(), "--registration", "open", "--argon2id",
                "65536,3",
            ])
            #expect(made.code == 0, "\(made.error)")
            try FileManager.default.createDirectory(atPath: site["cores"], withIntermediateDirectories: false)
            let metrics = Int.random(in: 20_000..<32_000)
            let server = try ServerProcess(
                [
                    "run", site["clinic.db"], "--listen", "127.0.0.1:0", "--metrics", "127.0.0.1:\(metrics)",
                    "--log-sources",
                ],
                through: [
                    "/bin/sh", "-c", "ulimit -c unlimited 2> /dev/null; cd \"$1\"; shift; exec \"$@\"", "sh",
                    site["cores"],
                ])
            let port = try #require(await server.port(), "\(server.said)")
            try await ask(at: port)
            let login = try await MarkedLogin(at: port)
            // The search finds what is public.
            #expect(!Marks([Array(MarkedLogin.handle.utf8)]).found(in: login.messages).isEmpty)
            #expect(login.secrets.found(in: login.messages) == [])

            let scrape = try RawClient(port: metrics)
            await scrape.send("GET /metrics HTTP/1.1\r\nHost: localhost\r\n\r\n")
            let shown = try #require(await scrape.readAnswer())
            #expect(
                String(decoding: shown.body, as: UTF8.self).contains("operation=\"put-server-share\",status=\"200\""))
            #expect(Self.marks.found(in: Data(shown.body)) + login.secrets.found(in: Data(shown.body)) == [])

            server.signal(SIGSEGV)
            _ = await server.end()
            let said = server.said
            for operation in [
                "put-server-share", "put-kit-copy", "cards", "register", "append", "login", "finish-login",
            ] {
                #expect(said.contains("\"operation\":\"\(operation)\""), "\(operation)")
            }
            #expect(Self.marks.found(in: Data(said.utf8)) + login.secrets.found(in: Data(said.utf8)) == [])
            #expect(!said.contains(MarkedLogin.handle))
            // The database has what requests brought: the marks can be found. It has nothing that a password opens.
            let kept = try ["clinic.db", "clinic.db-wal"].map { try Data(contentsOf: URL(fileURLWithPath: site[$0])) }
            #expect(kept.contains { Self.marks.found(in: $0).count >= 3 })
            for bytes in kept { #expect(login.secrets.found(in: bytes) == []) }
            let left = try FileManager.default.contentsOfDirectory(atPath: site["cores"])
            #expect(left == [], "a core file")
            if try await !Self.leavesCores() { print("no program leaves a core file here: that was not tested") }
        }

        /// Sends what is marked, in requests that are done and in requests that are refused.
        private func ask(at port: Int) async throws {
            let store = try HTTPStore("http://127.0.0.1:\(port)")
            let anna = try Identity.make(handle: Name(typed: Self.handle), time: SystemClock.read())
            try await Newcomer.register(anna, with: store.service)
            let service = store.service.speaking(as: .person(anna))
            let device = try DeviceShare(user: anna.user)
            _ = try await service.call(
                PutServerShareRequest(device: device.id, share: Self.share, deviceKey: try device.publicKey()))
            _ = try await service.call(PutKitCopyRequest(locator: anna.user.digest, copy: Self.copy))
            _ = try await service.call(CardsRequest(handle: anna.handle.bytes))
            let first = try OPAQUELogin(input: SecretBytes(randomCount: 8)).message
            _ = try await service.call(LoginRequest(handle: anna.handle, message: first))
            do throws(TresorError) {
                _ = try await service.call(
                    AppendRequest(
                        tresor: TresorID(.zero), sequence: 0, previous: .zero, entry: Self.body, wraps: [Self.body],
                        removing: []))
            } catch {
                guard error == .store(.other) || error == .noAccess else { throw error }
            }
            // Bytes that are no request are in no log either.
            for request in HostileRequest.all.prefix(20) {
                let client = try RawClient(port: port)
                await client.send(
                    Array(
                        String(decoding: request.bytes, as: UTF8.self).replacing(
                            "\r\n\r\n", with: "\r\nX: MARKED-4711-A-BODY\r\n\r\n"
                        ).utf8)
                        + Self.body)
                _ = await client.readToEnd(seconds: 1)
            }
        }
    }
#endif

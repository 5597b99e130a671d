// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCrypto

    @testable import TresorService

    /// A database meets a newer and an older release of the program.
    @Suite struct UpgradeTests {
        private func made() async throws -> Site {
            let site = try Site()
            let ending = await ServerProcess.run(["init", site["the clinic's.db"], "--operator", try site.card()])
            #expect(ending.code == 0, "\(ending.error)")
            let next = try #require(ending.output.split(separator: "next: tresor-server run ").last)
            let word = try await Daemon.run(["/bin/sh", "-c", "printf %s \(next)"])
            #expect(word.text == site["the clinic's.db"], "\(word.text)")
            return site
        }

        private func change(_ path: String, _ body: (SQLiteEngine) async throws -> Void) async throws {
            let engine = try await SQLiteEngine.open(at: path, creating: false)
            try await body(engine)
            await engine.close()
        }

        @Test func aDatabaseOfAnOlderReleaseIsCopiedFirst() async throws {
            let site = try await made()
            let path = site["the clinic's.db"]
            let copy = "\(path).schema-2"
            try await change(path) { engine in
                _ = try await engine.write(
                    Schema.third.map { SQL(schema: "DROP TABLE \($0.name)") }
                        + [SQL("DELETE FROM schema_steps WHERE step = 3")])
            }
            // A command that only looks changes nothing, and says what does.
            let look = await ServerProcess.run(["check", path])
            #expect(look.code == 18 && look.error.contains("tresor-server run brings an older one"), "\(look.error)")
            #expect(!FileManager.default.fileExists(atPath: copy))
            // The remains of an earlier upgrade give way.
            try Data("an earlier copy".utf8).write(to: URL(fileURLWithPath: copy))

            let server = try ServerProcess(["run", path, "--listen", "127.0.0.1:0"])
            _ = try #require(await server.port())
            server.signal(SIGTERM)
            let ending = await server.end()
            #expect(ending.code == 0 && ending.error.contains("copied the database to \(copy)"), "\(ending.error)")
            #expect(await ServerProcess.run(["check", path]).code == 0)
            let mode = try FileManager.default.attributesOfItem(atPath: copy)[.posixPermissions] as? Int
            #expect(mode == 0o600)
            try await change(copy) { engine in
                let (version, setup) = (try await Schema.version(of: engine), try await ServiceSetup.read(from: engine))
                #expect(version == 2 && setup != nil)
            }
            let names = try FileManager.default.contentsOfDirectory(atPath: site.path)
            #expect(!names.contains { $0.hasSuffix(".new") }, "\(names)")
        }

        @Test func aDatabaseOfANewerReleaseIsRefusedWithTheWayBack() async throws {
            let site = try await made()
            let path = site["the clinic's.db"]
            let copy = "\(path).schema-\(Schema.current.version)"
            try await change(path) { engine in
                try await engine.copy(to: copy)
                _ = try await engine.write([
                    SQL("INSERT INTO schema_steps (step) VALUES ($1)", [.integer(Schema.current.version + 1)])
                ])
            }
            let run = ["run", path, "--listen", "127.0.0.1:0"]
            let refused = await ServerProcess.run(run)
            #expect(refused.code == 18, "\(refused.error)")
            let command = try #require(refused.error.split(separator: "what came since: ").last)
            let back = try await Daemon.run(["/bin/sh", "-c", String(command)])
            #expect(back.code == 0, "\(back.text)")
            #expect(await ServerProcess.run(["check", path]).code == 0)

            // Without the copy, a backup is the way back.
            try await change(path) { engine in
                _ = try await engine.write([SQL("INSERT INTO schema_steps (step) VALUES (99)")])
            }
            #expect(await ServerProcess.run(run).error.contains("restore a backup of before the upgrade"))
            withExtendedLifetime(site) {}
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorSQLite
    import TresorTesting

    @testable import TresorServer

    /// The mistakes of an operator: each time the message says which, and nothing is half done.
    @Suite struct MistakeTests {
        private func expect(
            _ ending: ServerProcess.Ending, _ code: Int32, _ words: String, source: SourceLocation = #_sourceLocation
        ) {
            #expect(
                ending.code == code && ending.error.contains(words) && ending.output.isEmpty,
                "\(ending.code): \(ending.output)\(ending.error)", sourceLocation: source)
            // One line, not a dump.
            #expect(ending.error.split(separator: "\n").count { !$0.hasPrefix("{") } == 1, sourceLocation: source)
        }

        /// A service that listens on a port.
        private func running(_ site: Site, _ options: String...) async throws -> (ServerProcess, port: Int) {
            let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"] + options)
            return (server, try #require(await server.port()))
        }

        private func made() async throws -> Site {
            let site = try Site()
            let ending = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            #expect(ending.code == 0, "\(ending.error)")
            return site
        }

        @Test func oneProcessServesAnSQLiteFile() async throws {
            let site = try await made()
            let (first, _) = try await running(site)
            let second = await ServerProcess.run(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            expect(second, 11, "another tresor-server runs the service")
            // Its database may be looked at.
            #expect(await ServerProcess.run(["check", site["clinic.db"]]).code == 0)
            // A database that is misspelled, or another one, is not that service.
            let none = await ServerProcess.run(["run", site["clinik.db"], "--listen", "127.0.0.1:0"])
            expect(none, 10, "cannot open the database \(site["clinik.db"]): it is missing")
            let other = try await made()
            let mixed = await ServerProcess.run([
                "run", other["clinic.db"], "--server-key", site["server.key"], "--listen", "127.0.0.1:0",
            ])
            expect(mixed, 15, "belongs to another service than that in \(other["clinic.db"])")
            first.signal(SIGKILL)
            _ = await first.end()
            let (third, _) = try await running(site)
            third.signal(SIGTERM)
            #expect(await third.end().code == 0)
            // The bytes that SQLite keeps beside the file are in it now, so that a copy of it alone is whole.
            let log = try? FileManager.default.attributesOfItem(atPath: site["clinic.db-wal"])[.size] as? Int
            #expect(log ?? 0 == 0)
        }

        @Test(arguments: [
            "host=/run/postgresql dbname=tresor", "dbname=tresor", "mysql://clinic/tresor", " clinic.db", "clinic.db\n",
            "localhost:5432", "clinic.example", "postgresql:clinic",
        ])
        func aDatabaseOfAnotherFormMakesNoFile(_ store: String) async throws {
            let site = try Site()
            let ending = await ServerProcess.run([
                "init", store, "--operator", try site.card(), "--server-key", site["server.key"],
            ])
            expect(ending, 64, "the database is the path of an SQLite file, as ./NAME.db, or an address postgresql://")
            #expect(!FileManager.default.fileExists(atPath: site["server.key"]))
            #expect(!FileManager.default.fileExists(atPath: store))
        }

        @Test func anAddressThatIsTakenIsNamed() async throws {
            let (site, other) = (try await made(), try await made())
            let (first, port) = try await running(site)
            let run = ["run", other["clinic.db"]]
            let taken = "127.0.0.1:\(port)"
            let listening = await ServerProcess.run(run + ["--listen", taken])
            expect(listening, 1, "cannot listen on \(taken): another program listens there")
            let metrics = await ServerProcess.run(run + ["--listen", "127.0.0.1:0", "--metrics", taken])
            expect(metrics, 1, "cannot listen on \(taken): another program listens there")
            let one = await ServerProcess.run(run + ["--listen", "127.0.0.1:9", "--metrics", "127.0.0.1:9"])
            expect(one, 64, "--listen and --metrics name one address, 127.0.0.1:9")
            let files = try await CertificateFiles.make("a")
            defer { files.remove() }
            let elsewhere = await ServerProcess.run(
                run + [
                    "--listen", "192.0.2.1:8443", "--listen-anywhere", "--name", "a", "--certificate",
                    files.certificate.path, "--key", files.key.path,
                ])
            expect(elsewhere, 1, "cannot listen on 192.0.2.1:8443: this machine has no such address")
            first.signal(SIGTERM)
            #expect(await first.end().code == 0)
        }

        /// The socket of a dead process is replaced; that of a living one is not taken from it.
        @Test func aSocketBelongsToTheProcessThatListens() async throws {
            let (site, other) = (try await made(), try await made())
            let options = ["--behind-proxy", site["socket"], "--name", "tresor.example"]
            let first = try ServerProcess(["run", site["clinic.db"]] + options)
            try #require(await first.says("listening"))
            let second = await ServerProcess.run(["run", other["clinic.db"]] + options)
            expect(second, 1, "another program listens on \(site["socket"])")
            #expect(FileManager.default.fileExists(atPath: site["socket"]))
            first.signal(SIGKILL)
            _ = await first.end()
            let third = try ServerProcess(["run", site["clinic.db"]] + options)
            #expect(await third.says("listening"))
            third.signal(SIGTERM)
            #expect(await third.end().code == 0)
            let long = await ServerProcess.run(
                [
                    "run", site["clinic.db"], "--name", "a", "--behind-proxy",
                    "/tmp/" + String(repeating: "a", count: 120),
                ])
            expect(long, 1, "at most 103 bytes")
            let nowhere = await ServerProcess.run(
                ["run", site["clinic.db"], "--name", "a", "--behind-proxy", site["none/socket"]])
            expect(nowhere, 1, "its directory is missing")
            let taken = await ServerProcess.run(
                ["run", site["clinic.db"], "--name", "a", "--behind-proxy", site["server.key"]])
            expect(taken, 1, "something else has this name: remove it first")
            #expect(FileManager.default.fileExists(atPath: site["server.key"]))
        }

        @Test(arguments: ["init", "run", "check", "import"])
        func aFileOfAnotherKindIsLeftAlone(command: String) async throws {
            let site = try await made()
            let files = [
                "notes.db": Data("buy milk".utf8),
                "long.db": Data(repeating: 65, count: 4096),
            ]
            for (name, bytes) in files {
                try bytes.write(to: URL(fileURLWithPath: site[name]))
                let rest =
                    switch command {
                    case "init": ["--operator", site["operator.card"], "--server-key", site["\(name).key"]]
                    case "import": [site["store.db"]]
                    default: [String]()
                    }
                let ending = await ServerProcess.run([command, site[name]] + rest)
                // The key is looked for first, and the store to be taken.
                if command != "import" { expect(ending, 18, "it is damaged, or no database") }
                #expect(ending.code != 0)
                #expect(try Data(contentsOf: URL(fileURLWithPath: site[name])) == bytes)
                #expect(!FileManager.default.fileExists(atPath: site["\(name).key"]))
            }
        }

        @Test func anInitThatFailsCanBeRepeated() async throws {
            let site = try Site()
            let make = ["init", site["clinic.db"], "--operator", try site.card()]
            let withoutDirectory = await ServerProcess.run(make + ["--server-key", site["none/key"]])
            expect(withoutDirectory, 10, "its directory is missing")
            try Data().write(to: URL(fileURLWithPath: site["server.key"]))
            expect(await ServerProcess.run(make), 1, "exists already")
            try FileManager.default.removeItem(atPath: site["server.key"])
            #expect(!FileManager.default.fileExists(atPath: site["clinic.db"]))
            #expect(await ServerProcess.run(make).code == 0)
        }

        /// Of two that make a service at the same time, one does, and the other leaves nothing.
        @Test func oneOfTwoInitsMakesTheService() async throws {
            let site = try Site()
            let make = ["init", site["clinic.db"], "--operator", try site.card(), "--server-key"]
            async let first = ServerProcess.run(make + [site["first.key"]])
            async let second = ServerProcess.run(make + [site["second.key"]])
            let endings = [(await first, site["first.key"]), (await second, site["second.key"])]
            #expect(endings.count { $0.0.code == 0 } == 1, "\(endings)")
            for (ending, key) in endings {
                #expect(FileManager.default.fileExists(atPath: key) == (ending.code == 0))
                if ending.code != 0 { expect(ending, 1, "holds a service already") }
            }
        }

        /// Each who can write there can put a key of theirs in its place.
        @Test func anOpenDirectoryIsTold() async throws {
            let site = try Site()
            let make = ["--operator", try site.card(), "--server-key"]
            let quiet = await ServerProcess.run(["init", site["a.db"]] + make + [site["a.key"]])
            #expect(quiet.code == 0 && !quiet.output.contains("chmod"), "\(quiet.output)")
            #expect(chmod(site.path, 0o777) == 0)
            let told = await ServerProcess.run(["init", site["b.db"]] + make + [site["b.key"]])
            #expect(told.code == 0 && told.output.contains("can replace the server key: chmod 700 "), "\(told.output)")
        }

        @Test func whatIsMissingIsNamed() async throws {
            let site = try await made()
            expect(
                await ServerProcess.run([
                    "init", site["other.db"], "--operator", site["server.key"], "--server-key", site["other.key"],
                ]), 14, "\(site["server.key"]) is no card, or is damaged")
            // A card of a later version, behind its first bytes, is not called damaged.
            var newer = try Data(contentsOf: URL(fileURLWithPath: site["operator.card"]))
            newer[8] += 1
            try newer.write(to: URL(fileURLWithPath: site["newer.card"]))
            expect(
                await ServerProcess.run([
                    "init", site["other.db"], "--operator", site["newer.card"], "--server-key", site["other.key"],
                ]), 19, "\(site["newer.card"]) is of a newer release; install that one")
            let run = ["run", site["clinic.db"]]
            expect(await ServerProcess.run(["check", site["none.db"]]), 10, "it is missing; make it with")
            expect(await ServerProcess.run(["import", site["clinic.db"], site["none.db"]]), 10, "it is missing")
            expect(
                await ServerProcess.run(run + ["--certificate", site["a"], "--key", site["b"]]), 10,
                "the certificate \(site["a"]) is missing")
            let files = try await CertificateFiles.make("a")
            defer { files.remove() }
            expect(
                await ServerProcess.run(run + ["--certificate", files.certificate.path, "--key", site["b"]]), 10,
                "the key \(site["b"]) is missing")
            let postgres = "postgresql:///none?host=\(site.path)"
            expect(
                await ServerProcess.run(["check", postgres]), 18,
                "No such file or directory; try the same address with psql, as the user")
            try FileManager.default.removeItem(atPath: site["server.key"])
            expect(await ServerProcess.run(run), 10, "the server key is missing")
        }

        /// Without the file of revocations, the database may be a backup that nobody should believe.
        @Test func A237_aServiceDoesNotStartWithoutItsRevocations() async throws {
            let site = try await made()
            let run = ["run", site["clinic.db"], "--listen", "127.0.0.1:0"]
            func start(_ options: String...) async throws -> String {
                let server = try ServerProcess(run + options)
                try #require(await server.says("listening"))
                server.signal(SIGTERM)
                let ending = await server.end()
                #expect(ending.code == 0, "\(ending.error)")
                return ending.error
            }
            #expect(try await !start().contains("restored"))
            let log = site["server.key.revoked"]
            try FileManager.default.removeItem(atPath: log)
            expect(await ServerProcess.run(run), 10, "cannot open the file of revocations \(log): it is missing")
            expect(
                await ServerProcess.run(run + ["--operator", site["operator.card"]]), 64,
                "--operator goes with --restored")
            #expect(!FileManager.default.fileExists(atPath: log))
            #expect(try await start("--restored").contains("\"event\":\"restored\""))
            #expect(try await !start().contains("restored"))
            try Data(repeating: 1, count: 1_000).write(to: URL(fileURLWithPath: log))
            expect(await ServerProcess.run(run), 14, "it is damaged, or no file of revocations")
            #expect(try Data(contentsOf: URL(fileURLWithPath: log)).count == 1_000)
            // That of another service is not to be removed.
            let other = try await made()
            let their = other["server.key.revoked"]
            let service = try ServerProcess(["run", other["clinic.db"], "--listen", "127.0.0.1:0"])
            try #require(await service.says("listening"))
            let bytes = try Data(contentsOf: URL(fileURLWithPath: their))
            let ending = await ServerProcess.run(run + ["--revoked-log", their])
            expect(ending, 15, "it belongs to another service, which needs it: leave it there")
            #expect(!ending.error.contains("--restored") && !ending.error.contains("remove"))
            #expect(try Data(contentsOf: URL(fileURLWithPath: their)) == bytes)
            service.signal(SIGTERM)
            #expect(await service.end().code == 0)
            // Another place is another file.
            expect(
                await ServerProcess.run(run + ["--revoked-log", site["other.log"]]), 10,
                "it is missing; restore it from where the service ran, or name it with --revoked-log")
            expect(
                await ServerProcess.run(run + ["--restored", "--revoked-log", site["none/other.log"]]), 10,
                "its directory is missing; make it, or name another place")
        }

        /// A crash tears a record, and somebody who shortens the file does too. So the log says it.
        @Test func A237_aTornRecordIsToldAndAChangedOneRefused() async throws {
            let site = try await made()
            let run = ["run", site["clinic.db"], "--listen", "127.0.0.1:0"]
            func start() async throws -> String {
                let server = try ServerProcess(run)
                try #require(await server.says("listening"))
                server.signal(SIGTERM)
                return await server.end().error
            }
            _ = try await start()
            let log = URL(fileURLWithPath: site["server.key.revoked"])
            let whole = try Data(contentsOf: log)
            try (whole + [1]).write(to: log)
            let said = try await start()
            #expect(said.contains("\"level\":\"warning\",\"event\":\"revocation-torn\""), "\(said)")
            #expect(said.contains("\(log.path) ended with a part of a record, which was cut off"), "\(said)")
            // The start itself stands behind it.
            #expect(try Data(contentsOf: log).dropLast(RevokedLog.recordByteCount) == whole)
            #expect(try await !start().contains("revocation-torn"))
            // A record of full length, also with a part of another one behind it.
            for count in [RevokedLog.recordByteCount, 105] {
                let changed = whole + Data(repeating: 1, count: count)
                try changed.write(to: log)
                expect(await ServerProcess.run(run), 14, "cannot read the file of revocations: it is damaged")
                #expect(try Data(contentsOf: log) == changed)
            }
        }

        /// A restore below a service that runs: what it took after that would be lost.
        @Test func aDatabaseThatIsReplacedIsNoticed() async throws {
            let site = try await made()
            let (server, port) = try await running(site)
            func health() async throws -> Int? {
                let client = try RawClient(port: port)
                await client.send("GET /health HTTP/1.1\r\nHost: localhost\r\nConnection: close\r\n\r\n")
                return await client.readAnswer()?.status
            }
            let files = FileManager.default
            let (path, lost) = (site["clinic.db"], site["lost.db"])
            try files.moveItem(atPath: path, toPath: lost)
            try files.copyItem(atPath: lost, toPath: path)
            #expect(try await health() == 503)
            #expect(await server.says("\"level\":\"error\",\"event\":\"database-lost\""))
            #expect(server.said.contains("\(path) is not the file any more that this process opened"), "\(server.said)")
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        /// SQLite itself opens a file whose first page is good.
        @Test(arguments: ["run", "check"])
        func aDamagedFileIsNotServed(command: String) async throws {
            let site = try await made()
            var bytes = try Data(contentsOf: URL(fileURLWithPath: site["clinic.db"]))
            try #require(bytes.count > 8 * 4096)
            for start in (4..<8).map({ $0 * 4096 }) {
                bytes.replaceSubrange(start..<start + 16, with: Data(repeating: 65, count: 16))
            }
            try bytes.write(to: URL(fileURLWithPath: site["clinic.db"]))
            let log = site["clinic.db-wal"]
            try? FileManager.default.removeItem(atPath: log)
            expect(
                await ServerProcess.run([command, site["clinic.db"]]), 18, "it is damaged, or no database; restore it")
            // A restore over a store leaves what belongs to the one before.
            try Data(repeating: 65, count: 8192).write(to: URL(fileURLWithPath: log))
            expect(await ServerProcess.run([command, site["clinic.db"]]), 18, "or \(log) is not of this file")
        }

        @Test func A242_anImportShowsWhoGetsAnAccountAndAsks() async throws {
            let site = try await made()
            let clock = FixedClock()
            let store = try await SQLiteStore.open(at: site["store.db"], creating: true)
            let cast = PreviewCast(store: store, clock: clock)
            let anna = try await cast.person("anna")
            _ = try await cast.tresor("plans", of: anna)
            _ = try await cast.person("chief-physician")
            let number = try anna.chain.number().grouped
            let command = ["import", site["clinic.db"], site["store.db"]]
            let asked = await ServerProcess.run(command)
            #expect(asked.code == 64 && asked.error.contains("this needs a yes"), "\(asked.error)")
            #expect(asked.output.contains("\(number)  anna") && !asked.output.contains("chief-physician"))
            let taken = await ServerProcess.run(command + ["--yes"])
            #expect(taken.code == 0, "\(taken.error)")
            #expect(taken.output.contains("\(number)  anna") && taken.output.contains("took 1 accounts"))
            #expect(taken.output.contains("1 people wait for the operator"))
        }

        /// Somebody of the file has the handle of the operator: both numbers are shown before the question.
        @Test func A242_anImportNamesWhoseHandleIsTaken() async throws {
            let site = try await made()
            let store = try await SQLiteStore.open(at: site["store.db"], creating: true)
            let cast = PreviewCast(store: store, clock: FixedClock())
            let (other, anna) = (try await cast.person("operator"), try await cast.person("anna"))
            let left = try await cast.tresor("plans", of: other)
            _ = try await cast.tresor("notes", of: anna)
            let mine = try CardChain([UInt8](try Data(contentsOf: URL(fileURLWithPath: site["operator.card"]))))
            let numbers = (try other.chain.number().grouped, try mine.number().grouped)
            let command = ["import", site["clinic.db"], site["store.db"]]
            let asked = await ServerProcess.run(command)
            #expect(asked.code == 64, "\(asked.error)")
            #expect(asked.output.contains("  \(numbers.0)  operator; the other one: \(numbers.1)\n"), "\(asked.output)")
            #expect(asked.output.contains("alone own them:\n  \(left.id.description.prefix(10))\n"))
            for accounts in [1, 0] {
                let taken = await ServerProcess.run(command + ["--yes"])
                #expect(taken.code == 16 && taken.output.contains("took \(accounts) accounts"), "\(taken.output)")
                let words = "stayed out: operator, whose handle somebody else has, and 1 tresors that nobody else owns;"
                #expect(taken.error.contains(words), "\(taken.error)")
            }
        }

        /// The tresors that came over are changed at the service, and not in the file.
        @Test func whoIsInLogsOfTheServiceAloneIsNotLeftOut() async throws {
            let site = try await made()
            let store = try await SQLiteStore.open(at: site["store.db"], creating: true)
            let cast = PreviewCast(store: store, clock: FixedClock())
            let (other, anna) = (try await cast.person("operator"), try await cast.person("anna"))
            try cast.introduce(other, anna)
            _ = try await cast.tresor("notes", of: anna, readers: [other])
            let command = ["import", site["clinic.db"], site["store.db"], "--yes"]
            let first = await ServerProcess.run(command)
            let words = "in the others, at the service, an owner shares with the new one and revokes the former"
            #expect(first.code == 16 && first.error.contains(words), "\(first.error)")
            let second = await ServerProcess.run(command)
            #expect(second.code == 0, "\(second.error)")
        }
    }
#endif

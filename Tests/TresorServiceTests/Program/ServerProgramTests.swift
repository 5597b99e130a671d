// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    /// The program `tresor-server`, from `init` to the graceful stop.
    @Suite struct ServerProgramTests {
        @Test("init, run, a request, SIGTERM: the program ends with 0")
        func servesAndStops() async throws {
            let site = try Site()
            let made = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            #expect(made.code == 0, "\(made.error)")
            let mode =
                try FileManager.default.attributesOfItem(atPath: site["server.key"])[.posixPermissions]
                as? Int
            #expect(mode == 0o600)
            #expect(try Data(contentsOf: URL(fileURLWithPath: site["server.key"])).count == 106)

            let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            let port = try #require(await server.port())
            let client = try RawClient(port: port)
            await client.send(
                "POST /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                    + "Content-Type: application/vnd.tresor\r\n\r\n")
            let answer = try #require(await client.readAnswer())
            #expect(answer.status == 200)
            let description = try ServerAnswer(answer.body)
            #expect(description.registration == .byInvitation)
            #expect(description.server.memoryKiB == 262_144)
            var health: Int?
            // On a busy machine the database may take longer than its second.
            for _ in 0..<20 where health != 200 {
                await client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                health = await client.readAnswer()?.status
            }
            #expect(health == 200)

            server.signal(SIGTERM)
            let ending = await server.end()
            #expect(ending.code == 0, "\(ending.error)")
            #expect(ending.error.contains("\"event\":\"stopped\""))
            #expect(await ServerProcess.run(["check", site["clinic.db"]]).code == 0)
        }

        @Test("SIGHUP makes the program read its certificate again")
        func reloadsAtHangup() async throws {
            let site = try Site()
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            _ = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            let server = try ServerProcess([
                "run", site["clinic.db"], "--listen", "127.0.0.1:0", "--certificate",
                files.certificate.path, "--key",
                files.key.path,
            ])
            let port = try #require(await server.port())
            let request =
                "POST /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                + "Content-Type: application/vnd.tresor\r\nConnection: close\r\n\r\n"
            #expect(await OpenSSL.connect(port, [], request).contains("first.example"))
            try await files.replace("second.example")
            server.signal(SIGHUP)
            try #require(await server.says("\"event\":\"certificate\""))
            let text = await OpenSSL.connect(port, [], request)
            #expect(text.contains("second.example"))
            #expect(text.contains("HTTP/1.1 200 OK"))
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        @Test("SIGHUP does not end a program without a certificate")
        func staysAtHangup() async throws {
            let site = try Site()
            _ = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            let port = try #require(await server.port())
            server.signal(SIGHUP)
            let client = try RawClient(port: port)
            await client.send(
                "POST /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Length: 0\r\n"
                    + "Content-Type: application/vnd.tresor\r\n\r\n")
            #expect(await client.readAnswer()?.status == 200)
            // Of two signals that wait, the program gets this one last: had the other ended it, this would be no end
            // with 0.
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }

        @Test("A second signal does not cut off what a stop finishes", .longRun)
        func stopsOnce() async throws {
            let site = try Site()
            _ = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            let client = try RawClient(port: try #require(await server.port()))
            await client.send(
                "POST /v1/card HTTP/1.1\r\nHost: localhost\r\nContent-Length: 1\r\n"
                    + "Content-Type: application/vnd.tresor\r\n\r\n")
            try await Task.sleep(for: .milliseconds(500))
            server.signal(SIGTERM)
            try #require(await server.says("\"event\":\"stopping\""))
            server.signal(SIGTERM)
            server.signal(SIGINT)
            try await Task.sleep(for: .milliseconds(500))
            await client.send([1])
            #expect(await client.readAnswer() != nil)
            #expect(await server.end().code == 0)
        }

        @Test("A second init, a missing store, a strange key and a lost key are refused")
        func refusesMistakes() async throws {
            let site = try Site()
            let card = try site.card()
            #expect(await ServerProcess.run(["run", site["clinic.db"]]).code == 10)
            #expect(
                await ServerProcess.run(["init", site["clinic.db"], "--operator", site["none"]]).code == 10)
            #expect(await ServerProcess.run(["init", site["clinic.db"], "--operator", card]).code == 0)
            let second = await ServerProcess.run(["init", site["clinic.db"], "--operator", card])
            #expect(second.code == 1)
            #expect(second.error.contains("holds a service already"))
            let other = ["--server-key", site["other.key"]]
            #expect(
                await ServerProcess.run(["init", site["other.db"], "--operator", card] + other).code == 0)
            #expect(
                await ServerProcess.run(["run", site["clinic.db"], "--listen", "127.0.0.1:0"] + other).code
                    == 15)
            chmod(site["server.key"], 0o640)
            let open = await ServerProcess.run(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            #expect(open.code == 1)
            #expect(open.error.contains("chmod 600"))
        }

        @Test(
            "Arguments that would open the service, or show a secret, are refused",
            arguments: [
                ["--listen", "0.0.0.0:8443"], ["--listen", "0.0.0.0:8443", "--listen-anywhere"],
                ["--listen", "nowhere"], ["--certificate", "a"], ["--metrics", "0.0.0.0:9090"],
                ["--behind-proxy", "socket"], ["--behind-proxy", "s", "--certificate", "a", "--key", "b"],
                ["--behind-proxy", "s", "--name", "a", "--listen", "127.0.0.1:0"],
                ["--behind-proxy", "s", "--name", "a", "--listen-anywhere"],
                ["--registration", "perhaps"], ["--quota-tresors", "0"], ["--nothing"],
            ])
        func refusesArguments(options: [String]) async throws {
            let site = try Site()
            let ending = await ServerProcess.run(["run", site["clinic.db"]] + options)
            #expect(ending.code == 64, "\(ending.error)")
            #expect(!ending.error.isEmpty)
        }

        @Test(
            "A password in the address of a database is refused, and not repeated",
            arguments: [
                "postgresql://tresor:secretword@db.example/tresor",
                "postgresql://db.example/tresor?password=secretword",
            ])
        func refusesPasswords(address: String) async throws {
            let ending = await ServerProcess.run(["check", address])
            #expect(ending.code == 64)
            #expect(ending.error.contains("PGPASSFILE"))
            #expect(!ending.error.contains("secretword"))
        }

        private static let badlyWritten = [
            "postgresql://tresor:word/secretword@db.example/tresor", "postgresql://tresor:secretword",
            "postgresql://tresor:word@secretword@db.example/tresor", "postgresql://tresor:secretword%zz@db/tresor",
            "postgresql:///tresor?host=/nowhere&port=secretword",
            "postgresql:///tresor?host=/nowhere&user=tresor:secretword",
            "postgresql:///tresor:secretword?host=/nowhere", "postgresql:///tresor?host=/nowhere&sslmode=secretword",
            "postgresql//tresor:secretword@db.example/tresor", "//tresor:secretword@db.example/tresor",
            "postgresql:/tresor:secretword@db.example/tresor", "password=secretword/word",
            "user = tresor password = secret/secretword", "Password=secret/secretword",
            "host=db;password=secretword/word",
        ]

        @Test("A badly written address of a database is not repeated")
        func repeatsNoBadlyWrittenPassword() async throws {
            let site = try Site()
            let card = try site.card()
            let made = await ServerProcess.run(["init", site["clinic.db"], "--operator", card])
            #expect(made.code == 0)
            let key = ["--server-key", site["server.key"]]
            for (number, address) in Self.badlyWritten.enumerated() {
                for arguments in [
                    ["init", address, "--operator", card, "--server-key", site["new \(number).key"]],
                    ["run", address] + key, ["check", address], ["import", address, site["clinic.db"]],
                    ["import", site["clinic.db"], address],
                ] {
                    let ending = await ServerProcess.run(arguments)
                    #expect(ending.code != 0, "\(arguments)")
                    let said = ending.output + ending.error
                    #expect(!said.contains("secretword"), "\(arguments): \(said)")
                }
            }
        }

        @Test(
            "A password of digits is not repeated, which libpq takes for a port",
            arguments: [
                ("postgresql://tresor:87654321/tresor", 64), ("postgresql://:54321/tresor?host=/nowhere", 18),
            ] as [(String, Int32)])
        func repeatsNoPort(address: String, code: Int32) async throws {
            let ending = await ServerProcess.run(["check", address])
            #expect(ending.code == code && !ending.error.contains("4321"), "\(ending.error)")
            let reason = code == 64 ? "or has unusual characters" : "No such file or directory"
            #expect(ending.error.contains(reason), "\(ending.error)")
        }

        @Test("A password with a blank is not repeated")
        func repeatsNoPartOfAnAddress() async throws {
            let words = ["postgresql://tresor:word", "secretword@db.example/tresor"]
            for arguments in [["check"] + words, ["run"] + words + ["--listen", "127.0.0.1:0"]] {
                let ending = await ServerProcess.run(arguments)
                #expect(ending.code == 64)
                #expect(!ending.error.isEmpty && !ending.error.contains("secretword"), "\(ending.error)")
            }
        }

        @Test("Help and version are told on standard output")
        func tellsHelp() async throws {
            for arguments in [["--help"], ["init", "--help"], ["run", "--help"], ["close", "--help"], ["--version"]] {
                let ending = await ServerProcess.run(arguments)
                #expect(ending.code == 0)
                #expect(!ending.output.isEmpty)
                #expect(ending.error.isEmpty)
            }
        }
    }

    /// A directory for a service.
    final class Site: Sendable {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent("tresor-site-\(UUID())").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: true)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        subscript(_ name: String) -> String { path + "/" + name }

        /// Writes the card of an operator, and returns its path.
        func card() throws -> String {
            let identity = try Identity.make(handle: Name(typed: "operator"), time: 1_800_000_000)
            try Data(identity.chain.bytes).write(to: URL(fileURLWithPath: self["operator.card"]))
            return self["operator.card"]
        }
    }

    /// A running `tresor-server`.
    final class ServerProcess: @unchecked Sendable {
        struct Ending {
            let code: Int32
            let output: String
            let error: String
        }

        private let process = Process()
        private let outputPath: String
        private let errorPath: String

        /// Starts the program.
        ///
        /// - Parameter launcher: a program with arguments that starts the words behind them; none for no such program.
        init(_ arguments: [String], through launcher: [String] = []) throws {
            let name = FileManager.default.temporaryDirectory.appendingPathComponent(
                "tresor-run-\(UUID())"
            ).path
            outputPath = name + ".out"
            errorPath = name + ".err"
            for path in [outputPath, errorPath] {
                _ = FileManager.default.createFile(atPath: path, contents: nil)
            }
            let words = launcher + [Self.path("tresor-server")] + arguments
            process.executableURL = URL(fileURLWithPath: words[0])
            process.arguments = Array(words.dropFirst())
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = FileHandle(forWritingAtPath: outputPath)
            process.standardError = FileHandle(forWritingAtPath: errorPath)
            try process.start()
        }

        deinit {
            if process.isRunning { kill(process.processIdentifier, SIGKILL) }
            for path in [outputPath, errorPath] { try? FileManager.default.removeItem(atPath: path) }
        }

        var id: pid_t { process.processIdentifier }

        /// The path of a program of the package: it lies beside the test bundle.
        static func path(_ program: String) -> String {
            let bundle = CommandLine.arguments.first { $0.hasSuffix(".xctest") } ?? "/proc/self/exe"
            let directory = URL(fileURLWithPath: bundle).resolvingSymlinksInPath()
                .deletingLastPathComponent()
            return directory.appendingPathComponent(program).path
        }

        /// The text that the program has written to standard error.
        var said: String { Self.text(errorPath) }

        static func run(_ arguments: [String]) async -> Ending {
            guard let process = try? ServerProcess(arguments) else {
                return Ending(code: -1, output: "", error: "")
            }
            return await process.end()
        }

        func signal(_ number: Int32) { kill(process.processIdentifier, number) }

        func end() async -> Ending {
            for _ in 0..<12_000 where process.isRunning { try? await Task.sleep(for: .milliseconds(25)) }
            if process.isRunning { Issue.record("it did not end: \(doing(id)); it said: \(said)") }
            let code = process.isRunning ? -1 : process.terminationStatus
            return Ending(code: code, output: Self.text(outputPath), error: Self.text(errorPath))
        }

        /// The port that the program said it listens on.
        func port() async -> Int? {
            guard await says("\"event\":\"listening\"") else { return nil }
            let line = Self.text(errorPath).split(separator: "\n").first { $0.contains("\"port\":") }
            return line?.firstMatch(of: /"port":([0-9]+)/).flatMap { Int($0.1) }
        }

        /// Whether the program writes a text to standard error within minutes.
        func says(_ text: String) async -> Bool {
            for _ in 0..<12_000 {
                if Self.text(errorPath).contains(text) { return true }
                guard process.isRunning else { return false }
                try? await Task.sleep(for: .milliseconds(25))
            }
            Issue.record("it does not say \(text): \(doing(id)); it said: \(said)")
            return false
        }

        private static func text(_ path: String) -> String {
            (try? Data(contentsOf: URL(fileURLWithPath: path))).map {
                String(decoding: $0, as: UTF8.self)
            } ?? ""
        }
    }
#endif

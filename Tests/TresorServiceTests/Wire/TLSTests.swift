// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import NIOCore
    import Testing

    @testable import TresorServer

    /// The service over TLS, against OpenSSL's own client.
    @Suite struct TLSTests {
        private static let request = String(
            decoding: Wire.request("card", headers: ["Connection: close"]), as: UTF8.self)

        @Test("TLS 1.3 is spoken, with HTTP/1.1 and the certificate of the file")
        func speaksTLS() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            try await Wire.run(certificates: files.certificates) { wire in
                let text = await OpenSSL.connect(wire.port, ["-tls1_3", "-alpn", "http/1.1"], Self.request)
                #expect(text.contains("HTTP/1.1 200 OK"))
                #expect(text.contains("CN = first.example") || text.contains("CN=first.example"))
                #expect(text.contains("ALPN protocol: http/1.1"))
            }
        }

        @Test("A125: an older TLS is refused, and others are served", arguments: ["-tls1_2", "-tls1_1"])
        func refusesOlderTLS(version: String) async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            try await Wire.run(certificates: files.certificates) { wire in
                let text = await OpenSSL.connect(wire.port, [version, "-cipher", "DEFAULT@SECLEVEL=0"], Self.request)
                #expect(!text.contains("HTTP/1.1"))
                #expect(await OpenSSL.connect(wire.port, [], Self.request).contains("HTTP/1.1 200 OK"))
            }
        }

        @Test("A request without TLS gets nothing")
        func refusesPlainRequests() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            try await Wire.run(certificates: files.certificates) { wire in
                let result = try await wire.send(Array(Self.request.utf8))
                #expect(result.answer == nil)
                #expect(result.isClosed)
                #expect(await OpenSSL.connect(wire.port, [], Self.request).contains("HTTP/1.1 200 OK"))
            }
        }

        @Test("A handshake that does not go on ends with the time of a head")
        func endsSlowHandshakes() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            var limits = ServerLimits()
            limits.head = .milliseconds(700)
            try await Wire.run(limits: limits, certificates: files.certificates) { wire in
                let client = try RawClient(port: wire.port)
                await client.send([22, 3, 1, 2, 0, 1, 0, 1])
                #expect(await client.readToEnd().isClosed)
            }
        }

        @Test("A certificate that was read again is the one of new connections; a bad one changes nothing")
        func reloadsCertificates() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let certificates = try files.certificates
            try await Wire.run(certificates: certificates) { wire in
                try await files.replace("second.example")
                #expect(await OpenSSL.connect(wire.port, [], Self.request).contains("first.example"))
                try certificates.reload()
                let text = await OpenSSL.connect(wire.port, [], Self.request)
                #expect(text.contains("second.example"))
                #expect(!text.contains("first.example"))
                try Data("nothing".utf8).write(to: files.certificate)
                #expect(throws: ServerFailure.self) { try certificates.reload() }
                WireServer(
                    handler: NotingHandler(), address: .network(host: "127.0.0.1", port: 0), names: [],
                    certificates: certificates, report: wire.report
                ).readCertificate()
                let reason = "\"reason\":\"\(files.certificate.path) holds no certificate in PEM"
                #expect(
                    wire.log.all.contains {
                        $0.contains("\"level\":\"error\",\"event\":\"certificate\"") && $0.contains(reason)
                    })
                #expect(await OpenSSL.connect(wire.port, [], Self.request).contains("second.example"))
            }
        }

        @Test("A file that may not be read is said to be", .enabled(if: geteuid() != 0, "root may read everything"))
        func saysWhatMayNotBeRead() async throws {
            let files = try await CertificateFiles.make("a")
            defer { files.remove() }
            for file in [files.key.path, files.certificate.path] {
                #expect(chmod(file, 0) == 0)
                let failure = #expect(throws: ServerFailure.self) { _ = try files.certificates }
                #expect(failure?.message.contains("you may not read the") == true)
                #expect(failure?.message.contains(file) == true)
            }
        }

        @Test("A key of another certificate is refused at the start")
        func refusesStrangeKeys() async throws {
            let first = try await CertificateFiles.make("first.example")
            let second = try await CertificateFiles.make("second.example")
            defer {
                first.remove()
                second.remove()
            }
            #expect(throws: ServerFailure.self) {
                _ = try Certificates(certificate: first.certificate.path, key: second.key.path)
            }
            #expect(throws: ServerFailure.self) {
                _ = try Certificates(certificate: first.certificate.path, key: first.certificate.path)
            }
            #expect(throws: ServerFailure.self) { _ = try Certificates(certificate: "/nowhere", key: first.key.path) }
        }

        @Test func aKeyThatIsTooWeakIsNamed() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            try await files.replace("weak.example", key: ["rsa:512"])
            let failure = #expect(throws: ServerFailure.self) { _ = try files.certificates }
            #expect(
                failure?.message
                    == "\(files.certificate.path) has a key or signature that is too weak; make a new one")
        }

        /// Without a terminal, OpenSSL would ask for the password at standard input.
        @Test func anEncryptedKeyIsRefusedAndNobodyIsAsked() async throws {
            let site = try Site()
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let key = files.directory.appendingPathComponent("encrypted.pem")
            _ = await OpenSSL.run(
                ["pkey", "-in", files.key.path, "-aes256", "-passout", "pass:word", "-out", key.path], "")
            try #require(try String(contentsOf: key, encoding: .utf8).contains("BEGIN ENCRYPTED"))
            _ = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            let server = try ServerProcess(
                [
                    "run", site["clinic.db"], "--listen", "127.0.0.1:0", "--certificate", files.certificate.path,
                    "--key", key.path,
                ], through: ["/bin/sh", "-c", "echo word | timeout 60 setsid -w \"$@\"", "sh"])
            let ending = await server.end()
            #expect(ending.code != 0)
            #expect(ending.error.contains("\(key.path) has a passphrase, for which the service can ask nobody"))
            #expect(!ending.error.contains("pass phrase"))
        }

        @Test func aCertificateIsReadAgainWhileManyConnect() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let certificates = try files.certificates
            try await withThrowingTaskGroup(of: Void.self) { group in
                for _ in 0..<4 {
                    group.addTask { for _ in 0..<500 { _ = try certificates.makeHandler() } }
                }
                group.addTask { for _ in 0..<100 { try certificates.reload() } }
                try await group.waitForAll()
            }
        }
    }

    /// A certificate that vouches for itself, in a directory of its own.
    struct CertificateFiles {
        let directory: URL
        var certificate: URL { directory.appendingPathComponent("certificate.pem") }
        var key: URL { directory.appendingPathComponent("key.pem") }

        static func make(_ name: String) async throws -> CertificateFiles {
            let directory = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-tls-\(UUID())")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            let files = CertificateFiles(directory: directory)
            try await files.replace(name)
            return files
        }

        func replace(
            _ name: String, key kind: [String] = ["ec", "-pkeyopt", "ec_paramgen_curve:prime256v1"]
        ) async throws {
            _ = await OpenSSL.run(
                [
                    "req", "-x509", "-nodes", "-days", "30", "-subj", "/CN=\(name)", "-addext",
                    "subjectAltName=DNS:\(name)", "-keyout", key.path, "-out", certificate.path, "-newkey",
                ] + kind, "")
            try #require(FileManager.default.fileExists(atPath: certificate.path))
        }

        var certificates: Certificates {
            get throws { try Certificates(certificate: certificate.path, key: key.path) }
        }

        func remove() { try? FileManager.default.removeItem(at: directory) }
    }

    /// The program of OpenSSL.
    enum OpenSSL {
        /// Connects, sends a text, and returns all that was said.
        static func connect(_ port: Int, _ options: [String], _ text: String) async -> String {
            await run(
                ["s_client", "-connect", "127.0.0.1:\(port)", "-servername", "tresor.example", "-ign_eof"] + options,
                text)
        }

        static func run(_ arguments: [String], _ input: String) async -> String {
            await withCheckedContinuation { continuation in
                DispatchQueue.global().async {
                    let process = Process()
                    let sent = Pipe()
                    let received = Pipe()
                    process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
                    process.arguments = ["timeout", "120", "openssl"] + arguments
                    process.standardInput = sent
                    process.standardOutput = received
                    process.standardError = received
                    guard (try? process.run()) != nil else { return continuation.resume(returning: "") }
                    try? sent.fileHandleForWriting.write(contentsOf: Data(input.utf8))
                    try? sent.fileHandleForWriting.close()
                    let output = received.fileHandleForReading.readDataToEndOfFile()
                    process.waitUntilExit()
                    continuation.resume(returning: String(decoding: output, as: UTF8.self))
                }
            }
        }
    }
#endif

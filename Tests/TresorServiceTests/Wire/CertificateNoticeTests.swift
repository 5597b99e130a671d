// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing

    @testable import TresorServer

    /// The operator is told of a certificate that clients refuse, or soon will.
    @Suite(.enabled(if: Daemon.path("openssl") != nil, "openssl is not installed")) struct CertificateNoticeTests {
        /// A root, an authority between, and a certificate for two names and two addresses.
        private static let script = """
            set -e
            key() { openssl ecparam -name prime256v1 -genkey -noout -out $1.key; }
            for name in root between ward; do key $name; done
            echo basicConstraints=critical,CA:TRUE >authority
            echo subjectAltName=DNS:ward.example,DNS:clinic.example,IP:192.0.2.1,IP:2001:db8::1 >names
            sign() { openssl x509 -req -in $1.request -days 30 -set_serial $2 -extfile $3 -out $1.pem "$4" "$5" $6 $7; }
            for name in root between ward; do
                openssl req -new -key $name.key -subj /CN=$name -out $name.request
            done
            sign root 1 authority -signkey root.key
            sign between 2 authority -CA root.pem -CAkey root.key
            sign ward 3 names -CA between.pem -CAkey between.key
            cat ward.pem between.pem >full.pem
            cat between.pem ward.pem >turned.pem
            cat ward.pem root.pem >strange.pem
            """

        private static func made() async throws -> TestDirectory {
            let directory = try TestDirectory()
            let made = try await Daemon.run(["/bin/sh", "-c", "cd '\(directory.path)'; \(script)"])
            try #require(made.code == 0, "\(made.text)")
            return directory
        }

        @Test func aChainThatClientsCannotFollowIsTold() async throws {
            let directory = try await Self.made()
            func faults(_ file: String, _ names: [String] = []) throws -> [String] {
                let certificates = try Certificates(certificate: directory[file], key: directory["ward.key"])
                return certificates.faults(for: names.compactMap { HostName($0) })
            }
            let names = ["ward.example", "Clinic.example:8443", "192.0.2.1", "[2001:db8::1]:8443"]
            #expect(try faults("full.pem", names) == [])
            for file in ["ward.pem", "strange.pem"] {
                let told = try faults(file)
                #expect(told.count == 1)
                #expect(told[0].hasPrefix("\(directory[file]) lacks those that vouch for its first certificate"))
            }
            #expect(
                try faults("full.pem", ["ward.example", "other.example", "192.0.2.2:8443"]) == [
                    "\(directory["full.pem"]) is not for other.example, 192.0.2.2, so clients refuse it there"
                ])
            let turned = #expect(throws: ServerFailure.self) { try faults("turned.pem") }
            #expect(turned?.message.contains("belongs to a later certificate of \(directory["turned.pem"])") == true)
        }

        @Test func aCertificateThatVouchesForItselfIsWhole() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let name = try #require(HostName("first.example"))
            #expect(try files.certificates.faults(for: [name]) == [])
        }

        @Test func theEndOfACertificateIsToldOnceADay() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let certificates = try files.certificates
            let (end, day) = (certificates.end, 86_400)
            // It is good for 30 days, of which it is a third.
            #expect(certificates.reminder(at: end - 11 * day) == nil)
            let soon = try #require(certificates.reminder(at: end - 9 * day))
            #expect(soon.hasPrefix("\(files.certificate.path) is good until "))
            #expect(soon.hasSuffix(": renew it, then reload the service"))
            #expect(certificates.reminder(at: end - 9 * day) == nil)
            #expect(certificates.reminder(at: end - 8 * day) == soon)
            let past = try #require(certificates.reminder(at: end + day))
            #expect(past.hasPrefix("\(files.certificate.path) was good until "))
        }

        @Test func aReloadWarnsAndTheMetricsHaveTheEnd() async throws {
            let files = try await CertificateFiles.make("first.example")
            defer { files.remove() }
            let (log, name) = (LogLines(), try #require(HostName("first.example")))
            let certificates = try files.certificates
            let server = WireServer(
                handler: NotingHandler(), address: .network(host: "127.0.0.1", port: 0), names: [name],
                certificates: certificates, report: Report(logsSources: false) { log.add($0) })
            server.readCertificate()
            #expect(log.all.last?.contains("\"level\":\"info\",\"event\":\"certificate\"") == true)
            let line = "tresor_certificate_end_timestamp_seconds \(certificates.end)\n"
            #expect(server.report.registry.text.contains(line))
            try await files.replace("second.example")
            server.readCertificate()
            #expect(log.all.count == 2)
            let told = try #require(log.all.last)
            #expect(told.contains("\"level\":\"warning\",\"event\":\"certificate\",\"reason\":"))
            #expect(told.contains("is not for first.example"))
            // Each day at its time: the first one is that of the reload.
            server.remind(at: certificates.end - 86_400)
            server.remind(at: certificates.end - 86_400)
            #expect(log.all.count == 3)
        }
    }
#endif

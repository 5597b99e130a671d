// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The command before a service with a certificate that it must not trust: a clear error, and nothing is sent.
    @Suite(.serialized, .enabled(if: Daemon.path("openssl") != nil, "openssl is not installed"))
    struct CertificateTests {
        /// The fault of a certificate.
        enum Fault: String, CaseIterable, Sendable {
            case none
            case expired
            case early
            case otherName = "other name"
            /// Nobody who is trusted vouches for it.
            case stranger

            /// The contents of the message: the cause, with both names or both dates.
            var words: [String] {
                switch self {
                case .none: []
                case .expired: ["certificate was good until 2021-01-01 00:00", "the clock of this machine shows 20"]
                case .early: ["certificate is good from 2048-01-01 00:00", "the clock of this machine shows 20"]
                case .otherName: ["certificate is for \"other.example\", \"192.0.2.1\"", "not for \"localhost\""]
                case .stranger: ["certificate comes from \"/CN=t\"", "authority.pem"]
                }
            }
        }

        @Test func aWrongCertificateIsRefusedByName() async throws {
            let directory = try TestDirectory()
            try Data("the password of anna\n".utf8).write(to: URL(fileURLWithPath: directory["password"]))
            chmod(directory["password"], 0o600)
            func run(_ port: Int, _ words: String...) async throws -> (code: Int32?, text: String) {
                try await Daemon.run(
                    [
                        "/usr/bin/env", "HOME=\(directory.path)", ServerProcess.path("tresor"), "--home",
                        directory["home"], "--store", "https://localhost:\(port)", "--store-ca",
                        directory["authority.pem"], "--batch", "--password-file", directory["password"],
                    ] + words)
            }
            try await make(.none, in: directory)
            try FileManager.default.copyItem(atPath: directory["certificate.pem"], toPath: directory["authority.pem"])
            let made = try await run(1, "keygen", "anna", "--no-kit", "--argon2id", "64,3")
            #expect(made.code == 0, "\(made.text)")
            for fault in Fault.allCases {
                try await make(fault, in: directory)
                if fault != .stranger {
                    try? FileManager.default.removeItem(atPath: directory["authority.pem"])
                    try FileManager.default.copyItem(
                        atPath: directory["certificate.pem"], toPath: directory["authority.pem"])
                }
                let handler = NotingHandler()
                let certificates = try Certificates(
                    certificate: directory["certificate.pem"], key: directory["key.pem"])
                // The operator is told too. It is the end of 2023.
                let path = directory["certificate.pem"]
                let told: String? =
                    switch fault {
                    case .expired:
                        "\(path) was good until 2021-01-01T00:00:00.000Z: renew it, then reload the service"
                    case .early: "\(path) is good from 2048-01-01T00:00:00.000Z on"
                    default: nil
                    }
                #expect(certificates.fault(at: 1_700_000_000) == told)
                let wire = try await RunningWire(handler, certificates: certificates)
                let ended = try await run(wire.port, "register", "--no-login")
                #expect(ended.code == 18, "\(fault): \(ended.text)")
                if fault == .none {
                    // The handler answers with what it got, which is no answer of a service.
                    #expect(!handler.calls.isEmpty, "\(ended.text)")
                    #expect(!ended.text.contains("certificate"), "\(ended.text)")
                } else {
                    #expect(handler.calls.isEmpty, "\(fault)")
                    #expect(ended.text.hasPrefix("tresor: error: "), "\(fault): \(ended.text)")
                    for word in fault.words { #expect(ended.text.contains(word), "\(fault): \(ended.text)") }
                    // Another authority mends nothing but that.
                    #expect(ended.text.contains("--store-ca FILE") == (fault == .stranger), "\(ended.text)")
                }
                await wire.stop()
            }
        }

        /// Makes a certificate that vouches for itself, with its key.
        private func make(_ fault: Fault, in directory: TestDirectory) async throws {
            let (start, end) =
                switch fault {
                case .expired: ("20200101000000Z", "20210101000000Z")
                case .early: ("20480101000000Z", "20490101000000Z")
                default: ("20200101000000Z", "20490101000000Z")
                }
            let name = fault == .otherName ? "DNS:other.example,IP:192.0.2.1" : "DNS:localhost,IP:127.0.0.1"
            let script = """
                set -e
                cd '\(directory.path)'
                rm -f index.* serial*; : > index.txt; echo 01 > serial
                cat > authority.cnf <<END
                [ca]
                default_ca = one
                [one]
                database = index.txt
                serial = serial
                new_certs_dir = .
                default_md = sha256
                policy = any
                x509_extensions = names
                [any]
                commonName = supplied
                [names]
                subjectAltName = \(name)
                basicConstraints = CA:TRUE
                END
                openssl req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -keyout key.pem -subj /CN=t -out request
                openssl ca -batch -notext -selfsign -config authority.cnf -startdate \(start) -enddate \(end) \\
                    -keyfile key.pem -in request -out certificate.pem
                """
            let made = try await Daemon.run(["/bin/sh", "-c", script])
            try #require(made.code == 0, "\(made.text)")
        }
    }
#endif

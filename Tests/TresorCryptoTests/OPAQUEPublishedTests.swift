// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

/// OPAQUE against the numbers of RFC 9807 Appendix C, with the identity as the stretching function.
@Suite struct OPAQUEPublishedTests {
    private static let context = Array("OPAQUE-POC".utf8)

    private static func parameters() throws -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: context) { (output) throws(TresorError) in
            try SecretBytes(copying: output.span)
        }
    }

    /// One section of the file: values by name.
    private struct Section {
        let values: [String: String]

        func callAsFunction(_ name: String) throws -> [UInt8] { try bytes(#require(values[name])) }

        func secret(_ name: String) throws -> SecretBytes { try secretBytes(self(name)) }

        var names: OPAQUE.Names {
            get throws {
                guard values["client_identity"] != nil else { return OPAQUE.Names() }
                return try OPAQUE.Names(client: self("client_identity"), server: self("server_identity"))
            }
        }

        func server() throws -> OPAQUEServer {
            try OPAQUEServer(seed: secret("oprf_seed"), privateKey: secret("server_private_key"))
        }

        func drawn() throws -> OPAQUEServer.Drawn {
            try OPAQUEServer.Drawn(
                maskingNonce: self("masking_nonce"), nonce: self("server_nonce"),
                seed: secret("server_keyshare_seed"))
        }
    }

    private static func sections() throws -> [Section] {
        try Published.text("../opaque/rfc9807.md").components(separatedBy: "\n## ").dropFirst().map { text in
            let pairs = text.split(separator: "\n").compactMap { line -> (String, String)? in
                let parts = line.split(separator: ": ")
                return parts.count == 2 ? (String(parts[0]), String(parts[1])) : nil
            }
            return Section(values: Dictionary(pairs) { first, _ in first })
        }
    }

    @Test("Real vectors 1 and 2: registration", .published("../opaque/rfc9807.md"), arguments: [0, 1])
    func registers(index: Int) throws {
        let section = try Self.sections()[index]
        let server = try section.server()
        #expect(server.publicKey == (try section("server_public_key")))
        let registration = try OPAQUERegistration(
            input: section.secret("password"), blind: section.secret("blind_registration"))
        #expect(registration.message == (try section("registration_request")))
        let evaluated = try server.register(
            registration.message.span, identifier: section("credential_identifier"))
        #expect(evaluated + server.publicKey == (try section("registration_response")))
        let outcome = try registration.finish(
            evaluated: evaluated, serverKey: server.publicKey, names: section.names, parameters: Self.parameters(),
            nonce: section("envelope_nonce"))
        #expect(outcome.record == (try section("registration_upload")))
        #expect(outcome.exportKey.span.publicBytes == (try section("export_key")))
    }

    @Test("Real vectors 1 and 2: log-in", .published("../opaque/rfc9807.md"), arguments: [0, 1])
    func logsIn(index: Int) throws {
        let section = try Self.sections()[index]
        let server = try section.server()
        let login = try OPAQUELogin(
            input: section.secret("password"), blind: section.secret("blind_login"), nonce: section("client_nonce"),
            seed: section.secret("client_keyshare_seed"))
        #expect(login.message == (try section("KE1")))
        let answer = try server.answer(
            login.message, record: section("registration_upload"), identifier: section("credential_identifier"),
            names: section.names, context: Self.context, drawn: section.drawn())
        #expect(answer.message == (try section("KE2")))
        let outcome = try login.finish(
            answer: answer.message, names: section.names, parameters: Self.parameters())
        #expect(outcome.message == (try section("KE3")))
        #expect(outcome.exportKey.span.publicBytes == (try section("export_key")))
        #expect(outcome.sessionKey.span.publicBytes == (try section("session_key")))
        try answer.check(outcome.message.span)
    }

    @Test("Fake vector 1: the answer for a name that nobody has", .published("../opaque/rfc9807.md"))
    func answersForNobody() throws {
        let section = try Self.sections()[2]
        let record = try section("client_public_key") + section("masking_key") + [UInt8](repeating: 0, count: 96)
        let answer = try section.server().answer(
            section("KE1"), record: record, identifier: section("credential_identifier"), names: section.names,
            context: Self.context, drawn: section.drawn())
        #expect(answer.message == (try section("KE2")))
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

/// OPAQUE beside packages of other projects (`scripts/opaque-peers`). None of them lets one choose the cost, the context
/// or the names: they have 19 456 KiB and 2 passes, no context, and the public keys as names.
@Suite(.serialized, .peers) struct OPAQUEPeerTests {
    enum Run: String, CaseIterable, CustomTestStringConvertible {
        case rightPassword = "right password"
        case wrongPassword = "wrong password"
        /// Registered by the one, opened by the other: so both stretch alike, and derive the same keys.
        case otherClient = "record opened by the other client"
        case changedServerCode = "changed server code"
        case changedClientCode = "changed client code"

        var testDescription: String { rawValue }
        var password: [UInt8] { Array("correct horse bättery \(self == .wrongPassword ? "stable" : "staple")".utf8) }
    }

    private static let name = Array("änna".utf8)

    private static func parameters() throws -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: []) { (output) throws(TresorError) in
            try Argon2id.hash(
                password: output.span, salt: [UInt8](repeating: 0, count: Argon2id.saltByteCount),
                outputCount: OPAQUE.hashByteCount, passes: 2, memoryByteCount: 19_456 * 1024)
        }
    }

    /// The package, or `nil` where it is missing; then a line says so.
    private static func peer(_ package: String) throws -> Peer? {
        let peer = try Peer(package)
        guard peer.isMissing else { return peer }
        print(peer.greeting)
        return nil
    }

    @Test(arguments: Peer.packages, Run.allCases) func thePeerIsClient(package: String, run: Run) throws {
        guard let peer = try Self.peer(package) else { return }
        let server = try OPAQUEServer(seed: SecretBytes(randomCount: 64), privateKey: Ristretto255.randomScalar())
        let right = Run.rightPassword.password
        let request = try #require(try peer.ask("register", right)?.first)
        let response = try server.register(request.span, identifier: Self.name) + server.publicKey
        // The record, and the export key where the package shows it.
        let registered = try #require(try peer.ask("finish_registration", right, response))
        let record = try #require(registered.first)
        let exportKey = Array(registered.dropFirst())
        guard run != .otherClient else {
            let login = try OPAQUELogin(input: secretBytes(right))
            let answer = try server.answer(
                login.message, record: record, identifier: Self.name, names: OPAQUE.Names(), context: [])
            let opened = try login.finish(
                answer: answer.message, names: OPAQUE.Names(), parameters: Self.parameters())
            try answer.check(opened.message.span)
            try #require(opened.record == record)
            let key = opened.exportKey.span.publicBytes
            try #require(exportKey == (exportKey.isEmpty ? [] : [key]))
            return Self.pass(peer, "client", run)
        }
        let first = try #require(try peer.ask("login", run.password)?.first)
        let answer = try server.answer(
            first, record: record, identifier: Self.name, names: OPAQUE.Names(), context: [])
        var message = answer.message
        if run == .changedServerCode { message[message.count - 1] ^= 1 }
        let results = try peer.ask("finish_login", run.password, message)
        guard run != .wrongPassword, run != .changedServerCode else {
            try #require(results == nil)
            return Self.pass(peer, "client", run)
        }
        var last = try #require(results?.first)
        let sessionKey = answer.sessionKey.span.publicBytes
        try #require(results == [last, sessionKey] + exportKey)
        if run == .changedClientCode {
            last[last.count - 1] ^= 1
            try Self.expectRefusal(of: last, by: answer)
        } else {
            try answer.check(last.span)
        }
        Self.pass(peer, "client", run)
    }

    private static func pass(_ peer: Peer, _ side: String, _ run: Run) {
        let other = side == "client" ? "server" : "client"
        print("passed: \(peer.greeting) as \(side), the first implementation as \(other): \(run.rawValue)")
    }

    private static func expectRefusal(of last: [UInt8], by answer: borrowing OPAQUEServer.Answer) throws {
        do throws(TresorError) { try answer.check(last.span) } catch {
            try #require(error == .wrongPassword)
            return
        }
        throw NotRefused()
    }

    @Test(arguments: Peer.packages, Run.allCases) func thePeerIsServer(package: String, run: Run) throws {
        guard let peer = try Self.peer(package) else { return }
        let registration = try OPAQUERegistration(input: secretBytes(Run.rightPassword.password))
        let response = try #require(try peer.ask("answer_registration", registration.message, Self.name)?.first)
        let outcome = try registration.finish(
            evaluated: Array(response.prefix(OPAQUE.keyByteCount)),
            serverKey: Array(response.dropFirst(OPAQUE.keyByteCount)), names: OPAQUE.Names(),
            parameters: Self.parameters())
        _ = try #require(try peer.ask("take", outcome.record))
        guard run != .otherClient else {
            let first = try #require(try peer.ask("login", run.password)?.first)
            let answer = try #require(try peer.ask("answer_login", first, Self.name)?.first)
            let results = try #require(try peer.ask("finish_login", run.password, answer))
            try #require(results.count >= 2)
            try #require(try peer.ask("check_login", results[0]) == [results[1]])
            let key = outcome.exportKey.span.publicBytes
            try #require(results.dropFirst(2) == (results.count == 2 ? [] : [key]))
            return Self.pass(peer, "server", run)
        }
        let login = try OPAQUELogin(input: secretBytes(run.password))
        var answer = try #require(try peer.ask("answer_login", login.message, Self.name)?.first)
        if run == .changedServerCode { answer[answer.count - 1] ^= 1 }
        guard run != .wrongPassword, run != .changedServerCode else {
            try Self.expect(run == .wrongPassword ? .wrongPassword : .altered, of: login, for: answer)
            return Self.pass(peer, "server", run)
        }
        let opened = try login.finish(answer: answer, names: OPAQUE.Names(), parameters: Self.parameters())
        try #require(opened.record == outcome.record)
        try #require(opened.exportKey.span.publicBytes == outcome.exportKey.span.publicBytes)
        var last = opened.message
        if run == .changedClientCode { last[last.count - 1] ^= 1 }
        let sessionKey = opened.sessionKey.span.publicBytes
        try #require(try peer.ask("check_login", last) == (run == .rightPassword ? [sessionKey] : nil))
        Self.pass(peer, "server", run)
    }

    private static func expect(
        _ refusal: TresorError, of login: consuming OPAQUELogin, for answer: [UInt8]
    ) throws {
        let parameters = try parameters()
        do throws(TresorError) {
            _ = try login.finish(answer: answer, names: OPAQUE.Names(), parameters: parameters)
        } catch {
            try #require(error == refusal)
            return
        }
        throw NotRefused()
    }
}

private struct NotRefused: Error {}

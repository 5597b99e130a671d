// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

/// OPAQUE without published vectors: what each side refuses.
@Suite struct OPAQUETests {
    private static let names: OPAQUE.Names = {
        do { return try OPAQUE.Names(client: Array("anna".utf8), server: Array("clinic".utf8)) } catch {
            preconditionFailure("\(error)")
        }
    }()

    private static func parameters(_ context: String = "test") throws -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: Array(context.utf8)) { (output) throws(TresorError) in
            try SecretBytes(copying: output.span)
        }
    }

    private static func secret(_ text: String) throws -> SecretBytes { try secretBytes(Array(text.utf8)) }

    private static func server() throws -> OPAQUEServer {
        try OPAQUEServer(seed: SecretBytes(randomCount: 64), privateKey: Ristretto255.randomScalar())
    }

    private static func record(
        _ password: String, at server: borrowing OPAQUEServer
    ) throws -> (record: [UInt8], exportKey: [UInt8]) {
        let registration = try OPAQUERegistration(input: secret(password))
        let evaluated = try server.register(registration.message.span, identifier: [1])
        let outcome = try registration.finish(
            evaluated: evaluated, serverKey: server.publicKey, names: names, parameters: parameters())
        return (outcome.record, outcome.exportKey.span.publicBytes)
    }

    @Test func thePasswordGivesTheExportKeyAgain() throws {
        let server = try Self.server()
        let (record, exportKey) = try Self.record("correct horse", at: server)
        #expect(record.count == OPAQUE.recordByteCount)
        let login = try OPAQUELogin(input: Self.secret("correct horse"))
        #expect(login.message.count == OPAQUE.firstMessageByteCount)
        let answer = try server.answer(
            login.message, record: record, identifier: [1], names: Self.names, context: Array("test".utf8))
        #expect(answer.message.count == OPAQUE.secondMessageByteCount)
        let outcome = try login.finish(answer: answer.message, names: Self.names, parameters: Self.parameters())
        #expect(outcome.exportKey.span.publicBytes == exportKey)
        #expect(outcome.record == record)
        let isEqual = outcome.sessionKey.matches(answer.sessionKey)
        #expect(isEqual)
        try answer.check(outcome.message.span)
        var wrong = outcome.message
        wrong[63] ^= 1
        #expect(throws: TresorError.wrongPassword) { try answer.check(wrong.span) }
        let short = Array(outcome.message.dropLast())
        #expect(throws: TresorError.wrongPassword) { try answer.check(short.span) }
    }

    private struct Change: CustomTestStringConvertible, Sendable {
        let testDescription: String
        var password = "correct horse"
        var identifier: [UInt8] = [1]
        var client = "anna"
        var context = "test"
        let error: TresorError
    }

    private static let changes = [
        Change(testDescription: "another password", password: "correct house", error: .wrongPassword),
        Change(testDescription: "another identifier", identifier: [2], error: .wrongPassword),
        Change(testDescription: "another name", client: "bob", error: .wrongPassword),
        Change(testDescription: "another context", context: "else", error: .altered),
    ]

    @Test(arguments: changes)
    private func whatDiffersOpensNothing(change: Change) throws {
        let server = try Self.server()
        let (record, _) = try Self.record("correct horse", at: server)
        let login = try OPAQUELogin(input: Self.secret(change.password))
        let answer = try server.answer(
            login.message, record: record, identifier: change.identifier, names: Self.names,
            context: Array("test".utf8))
        let names = try OPAQUE.Names(client: Array(change.client.utf8), server: Array("clinic".utf8))
        do throws(TresorError) {
            _ = try login.finish(
                answer: answer.message, names: names,
                parameters: OPAQUE.Parameters(context: Array(change.context.utf8)) { (output) throws(TresorError) in
                    try SecretBytes(copying: output.span)
                })
            Issue.record("it opened")
        } catch {
            #expect(error == change.error)
        }
    }

    /// A server that has the record and not the private key proves nothing.
    @Test func aServerWithoutItsPrivateKeyIsRefused() throws {
        let seed = [UInt8](repeating: 5, count: 64)
        let server = try OPAQUEServer(
            seed: secretBytes(seed), privateKey: Ristretto255.randomScalar())
        let (record, _) = try Self.record("correct horse", at: server)
        let thief = try OPAQUEServer(
            seed: secretBytes(seed), privateKey: Ristretto255.randomScalar())
        let login = try OPAQUELogin(input: Self.secret("correct horse"))
        let answer = try thief.answer(
            login.message, record: record, identifier: [1], names: Self.names, context: Array("test".utf8))
        do throws(TresorError) {
            _ = try login.finish(answer: answer.message, names: Self.names, parameters: try Self.identity())
            Issue.record("it opened")
        } catch {
            // The masked public key is part of what the envelope's tag binds.
            #expect(error == .wrongPassword)
        }
    }

    private static func identity() throws(TresorError) -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: Array("test".utf8)) { (output) throws(TresorError) in
            try SecretBytes(copying: output.span)
        }
    }

    /// An unknown name has a record of drawn keys and an envelope of zeros: the answer has the same size, and nothing
    /// opens it.
    @Test func anUnknownNameLooksLikeAWrongPassword() throws {
        let server = try Self.server()
        let publicKey = try Ristretto255.multiplyGenerator(by: Ristretto255.randomScalar()).bytes
        let record = try publicKey + randomBytes(64) + [UInt8](repeating: 0, count: 96)
        let login = try OPAQUELogin(input: Self.secret("correct horse"))
        let answer = try server.answer(
            login.message, record: record, identifier: [9], names: Self.names, context: Array("test".utf8))
        #expect(answer.message.count == OPAQUE.secondMessageByteCount)
        do throws(TresorError) {
            _ = try login.finish(answer: answer.message, names: Self.names, parameters: Self.identity())
            Issue.record("it opened")
        } catch {
            #expect(error == .wrongPassword)
        }
    }

    /// Each byte of the server's message is judged.
    @Test func noByteOfTheAnswerCanChange() throws {
        let server = try Self.server()
        let (record, _) = try Self.record("correct horse", at: server)
        for index in stride(from: 0, to: OPAQUE.secondMessageByteCount, by: 7) {
            let login = try OPAQUELogin(input: Self.secret("correct horse"))
            var message = try server.answer(
                login.message, record: record, identifier: [1], names: Self.names, context: Array("test".utf8)
            ).message
            message[index] ^= 1
            do throws(TresorError) {
                _ = try login.finish(answer: message, names: Self.names, parameters: Self.identity())
                Issue.record("byte \(index) is not judged")
            } catch {
                #expect(error == .wrongPassword || error == .altered)
            }
        }
    }

    /// The code key is the function of the public key, and of each server another.
    @Test func theCodeKeyRestsOnTheSeed() throws {
        let server = try Self.server()
        let element = server.publicKey
        let expected = try server.register(element.span, identifier: [])
        let key = try server.codeKey()
        #expect(key.span.publicBytes == expected)
        let other = try Self.server().codeKey()
        let isEqual = key.matches(other)
        #expect(!isEqual)
    }

    @Test(arguments: [0, 31, 33])
    func elementsHaveThirtyTwoBytes(count: Int) throws {
        let request = [UInt8](repeating: 1, count: count)
        let server = try Self.server()
        #expect(throws: TresorError.altered) {
            try server.register(request.span, identifier: [])
        }
    }

    @Test(arguments: [0, 95, 97])
    func firstMessagesHaveTheirSize(count: Int) throws {
        let server = try Self.server()
        let (record, _) = try Self.record("correct horse", at: server)
        do throws(TresorError) {
            _ = try server.answer(
                [UInt8](repeating: 0, count: count), record: record, identifier: [1], names: Self.names, context: [])
            Issue.record("it answered")
        } catch {
            #expect(error == .altered)
        }
    }

    @Test(arguments: [0, 319, 321])
    func answersHaveTheirSize(count: Int) throws {
        let login = try OPAQUELogin(input: Self.secret("correct horse"))
        do throws(TresorError) {
            _ = try login.finish(
                answer: [UInt8](repeating: 0, count: count), names: Self.names, parameters: Self.identity())
            Issue.record("it opened")
        } catch {
            #expect(error == .altered)
        }
    }

    @Test func theIdentityElementIsRefused() throws {
        let server = try Self.server()
        let zero = [UInt8](repeating: 0, count: 32)
        #expect(throws: TresorError.altered) { try server.register(zero.span, identifier: []) }
        #expect(throws: TresorError.altered) { try Ristretto255.check(zero.span) }
    }

    /// The profile stretches with Argon2id; 64 bytes come out.
    @Test func theProfileStretches() throws {
        let parameters = try OPAQUE.Parameters(context: [], cost: .floor)
        let input = try secretBytes([UInt8](repeating: 3, count: 64))
        let output = try parameters.stretch(input)
        #expect(output.count == 64)
        let isStretched = !output.matches(input)
        #expect(isStretched)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The computations of both sides of a log-in (SPEC §20), with the drawn values that a test gives.
enum LoginOperations {
    static func readElement(_ input: VectorFields) throws -> VectorFields {
        let element = try input.bytes("element")
        try Ristretto255.check(element.span)
        return VectorFields(["element": element])
    }

    static func evaluate(_ input: VectorFields) throws -> VectorFields {
        let blinded = try input.bytes("blinded")
        let evaluated = try server(input).register(blinded.span, identifier: input.bytes("identifier"))
        return VectorFields(["evaluated": evaluated])
    }

    static func makeRecord(_ input: VectorFields) throws -> VectorFields {
        let registration = try OPAQUERegistration(input: input.secret("input"), blind: input.secret("blind"))
        let blinded = registration.message
        let outcome = try registration.finish(
            evaluated: input.bytes("evaluated"), serverKey: input.bytes("server key"), names: names(input),
            parameters: parameters(input, context: []), nonce: input.bytes("envelope nonce"))
        return VectorFields([
            "blinded": blinded, "record": outcome.record, "export key": outcome.exportKey.span.publicBytes,
        ])
    }

    static func answerLogin(_ input: VectorFields) throws -> VectorFields {
        let answer = try answer(input)
        return VectorFields([
            "answer": answer.message, "last message": answer.expected.span.publicBytes,
            "session key": answer.sessionKey.span.publicBytes,
        ])
    }

    static func finishLogin(_ input: VectorFields) throws -> VectorFields {
        let seed = try input.secret("share seed")
        let login = try OPAQUELogin(
            input: input.secret("input"), blind: input.secret("blind"), nonce: input.bytes("client nonce"), seed: seed)
        let first = login.message
        let outcome = try login.finish(
            answer: input.bytes("answer"), names: names(input),
            parameters: parameters(input, context: input.bytes("context")))
        return VectorFields([
            "first message": first, "last message": outcome.message, "record": outcome.record,
            "export key": outcome.exportKey.span.publicBytes, "session key": outcome.sessionKey.span.publicBytes,
        ])
    }

    static func checkLogin(_ input: VectorFields) throws -> VectorFields {
        let answer = try answer(input)
        let last = try input.bytes("last message")
        try answer.check(last.span)
        return VectorFields(["session key": answer.sessionKey.span.publicBytes])
    }

    static func openLogin(_ input: VectorFields) throws -> VectorFields {
        let file = try IdentityFile(input.bytes("file"))
        let identity = try file.open(withExportKey: input.secret("export key"))
        guard let login = file.login else { throw TresorError.altered }
        return VectorFields([
            "user": identity.user.digest.bytes, "generation": bigEndianBytes(identity.generation),
            "server id": login.server.bytes, "revision": bigEndianBytes(login.revision),
            "record hash": try LoginStatement.hash(ofRecord: input.bytes("record")).bytes,
            "copy hash": try LoginStatement.hash(ofCopy: file.bytes).bytes,
        ])
    }

    private static func server(_ input: VectorFields) throws -> OPAQUEServer {
        try OPAQUEServer(seed: input.secret("oprf seed"), privateKey: input.secret("private key"))
    }

    private static func answer(_ input: VectorFields) throws -> OPAQUEServer.Answer {
        let seed = try input.secret("server share seed")
        let drawn = try OPAQUEServer.Drawn(
            maskingNonce: input.bytes("masking nonce"), nonce: input.bytes("server nonce"), seed: seed)
        return try server(input).answer(
            input.bytes("first message"), record: input.bytes("record"), identifier: input.bytes("identifier"),
            names: names(input), context: input.bytes("context"), drawn: drawn)
    }

    private static func names(_ input: VectorFields) throws -> OPAQUE.Names {
        try OPAQUE.Names(client: input.bytes("client name"), server: input.bytes("server name"))
    }

    /// Vectors lie below the floor of SPEC §5.5, so that they run at once.
    private static func parameters(_ input: VectorFields, context: [UInt8]) throws -> OPAQUE.Parameters {
        let (memoryKiB, passes) = (try input.integer("memory_kib"), try input.integer("passes"))
        return try OPAQUE.Parameters(context: context) { (output) throws(TresorError) in
            try Argon2id.hash(
                password: output.span, salt: [UInt8](repeating: 0, count: Argon2id.saltByteCount),
                outputCount: OPAQUE.hashByteCount, passes: passes, memoryByteCount: Int(memoryKiB) * 1024)
        }
    }
}

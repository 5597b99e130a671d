// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// The wire of a service (SPEC §18).
enum ServiceOperations {
    static func readServer(_ input: VectorFields) throws -> VectorFields {
        VectorFields(["server id": try Server(input.bytes("server")).id().bytes])
    }

    static func deviceKey(_ input: VectorFields) throws -> VectorFields {
        let device = try DeviceShare(input.secret("device share"))
        return VectorFields([
            "user": device.user.digest.bytes, "device": device.id.bytes, "device key": try device.publicKey().bytes,
        ])
    }

    static func audience(_ input: VectorFields) throws -> VectorFields {
        let scheme = String(decoding: try input.bytes("scheme"), as: UTF8.self)
        let port = try input.bytes("port").reduce(0) { $0 << 8 | UInt16($1) }
        let audience = Audience(
            isSecure: scheme == "https", host: String(decoding: try input.bytes("host"), as: UTF8.self), port: port)
        return VectorFields(["audience": try audience.hash().bytes])
    }

    static func verifySession(_ input: VectorFields) throws -> VectorFields {
        let statement = try SessionStatement(input.bytes("session"))
        try statement.verify(by: input.digest("signer"))
        return VectorFields([
            "kind": [statement.kind.rawValue], "server id": statement.server.bytes,
            "audience": statement.audience.bytes, "era": statement.era.bytes,
            "user": statement.user.digest.bytes, "generation": bigEndianBytes(statement.generation),
            "device": statement.device?.bytes ?? [], "key": statement.key.bytes,
            "since": bigEndianBytes(statement.since), "until": bigEndianBytes(statement.until),
            "session hash": try statement.hash().bytes,
        ])
    }

    static func verifyRequest(_ input: VectorFields) throws -> VectorFields {
        let text = String(decoding: try input.bytes("authorization"), as: UTF8.self)
        let operation = try operation(input)
        let authorization = try Authorization(text)
        try authorization.verify(operation, body: input.bytes("body"))
        return VectorFields([
            "session": authorization.statement.bytes, "id": authorization.id,
            "time": bigEndianBytes(authorization.time),
        ])
    }

    static func verifyLogin(_ input: VectorFields) throws -> VectorFields {
        let statement = try LoginStatement(input.bytes("statement"))
        try statement.verify(by: CardChain(input.bytes("chain")))
        return VectorFields([
            "server id": statement.server.bytes, "user": statement.user.digest.bytes,
            "generation": bigEndianBytes(statement.generation), "revision": bigEndianBytes(statement.revision),
            "record": statement.record.bytes, "copy": statement.copy.bytes, "time": bigEndianBytes(statement.time),
        ])
    }

    static func readInvitation(_ input: VectorFields) throws -> VectorFields {
        let bytes = try input.bytes("typed")
        let typed = try SecretBytes(copying: bytes.span)
        let invitation = try Invitation(typed: typed)
        return VectorFields([
            "code": invitation.code, "text": Array(invitation.text.utf8), "hash": try invitation.hash().bytes,
        ])
    }

    static func readMessage(_ input: VectorFields) throws -> VectorFields {
        let name = String(decoding: try input.bytes("message"), as: UTF8.self)
        guard let reader = readers[name] else { throw VectorProblem("unknown message \(name)") }
        return VectorFields(["body": try reader(input.bytes("body"))])
    }

    static func readRefusal(_ input: VectorFields) throws -> VectorFields {
        let said = try Refusal.read(input.bytes("body"))
        return VectorFields(["error": Array(said.error.name.utf8), "era": said.era.bytes])
    }

    static func refuse(_ input: VectorFields) throws -> VectorFields {
        let name = String(decoding: try input.bytes("error"), as: UTF8.self)
        guard let error = errors.first(where: { $0.name == name }) else {
            throw VectorProblem("unknown error \(name)")
        }
        let refusal = Refusal(error)
        return VectorFields([
            "status": bigEndianBytes(UInt16(truncatingIfNeeded: refusal.status.rawValue)), "body": refusal.body,
        ])
    }

    static func readTarget(_ input: VectorFields) throws -> VectorFields {
        let operation = try operation(input)
        return VectorFields([
            "change": [operation.isChange ? 1 : 0],
            "longest body": bigEndianBytes(UInt64(operation.maximumBodyByteCount)),
        ])
    }

    private static func operation(_ input: VectorFields) throws -> ServiceOperation {
        let name = String(decoding: try input.bytes("operation"), as: UTF8.self)
        guard let operation = ServiceOperation(rawValue: name) else { throw TresorError.failed(.other) }
        return operation
    }

    private static let errors: [TresorError] = [
        .failed(.other), .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified, .waiting,
        .store(.other), .unsupported,
    ]

    private typealias Reader = @Sendable ([UInt8]) throws -> [UInt8]

    /// The messages by the names of their types.
    private static let readers: [String: Reader] = Dictionary(uniqueKeysWithValues: [
        reader(ServerRequest.self), reader(ServerAnswer.self), reader(CardRequest.self), reader(ChainAnswer.self),
        reader(CardsRequest.self), reader(ChainsAnswer.self), reader(UsersRequest.self), reader(UsersAnswer.self),
        reader(PutCardRequest.self), reader(OutcomeAnswer.self), reader(EntriesRequest.self),
        reader(EntriesAnswer.self), reader(AppendRequest.self), reader(WrapsRequest.self), reader(WrapsAnswer.self),
        reader(PutWrapsRequest.self), reader(TresorsRequest.self), reader(TresorsAnswer.self),
        reader(NewsRequest.self), reader(NewsAnswer.self), reader(PutServerShareRequest.self),
        reader(ServerShareRequest.self), reader(ServerShareAnswer.self), reader(DeleteServerSharesRequest.self),
        reader(PutKitCopyRequest.self), reader(KitCopyRequest.self), reader(KitCopyAnswer.self),
        reader(PutOfferRequest.self), reader(PutOfferAnswer.self),
        reader(DeleteKitCopyRequest.self), reader(RegisterRequest.self), reader(RegisterAnswer.self),
        reader(FinishRequest.self), reader(FinishAnswer.self), reader(AccountRequest.self),
        reader(AccountAnswer.self), reader(EndSessionsRequest.self), reader(InviteRequest.self),
        reader(InboxRequest.self), reader(InboxAnswer.self), reader(AdmitRequest.self),
        reader(DeleteTresorRequest.self), reader(PutBlobRequest.self), reader(BlobRequest.self),
        reader(BlobAnswer.self), reader(BlobsRequest.self), reader(BlobsAnswer.self), reader(DeleteBlobsRequest.self),
        reader(DeleteAccountRequest.self), reader(DoneAnswer.self), reader(LoginRequest.self),
        reader(LoginAnswer.self), reader(FinishLoginRequest.self), reader(FinishLoginAnswer.self),
    ])

    private static func reader<Message: ServiceMessage>(_ type: Message.Type) -> (String, Reader) {
        (String(describing: type), { bytes in try Message(bytes).bytes })
    }
}

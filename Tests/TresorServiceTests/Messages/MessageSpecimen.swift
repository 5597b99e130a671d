// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// A message of the service with its type's reader.
struct MessageSpecimen: Sendable, CustomStringConvertible {
    let name: String
    let bytes: [UInt8]
    /// Reads bytes as the same type, and encodes what it has read.
    let recode: @Sendable ([UInt8]) throws -> [UInt8]
    /// Whether the specimen's bytes read as the same value.
    let isReadBack: @Sendable () throws -> Bool

    init<Message: ServiceMessage>(_ message: Message) {
        let bytes = message.bytes
        name = String(describing: Message.self)
        self.bytes = bytes
        recode = { try Message($0).bytes }
        isReadBack = { try Message(bytes) == message }
    }

    var description: String { name }

    static func digest(_ byte: UInt8) -> Hash256 { Hash256([UInt8](repeating: byte, count: 32)) ?? .zero }

    /// At least one of every message, with every field set.
    static func all() throws -> [MessageSpecimen] {
        try cards() + logs() + escrow() + accounts() + logins() + statements()
    }

    private static func cards() -> [MessageSpecimen] {
        let server = Server(key: digest(1), memoryKiB: 262_144, passes: 3)
        return [
            MessageSpecimen(server), MessageSpecimen(ServerRequest()),
            MessageSpecimen(ServerAnswer(server: server, registration: .byInvitation, approvers: [[1, 2], [3]])),
            MessageSpecimen(CardRequest(user: UserID(digest(2)))), MessageSpecimen(ChainAnswer(chain: [1, 2, 3])),
            MessageSpecimen(ChainAnswer(chain: [])), MessageSpecimen(CardsRequest(handle: [97])),
            MessageSpecimen(ChainsAnswer(chains: [[1], [2, 3]])), MessageSpecimen(UsersRequest(prefix: [1, 2, 3])),
            MessageSpecimen(UsersAnswer(users: [UserID(digest(1)), UserID(digest(2))])),
            MessageSpecimen(PutCardRequest(chain: [1], replacing: [2, 3])), MessageSpecimen(OutcomeAnswer(.conflict)),
            MessageSpecimen(DoneAnswer()),
        ]
    }

    private static func logs() -> [MessageSpecimen] {
        let (tresor, user) = (TresorID(digest(4)), UserID(digest(5)))
        return [
            MessageSpecimen(EntriesRequest(tresor: tresor, first: 7, limit: 9)),
            MessageSpecimen(EntriesAnswer(entries: [[1], [2, 3]], more: true)),
            MessageSpecimen(
                AppendRequest(
                    tresor: tresor, sequence: 1, previous: digest(6), entry: [1], wraps: [[2], [3, 4]],
                    removing: [user],
                    blobs: [
                        StoredBlob(hash: digest(7), size: 2, bytes: [8, 9]),
                        StoredBlob(hash: digest(8), size: 674, bytes: nil),
                    ])),
            MessageSpecimen(WrapsRequest(tresor: tresor, epoch: 3, users: [user])),
            MessageSpecimen(WrapsRequest(tresor: tresor, epoch: nil, users: [user])),
            MessageSpecimen(WrapsAnswer(wraps: [[], [[1], [2]]])),
            MessageSpecimen(PutWrapsRequest(tresor: tresor, wraps: [[1], [2]])),
            MessageSpecimen(TresorsRequest(after: digest(1))),
            MessageSpecimen(TresorsAnswer(tresors: [tresor, TresorID(digest(9))], more: true)),
            MessageSpecimen(NewsRequest(cursor: [1], seconds: 55)),
            MessageSpecimen(NewsAnswer(tresors: [tresor, tresor], cursor: [1, 2], more: false)),
            MessageSpecimen(DeleteTresorRequest(tresor: tresor)),
            MessageSpecimen(PutBlobRequest(tresor: tresor, hash: digest(7), part: 3, bytes: [1])),
            MessageSpecimen(BlobRequest(tresor: tresor, hash: digest(7), part: 3)),
            MessageSpecimen(BlobAnswer(bytes: [1, 2])), MessageSpecimen(BlobAnswer(bytes: [])),
            MessageSpecimen(BlobsRequest(tresor: tresor, hashes: [digest(7), digest(8)])),
            MessageSpecimen(BlobsAnswer(blobs: [[1], [], [2, 3]])),
            MessageSpecimen(DeleteBlobsRequest(tresor: tresor, hashes: [digest(7)])),
        ]
    }

    private static func escrow() throws -> [MessageSpecimen] {
        let device = try DeviceID.random()
        let share = [UInt8](repeating: 7, count: 32)
        return [
            MessageSpecimen(PutServerShareRequest(device: device, share: share, deviceKey: digest(1))),
            MessageSpecimen(ServerShareRequest(device: device)), MessageSpecimen(ServerShareAnswer(share: share)),
            MessageSpecimen(DeleteServerSharesRequest(devices: [device, device])),
            MessageSpecimen(PutKitCopyRequest(locator: digest(1), copy: [1])),
            MessageSpecimen(KitCopyRequest(locator: digest(1))), MessageSpecimen(KitCopyAnswer(copy: [1])),
            MessageSpecimen(DeleteKitCopyRequest(locator: digest(1))),
            MessageSpecimen(
                PutOfferRequest(locator: digest(1), offer: [UInt8](repeating: 1, count: DeviceOffer.byteCount))),
            MessageSpecimen(PutOfferAnswer(.conflict)), MessageSpecimen(PutOfferAnswer(nil)),
        ]
    }

    private static func accounts() throws -> [MessageSpecimen] {
        let label = try Name(text: "ward")
        let statement = try login(record: digest(8), copy: digest(9))
        let waiting = InboxAnswer.Case(state: .complete, chain: [1], label: label, asked: 5)
        return [
            MessageSpecimen(RegisterRequest(chain: [1], invitation: .init(repeating: 2, count: 16), blinded: [])),
            MessageSpecimen(RegisterAnswer(state: .asked, evaluated: [UInt8](repeating: 3, count: 32))),
            MessageSpecimen(
                FinishRequest(record: [UInt8](repeating: 1, count: 192), statement: statement, copy: [1])),
            MessageSpecimen(FinishAnswer(state: .complete)), MessageSpecimen(AccountRequest()),
            MessageSpecimen(
                AccountAnswer(
                    state: .active, statement: statement, hasRecord: true, failures: 7, failed: 8, tresors: 2, bytes: 3,
                    maximumTresors: 4, maximumBytes: 5, maximumEntries: 6)),
            MessageSpecimen(
                AccountAnswer(
                    state: .asked, statement: nil, hasRecord: false, failures: 0, failed: 0, tresors: 0, bytes: 0,
                    maximumTresors: 4, maximumBytes: 5, maximumEntries: 6)),
            MessageSpecimen(EndSessionsRequest()), MessageSpecimen(DeleteAccountRequest()),
            MessageSpecimen(InviteRequest(hash: digest(1), label: label, until: 9)),
            MessageSpecimen(InboxRequest(after: digest(1))),
            MessageSpecimen(InboxAnswer(cases: [waiting, waiting], more: true)),
            MessageSpecimen(AdmitRequest(user: UserID(digest(1)), card: digest(2), isAdmitted: true)),
        ]
    }

    private static func logins() throws -> [MessageSpecimen] {
        let attempt = [UInt8](repeating: 4, count: LoginAnswer.attemptByteCount)
        func message(_ count: Int) -> [UInt8] { .init(repeating: 5, count: count) }
        return [
            MessageSpecimen(try LoginRequest(handle: Name(text: "anna"), message: message(96))),
            MessageSpecimen(LoginAnswer(attempt: attempt, message: message(320))),
            MessageSpecimen(FinishLoginRequest(attempt: attempt, message: message(64))),
            MessageSpecimen(
                FinishLoginAnswer(statement: try login(record: digest(8), copy: digest(9)), copy: [1, 2])),
        ]
    }

    private static func statements() throws -> [MessageSpecimen] {
        [MessageSpecimen(try login(record: .zero, copy: .zero)), MessageSpecimen(try session().statement)]
    }

    static func identity() throws -> Identity {
        try Identity.make(handle: Name(text: "anna"), time: 1_767_225_600)
    }

    static func login(record: Hash256, copy: Hash256) throws -> LoginStatement {
        try LoginStatement(by: identity(), server: digest(1), revision: 1, record: record, copy: copy, time: 7)
    }

    static func session() throws -> SessionKey {
        try SessionKey(of: identity(), device: nil, server: digest(1), since: 1000, duration: 3600)
    }
}

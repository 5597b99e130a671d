// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The operations of the tests, by name: the library's own opening, deriving and folding.
enum Operation {
    /// - Throws: the library's error, or ``VectorProblem`` for a test that cannot be run.
    static func run(_ operation: String, _ input: VectorFields) async throws -> VectorFields {
        switch operation {
        case "derive": try SealingOperations.derive(input)
        case "open": try SealingOperations.open(input)
        case "fold": try LogOperations.fold(input)
        case "foldCrowd": try CrowdOperations.foldCrowd(input)
        case "checkKEMKey": VectorFields(["pk": try XWing.PublicKey(input.bytes("pk")).bytes])
        case "openWrap": try EpochOperations.openWrap(input)
        case "keysOf": try await EpochOperations.keysOf(input)
        case "openApproval": try ApprovalOperations.openApproval(input)
        case "openWaitingWrap": try ApprovalOperations.openWaitingWrap(input)
        case "openFile": try FileOperations.openFile(input)
        case "standing": try FileOperations.standing(input)
        case "openPack": try RecordOperations.openPack(input)
        case "openAttachment": try await RecordOperations.openAttachment(input)
        case "readRecords": try RecordOperations.readRecords(input)
        case "openVolume": try RecordOperations.openVolume(input)
        case "comparePacks": try RecordOperations.comparePacks(input)
        case "readChain": try IdentityOperations.readChain(input)
        case "compareNumber": try IdentityOperations.compareNumber(input)
        case "trust": try HomeOperations.trust(input)
        case "founderTrust": try HomeOperations.founderTrust(input)
        case "pin": try HomeOperations.pin(input)
        case "openNames": try HomeOperations.openNames(input)
        case "openOutbox": try HomeOperations.openOutbox(input)
        case "openPiece": try HomeOperations.openPiece(input)
        case "openMarks": try HomeOperations.openMarks(input)
        case "keepState": try LogOperations.keepState(input)
        case "openKeptState": try LogOperations.openKeptState(input)
        case "setPassword": try IdentityOperations.setPassword(input)
        case "act": try await ActOperations.act(input)
        case "superseded": try ActOperations.superseded(input)
        case "settle": try await ActOperations.settle(input)
        case "readIdentityFile": try IdentityOperations.readIdentityFile(input)
        case "prepare": try IdentityOperations.prepare(input)
        case "openWithPassword": try IdentityOperations.openWithPassword(input)
        case "openWithKit": try IdentityOperations.openWithKit(input)
        case "openWithDevice": try IdentityOperations.openWithDevice(input)
        case "checkKeys": try EpochOperations.checkKeys(input)
        case "openBackLink": try EpochOperations.openBackLink(input)
        case "openName": try EpochOperations.openName(input)
        case "reencode": try EncodingOperations.reencode(input)
        case "evidence": try EncodingOperations.evidence(input)
        case "dearmour": try EncodingOperations.dearmour(input)
        case "id": try EncodingOperations.id(input)
        case "namedBy": try EncodingOperations.namedBy(input)
        case "readName": VectorFields(["name": try Name(input.bytes("name")).bytes])
        case "typeName": try EncodingOperations.typeName(input)
        case "typeNumber": try EncodingOperations.typeNumber(input)
        case "accumulate": try AccumulatedOperations.accumulate(input)
        case "exitCode": try EncodingOperations.exitCode(input)
        case "readKit": try EncodingOperations.readKit(input)
        case "hash": try SealingOperations.hash(input)
        case "label": try SealingOperations.registered(input)
        case "verifyLabel": try SealingOperations.verifyLabel(input)
        case "readServer": try ServiceOperations.readServer(input)
        case "deviceKey": try ServiceOperations.deviceKey(input)
        case "audience": try ServiceOperations.audience(input)
        case "verifySession": try ServiceOperations.verifySession(input)
        case "verifyRequest": try ServiceOperations.verifyRequest(input)
        case "verifyLogin": try ServiceOperations.verifyLogin(input)
        case "readInvitation": try ServiceOperations.readInvitation(input)
        case "readMessage": try ServiceOperations.readMessage(input)
        case "readRefusal": try ServiceOperations.readRefusal(input)
        case "refuse": try ServiceOperations.refuse(input)
        case "readTarget": try ServiceOperations.readTarget(input)
        case "readElement": try LoginOperations.readElement(input)
        case "evaluate": try LoginOperations.evaluate(input)
        case "makeRecord": try LoginOperations.makeRecord(input)
        case "answerLogin": try LoginOperations.answerLogin(input)
        case "finishLogin": try LoginOperations.finishLogin(input)
        case "checkLogin": try LoginOperations.checkLogin(input)
        default: throw VectorProblem("unknown operation \(operation)")
        }
    }
}

/// The use of the keys that a test gives.
enum VectorUse: SealingUse {}

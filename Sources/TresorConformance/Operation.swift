// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The operations of the tests: the library's own opening, deriving and folding.
enum Operation {
    /// - Throws: the library's error, or ``VectorProblem`` for a test that cannot be run.
    static func run(_ operation: String, _ input: VectorFields) async throws -> VectorFields {
        switch operation {
        case "derive": try derive(input)
        case "open": try open(input)
        case "fold": try fold(input)
        case "foldCrowd": try foldCrowd(input)
        case "checkKEMKey": VectorFields(["pk": try XWing.PublicKey(input.bytes("pk")).bytes])
        case "openWrap": try openWrap(input)
        case "keysOf": try await keysOf(input)
        case "openFile": try openFile(input)
        case "standing": try standing(input)
        case "readChain": try readChain(input)
        case "compareNumber": try compareNumber(input)
        case "trust": try trust(input)
        case "founderTrust": try founderTrust(input)
        case "pin": try pin(input)
        case "openNames": try openNames(input)
        case "openMarks": try openMarks(input)
        case "keepState": try keepState(input)
        case "openKeptState": try openKeptState(input)
        case "setPassword": try setPassword(input)
        case "act": try await act(input)
        case "superseded": try superseded(input)
        case "settle": try await settle(input)
        case "readIdentityFile": try readIdentityFile(input)
        case "prepare": try prepare(input)
        case "openWithPassword": try openWithPassword(input)
        case "openWithKit": try openWithKit(input)
        case "openWithDevice": try openWithDevice(input)
        case "checkKeys": try checkKeys(input)
        case "openBackLink": try openBackLink(input)
        case "openName": try openName(input)
        case "reencode": try reencode(input)
        case "evidence": try evidence(input)
        case "dearmour": try dearmour(input)
        case "id": try id(input)
        case "namedBy": try namedBy(input)
        case "readName": VectorFields(["name": try Name(input.bytes("name")).bytes])
        case "typeName": try typeName(input)
        case "typeNumber": try typeNumber(input)
        case "accumulate": try accumulate(input)
        case "exitCode": try exitCode(input)
        case "readKit": try readKit(input)
        case "hash": try hash(input)
        case "label": try registered(input)
        case "verifyLabel": try verifyLabel(input)
        default: throw VectorProblem("unknown operation \(operation)")
        }
    }

    enum VectorUse: SealingUse {}

    private static func derive(_ input: VectorFields) throws -> VectorFields {
        let key = try SecretKey<VectorUse>(input.secret("K"))
        let context = try input.bytes("context")
        let derived: SecretKey<VectorUse> = try key.derive(label(input), context: context.span)
        return VectorFields(["key": derived.span.publicBytes])
    }

    static func label(_ input: VectorFields) throws -> DomainLabel {
        let name = String(decoding: try input.bytes("label"), as: UTF8.self)
        if let known = DomainLabel.registry.first(where: { $0.label.text == name }) { return known.label }
        return try DomainLabel(application: name)
    }

    private static func open(_ input: VectorFields) throws -> VectorFields {
        let key = try SecretKey<VectorUse>(input.secret("K"))
        let context = try input.bytes("context")
        let sealed = try input.bytes("sealed")
        return VectorFields([
            "plaintext": try TC1.open(sealed.span, with: key, label: label(input), context: context.span)
        ])
    }

    private static func openWrap(_ input: VectorFields) throws -> VectorFields {
        let identity = try Conformance.identity(
            chain: input.bytes("own chain"), seed: input.bytes("S"), previous: input.list("previous"))
        return VectorFields([
            "keys": try Conformance.openWrap(
                input.bytes("wrap"), tresor: input.tresor(), epoch: input.bytes("epoch"),
                chain: CardChain(input.bytes("chain")), history: input.integer("history"), as: identity)
        ])
    }

    private static func openFile(_ input: VectorFields) throws -> VectorFields {
        let state = try FoldedLogs.state(of: input.list("log"), tresor: input.tresor())
        let opened = try Conformance.openFile(input.bytes("file"), contentKey: input.bytes("TK"), in: state)
        if let tresor = try input.optional("expected tresor") {
            guard opened.tresor.digest.bytes == tresor else { throw TresorError.altered }
        }
        if let record = try input.optional("expected record") {
            guard opened.record.bytes == record else { throw TresorError.altered }
        }
        if let author = try input.optional("expected author") {
            guard opened.author.user.digest.bytes == author else { throw TresorError.altered }
        }
        if try input.optional("current author") == [1], opened.author.status != .current {
            throw TresorError.noAccess
        }
        var hash = try BLAKE2b(outputCount: 32)
        try hash.update(opened.content.span)
        return VectorFields([
            "content hash": try hash.finalize(), "content size": bigEndianBytes(UInt64(opened.content.count)),
        ])
    }

    private static func fold(_ input: VectorFields) throws -> VectorFields {
        var fold = Fold(tresor: try input.tresor())
        let log = try input.list("log")
        if !log.isEmpty {
            do throws(TresorError) {
                fold = Fold(state: try FoldedLogs.state(of: log, tresor: fold.tresor))
            } catch {
                throw VectorProblem("the log before the entry does not fold")
            }
        }
        try fold.apply(input.bytes("entry"))
        guard let state = fold.state else { throw VectorProblem("no state") }
        return fields(of: state)
    }

    /// The compared fields of a state.
    static func fields(of state: LogState) -> VectorFields {
        let members = state.members.sorted { $0.key < $1.key }.map { user, member in
            let history: UInt64 =
                switch member.history {
                case .all: 0
                case .from(let epoch): epoch
                }
            let times = [history, member.notAfter ?? 0, member.since, member.sinceTime].flatMap { bigEndianBytes($0) }
            return user.digest.bytes + [member.role.rawValue] + times + member.admittedBy.digest.bytes
        }
        return VectorFields([
            "head": bigEndianBytes(state.head.sequence) + state.head.hash.bytes,
            "head time": bigEndianBytes(state.headTime),
            "epoch": bigEndianBytes(state.epoch), "rotate first": [state.isRekeyPending ? 1 : 0],
        ]).with("members", members)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Logs, and snapshots of their states (SPEC §9.4, §9.10).
enum LogOperations {
    static func fold(_ input: VectorFields) throws -> VectorFields {
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
        return fields(of: state, void: fold.voidRule)
    }

    static func makeSnapshot(_ input: VectorFields) throws -> VectorFields {
        let state = try input.state()
        return VectorFields(["snapshot": try Conformance.snapshot(state, of: input.identity())])
    }

    static func openSnapshot(_ input: VectorFields) throws -> VectorFields {
        fields(
            of: try Conformance.openSnapshot(input.bytes("snapshot"), of: input.tresor(), as: input.identity()))
    }

    /// The compared fields of a state, and of the entry before it that is folded.
    private static func fields(of state: LogState, void rule: Rule?) -> VectorFields {
        fields(of: state).with("void", Array((rule.map { "R\($0.rawValue)" } ?? "").utf8))
    }

    /// The compared fields of a state.
    static func fields(of state: LogState) -> VectorFields {
        let approved = state.members.sorted { $0.key < $1.key }.compactMap { user, member in
            member.approvedBy.map { user.digest.bytes + $0.digest.bytes }
        }
        return VectorFields([
            "head": bigEndianBytes(state.head.sequence) + state.head.hash.bytes,
            "head time": bigEndianBytes(state.headTime),
            "epoch": bigEndianBytes(state.epoch), "rekey pending": [state.isRekeyPending ? 1 : 0],
            "floor": bigEndianBytes(state.floor), "checkpoint": bigEndianBytes(state.checkpoint),
        ]).with("members", rows(state.members)).with("waiting", rows(state.waiting)).with("approved", approved)
            .with("approvers", state.approvers.map(\.digest.bytes))
    }

    /// The compared fields of members, or of people who wait.
    private static func rows(_ people: [UserID: Member]) -> [[UInt8]] {
        people.sorted { $0.key < $1.key }.map { user, member in
            let history: UInt64 =
                switch member.history {
                case .all: 0
                case .from(let epoch): epoch
                }
            let times = [history, member.notAfter ?? 0, member.since, member.sinceTime].flatMap { bigEndianBytes($0) }
            return user.digest.bytes + [member.role.rawValue] + times + member.admittedBy.digest.bytes
        }
    }
}

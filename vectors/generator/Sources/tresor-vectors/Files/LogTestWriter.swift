// SPDX-License-Identifier: Apache-2.0

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Writes tests of `fold`.
protocol LogTestWriter: TestWriter {}

extension LogTestWriter {
    /// The state after an entry, as SPEC §9.4 names it.
    static func state(_ log: Log, _ entry: Bytes) -> Values {
        let digest = must(try required(Hash256(log.tresor)))
        let state = must(try Fold.state(of: log.entries + [entry], tresor: TresorID(digest)))
        func rows(_ people: [UserID: Member]) -> [Bytes] {
            people.sorted { $0.key < $1.key }.map { user, member in
                let history: UInt64 =
                    switch member.history {
                    case .all: 0
                    case .from(let epoch): epoch
                    }
                return join(
                    user.digest.bytes, [member.role.rawValue], u64(history), u64(member.notAfter ?? 0),
                    u64(member.since), u64(member.sinceTime), member.admittedBy.digest.bytes)
            }
        }
        let approved = state.members.sorted { $0.key < $1.key }.compactMap { user, member in
            member.approvedBy.map { user.digest.bytes + $0.digest.bytes }
        }
        return
            ([
                "head": u64(state.head.sequence) + state.head.hash.bytes, "head time": u64(state.headTime),
                "epoch": u64(state.epoch), "rekey pending": [state.isRekeyPending ? 1 : 0],
                "floor": u64(state.floor), "checkpoint": u64(state.checkpoint),
            ] as Values).with("members", rows(state.members)).with("waiting", rows(state.waiting))
            .with("approved", approved).with("approvers", state.approvers.map(\.digest.bytes))
    }

    /// The entry is accepted.
    ///
    /// - Parameters:
    ///   - base: the test that has tresor and log.
    ///   - rule: the rule that makes its body void.
    @discardableResult func accept(
        _ comment: String, _ flags: [String] = ["Normal"], base: Int? = nil, rule: Int? = nil, _ log: Log,
        _ entry: Bytes
    ) -> Int {
        let signed = Bytes(entry.dropLast(64))
        let found = Self.voidRule(log, entry)
        precondition(found == rule, "\(comment): void by \(String(describing: found))")
        let place = Values([("tresor", .bytes(log.tresor)), ("log", .list(log.entries))])
        let digest = hash("tresor/v1/entry-hash", entry)
        let small: Values = [
            "signed": signed, "signature input": prefixed(ascii("tresor/v1/entry-signature")) + signed,
            "entry hash": digest,
        ]
        return file.valid(
            comment, flags, base: base, rule: rule, in: (base == nil ? place : [:]).with("entry", entry),
            mid: entry.count < 65_536 ? small : ["entry hash": digest],
            out: Self.state(log, entry).with("void", ascii(rule.map { "R\($0)" } ?? "")))
    }

    private static func voidRule(_ log: Log, _ entry: Bytes) -> Int? {
        var fold = Fold(tresor: TresorID(must(try required(Hash256(log.tresor)))))
        for entry in log.entries + [entry] { must(try fold.apply(entry)) }
        return fold.voidRule?.rawValue
    }

    /// The entry breaks one rule; proved here by the shipped code.
    func refuse(
        _ comment: String, _ flag: String, _ rule: Int, base: Int, _ log: Log, _ entry: Bytes, tresor: Bytes? = nil
    ) {
        let id = TresorID(must(try required(Hash256(tresor ?? log.tresor))))
        var fold = Fold(tresor: id)
        var error: TresorError?
        do throws(TresorError) {
            for entry in log.entries { try fold.apply(entry) }
            try fold.apply(entry)
        } catch let thrown {
            error = thrown
        }
        precondition(
            fold.brokenRule?.rawValue == rule, "\(comment): broke \(String(describing: fold.brokenRule)), not R\(rule)")
        var input: Values = ["entry": entry]
        if let tresor { input = ["tresor": tresor, "entry": entry] }
        invalid(comment, flag, error?.name ?? "", base: base, rule: rule, in: input)
    }
}

func required<Wrapped>(_ value: Wrapped?) throws -> Wrapped {
    guard let value else { throw TresorError.failed(.other) }
    return value
}

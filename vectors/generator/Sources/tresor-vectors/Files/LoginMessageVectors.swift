// SPDX-License-Identifier: Apache-2.0

/// The bodies of a log-in by password, and what an account says of it (SPEC §18.4, §20.5).
extension ServiceMessageVectors {
    func addLogins() {
        let first = draw(0)("first message", 96)
        message(
            "LoginRequest", vector16(ascii("anna")) + first,
            [
                ("no handle", "LengthOverflow", vector16([]) + first),
                ("a handle of 257 bytes", "Oversize", vector16(.init(repeating: 97, count: 257)) + first),
                ("a control character", "ControlInName", vector16([10]) + first),
                ("a handle that is no text", "BadUTF8", vector16([0xff]) + first),
            ])
        edge("LoginRequest", "a handle of 256 bytes", vector16(.init(repeating: 97, count: 256)) + first)
        let attempt = draw(0)("attempt", 16)
        message("LoginAnswer", attempt + draw(0)("answer", 320))
        message("FinishLoginRequest", attempt + draw(0)("last message", 64))
        let login = fixture.login(record: draw(0)("record hash", 32), copy: draw(0)("copy hash", 32))
        message(
            "FinishLoginAnswer", login + prefixed([1]),
            [
                ("no copy", "LengthOverflow", login + u32(0)),
                ("a copy longer than 1 MiB", "Oversize", login + u32(1 << 20 + 1) + [0]),
                ("revision 0", "NonCanonical", fixture.login(revision: 0) + prefixed([1])),
            ])
        edge("FinishLoginAnswer", "a statement without a record", fixture.login() + prefixed([1]))
        invalid(
            "FinishLoginAnswer, a statement of another release", "WrongMagic", "unsupported",
            in: [
                "message": ascii("FinishLoginAnswer"),
                "body": login.replacing(at: 7, with: [0x32]) + prefixed([1]),
            ])
    }

    func addAccountAnswer() {
        let login = fixture.login(record: draw(0)("record hash", 32), copy: draw(0)("copy hash", 32))
        func answer(
            state: UInt8 = 3, _ statement: Bytes, hasRecord: UInt8, failures: UInt64 = 0, failed: UInt64 = 0
        ) -> Bytes {
            join([state], vector8(statement), [hasRecord], u64(failures), u64(failed), join((1...5).map { u64($0) }))
        }
        message(
            "AccountAnswer", answer(login, hasRecord: 1, failures: 7, failed: 1_767_300_000),
            [
                ("state 0", "NonCanonical", answer(state: 0, login, hasRecord: 1)),
                ("a record and no statement", "NonCanonical", answer([], hasRecord: 1)),
                ("a record, and a statement without", "NonCanonical", answer(fixture.login(), hasRecord: 1)),
                ("a mark of 2", "NonCanonical", answer(login, hasRecord: 2)),
                (
                    "a statement of 221 bytes", "LengthOverflow",
                    answer(Bytes(login.dropLast()), hasRecord: 0)
                ),
                ("revision 0", "NonCanonical", answer(fixture.login(revision: 0), hasRecord: 0)),
                ("after the last time", "Oversize", answer(login, hasRecord: 1, failed: latestTime + 1)),
            ])
        edge("AccountAnswer", "no statement", answer([], hasRecord: 0))
        edge("AccountAnswer", "a log-in without password", answer(fixture.login(), hasRecord: 0))
        edge("AccountAnswer", "a record that newer keys took away", answer(login, hasRecord: 0, failures: .max))
        invalid(
            "AccountAnswer, a statement of another release", "WrongMagic", "unsupported",
            in: [
                "message": ascii("AccountAnswer"),
                "body": answer(login.replacing(at: 7, with: [0x32]), hasRecord: 1),
            ])
    }
}

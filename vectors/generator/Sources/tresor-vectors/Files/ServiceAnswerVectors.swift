// SPDX-License-Identifier: Apache-2.0

/// Invitations, refusals and the table of operations (SPEC §18.4 to §18.6).
struct ServiceAnswerVectors: TestWriter {
    let file: VectorFile

    func add() {
        addInvitations()
        addInvitationFaults()
        addRefusals()
        addErrors()
        addTargets()
    }

    private var code: Bytes { Draw(file: "service", id: 0)("code", 16) }

    private func invitationOut(_ code: Bytes) -> Values {
        ["code": code, "text": ascii(Crockford.text(code)), "hash": hash("tresor/v1/invitation", code)]
    }

    private func addInvitations() {
        group("readInvitation")
        let text = Crockford.text(code)
        let groups = stride(from: 0, to: 26, by: 5).map { String(text.dropFirst($0).prefix(5)) }
        let typed: [(String, String)] = [
            ("in capitals", text.uppercased()), ("with hyphens", groups.joined(separator: "-")),
            ("with blanks and line ends", " \(groups.joined(separator: " "))\r\n"),
            ("with tabs and hyphens", "\t--" + groups.joined(separator: "\t")),
            ("o for 0 and i, l for 1", text.replacing("0", with: "O").replacing("1", with: "l")),
        ]
        for (comment, typed) in typed {
            valid(comment, ["EdgeCase"], in: ["typed": ascii(typed)], out: invitationOut(code))
        }
        valid(
            "zeros, as o", ["EdgeCase"], in: ["typed": ascii(String(repeating: "o", count: 26))],
            out: invitationOut(zeros(16)))
    }

    private func addInvitationFaults() {
        let text = Crockford.text(code)
        let base = valid("a code", in: ["typed": ascii(text)], out: invitationOut(code))
        func refuse(_ comment: String, _ flag: String, _ typed: Bytes) {
            invalid(comment, flag, "altered", base: base, in: ["typed": typed])
        }
        refuse("nothing", "Truncated", [])
        refuse("hyphens alone", "Truncated", ascii("----"))
        refuse("25 characters", "Truncated", ascii(String(text.dropLast())))
        refuse("27 characters", "TrailingData", ascii(text + "0"))
        refuse("the letter u", "NonCanonical", ascii(text.dropLast() + "u"))
        refuse("a point", "NonCanonical", ascii(text.prefix(5) + "." + text.dropFirst(5)))
        refuse("a no-break space", "NonCanonical", [0xc2, 0xa0] + ascii(text))
        refuse("a letter beyond ASCII that folds to k", "NonCanonical", ascii("\u{212a}" + text.dropFirst()))
        refuse("a byte that is no text", "BadUTF8", [0xff] + ascii(text))
        refuse("a zero byte", "NonCanonical", ascii(text) + [0])
        let digits = Array("0123456789abcdefghjkmnpqrstvwxyz")
        let last = digits.firstIndex(of: text.last ?? "0") ?? 0
        for bit in 0..<2 {
            refuse("unused bit \(bit) is set", "NonCanonical", ascii(text.dropLast() + String(digits[last | 1 << bit])))
        }
    }

    private func addRefusals() {
        group("readRefusal")
        let codes: [(UInt8, String)] = [
            (1, "failed"), (11, "busy"), (13, "no_access"), (14, "altered"), (16, "unverified"), (17, "waiting"),
            (18, "store"), (19, "unsupported"),
        ]
        for (code, name) in codes {
            valid(
                name, in: ["body": preamble("tresorX1") + [code] + zeros(16)],
                out: ["error": ascii(name), "era": zeros(16)])
        }
        let era = draw()("era", 16)
        let body = preamble("tresorX1") + [13] + era
        let base = valid(
            "an era, and the base of what is broken", in: ["body": body],
            out: ["error": ascii("no_access"), "era": era])
        func refuse(_ comment: String, _ flag: String, _ error: String, _ body: Bytes) {
            invalid(comment, flag, error, base: base, in: ["body": body])
        }
        for code in [0, 2, 10, 12, 15, 20, 64, 130, 255] as [UInt8] {
            refuse("code \(code)", "NonCanonical", "altered", preamble("tresorX1") + [code] + zeros(16))
        }
        refuse("another release", "WrongMagic", "unsupported", body.replacing(at: 7, with: [0x32]))
        refuse("a page of a proxy", "WrongMagic", "altered", ascii("<html></html>"))
        refuse("version 2", "WrongVersion", "unsupported", body.replacing(at: 8, with: [2]))
        refuse("suite 2", "WrongSuite", "unsupported", body.replacing(at: 9, with: [2]))
        refuse("nothing", "Truncated", "altered", [])
        refuse("no code", "Truncated", "altered", preamble("tresorX1"))
        refuse("a code alone", "Truncated", "altered", body.at(0, 11))
        refuse("a byte is missing", "Truncated", "altered", Bytes(body.dropLast()))
        refuse("a byte behind", "TrailingData", "altered", body + [0])
    }

    private func addErrors() {
        group("refuse")
        let rows: [(String, Int, UInt8)] = [
            ("no_access", 403, 13), ("waiting", 403, 17), ("busy", 429, 11), ("store", 503, 18), ("altered", 400, 14),
            ("unverified", 400, 16), ("unsupported", 400, 19), ("failed", 400, 1), ("not_found", 400, 1),
            ("wrong_password", 400, 1), ("forked", 400, 1),
        ]
        for (name, status, code) in rows {
            valid(
                name, in: ["error": ascii(name)],
                out: ["status": u16(status), "body": preamble("tresorX1") + [code] + zeros(16)])
        }
    }

    private func addTargets() {
        group("readTarget")
        let short: UInt64 = 65_536
        let rows: [(String, Bool, UInt64)] = [
            ("server", false, short), ("card", false, short), ("cards", false, short), ("users", false, short),
            ("put-card", true, 4 << 20), ("entries", false, short), ("append", true, 16 << 20),
            ("wraps", false, short), ("put-wraps", true, 16 << 20), ("tresors", false, short),
            ("put-blob", true, 4 << 20), ("blob", false, short), ("blobs", false, short),
            ("delete-blobs", true, short),
            ("news", false, short), ("put-server-share", true, short), ("server-share", false, short),
            ("delete-server-shares", true, short), ("put-kit-copy", true, 4 << 20), ("kit-copy", false, short),
            ("delete-kit-copy", true, short), ("register", true, 4 << 20), ("finish", true, 4 << 20),
            ("account", false, short), ("end-sessions", true, short), ("inbox", false, short),
            ("admit", true, short), ("invite", true, short), ("delete-tresor", true, short),
            ("delete-account", true, short), ("put-offer", false, short), ("login", false, short),
            ("finish-login", false, short),
        ]
        for (name, isChange, longest) in rows {
            valid(
                name, in: ["operation": ascii(name)], out: ["change": [isChange ? 1 : 0], "longest body": u64(longest)])
        }
        let others = ["", "Server", "server ", "putCard", "put_card", "half", "restore", "health", "card/"]
        for name in others { invalid("\"\(name)\"", "NonCanonical", "failed", in: ["operation": ascii(name)]) }
        invalid("a zero byte behind", "TrailingData", "failed", in: ["operation": ascii("server") + [0]])
    }
}

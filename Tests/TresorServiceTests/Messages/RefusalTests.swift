// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorCore

/// Refusals, invitations and base64url.
@Suite struct RefusalTests {
    private static let errors: [(error: TresorError, status: Int, code: UInt8, read: TresorError)] = [
        (.noAccess, 403, 13, .noAccess), (.waiting, 403, 17, .waiting), (.busy, 429, 11, .busy),
        (.store(.full), 507, 18, .store(.other)), (.store(.schema), 503, 18, .store(.other)),
        (.cancelled, 503, 18, .store(.other)), (.altered, 400, 14, .altered), (.unverified, 400, 16, .unverified),
        (.failed(.full), 507, 1, .failed(.other)), (.failed(.notNoted), 503, 18, .store(.other)),
        (.store(.behind), 409, 18, .store(.other)),
        (.unsupported, 400, 19, .unsupported), (.failed(.readOnly), 400, 1, .failed(.other)),
        (.notFound, 400, 1, .failed(.other)), (.wrongPassword, 400, 1, .failed(.other)),
        (.forked, 400, 1, .failed(.other)), (.usage(.outOfBounds), 400, 1, .failed(.other)),
    ]

    @Test func everyErrorHasItsStatusAndBody() throws {
        for row in Self.errors {
            let refusal = Refusal(row.error)
            #expect(refusal.status.rawValue == row.status, "\(row.error)")
            #expect(refusal.body == Array("tresorX1".utf8) + [1, 1, row.code] + Era.first.bytes, "\(row.error)")
            #expect(refusal.body.count == Refusal.byteCount)
            #expect(try Refusal.read(refusal.body).error == row.read, "\(row.error)")
        }
    }

    /// The operator learns why. The client learns whether a quota is used up or a disk is full, and no more.
    @Test func theCauseIsNotInTheBody() throws {
        let causes: [(TresorError, Refusal.Cause?)] = [
            (.failed(.full), .quota), (.store(.full), .disk), (.failed(.notNoted), .revocations),
            (.store(.inputOutput), .database), (.store(.readOnly), .readOnly), (.store(.damaged), .damaged),
            (.store(.schema), .schema), (.store(.behind), .behind), (.store(.other), nil), (.busy, nil),
            (.noAccess, nil),
        ]
        for (error, cause) in causes { #expect(ServiceReply(Refusal(error)).cause == cause, "\(error)") }
        #expect(Refusal(.failed(.full)).body != Refusal(.store(.full)).body)
        #expect(Refusal(.store(.full)).body == Refusal(.store(.schema)).body)
        #expect(Refusal(.failed(.notNoted)).body == Refusal(.store(.schema)).body)
    }

    @Test func whatIsForbiddenLooksLikeWhatIsNotThere() {
        #expect(Refusal(.noAccess) == Refusal.forbidden)
        #expect(ServiceReply(.forbidden) == ServiceReply(Refusal(.noAccess)))
        #expect(Refusal(.unauthorized, .noAccess).body == Refusal.forbidden.body)
    }

    @Test func anEndedSessionIsToldTheEra() throws {
        let era = try Era.first.next()
        let refusal = Refusal.ended(now: era)
        #expect(refusal.status == .unauthorized)
        let read = try Refusal.read(refusal.body)
        #expect(read.error == .noAccess && read.era == era)
    }

    @Test func theNextEraIsGreaterAndDrawn() throws {
        let eras = try [Era.first.next(), Era.first.next()]
        #expect(eras[0] != eras[1])
        #expect(eras.allSatisfy { $0.bytes.starts(with: [0, 0, 0, 0, 0, 0, 0, 1]) && $0.bytes.count == Era.byteCount })
        let carried = try #require(Era([0, 0, 0, 0, 0, 0, 0, 255] + [UInt8](repeating: 255, count: 8)))
        #expect(try carried.next().bytes.starts(with: [0, 0, 0, 0, 0, 0, 1, 0]))
        let last = try #require(Era([UInt8](repeating: 255, count: Era.byteCount)))
        #expect(throws: TresorError.store(.damaged)) { _ = try last.next() }
        #expect(Era([1]) == nil)
    }

    @Test func anotherBodyIsNoRefusal() {
        func refused(_ body: [UInt8], _ error: TresorError) {
            #expect(throws: error, "\(body)") { _ = try Refusal.read(body) }
        }
        let body = Refusal.forbidden.body
        for count in body.indices { refused(Array(body[..<count]), .altered) }
        refused(body + [0], .altered)
        refused(Array("tresorX2".utf8) + [1, 1, 13] + Era.first.bytes, .unsupported)
        refused(Array("TresorX1".utf8) + [1, 1, 13] + Era.first.bytes, .altered)
        refused(Array("tresorX1".utf8) + [2, 1, 13] + Era.first.bytes, .unsupported)
        refused(Array("tresorX1".utf8) + [1, 2, 13] + Era.first.bytes, .unsupported)
        let known: Set<UInt8> = [1, 11, 13, 14, 16, 17, 18, 19]
        for code in UInt8.min...UInt8.max where !known.contains(code) {
            refused(Array("tresorX1".utf8) + [1, 1, code] + Era.first.bytes, .altered)
        }
    }

    @Test func aReplyIsTheAnswerOrTheRefusal() {
        let answer = OutcomeAnswer(.done)
        #expect(ServiceReply(answer).status == 200 && ServiceReply(answer).body == answer.bytes)
        #expect(ServiceReply(body: answer.bytes) == ServiceReply(answer))
        let reply = ServiceReply(Refusal(.busy), retryAfter: 3)
        #expect(reply.status == 429 && reply.error == .busy && reply.retryAfter == 3)
    }

    private func secret(_ text: String) throws -> SecretBytes {
        let bytes = Array(text.utf8)
        return try SecretBytes(copying: bytes.span)
    }

    @Test func anInvitationIsReadAsItIsTyped() throws {
        let invitation = try Invitation((0..<16).map { $0 * 16 })
        let text = invitation.text
        #expect(text.utf8.count == 26)
        let hyphens = stride(from: 0, to: 26, by: 4).map { String(text.dropFirst($0).prefix(4)) }.joined(separator: "-")
        let looks = text.replacing("0", with: "o").replacing("1", with: "L")
        for typed in [
            text, text.uppercased(), hyphens, " \(hyphens)\n", "\t" + hyphens.replacing("-", with: "\r\n"), looks,
        ] {
            let read = try Invitation(typed: try secret(typed))
            #expect(read.code == invitation.code, "\(typed)")
        }
        let hash = try BLAKE2b.hash(.invitation, invitation.code)
        #expect(try invitation.hash() == hash)
    }

    @Test func anotherTextIsNoInvitation() throws {
        let text = try Invitation([UInt8](repeating: 0xff, count: 16)).text
        func refused(_ typed: String) {
            #expect(throws: TresorError.altered, "\(typed)") { try Invitation(typed: try secret(typed)) }
        }
        refused("")
        refused("-")
        refused(String(text.dropLast()))
        refused(text + "0")
        refused(text.dropLast() + "u")
        refused(text.dropLast() + ".")
        refused("\u{212a}" + text.dropFirst())
        refused("\u{a0}" + text)
        refused(text + "\u{301}")
        // The 2 bits of the last character that belong to no byte.
        #expect(text.last == "w")
        for character in ["x", "y", "z"] { refused(text.dropLast() + character) }
        for count in [0, 15, 17] {
            #expect(throws: TresorError.altered) { try Invitation([UInt8](repeating: 1, count: count)) }
        }
    }

    @Test func aMistypedCharacterOfAnInvitationIsNamedByItsPlace() throws {
        let text = try Invitation([UInt8](repeating: 0xff, count: 16)).text
        func place(_ typed: String) throws -> Int? {
            let typed = try secret(typed)
            return Invitation.wrongCharacter(in: typed)
        }
        let (head, tail) = (text.prefix(6), text.dropFirst(7))
        #expect(try place(text) == nil && place("") == nil)
        for wrong in ["u", "\u{e9}", "\u{212a}"] { #expect(try place("\(head)-\(wrong) \(tail)\n") == 7, "\(wrong)") }
        #expect(try place(String(text.dropLast()) + "z") == 26)
        #expect(try place(text + "u") == nil && place(String(text.dropLast())) == nil)
        // A byte that belongs to no character is one more.
        func read(_ bytes: [UInt8]) throws -> Invitation { try Invitation(typed: SecretBytes(copying: bytes.span)) }
        #expect(throws: TresorError.altered) { try read(Array(text.utf8) + [0x80]) }
    }

    /// RFC 4648 §10, and the two characters in which base64url differs.
    @Test func base64URLIsThatOfTheRFC() {
        let values: [(String, String)] = [
            ("", ""), ("f", "Zg"), ("fo", "Zm8"), ("foo", "Zm9v"), ("foob", "Zm9vYg"), ("fooba", "Zm9vYmE"),
            ("foobar", "Zm9vYmFy"),
        ]
        for (bytes, text) in values {
            #expect(Base64URL.text(Array(bytes.utf8)) == text)
            #expect(Base64URL.bytes(text.utf8) == Array(bytes.utf8))
        }
        #expect(Base64URL.text([0xfb, 0xff, 0xbf]) == "-_-_")
        #expect(Base64URL.bytes("-_-_".utf8) == [0xfb, 0xff, 0xbf])
    }

    @Test func base64URLHasOneTextForEachValue() {
        for text in ["Z", "Zg=", "Zg==", "Zh", "Zm9", "Zm9vZ", "+/+/", "Zm9v\n", " Zm9v", "Zm 9v", "Zm9\u{fc}"] {
            #expect(Base64URL.bytes(text.utf8) == nil, "\(text)")
        }
        for count in 0..<100 {
            let bytes = (0..<count).map { UInt8(truncatingIfNeeded: $0 * 37 + count) }
            let text = Base64URL.text(bytes)
            #expect(Base64URL.bytes(text.utf8) == bytes && text.utf8.count == (count * 4 + 2) / 3)
        }
    }
}

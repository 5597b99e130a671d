// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorRemote

/// The heads of answers: what is read, and what is refused.
@Suite struct AnswerHeadTests {
    private static let good = [
        "HTTP/1.1 200 OK", "Content-Type: application/vnd.tresor", "Content-Length: 12",
        "Date: Sun, 06 Nov 1994 08:49:37 GMT", "Retry-After: 3",
    ]

    private static func bytes(_ lines: [String]) -> [UInt8] {
        Array((lines + ["", ""]).joined(separator: "\r\n").utf8)
    }

    @Test func aHeadIsRead() throws {
        let head = try AnswerHead(Self.bytes(Self.good))
        #expect(head.status == 200)
        #expect(head.length == 12)
        #expect(head.type == "application/vnd.tresor")
        #expect(head.date == 784_111_777)
        #expect(head.retryAfter == 3)
        #expect(!head.isLast)
    }

    @Test(arguments: [[], ["Date:"], ["Date: tomorrow"], ["Date: Sunday, 06-Nov-94 08:49:37 GMT"]] as [[String]])
    func aHeadNeedsNoDate(_ date: [String]) throws {
        let head = try AnswerHead(Self.bytes(["HTTP/1.1 200 OK", "Content-Length: 12"] + date))
        #expect(head.date == nil)
        #expect(head.length == 12)
    }

    @Test(arguments: [
        "HTTP/1.1 200", "HTTP/1.1 200 ", "HTTP/1.1 503 Not now, please", "HTTP/1.1 599 \tx",
    ])
    func theWordsOfAStatusDoNotMatter(_ line: String) throws { _ = try AnswerHead(Self.bytes([line])) }

    @Test(arguments: [
        ["HTTP/1.0 200 OK"], ["HTTP/2 200 OK"], ["http/1.1 200 OK"], ["HTTP/1.1  200 OK"], ["HTTP/1.1 20 OK"],
        ["HTTP/1.1 2000"], ["HTTP/1.1 200OK"], ["HTTP/1.1 +20 OK"], ["HTTP/1.1 100 Continue"],
        ["HTTP/1.1 101 Switching"], ["HTTP/1.1 600 Odd"], [" HTTP/1.1 200 OK"], [""],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 1"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "content-length: 2"], ["HTTP/1.1 200 OK", "Content-Length: 1, 1"],
        ["HTTP/1.1 200 OK", "Content-Length: +1"], ["HTTP/1.1 200 OK", "Content-Length: -1"],
        ["HTTP/1.1 200 OK", "Content-Length: 01"], ["HTTP/1.1 200 OK", "Content-Length: 0x1"],
        ["HTTP/1.1 200 OK", "Content-Length: "], ["HTTP/1.1 200 OK", "Content-Length: 1 2"],
        ["HTTP/1.1 200 OK", "Content-Length: 99999999999999999999"],
        ["HTTP/1.1 200 OK", "Transfer-Encoding: chunked"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Transfer-Encoding: identity"],
        ["HTTP/1.1 200 OK", "Content-Encoding: gzip"], ["HTTP/1.1 200 OK", "Upgrade: h2c"],
        ["HTTP/1.1 200 OK", "Trailer: Content-Length"], ["HTTP/1.1 200 OK", " Content-Length: 1"],
        ["HTTP/1.1 200 OK", "A: b", "\tfolded"], ["HTTP/1.1 200 OK", "Content-Length : 1"],
        ["HTTP/1.1 200 OK", "Content Length: 1"], ["HTTP/1.1 200 OK", ": 1"], ["HTTP/1.1 200 OK", "A"],
        ["HTTP/1.1 200 OK", "A: \u{0}"], ["HTTP/1.1 200 OK", "A: \u{7f}"], ["HTTP/1.1 200 OK", "A: é"],
        ["HTTP/1.1 200 OK", "A: b\nContent-Length: 1"], ["HTTP/1.1 200 OK", "A: b\rContent-Length: 1"],
        ["HTTP/1.1 200 OK", "Date: x", "Date: y"], ["HTTP/1.1 200 OK", "Content-Type: a", "Content-Type: a"],
        ["HTTP/1.1 200 OK", "A: " + String(repeating: "x", count: 4094)],
        ["HTTP/1.1 200 OK"] + (0..<33).map { "A\($0): b" },
        ["HTTP/1.1 200 OK"] + (0..<5).map { "A\($0): " + String(repeating: "x", count: 4000) },
    ])
    func aHostileHeadIsRefused(_ lines: [String]) {
        #expect(throws: TresorError.altered) { try AnswerHead(Self.bytes(lines)) }
    }

    @Test func theLimitsAreReached() throws {
        _ = try AnswerHead(Self.bytes(["HTTP/1.1 200 OK"] + (0..<32).map { "A\($0): b" }))
        _ = try AnswerHead(Self.bytes(["HTTP/1.1 200 OK", "A: " + String(repeating: "x", count: 4093)]))
    }

    @Test func aHeadThatIsCutIsRefused() {
        let whole = Self.bytes(Self.good)
        for count in 0..<whole.count {
            #expect(throws: TresorError.altered) { try AnswerHead(Array(whole[..<count])) }
        }
        #expect(throws: TresorError.altered) { try AnswerHead(whole + [0]) }
    }

    /// No byte in the place of another makes a head that means something else without being refused, or a trap.
    @Test func anyByteIsTaken() {
        let whole = Self.bytes(Self.good)
        for index in whole.indices {
            for byte in [UInt8](0...255) {
                var bytes = whole
                bytes[index] = byte
                if let head = try? AnswerHead(bytes) { #expect((200...599).contains(head.status)) }
            }
        }
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, UInt64)])
    func aDateIsRead(_ text: String, _ seconds: UInt64) { #expect(HTTPDate.seconds(text.utf8) == seconds) }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Sun, 06 Nov 19é4 08:49:37 GM",
    ])
    func anotherDateIsNone(_ text: String) { #expect(HTTPDate.seconds(text.utf8) == nil) }
}

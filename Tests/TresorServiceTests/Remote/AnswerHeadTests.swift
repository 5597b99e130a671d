// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
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
        ["HTTP/0.9 200 OK"], ["HTTP/2 200 OK"], ["http/1.1 200 OK"], ["HTTP/1.1  200 OK"], ["HTTP/1.1 20 OK"],
        ["HTTP/1.1 2000"], ["HTTP/1.1 200OK"], ["HTTP/1.1 +20 OK"], ["HTTP/1.1 099 Odd"],
        ["HTTP/1.1 600 Odd"], [" HTTP/1.1 200 OK"], [""],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "Content-Length: 1"],
        ["HTTP/1.1 200 OK", "Content-Length: 1", "content-length: 2"], ["HTTP/1.1 200 OK", "Content-Length: 1, 1"],
        ["HTTP/1.1 200 OK", "Content-Length: +1"], ["HTTP/1.1 200 OK", "Content-Length: -1"],
        ["HTTP/1.1 200 OK", "Content-Length: 01"], ["HTTP/1.1 200 OK", "Content-Length: 0x1"],
        ["HTTP/1.1 200 OK", "Content-Length: "], ["HTTP/1.1 200 OK", "Content-Length: 1 2"],
        ["HTTP/1.1 200 OK", "Content-Length: 99999999999999999999"],
        ["HTTP/1.1 200 OK", " Content-Length: 1"],
        ["HTTP/1.1 200 OK", "A: b", "\tfolded"], ["HTTP/1.1 200 OK", "Content-Length : 1"],
        ["HTTP/1.1 200 OK", "Content Length: 1"], ["HTTP/1.1 200 OK", ": 1"], ["HTTP/1.1 200 OK", "A"],
        ["HTTP/1.1 200 OK", "A: \u{0}"], ["HTTP/1.1 200 OK", "A: \u{7f}"], ["HTTP/1.1 200 OK", "A: é"],
        ["HTTP/1.1 200 OK", "A: b\nContent-Length: 1"], ["HTTP/1.1 200 OK", "A: b\rContent-Length: 1"],
        ["HTTP/1.1 200 OK", "Date: x", "Date: y"], ["HTTP/1.1 200 OK", "Content-Type: a", "Content-Type: a"],
        ["HTTP/1.1 200 OK"] + (0..<65).map { "A\($0): " + String(repeating: "x", count: 8 << 10) },
    ])
    func aHostileHeadIsRefused(_ lines: [String]) {
        #expect(throws: TresorError.altered) { try AnswerHead(Self.bytes(lines)) }
    }

    @Test func theLimitsAreReached() throws {
        let long = String(repeating: "x", count: 8 << 10)
        let head = try AnswerHead(Self.bytes(Self.good + (0..<64).map { "Proxy-\($0): \(long)" }))
        #expect(head.obstacle == nil)
    }

    /// The answer of a proxy, a log-in page or another program is named.
    @Test(
        arguments: [
            ("502 Bad Gateway", ["Content-Type: text/html"], .away(status: 502)),
            ("503 Service Unavailable", [], .away(status: 503)),
            ("504 Gateway Time-out", ["Content-Type: text/html", "Transfer-Encoding: chunked"], .away(status: 504)),
            ("302 Found", ["Location: http://login.example/"], .redirect(to: "http://login.example/")),
            ("307 Temporary Redirect", [], .redirect(to: "")),
            ("200 OK", ["Content-Type: text/html", "Content-Length: 1"], .page(status: 200)),
            ("413 Request Entity Too Large", ["Content-Type: text/html"], .page(status: 413)),
            ("511 Network Authentication Required", [], .page(status: 511)),
            ("101 Switching Protocols", ["Upgrade: h2c"], .page(status: 101)),
        ] as [(String, [String], Obstacle)])
    func anAnswerOfSomethingElseIsNamed(_ line: String, _ headers: [String], _ obstacle: Obstacle) throws {
        for version in ["HTTP/1.1", "HTTP/1.0"] {
            #expect(try AnswerHead(Self.bytes(["\(version) \(line)"] + headers)).obstacle == obstacle)
        }
    }

    /// An answer of a service that a proxy has changed is named.
    @Test(
        arguments: [
            (["Content-Length: 1", "Transfer-Encoding: chunked"], .chunked),
            (["Transfer-Encoding: identity"], .chunked),
            (["Content-Length: 1", "Content-Encoding: gzip"], .compressed), ([], .withoutLength),
        ] as [([String], Obstacle.Alteration)])
    func aChangedAnswerIsNamed(_ headers: [String], _ change: Obstacle.Alteration) throws {
        let lines = ["Content-Type: application/vnd.tresor"] + headers
        #expect(try AnswerHead(Self.bytes(["HTTP/1.1 200 OK"] + lines)).obstacle == .changed(change))
        #expect(try AnswerHead(Self.bytes(["HTTP/1.0 200 OK"] + lines)).obstacle == .changed(.older))
        // A service of another protocol is announced, and nothing is changed.
        #expect(try AnswerHead(Self.bytes(Self.good + ["Upgrade: h2,h2c"])).obstacle == nil)
    }

    /// Reads an answer that comes in pieces of so many bytes.
    private static func read(
        _ bytes: [UInt8], by count: Int
    ) throws(TransportFailure) -> (status: Int, body: [UInt8], rest: [UInt8]) {
        var rest = bytes[...]
        var received: [UInt8] = []
        let (head, body) = try AnswerReader.answer(&received, maximumByteCount: 100) { () throws(TransportFailure) in
            defer { rest = rest.dropFirst(count) }
            return Array(rest.prefix(count))
        }
        return (head.status, body, received + rest)
    }

    private static let interim = bytes(["HTTP/1.1 103 Early Hints", "Link: </style.css>; rel=preload"])

    @Test(arguments: [1, 7, 1 << 20]) func interimAnswersAreSkipped(_ count: Int) throws {
        let answer = Self.bytes(Self.good) + [UInt8](0..<12)
        let before = Self.bytes(["HTTP/1.1 100 Continue"]) + Self.interim + Self.interim
        let read = try Self.read(before + answer + [9], by: count)
        #expect(read.status == 200)
        #expect(read.body == [UInt8](0..<12))
        #expect(read.rest == [9])
    }

    /// Nobody answers without end before the answer.
    @Test func interimAnswersEnd() throws {
        let endless = Array(
            repeatElement(Self.interim, count: WireForm.maximumAnswerHeadByteCount / Self.interim.count + 1))
        let failure = #expect(throws: TransportFailure.self) { try Self.read(endless.flatMap(\.self), by: 1 << 14) }
        #expect(failure?.obstacle == .noHTTP)
    }

    /// A program that greets first is not waited for.
    @Test func aGreetingIsNoHTTP() throws {
        for text in ["SSH-2.0-OpenSSH_9.2\r\n", "220 mail.example ESMTP\r\n", "\u{15}\u{3}\u{1}"] {
            let failure = #expect(throws: TransportFailure.self) { try Self.read(Array(text.utf8), by: 1 << 14) }
            #expect(failure?.obstacle == .noHTTP)
        }
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
                if let head = try? AnswerHead(bytes) { #expect((100...599).contains(head.status)) }
            }
        }
    }

    @Test(
        arguments: [
            ("Thu, 01 Jan 1970 00:00:00 GMT", 0), ("Tue, 29 Feb 2000 23:59:59 GMT", 951_868_799),
            ("Sun, 06 Nov 1994 08:49:37 GMT", 784_111_777), ("Fri, 31 Dec 9999 23:59:59 GMT", 253_402_300_799),
        ] as [(String, UInt64)])
    func aDateIsReadAndWritten(_ text: String, _ seconds: UInt64) {
        #expect(HTTPDate.seconds(text.utf8) == seconds && HTTPDate.text(seconds) == text)
    }

    @Test(arguments: [
        "", "Sunday, 06-Nov-94 08:49:37 GMT", "Sun Nov  6 08:49:37 1994", "Sun, 06 Nov 1994 08:49:37 UTC",
        "Sun, 06 Nov 1994 24:00:00 GMT", "Sun, 00 Nov 1994 08:49:37 GMT", "Sun, 06 nov 1994 08:49:37 GMT",
        "Sun, 06 Nov 1969 08:49:37 GMT", "Sun, 06 Nov 1994 08:49:37 GMT ", "Wed, 30 Feb 2000 08:49:37 GMT",
        "Sun, 06 Nov 19é4 08:49:37 GM",
    ])
    func anotherDateIsNone(_ text: String) { #expect(HTTPDate.seconds(text.utf8) == nil) }
}

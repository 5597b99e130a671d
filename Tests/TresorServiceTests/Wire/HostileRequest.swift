// SPDX-License-Identifier: Apache-2.0

import Testing

/// A request that two programs could read in two ways, or that no honest client sends.
struct HostileRequest: Sendable, CustomTestStringConvertible {
    /// The fault in it.
    let name: String
    let bytes: [UInt8]
    /// The status of the refusal; `nil` where the connection may also end without one.
    let status: Int?

    var testDescription: String { name }

    init(_ name: String, _ status: Int?, _ text: String) {
        self.name = name
        self.status = status
        bytes = Array(text.utf8)
    }

    /// A POST to `server` with other lines.
    private static func post(
        _ name: String, _ status: Int?, target: String = "/v1/server", version: String = "HTTP/1.1",
        host: String? = "Host: tresor.example", length: String? = "Content-Length: 0",
        type: String? = "Content-Type: application/vnd.tresor", _ more: [String] = [], body: String = ""
    ) -> HostileRequest {
        let lines = ["POST \(target) \(version)", host, length, type].compactMap { $0 } + more
        return HostileRequest(name, status, lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
    }

    /// A request with another first line, and a `Host`.
    private static func first(_ name: String, _ status: Int?, _ line: String, _ more: [String] = []) -> HostileRequest {
        let lines = [line, "Host: tresor.example"] + more
        return HostileRequest(name, status, lines.joined(separator: "\r\n") + "\r\n\r\n")
    }

    static let all: [HostileRequest] = lengths + codings + lines + targets + hosts + versions + methods + others

    private static let lengths: [HostileRequest] = [
        post("no length", 411, length: nil),
        post("the same length twice", 400, ["Content-Length: 0"]),
        post("two lengths", 400, ["Content-Length: 5"], body: "hello"),
        post("a list of lengths", 400, length: "Content-Length: 5, 5", body: "hello"),
        post("a signed length", 400, length: "Content-Length: +5", body: "hello"),
        post("a negative length", 400, length: "Content-Length: -1"),
        post("a length with a space", 400, length: "Content-Length: 1 2", body: "123456789012"),
        post("a space before the colon", 400, length: "Content-Length : 5", body: "hello"),
        post("an empty length", 400, length: "Content-Length:"),
        post("a length with a zero before it", 400, length: "Content-Length: 05", body: "hello"),
        post("a hexadecimal length", 400, length: "Content-Length: 0x5", body: "hello"),
        post("a length beyond 64 bits", nil, length: "Content-Length: 18446744073709551621", body: "hello"),
        post("a length beyond the limit", 413, length: "Content-Length: 65537"),
        post("a length of 18 digits", 413, length: "Content-Length: 999999999999999999"),
        post("a length of 19 digits", 400, length: "Content-Length: 1000000000000000000"),
        post("a length of 20 digits", 400, length: "Content-Length: 10000000000000000000"),
        post("a length of 21 digits", 400, length: "Content-Length: 100000000000000000000"),
    ]

    private static let codings: [HostileRequest] = [
        post("chunked", 411, length: nil, ["Transfer-Encoding: chunked"], body: "0\r\n\r\n"),
        post("chunked with a length", nil, ["Transfer-Encoding: chunked"], body: "0\r\n\r\n"),
        post("an unknown coding", nil, length: nil, ["Transfer-Encoding: xchunked"]),
        post("the identity coding", nil, ["Transfer-Encoding: identity"]),
        post("two codings", nil, length: nil, ["Transfer-Encoding: chunked", "Transfer-Encoding: identity"]),
        post("a coding after a tab", nil, length: nil, ["Transfer-Encoding:\tchunked"], body: "0\r\n\r\n"),
        post("a packed body", 415, ["Content-Encoding: gzip"]),
        post("trailers", 400, ["Trailer: Host"]),
        post("TE", 400, ["TE: trailers"]),
    ]

    private static let lines: [HostileRequest] = [
        post("a folded header", 400, ["X-Long: a", " b"]),
        post("a NUL in a value", 400, ["X-Nul: a\0b"]),
        post("a NUL in a name", 400, ["X-N\0l: a"]),
        post("a carriage return in a value", 400, ["X-Return: a\rb"]),
        HostileRequest(
            "bare line feeds", 400,
            "POST /v1/server HTTP/1.1\nHost: tresor.example\nContent-Length: 0\nContent-Type: application/vnd.tresor\n\n"
        ),
        HostileRequest(
            "one bare line feed", 400,
            "POST /v1/server HTTP/1.1\r\nHost: tresor.example\nContent-Length: 0\r\n"
                + "Content-Type: application/vnd.tresor\r\n\r\n"),
        post("a header without a colon", 400, ["X-Nothing"]),
        post("a header without a name", 400, [": nothing"]),
        post("a space in a name", 400, ["X Nothing: a"]),
        post("many headers", 431, (0..<40).map { "X-\($0): a" }),
        post("a long header", 431, ["X-Long: " + String(repeating: "a", count: 5000)]),
        post("long headers", 431, (0..<6).map { "X-\($0): " + String(repeating: "a", count: 3500) }),
        post("a long target", nil, target: "/v1/" + String(repeating: "a", count: 20_000)),
    ]

    private static let targets: [HostileRequest] = [
        post("an absolute target", 400, target: "http://tresor.example/v1/server"),
        post("an absolute target of another host", 400, target: "http://other.example/v1/server"),
        post("an encoded target", 400, target: "/v1/%73erver"),
        post("two slashes", 400, target: "//v1/server"),
        post("two slashes within", 400, target: "/v1//server"),
        post("dots", 400, target: "/v1/../v1/server"),
        post("a dot", 400, target: "/./v1/server"),
        post("a query", 400, target: "/v1/server?"),
        post("a fragment", nil, target: "/v1/server#"),
        post("capitals", 400, target: "/V1/server"),
        post("a slash at the end", 400, target: "/v1/server/"),
        post("a backslash", 400, target: "/v1\\server"),
        post("an asterisk", 400, target: "*"),
        post("no slash", nil, target: "v1/server"),
        post("an unknown operation", 400, target: "/v1/servers"),
        post("another version", 400, target: "/v2/server"),
        first("two slashes before health", 400, "GET //health HTTP/1.1"),
        first("a query after health", 400, "GET /health?verbose HTTP/1.1"),
        first("the metrics", 400, "GET /metrics HTTP/1.1"),
    ]

    private static let hosts: [HostileRequest] = [
        post("no host", 400, host: nil),
        post("the same host twice", 400, ["Host: tresor.example"]),
        post("two hosts", 400, ["Host: other.example"]),
        post("an empty host", 400, host: "Host:"),
        post("another host", 421, host: "Host: other.example"),
        post("a host with a dot", 421, host: "Host: tresor.example."),
        post("a host with a user", 421, host: "Host: a@tresor.example"),
        post("a list of hosts", 400, host: "Host: tresor.example, other.example"),
        post("a host with the sign of kelvin", 400, host: "Host: \u{212A}linik.example"),
        post("a host with a port of letters", 400, host: "Host: tresor.example:http"),
        post("a host with an empty port", 400, host: "Host: tresor.example:"),
        post("a host with a port beyond the last", 400, host: "Host: tresor.example:65536"),
    ]

    private static let versions: [HostileRequest] = [
        post("HTTP/1.0", 505, version: "HTTP/1.0"),
        post("HTTP/1.2", nil, version: "HTTP/1.2"),
        post("HTTP/2.0", nil, version: "HTTP/2.0"),
        post("http/1.1", nil, version: "http/1.1"),
        HostileRequest("HTTP/0.9", nil, "GET /health\r\n\r\n"),
        HostileRequest("the preface of HTTP/2", nil, "PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\u{4}\0\0\0\0\0"),
        post(
            "an upgrade to HTTP/2", 400,
            ["Connection: Upgrade, HTTP2-Settings", "Upgrade: h2c", "HTTP2-Settings: AAMAAABkAARAAAAAAAIAAAAA"]),
        first(
            "a WebSocket", 400, "GET /health HTTP/1.1",
            [
                "Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 13",
                "Sec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==",
            ]),
        HostileRequest("a hello of TLS", nil, "\u{16}\u{3}\u{1}\0\u{5}hello"),
    ]

    private static let methods: [HostileRequest] = [
        first("GET of an operation", 405, "GET /v1/server HTTP/1.1"),
        first("HEAD of the health", 405, "HEAD /health HTTP/1.1"),
        first("OPTIONS", 405, "OPTIONS /v1/server HTTP/1.1"),
        first("OPTIONS of everything", 405, "OPTIONS * HTTP/1.1"),
        first("TRACE", 405, "TRACE /v1/server HTTP/1.1"),
        first("PUT", 405, "PUT /v1/server HTTP/1.1", ["Content-Length: 0"]),
        first("CONNECT", nil, "CONNECT tresor.example:443 HTTP/1.1"),
        first("a method in small letters", nil, "post /v1/server HTTP/1.1", ["Content-Length: 0"]),
        first("an unknown method", nil, "STEAL /v1/server HTTP/1.1"),
        post("POST of the health", 405, target: "/health"),
        first("a body of a GET", 400, "GET /health HTTP/1.1", ["Content-Length: 0"]),
        first("a chunked GET", 411, "GET /health HTTP/1.1", ["Transfer-Encoding: chunked"]),
    ]

    private static let others: [HostileRequest] = [
        post("no type", 415, type: nil),
        post("another type", 415, type: "Content-Type: text/plain"),
        post("a type with a parameter", 415, type: "Content-Type: application/vnd.tresor; charset=utf-8"),
        post("a type in capitals", 415, type: "Content-Type: Application/Vnd.Tresor"),
        post("two types", 415, ["Content-Type: application/vnd.tresor"]),
        post("an expectation", 400, ["Expect: 100-continue"]),
        post("two authorizations", 400, ["Authorization: Tresor a", "Authorization: Tresor b"]),
        post("a header that is not ASCII", 400, ["X-Other: w\u{f6}rter"]),
        post("another connection", 400, ["Connection: keep-alive, Authorization"]),
        post("two connections", 400, ["Connection: close", "Connection: keep-alive"]),
        post("a page of another site", 403, ["Origin: https://other.example"]),
        post("a page without a site", 403, ["Origin: null"]),
        post("a page of the same site", 403, ["Origin: https://tresor.example"]),
        post("a fetch from another site", 403, ["Sec-Fetch-Site: cross-site"]),
        post("a fetch from the same origin", 403, ["Sec-Fetch-Site: same-origin"]),
        first("an image of another site", 403, "GET /health HTTP/1.1", ["Sec-Fetch-Site: cross-site"]),
        HostileRequest("noise", nil, "\u{1}\u{2}\u{3}\u{4}\r\n\r\n"),
    ]
}

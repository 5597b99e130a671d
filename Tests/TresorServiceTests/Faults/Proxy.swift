// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing

    /// A proxy of this machine in front of a socket, set up as docs/SERVER.md says.
    final class Proxy: Sendable {
        enum Kind: String, CaseIterable, Sendable {
            case nginx
            case haproxy

            static let installed = allCases.filter { Daemon.path($0.rawValue) != nil }
        }

        let port: Int
        private let directory: TestDirectory
        private let daemon: Daemon

        /// Starts the proxy, which forgets its clients within a second.
        init(_ kind: Kind, before socket: String) async throws {
            let directory = try TestDirectory()
            self.directory = directory
            let program = try #require(Daemon.path(kind.rawValue))
            var started: (port: Int, daemon: Daemon)?
            for _ in 0..<10 where started == nil {
                let port = Int.random(in: 20_000..<32_000)
                let text = try Self.configuration(kind, port, socket, directory.path)
                try text.write(toFile: directory["configuration"], atomically: true, encoding: .utf8)
                let words: [String] =
                    switch kind {
                    case .nginx:
                        [program, "-p", directory.path, "-e", directory["error.log"], "-c", directory["configuration"]]
                    case .haproxy: [program, "-db", "-f", directory["configuration"]]
                    }
                let daemon = try Daemon(words, output: directory["output"])
                if await Daemon.listens(on: port) { started = (port, daemon) }
            }
            (port, daemon) = try #require(started)
        }

        /// All that the proxy has written into logs.
        var logs: String {
            ["output", "access.log", "error.log"].map { name in
                (try? Data(contentsOf: URL(fileURLWithPath: directory[name]))).map {
                    String(decoding: $0, as: UTF8.self)
                }
                    ?? ""
            }.joined()
        }

        /// The whole file of docs/SERVER.md, with the places of this test and without TLS, and with less patience.
        private static func configuration(
            _ kind: Kind, _ port: Int, _ socket: String, _ directory: String
        ) throws -> String {
            let file = try documented(kind).replacing("/run/tresor/socket", with: socket)
            let lines = file.split(separator: "\n", omittingEmptySubsequences: false).filter { line in
                !["ssl_", "user ", "group "].contains { line.drop { $0 == " " }.hasPrefix($0) }
            }
            let plain = lines.joined(separator: "\n")
            switch kind {
            case .nginx:
                let places = ["client_body", "proxy", "fastcgi", "uwsgi", "scgi"]
                    .map { "\($0)_temp_path \(directory)/\($0);" }.joined(separator: "\n")
                return """
                    daemon off;
                    master_process off;
                    pid \(directory)/pid;
                    error_log \(directory)/error.log info;
                    events {}
                    http {
                        access_log \(directory)/access.log;
                        \(places)
                        keepalive_timeout 1s;
                        client_header_timeout 1s;
                        client_body_timeout 1s;
                        \(plain.replacing("8443 ssl", with: "127.0.0.1:\(port)"))
                    }
                    """
            case .haproxy:
                return plain.replacing(try bind(in: plain), with: "    bind 127.0.0.1:\(port)")
                    .replacing("global\n", with: "global\n    log stdout format raw daemon\n")
                    .replacing("mode http\n", with: "mode http\n    log global\n    option httplog\n")
                    .replacing("http-request 10s", with: "http-request 1s")
                    .replacing("timeout client 70s", with: "timeout client 1s") + "\n"
            }
        }

        /// The line by which HAProxy listens.
        private static func bind(in file: String) throws -> Substring {
            try #require(file.split(separator: "\n").first { $0.hasPrefix("    bind ") })
        }

        /// The file that docs/SERVER.md has for a proxy.
        private static func documented(_ kind: Kind) throws -> String {
            let first = kind == .nginx ? "server {" : "global"
            let page = try String(
                contentsOfFile: URL(filePath: #filePath).deletingLastPathComponent().path + "/../../../docs/SERVER.md",
                encoding: .utf8)
            let start = try #require(page.range(of: "\n```\n\(first)\n"))
            let end = try #require(page[start.upperBound...].range(of: "\n```"))
            return String(page[start.lowerBound..<end.lowerBound].dropFirst(5))
        }
    }

    extension HostileRequest {
        /// The request that hides in the following ones. Nobody else sends it.
        private static let hidden =
            "POST /v1/delete-tresor HTTP/1.1\r\nHost: tresor.example\r\nContent-Length: 0\r\n"
            + "Content-Type: application/vnd.tresor\r\n\r\n"

        private static func hiding(
            _ name: String, _ headers: [String], _ body: String, target: String = "/v1/card", method: String = "POST",
            version: String = "HTTP/1.1"
        ) -> HostileRequest {
            let lines =
                ["\(method) \(target) \(version)", "Host: tresor.example", "Content-Type: application/vnd.tresor"]
                + headers
            return HostileRequest("hiding: " + name, nil, lines.joined(separator: "\r\n") + "\r\n\r\n" + body)
        }

        /// Requests that a proxy and the service could part in two ways, with another request where they could differ.
        static let hiding: [HostileRequest] = {
            let (hidden, end) = (Self.hidden, "0\r\n\r\n")
            let whole = "Content-Length: \((end + hidden).utf8.count)"
            let chunk = String(hidden.utf8.count, radix: 16) + "\r\n" + hidden + "\r\n" + end
            let codings = [
                "Transfer-Encoding: chunked", "Transfer-Encoding : chunked", "Transfer-Encoding: xchunked",
                "Transfer-Encoding:\tchunked", "Transfer-Encoding:\u{b}chunked", " Transfer-Encoding: chunked",
                "X: a\nTransfer-Encoding: chunked", "Transfer-Encoding: chunked, identity",
                "Transfer-Encoding: identity, chunked",
                "Transfer-Encoding\n: chunked", "Transfer-Encoding: \"chunked\"", "Transfer_Encoding: chunked",
                "TRANSFER-ENCODING: CHUNKED", "Transfer-Encoding: chunked\r\nTransfer-Encoding: identity",
            ]
            return codings.flatMap { coding in
                [
                    hiding("a length, then \(coding)", [whole, coding], end + hidden),
                    hiding("\(coding), then a short length", [coding, "Content-Length: 4"], chunk),
                    hiding("\(coding) in HTTP/1.0", [coding, whole], end + hidden, version: "HTTP/1.0"),
                ]
            } + [
                hiding("two lengths", ["Content-Length: 0", "Content-Length: \(hidden.utf8.count)"], hidden),
                hiding(
                    "two lengths, the other way", ["Content-Length: \(hidden.utf8.count)", "Content-Length: 0"], hidden),
                hiding("a list of lengths", ["Content-Length: 0, \(hidden.utf8.count)"], hidden),
                hiding("a signed length", ["Content-Length: +\(hidden.utf8.count)"], hidden),
                hiding("an octal length", ["Content-Length: 0\(hidden.utf8.count)"], hidden),
                hiding(
                    "a length of another name", ["Content_Length: \(hidden.utf8.count)", "Content-Length: 0"], hidden),
                hiding("a length behind a line feed", ["X: a\nContent-Length: \(hidden.utf8.count)"], hidden),
                hiding(
                    "a body of a GET", ["Content-Length: \(hidden.utf8.count)"], hidden, target: "/health",
                    method: "GET"),
                hiding(
                    "a body of a HEAD", ["Content-Length: \(hidden.utf8.count)"], hidden, target: "/health",
                    method: "HEAD"),
                hiding("an expectation", ["Expect: 100-continue", "Content-Length: \(hidden.utf8.count)"], hidden),
                hiding("an upgrade", ["Connection: Upgrade", "Upgrade: h2c", "Content-Length: 0"], hidden),
                hiding(
                    "a WebSocket", ["Connection: Upgrade", "Upgrade: websocket", "Sec-WebSocket-Version: 777"], hidden,
                    target: "/health", method: "GET"),
                hiding(
                    "a length that the connection drops",
                    ["Connection: Content-Length", "Content-Length: \(hidden.utf8.count)"], hidden),
                hiding("line ends in the target", ["Content-Length: 0"], "", target: "/v1/card%0d%0a%0d%0a\(hidden)"),
            ]
        }()
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import NIOCore
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The log and the metrics of the service.
    @Suite struct ReportTests {
        @Test("A131: a line of the log has the listed fields alone, and nothing that a client sent")
        func A131_theLogHasListedFieldsAlone() async throws {
            let mark = "c3VwZXJzZWNyZXQ"
            try await Wire.run { wire in
                _ = try await wire.send(
                    Wire.request(
                        "card", body: Array(mark.utf8), headers: ["Authorization: \(mark)", "Connection: close"]))
                _ = try await wire.send(Wire.request("account", headers: ["Connection: close", "X-\(mark): \(mark)"]))
                _ = try await wire.send(Array("POST /v1/\(mark) HTTP/1.1\r\nHost: \(mark)\r\n\r\n".utf8))
                let lines = wire.log.all
                #expect(lines.count == 4)
                let fields = Set(LogLine.Field.allCases.map(\.rawValue))
                for line in lines {
                    #expect(line.hasSuffix("}\n"))
                    #expect(!line.contains(mark))
                    let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
                    #expect(Set(object.keys).isSubset(of: fields))
                    #expect(Set(object.keys).isSuperset(of: ["at", "level", "event", "process"]))
                    #expect(object["source"] == nil && object["reason"] == nil)
                }
                #expect(lines[1].contains("\"operation\":\"card\",\"status\":200,\"ms\":"))
                #expect(lines[1].contains("\"in\":15,\"out\":15"))
                #expect(lines[2].contains("\"operation\":\"account\",\"status\":403,\"error\":\"no_access\""))
                let refused = "\"event\":\"request\",\"status\":421,\"error\":\"failed\",\"cause\":\"name\""
                #expect(lines[3].contains(refused))
            }
        }

        @Test("A client that stops within its request gets no answer, and the log says that it left")
        func reportsClientsThatLeave() async throws {
            try await Wire.run { wire in
                let request = Wire.request("card", body: [1, 2, 3])
                // Within its head, and within its body.
                for count in [9, request.count - 1] {
                    let client = try RawClient(port: wire.port)
                    await client.send(Array(request.prefix(count)))
                    client.finish()
                    let end = await client.readToEnd()
                    #expect(end.isClosed && end.bytes.isEmpty)
                }
                try await wait { wire.log.all.count == 3 }
                let lines = wire.log.all
                #expect(lines[1].contains("\"event\":\"cut\",\"cause\":\"left\""))
                #expect(lines[2].contains("\"event\":\"cut\",\"operation\":\"card\",\"cause\":\"left\""))
                #expect(!wire.report.registry.text.contains("tresor_requests_total{"))
            }
        }

        @Test("The metrics count what was answered, with labels of closed lists")
        func countsAnswers() async throws {
            try await Wire.run { wire in
                for _ in 0..<3 { _ = try await wire.send(Wire.request("card", headers: ["Connection: close"])) }
                _ = try await wire.send(Wire.request("account", headers: ["Connection: close"]))
                _ = try await wire.send(Wire.request("nothing"))
                let text = wire.report.registry.text
                let lines = text.split(separator: "\n")
                #expect(lines.contains("# TYPE tresor_requests_total counter"))
                #expect(lines.contains(#"tresor_requests_total{operation="card",status="200",outcome="done"} 3"#))
                #expect(
                    lines.contains(#"tresor_requests_total{operation="account",status="403",outcome="no_access"} 1"#))
                #expect(lines.contains(#"tresor_requests_total{operation="none",status="400",outcome="failed"} 1"#))
                #expect(lines.contains(#"tresor_request_seconds_count{operation="card"} 3"#))
                #expect(lines.contains(#"tresor_request_seconds_bucket{operation="card",le="+Inf"} 3"#))
                #expect(lines.contains { $0.hasPrefix("tresor_connections ") })
                #expect(!text.contains("127.0.0.1"))
            }
        }

        @Test("Log and metrics say which room is full, that a name is another one, and that a proxy is old")
        func namesTheCause() async throws {
            let replies: [(Refusal, String, String)] = [
                (Refusal(.failed(.full)), "failed", "quota"), (Refusal(.store(.full)), "store", "disk-full"),
                (Refusal(.store(.inputOutput)), "store", "database"),
                (Refusal(.failed(.notNoted)), "store", "revocations"),
            ]
            for (refusal, error, cause) in replies {
                try await Wire.run(handler: NotingHandler(refusing: .card, by: refusal)) { wire in
                    _ = try await wire.send(Wire.request("card", headers: ["Connection: close"]))
                    #expect(wire.log.all.last?.contains("\"error\":\"\(error)\",\"cause\":\"\(cause)\"") == true)
                    let label = "status=\"\(refusal.status.rawValue)\",outcome=\"\(error)\",cause=\"\(cause)\"} 1"
                    #expect(wire.report.registry.text.contains(label))
                }
            }
            try await Wire.run { wire in
                _ = try await wire.send(Array("GET /health HTTP/1.0\r\nHost: localhost\r\n\r\n".utf8))
                let line = try #require(wire.log.all.last)
                #expect(line.contains("\"status\":505,\"error\":\"failed\",\"cause\":\"http-version\""))
            }
        }

        @Test("A reason is ASCII in the form of JSON, and has an end")
        func escapesReasons() throws {
            let log = LogLines()
            let report = Report(logsSources: false) { log.add($0) }
            report.say(.databaseLost, .error, reason: "role \"a\\b\"\n\u{e4}" + String(repeating: "x", count: 1_000))
            let line = try #require(log.all.last)
            let object = try #require(try JSONSerialization.jsonObject(with: Data(line.utf8)) as? [String: Any])
            #expect(object["reason"] as? String == "role \"a\\b\"??" + String(repeating: "x", count: 488))
        }

        @Test("The text of the metrics")
        func writesMetrics() {
            let registry = PrometheusRegistry()
            registry.add(0, to: .connections)
            for seconds in [0.004, 61] { registry.add(seconds, to: .seconds, [("operation", "card")]) }
            for amount in [1.0, 2] { registry.add(amount, to: .bytesIn, [("operation", "card")]) }
            registry.add(1, to: .requests, [("operation", "none"), ("status", "400"), ("outcome", "failed")])
            registry.add(1, to: .requests, [("operation", "card"), ("status", "200"), ("outcome", "done")])
            let bounds = ["0.001", "0.0025", "0.005", "0.01", "0.025", "0.05", "0.1", "0.25", "0.5", "1", "2.5", "5"]
            let buckets = (bounds + ["10", "60"]).enumerated().map { index, bound in
                #"tresor_request_seconds_bucket{operation="card",le="\#(bound)"} \#(index < 2 ? 0 : 1)"#
            }
            let lines =
                [
                    "# HELP tresor_connections Open connections.", "# TYPE tresor_connections gauge",
                    "tresor_connections 0",
                    "# HELP tresor_received_bytes_total The bytes of bodies that were read.",
                    "# TYPE tresor_received_bytes_total counter",
                    #"tresor_received_bytes_total{operation="card"} 3"#,
                    "# HELP tresor_request_seconds The time from the head of a request to its answer.",
                    "# TYPE tresor_request_seconds histogram",
                ] + buckets + [
                    #"tresor_request_seconds_bucket{operation="card",le="+Inf"} 2"#,
                    #"tresor_request_seconds_sum{operation="card"} 61.004"#,
                    #"tresor_request_seconds_count{operation="card"} 2"#,
                    "# HELP tresor_requests_total Requests that were answered.",
                    "# TYPE tresor_requests_total counter",
                    #"tresor_requests_total{operation="card",status="200",outcome="done"} 1"#,
                    #"tresor_requests_total{operation="none",status="400",outcome="failed"} 1"#,
                ]
            #expect(registry.text == lines.map { $0 + "\n" }.joined())
        }

        @Test("A proxy that does not say who asks is an error of the log, which names it")
        func namesTheProxyThatNamesNobody() throws {
            let log = LogLines()
            let report = Report(logsSources: false) { log.add($0) }
            let responder = Responder(
                target: .service(NotingHandler()), rule: .service(names: []), limits: ServerLimits(), report: report,
                isBehindProxy: true)
            let head = AcceptedHead(
                endpoint: .operation(.card), bodyByteCount: 0, authorization: nil, host: "localhost", ports: [],
                forwardedFor: nil, closes: false)
            let refusal = #expect(throws: Refusal.self) { try responder.source(of: head, on: []) }
            #expect(refusal?.status.rawValue == 500)
            let exchange = HTTPExchange(source: [], head: head, budget: responder.bodies)
            report.answered(exchange, ServiceReply(try #require(refusal)), refusal?.cause)
            let line = try #require(log.all.last)
            #expect(line.contains("\"level\":\"error\",\"event\":\"request\",\"operation\":\"card\",\"status\":500"))
            #expect(line.contains("\"cause\":\"no-x-forwarded-for\""))
        }

        /// Such a proxy sends a name of loopback, which is always one of the service.
        @Test func aProxyThatKeepsNoHostIsNamed() throws {
            let log = LogLines()
            let report = Report(logsSources: false) { log.add($0) }
            func head(_ host: String) -> AcceptedHead {
                AcceptedHead(
                    endpoint: .operation(.card), bodyByteCount: 0, authorization: nil, host: host, ports: [],
                    forwardedFor: nil, closes: false)
            }
            func responder(isBehindProxy: Bool) -> Responder {
                Responder(
                    target: .service(NotingHandler()), rule: .service(named: "tresor.example"), limits: ServerLimits(),
                    report: report, isBehindProxy: isBehindProxy)
            }
            let proxied = responder(isBehindProxy: true)
            #expect(proxied.cause(.address, of: head("localhost")) == .proxyHost)
            #expect(proxied.cause(.address, of: head("tresor.example")) == .address)
            #expect(proxied.cause(.clock, of: head("localhost")) == .clock)
            #expect(responder(isBehindProxy: false).cause(.address, of: head("localhost")) == .address)
            let exchange = HTTPExchange(source: [], head: head("localhost"), budget: proxied.bodies)
            report.answered(exchange, ServiceReply(.unauthorized), .proxyHost)
            let line = try #require(log.all.last)
            // A stranger can name any address, so it is no error of the service.
            #expect(line.contains("\"level\":\"info\",\"event\":\"request\",\"operation\":\"card\",\"status\":401"))
            #expect(line.contains("\"error\":\"no_access\",\"cause\":\"proxy-host\""))
        }

        @Test func whatLastsIsSaidOnceAMinute() {
            let (reminder, start) = (MinuteReminder(), ContinuousClock.now)
            let seconds = [0, 1, 59, 60, 61, 119, 120]
            #expect(seconds.filter { reminder.isDue(at: start + .seconds($0)) } == [0, 60, 120])
        }

        @Test("The forms of a time")
        func writesTimes() {
            let time = CalendarTime(seconds: 784_111_777, milliseconds: 7)
            #expect(time.httpDate == "Sun, 06 Nov 1994 08:49:37 GMT")
            #expect(time.text == "1994-11-06T08:49:37.007Z")
        }

        @Test(
            "Limits count IPv4 by its address, and IPv6 by its first half",
            arguments: [
                ("192.0.2.7", [192, 0, 2, 7]), ("::ffff:192.0.2.7", [192, 0, 2, 7]),
                ("2001:db8:1:2:3:4:5:6", [0x20, 0x01, 0x0d, 0xb8, 0, 1, 0, 2]),
            ] as [(String, [UInt8])])
        func shortensSources(text: String, source: [UInt8]) {
            #expect(SourceAddress.bytes(text) == source)
        }

        @Test("A source that is no address is none", arguments: ["", "nobody", "192.0.2", "192.0.2.7:80", "unknown"])
        func refusesSources(text: String) {
            #expect(SourceAddress.bytes(text) == nil)
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCore

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
                    #expect(object["source"] == nil)
                }
                #expect(lines[1].contains("\"operation\":\"card\",\"status\":200,\"ms\":"))
                #expect(lines[1].contains("\"in\":15,\"out\":15"))
                #expect(lines[2].contains("\"operation\":\"account\",\"status\":403,\"error\":\"no_access\""))
                #expect(lines[3].contains("\"event\":\"request\",\"status\":421,\"error\":\"failed\""))
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

// SPDX-License-Identifier: Apache-2.0

#if Server && os(Linux)
    import Foundation
    import TestSupport
    import Testing

    /// Many clients at many addresses that begin and do not go on.
    @Suite(.serialized, .longRun) struct SlowClientTests {
        private static let clientCount = 1_000
        private static let sourceCount = 10

        /// The program keeps little more for each than what it sent, and serves others.
        @Test func A126_slowHeadsTakeBoundedMemory() async throws {
            let site = try Site()
            let made = await ServerProcess.run(["init", site["clinic.db"], "--operator", try site.card()])
            try #require(made.code == 0, "\(made.error)")
            let server = try ServerProcess(["run", site["clinic.db"], "--listen", "127.0.0.1:0"])
            let port = try #require(await server.port(), "\(server.said)")
            let before = try server.memory()
            let line = "X-Header: " + String(repeating: "a", count: 3_000) + "\r\n"
            let head = Array(("POST /v1/server HTTP/1.1\r\n" + String(repeating: line, count: 5)).utf8)
            var clients: [RawClient] = []
            for number in 0..<Self.clientCount {
                let client = try RawClient(port: port, source: UInt8(2 + number % Self.sourceCount))
                await client.send(head)
                clients.append(client)
            }
            let other = try RawClient(port: port)
            await other.send(Wire.request("server"))
            let answer = await other.readAnswer()
            let growth = try server.memory() - before
            print("\(clients.count) slow heads of \(head.count) bytes: \(growth / 1_024) KiB")
            #expect(answer != nil)
            #expect(growth < Self.clientCount * (head.count + 64 * 1_024))
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)
        }
    }

    extension ServerProcess {
        /// The resident memory, in bytes.
        fileprivate func memory() throws -> Int {
            let status = try String(contentsOfFile: "/proc/\(id)/status", encoding: .utf8)
            let line = try #require(status.firstMatch(of: /VmRSS:\s+([0-9]+) kB/))
            return try #require(Int(line.1)) * 1_024
        }
    }
#endif

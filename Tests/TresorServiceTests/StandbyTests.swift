// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import TresorCrypto

    /// Databases of PostgreSQL that can only be read.
    @Suite(.serialized, .longRun, .enabled(if: PostgresCluster.programs != nil, "PostgreSQL is not installed"))
    struct StandbyTests {
        /// A standby is named; with the primary beside it, the primary is used; and the health says what can be written.
        @Test func aStandbyIsNoDatabaseOfAService() async throws {
            let (first, second) = (try PostgresCluster(), try PostgresCluster())
            let site = try Site()
            let names = try [first, second].map { try #require(try $0.address().firstMatch(of: /test[0-9]+/)?.output) }
            #expect(names[0] == names[1])
            func address(_ clusters: PostgresCluster...) -> String {
                let hosts = clusters.map(\.directory).joined(separator: ",")
                return "postgresql:///\(names[0])?host=\(hosts)&user=tresor"
            }
            let key = ["--server-key", site["server.key"]]
            let made = await ServerProcess.run(["init", address(first)] + key + ["--operator", try site.card()])
            #expect(made.code == 0, "\(made.error)")
            // Nothing lies beside a database of PostgreSQL.
            for (options, isSaid) in [([], true), (key, false)] as [([String], Bool)] {
                let checked = await ServerProcess.run(["check", address(first)] + options)
                #expect(checked.code == 0 && checked.error.contains("looked at no server key") == isSaid)
            }
            let server = try ServerProcess(["run", address(first)] + key + ["--listen", "127.0.0.1:0"])
            let port = try #require(await server.port(), "\(server.said)")
            #expect(await health(at: port, is: 200))
            try stop(first)
            #expect(await health(at: port, is: 503))
            try first.restart()
            #expect(await health(at: port, is: 200))

            try stop(first)
            #expect(FileManager.default.createFile(atPath: first.directory + "/data/standby.signal", contents: nil))
            try first.restart()
            #expect(await health(at: port, is: 503))
            for command in [["run"], ["check"]] {
                let refused = await ServerProcess.run(command + [address(first)] + key)
                #expect(refused.code == 18, "\(refused.error)")
                #expect(refused.error.contains("read-only standby"), "\(refused.error)")
            }
            server.signal(SIGTERM)
            #expect(await server.end().code == 0)

            // The first host is passed over, whatever the address says about hosts.
            for attributes in ["", "&target_session_attrs=any", "&target_session_attrs=read-write"] {
                let other = try Site()
                let target = address(first, second) + attributes
                let words = ["--server-key", other["server.key"]]
                let made = await ServerProcess.run(["init", target] + words + ["--operator", try other.card()])
                if attributes.isEmpty {
                    #expect(made.code == 0, "\(made.error)")
                } else {
                    // There is a service already.
                    #expect(made.code != 18, "\(made.error)")
                    #expect(!made.error.contains("standby"), "\(made.error)")
                }
            }
        }

        /// Ends PostgreSQL in order, as its operator does.
        private func stop(_ cluster: PostgresCluster) throws {
            let postmaster = try #require(cluster.processes.first)
            kill(postmaster, SIGINT)
        }

        /// Whether the health becomes a status within a minute.
        private func health(at port: Int, is status: Int) async -> Bool {
            for _ in 0..<120 {
                if let client = try? RawClient(port: port) {
                    await client.send("GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n")
                    if await client.readAnswer()?.status == status { return true }
                }
                try? await Task.sleep(for: .milliseconds(500))
            }
            return false
        }
    }
#endif

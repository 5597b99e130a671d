// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorRemote
    @testable import TresorServer

    /// The service behind the proxies that operators use, set up as its page says.
    @Suite(.serialized, .longRun, .enabled(if: !Proxy.Kind.installed.isEmpty, "nginx and HAProxy are not installed"))
    struct ProxyTests {
        private static let mark = "MARKED-4711-BODY"
        private static let authorization = "Authorization: Tresor MARKED-4711-SESSION"

        private static func honest(_ text: String) -> [UInt8] {
            Wire.request("card", body: Array("\(mark) \(text)".utf8), headers: [authorization])
        }

        private func run(
            _ kind: Proxy.Kind, _ body: (Proxy, NotingHandler) async throws -> Void
        ) async throws {
            let directory = try TestDirectory()
            let handler = NotingHandler()
            let wire = try await RunningWire(handler, at: .socket(path: directory["socket"]))
            do {
                try await body(try await Proxy(kind, before: directory["socket"]), handler)
            } catch {
                await wire.stop()
                throw error
            }
            await wire.stop()
        }

        @Test(
            "An honest request passes, the largest too, and the service knows who sent it",
            arguments: Proxy.Kind.installed)
        func passesHonestRequests(_ kind: Proxy.Kind) async throws {
            try await run(kind) { proxy, handler in
                let client = try RawClient(port: proxy.port)
                await client.send(Self.honest("small"))
                #expect(await client.readAnswer()?.body == Array("\(Self.mark) small".utf8))
                let body = [UInt8](repeating: 3, count: ServiceOperation.append.maximumBodyByteCount)
                await client.send(Wire.request("append", body: body))
                #expect(await client.readAnswer(seconds: 30)?.body.count == body.count)
                #expect(handler.calls.map(\.source) == [[127, 0, 0, 1], [127, 0, 0, 1]])
                #expect(handler.calls.first?.authorization == "Tresor MARKED-4711-SESSION")
            }
        }

        /// The password and what it opens pass through a proxy in no form, and the proxy writes down no name.
        @Test(arguments: Proxy.Kind.installed) func A131_aLogInIsInNoLogOfAProxy(_ kind: Proxy.Kind) async throws {
            let directory = try TestDirectory()
            let bench = try await Bench(withLogins: true)
            bench.clock.now = UInt64(Date.now.timeIntervalSince1970)
            let wire = try await RunningWire(
                bench.service, at: .socket(path: directory["socket"]), names: ["127.0.0.1:8443"])
            do {
                let proxy = try await Proxy(kind, before: directory["socket"])
                let login = try await MarkedLogin(
                    at: proxy.port, knownAs: Audience(isSecure: true, host: "127.0.0.1", port: 8443))
                #expect(login.secrets.found(in: login.messages) == [])
                let logs = proxy.logs
                #expect(logs.contains("/v1/finish-login") && !logs.contains(MarkedLogin.handle))
                #expect(login.secrets.found(in: Data(logs.utf8)) == [])
            } catch {
                await wire.stop()
                throw error
            }
            await wire.stop()
        }

        @Test(
            "A client behind a proxy reads what the proxy answers for a service that has stopped",
            arguments: Proxy.Kind.installed)
        func namesAStoppedService(_ kind: Proxy.Kind) async throws {
            let directory = try TestDirectory()
            let proxy = try await Proxy(kind, before: directory["socket"])
            let transport = try SocketTransport(
                to: ServiceAddress("http://127.0.0.1:\(proxy.port)"), authorities: Authorities(named: nil), proxy: nil)
            let request = TransportRequest(
                target: "/v1/server", authorization: nil, body: [], timeout: .seconds(20),
                maximumAnswerByteCount: 1 << 16)
            let failure = await #expect(throws: TransportFailure.self) { _ = try await transport.exchange(request) }
            #expect(failure?.error == .store(.unreachable))
            guard case .away? = failure?.obstacle else {
                Issue.record("\(String(describing: failure))")
                return
            }
        }

        @Test(
            "A126: behind a proxy one request is never read as two, and no body is in a log",
            arguments: Proxy.Kind.installed)
        func A126_oneRequestIsOneBehindAProxy(_ kind: Proxy.Kind) async throws {
            try await run(kind) { proxy, handler in
                let corpus = HostileRequest.all + HostileRequest.hiding
                for start in stride(from: 0, to: corpus.count, by: 24) {
                    try await withThrowingTaskGroup(of: Void.self) { group in
                        for request in corpus[start..<min(start + 24, corpus.count)] {
                            group.addTask {
                                let client = try RawClient(port: proxy.port)
                                await client.send(request.bytes + Self.honest("behind"))
                                _ = await client.readToEnd(seconds: 4)
                            }
                        }
                        try await group.waitForAll()
                    }
                    // Nobody gets the answer to another request, on whatever connection of the proxy.
                    for number in 0..<8 {
                        let client = try RawClient(port: proxy.port)
                        await client.send(Self.honest("\(start) \(number)"))
                        let answer = try #require(await client.readAnswer())
                        #expect(answer.status == 200)
                        #expect(answer.body == Array("\(Self.mark) \(start) \(number)".utf8))
                    }
                }
                let logs = proxy.logs
                // The service has seen no request that the proxy has not.
                for operation in ServiceOperation.allCases {
                    let seen = handler.calls.count(where: { $0.operation == operation })
                    #expect(seen <= logs.ranges(of: "/v1/\(operation.rawValue) HTTP/1.").count, "\(operation)")
                }
                #expect(handler.calls.count(where: { $0.operation == .card }) >= corpus.count / 24 * 8)
                #expect(!logs.contains("MARKED-4711"))
            }
        }
    }
#endif

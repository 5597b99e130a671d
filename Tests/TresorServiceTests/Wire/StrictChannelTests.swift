// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser
    import NIOHTTP1
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The wire against requests that no honest client sends, over real sockets.
    @Suite struct StrictChannelTests {
        @Test("A125, A126: a hostile request is refused, reaches nobody, and disturbs nobody")
        func A125_A126_hostileRequestsAreRefused() async throws {
            try await Wire.run { wire in
                for request in HostileRequest.all {
                    let before = wire.handler.calls.count
                    // An honest request behind it must not be read: the bytes could be meant as its body.
                    let result = try await wire.send(request.bytes + Wire.request("card"))
                    #expect(result.isClosed, "\(request.name)")
                    #expect(wire.handler.calls.count == before, "\(request.name)")
                    if let status = request.status {
                        #expect(result.answer?.status == status, "\(request.name)")
                    } else {
                        #expect(
                            result.bytes.isEmpty || (400..<500).contains(result.answer?.status ?? 0), "\(request.name)")
                    }
                    if let answer = result.answer { expectRefusal(answer, request.name) }
                }
                #expect(try await wire.serves())
            }
        }

        /// A refusal has the body of 11 bytes, one length, the type, the time, and ends the connection.
        private func expectRefusal(_ answer: Answer, _ name: String) {
            #expect(answer.isWhole, "\(name)")
            #expect(throws: Never.self, "\(name)") { try Refusal.read(answer.body).error }
            #expect(answer.headers["content-type"] == "application/vnd.tresor", "\(name)")
            #expect(answer.headers["connection"] == "close", "\(name)")
            #expect(answer.headers["date"]?.hasSuffix(" GMT") == true, "\(name)")
            #expect(answer.headers.keys.allSatisfy { !$0.hasPrefix("access-control") && $0 != "server" }, "\(name)")
        }

        @Test("An honest request is answered, and the next one on the same connection")
        func answersHonestRequests() async throws {
            try await Wire.run { wire in
                let client = try RawClient(port: wire.port)
                for body in [[UInt8](), [1, 2, 3], [UInt8](repeating: 7, count: 65_536)] {
                    await client.send(Wire.request("card", body: body, headers: ["Authorization: Tresor abc"]))
                    let answer = try #require(await client.readAnswer())
                    #expect(answer.status == 200)
                    #expect(answer.body == body)
                    #expect(answer.headers["content-length"] == String(body.count))
                    #expect(answer.headers["transfer-encoding"] == nil)
                    #expect(answer.headers["connection"] == nil)
                }
                #expect(wire.handler.calls.map(\.body.count) == [0, 3, 65_536])
                #expect(wire.handler.calls.allSatisfy { $0.authorization == "Tresor abc" && $0.operation == .card })
                #expect(wire.handler.calls.allSatisfy { $0.source == [127, 0, 0, 1] })
            }
        }

        @Test(
            "The service is known by its names, in any case of letters and with any port",
            arguments: [
                "tresor.example", "TRESOR.example", "tresor.example:8443", "localhost", "127.0.0.1:80", "[::1]",
                "[::1]:443",
            ])
        func knowsItsNames(host: String) async throws {
            let rule = HeadRule.service(named: "Tresor.example")
            let head = [("Host", host), ("Content-Length", "0"), ("Content-Type", "application/vnd.tresor")]
            #expect(throws: Never.self) {
                try rule.accept(.init(version: .http1_1, method: .POST, uri: "/v1/card", headers: .init(head)))
            }
        }

        @Test("A235: a request names addresses of the service alone, whatever port its Host says")
        func A235_aHostChoosesAmongTheAddressesOfTheService() throws {
            let names = ["Tresor.example", "clinic.example:8443", "clinic.example", "[2001:DB8::1]:443"]
            let rule = HeadRule.service(names: names.compactMap { HostName($0) })
            func audiences(
                _ host: String, on port: Int?, behindProxy: Bool = false, secure: Bool = true
            ) throws -> Set<Audience> {
                let head = HTTPRequestHead(
                    version: .http1_1, method: .POST, uri: "/v1/card",
                    headers: ["Host": host, "Content-Length": "0", "Content-Type": WireForm.mediaType])
                let responder = Responder(
                    target: .service(NotingHandler()), rule: rule, limits: ServerLimits(),
                    report: Report(logsSources: false) { _ in }, isBehindProxy: behindProxy, isSecure: secure)
                return Set(responder.audiences(of: try rule.accept(head), on: port))
            }
            func https(_ host: String, _ port: UInt16) -> Audience { Audience(isSecure: true, host: host, port: port) }
            #expect(try audiences("TRESOR.example:1", on: 8443) == [https("tresor.example", 8443)])
            #expect(
                try audiences("clinic.example:1", on: 9) == [https("clinic.example", 8443), https("clinic.example", 9)])
            #expect(try audiences("[2001:db8::1]", on: 8443) == [https("[2001:db8::1]", 443)])
            #expect(
                try audiences("tresor.example", on: nil, behindProxy: true, secure: false)
                    == [https("tresor.example", 443)])
            #expect(
                try audiences("127.0.0.1:80", on: 8443, secure: false)
                    == [Audience(isSecure: false, host: "127.0.0.1", port: 8443)])
            #expect(throws: Refusal(.misdirected, .failed(.other), cause: .name)) {
                try audiences("relay.example", on: 8443)
            }
        }

        @Test(
            "A name of the service is a host, and a port if one is said",
            arguments: [
                ("tresor.example", true), ("tresor.example:443", true), ("[::1]", true), ("[::1]:8443", true),
                ("", false), (":443", false), ("tresor.example:", false), ("tresor.example:0", false),
                ("tresor.example:0443", false), ("tresor.example:65536", false), ("tresor.example:+1", false),
                ("tresor example", false), ("\u{212A}linik.example", false),
            ])
        func readsNames(text: String, isOne: Bool) { #expect((HostName(text) != nil) == isOne) }

        /// The client of such a name would get 421 each time.
        @Test(arguments: [
            ("https://ward.example:8443", "no scheme"), ("https://ward.example", "no scheme"),
            ("ward.example/x", "no path"), ("*.ward.example", "no pattern"), ("a b", "no host name"),
        ])
        func aNameThatNoClientDialsIsRefused(text: String, words: String) throws {
            let error = #expect(throws: ValidationError.self) { try HostName.typed(text) }
            #expect(error?.message.contains(words) == true, "\(error as Any)")
            #expect(try HostName.typed("Ward.example:8443") == HostName("ward.example:8443"))
        }

        @Test("A246: a letter that is not ASCII stands for no other one")
        func A246_headerValuesAreASCII() throws {
            let rule = HeadRule.service(named: "klinik.example")
            func accepts(host: String = "klinik.example", _ name: String, _ value: String) -> Bool {
                let head: [(String, String)] = [
                    ("Host", host), ("Content-Length", "0"), ("Content-Type", "application/vnd.tresor"), (name, value),
                ]
                let request = HTTPRequestHead(
                    version: .http1_1, method: .POST, uri: "/v1/card", headers: HTTPHeaders(head))
                return (try? rule.accept(request)) != nil
            }
            #expect(accepts("Connection", "keep-alive"))
            #expect(accepts(host: "KLINIK.example", "X-Other", "words"))
            #expect(!accepts("Connection", "\u{212A}eep-alive"))
            #expect(!accepts(host: "\u{212A}linik.example", "X-Other", "words"))
            #expect(!accepts("X-Other", "w\u{f6}rter"))
        }

        @Test("Each operation has its limit of bytes, to the byte")
        func limitsBodies() async throws {
            let rule = HeadRule.service(names: [])
            for operation in ServiceOperation.allCases {
                let limit = operation.maximumBodyByteCount
                func status(_ count: Int) -> Int {
                    do throws(Refusal) {
                        _ = try rule.accept(
                            .init(
                                version: .http1_1, method: .POST, uri: "/v1/\(operation.rawValue)",
                                headers: [
                                    "Host": "localhost", "Content-Length": String(count),
                                    "Content-Type": "application/vnd.tresor",
                                ]))
                        return 200
                    } catch {
                        return error.status.rawValue
                    }
                }
                #expect(status(limit) == 200)
                #expect(status(limit + 1) == 413)
            }
        }

        @Test("Behind a proxy the source is the last address that the proxy names; elsewhere that header says nothing")
        func readsTheSourceOfAProxy() async throws {
            func source(_ lists: [String], isBehindProxy: Bool) -> [UInt8]? {
                let report = Report(logsSources: false) { _ in }
                let responder = Responder(
                    target: .service(NotingHandler()), rule: .service(names: []), limits: ServerLimits(),
                    report: report,
                    isBehindProxy: isBehindProxy)
                var head = HTTPRequestHead(version: .http1_1, method: .POST, uri: "/v1/card")
                head.headers = [
                    "Host": "localhost", "Content-Length": "0", "Content-Type": "application/vnd.tresor",
                ]
                for list in lists { head.headers.add(name: "X-Forwarded-For", value: list) }
                return try? responder.source(of: responder.rule.accept(head), on: [127, 0, 0, 1])
            }
            #expect(source(["192.0.2.1"], isBehindProxy: true) == [192, 0, 2, 1])
            #expect(source(["198.51.100.9, 192.0.2.1"], isBehindProxy: true) == [192, 0, 2, 1])
            #expect(source(["192.0.2.1", "192.0.2.2"], isBehindProxy: true) == [192, 0, 2, 2])
            #expect(source([], isBehindProxy: true) == nil)
            #expect(source(["192.0.2.1,"], isBehindProxy: true) == nil)
            #expect(source(["unknown"], isBehindProxy: true) == nil)
            #expect(source(["198.51.100.9"], isBehindProxy: false) == [127, 0, 0, 1])
        }

        @Test("A request behind an unanswered one is not read: the connection ends with the first answer")
        func refusesPipelines() async throws {
            try await Wire.run { wire in
                let result = try await wire.send(Wire.request("card", body: [1]) + Wire.request("append", body: [2]))
                #expect(result.isClosed)
                #expect(result.answer?.headers["connection"] == "close")
                #expect(result.bytes.count(where: { $0 == UInt8(ascii: "H") }) > 0)
                #expect(wire.handler.calls.map(\.operation) == [.card])
            }
        }

        @Test("A refusal of the service keeps the connection")
        func keepsTheConnection() async throws {
            try await Wire.run { wire in
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("account"))
                let answer = try #require(await client.readAnswer())
                #expect(answer.status == 403)
                #expect(try Refusal.read(answer.body).error == .noAccess)
                await client.send(Wire.request("card"))
                #expect(await client.readAnswer()?.status == 200)
            }
        }

        @Test("A client that asks for it gets its answer and the end of the connection")
        func closesOnRequest() async throws {
            try await Wire.run { wire in
                let result = try await wire.send(Wire.request("card", headers: ["Connection: close"]))
                #expect(result.answer?.status == 200)
                #expect(result.isClosed)
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import TestSupport
    import Testing
    import TresorCore

    @testable import TresorServer

    /// The share that one client may take, and the end of waits and of the service.
    @Suite(.serialized, .longRun) struct WireLimitTests {
        @Test("A126: a slow head ends the connection, and others are served")
        func endsSlowHeads() async throws {
            var limits = ServerLimits()
            limits.head = .milliseconds(700)
            try await Wire.run(limits: limits) { wire in
                let slow = try RawClient(port: wire.port)
                let start = ContinuousClock.now
                for byte in "POST /v1/" { await slow.send(String(byte)) }
                #expect(try await wire.serves())
                let end = await slow.readToEnd()
                #expect(end.isClosed)
                #expect(end.bytes.isEmpty)
                #expect(ContinuousClock.now - start >= .milliseconds(600))
            }
        }

        @Test("A body goes on for as long as it comes")
        func takesSlowBodies() async throws {
            var limits = ServerLimits()
            limits.body = BodyPace(1, in: .milliseconds(700))
            try await Wire.run(limits: limits) { wire in
                let slow = try RawClient(port: wire.port)
                let request = Wire.request("append", body: [UInt8](repeating: 1, count: 15))
                await slow.send(Array(request.dropLast(15)))
                for _ in 0..<15 {
                    try await Task.sleep(for: .milliseconds(100))
                    await slow.send([1])
                }
                #expect(await slow.readAnswer()?.status == 200)
            }
        }

        @Test("An answer goes on for as long as it is taken, and ends when it is not")
        func watchesAnswers() async throws {
            var limits = ServerLimits()
            limits.answer = BodyPace(1 << 20, in: .seconds(1))
            try await Wire.run(limits: limits) { wire in
                // The handler answers with the body, and no socket holds as much.
                let body = [UInt8](repeating: 1, count: 16 << 20)
                let lazy = try RawClient(port: wire.port)
                await lazy.send(Wire.request("append", body: body))
                try await until { wire.log.all.contains { $0.contains("\"event\":\"cut\"") } }
                let line = wire.log.all.last { $0.contains("\"event\":\"cut\"") }
                #expect(line?.contains("\"operation\":\"append\",\"cause\":\"slow\"") == true, "\(line ?? "")")
                #expect(await lazy.readToEnd().bytes.count < body.count)
                let eager = try RawClient(port: wire.port)
                await eager.send(Wire.request("append", body: body))
                #expect(await eager.readAnswer(seconds: 30)?.body.count == body.count)
            }
        }

        @Test("The log and a metric have each request that was cut, and none that was answered")
        func reportsCuts() async throws {
            var limits = ServerLimits()
            limits.head = .milliseconds(700)
            limits.body = BodyPace(10, in: .milliseconds(700))
            try await Wire.run(limits: limits, handler: NotingHandler(holding: .append)) { wire in
                func cuts(_ words: String) -> Int {
                    wire.log.all.count { $0.contains("\"event\":\"cut\"") && $0.contains(words) }
                }
                let slowHead = try RawClient(port: wire.port)
                await slowHead.send("POST /v1/")
                try await until { cuts("\"event\":\"cut\",\"cause\":\"slow\"") == 1 }
                let request = Wire.request("card", body: [UInt8](repeating: 1, count: 40))
                let slowBody = try RawClient(port: wire.port)
                await slowBody.send(Array(request.dropLast(35)))
                try await until { cuts("\"operation\":\"card\",\"cause\":\"slow\"") == 1 }
                var leaving: RawClient? = try RawClient(port: wire.port)
                await leaving?.send(Wire.request("append"))
                try await until { wire.handler.heldCount == 1 }
                // One that only sends nothing more may still read its answer.
                leaving?.endsWithReset()
                leaving = nil
                try await until { cuts("\"operation\":\"append\",\"cause\":\"left\"") == 1 }
                wire.handler.release()
                #expect(try await wire.serves())
                let idle = try RawClient(port: wire.port)
                #expect(await idle.readToEnd().isClosed)
                #expect(cuts("") == 3)
                let metrics = wire.report.registry.text
                #expect(
                    metrics.contains("tresor_requests_cut_total{operation=\"card\",cause=\"slow\"} 1"), "\(metrics)")
                #expect(metrics.contains("tresor_requests_cut_total{operation=\"none\",cause=\"slow\"} 1"))
            }
        }

        @Test("A230: a body that hardly comes ends with its first span, and counts as a failure of its source")
        func A230_aBodyThatHardlyComesIsAFailure() async throws {
            var limits = ServerLimits()
            limits.body = BodyPace(10, in: .milliseconds(500))
            try await Wire.run(limits: limits, handler: NotingHandler(knowing: "a proof")) { wire in
                // But what an account sends does not bar those who share its address.
                for headers in [[], ["Authorization: a proof"]] {
                    let slow = try RawClient(port: wire.port)
                    let body = [UInt8](repeating: 1, count: 40)
                    await slow.send(Array(Wire.request("append", body: body, headers: headers).dropLast(31)))
                    #expect(await slow.readToEnd().isClosed)
                    #expect(wire.handler.failures == [[127, 0, 0, 1]])
                }
                #expect(wire.handler.calls.isEmpty)
            }
        }

        @Test("An idle connection ends")
        func endsIdleConnections() async throws {
            var limits = ServerLimits()
            limits.head = .milliseconds(500)
            try await Wire.run(limits: limits) { wire in
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("card"))
                #expect(await client.readAnswer()?.status == 200)
                #expect(await client.readToEnd().isClosed)
            }
        }

        @Test("A client that announces too much sees 413, though it goes on to send")
        func refusesLongBodies() async throws {
            try await Wire.run { wire in
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("card", body: [UInt8](repeating: 1, count: 2 << 20)))
                let (bytes, _) = await client.readToEnd()
                #expect(Answer(bytes)?.status == 413)
                #expect(wire.handler.calls.isEmpty)
            }
        }

        @Test("The largest body arrives whole")
        func takesTheLargestBody() async throws {
            try await Wire.run { wire in
                let body = [UInt8](repeating: 5, count: ServiceOperation.append.maximumBodyByteCount)
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("append", body: body))
                #expect(await client.readAnswer(seconds: 30)?.status == 200)
                #expect(wire.handler.calls.map(\.body.count) == [body.count])
            }
        }

        @Test("One account has a number of connections, and gets them back")
        func limitsConnections() async throws {
            var limits = ServerLimits()
            limits.connectionsOfSource = 1
            limits.connectionsOfAccount = 1
            try await Wire.run(limits: limits, handler: NotingHandler(knowing: "a proof")) { wire in
                let request = Wire.request("card", headers: ["Authorization: a proof"])
                let first = try RawClient(port: wire.port)
                await first.send(request)
                #expect(await first.readAnswer()?.status == 200)
                /// Whether a connection of the account stays when a stranger comes.
                func stays() async throws -> Bool {
                    let second = try RawClient(port: wire.port)
                    await second.send(request)
                    #expect(await second.readAnswer()?.status == 200)
                    #expect(try await wire.serves())
                    await second.send(request)
                    return await second.readAnswer()?.status == 200
                }
                #expect(try await !stays())
                first.finish()
                #expect(await first.readToEnd().isClosed)
                var isFree = false
                for _ in 0..<50 where !isFree {
                    isFree = try await stays()
                    if !isFree { try await Task.sleep(for: .milliseconds(50)) }
                }
                #expect(isFree)
            }
        }

        @Test("Bodies that are being read share a room, of which one address has a part")
        func limitsRoom() async throws {
            var limits = ServerLimits()
            limits.bodyByteCountOfSource = 1000
            try await Wire.run(limits: limits) { wire in
                let first = try RawClient(port: wire.port)
                await first.send(Array(Wire.request("append", body: [UInt8](repeating: 1, count: 900)).dropLast()))
                try await until { wire.server.bodies.taken >= 899 }
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("card", body: [UInt8](repeating: 1, count: 200)))
                #expect(await client.readAnswer()?.status == 429)
                await first.send([1])
                #expect(await first.readAnswer()?.status == 200)
                let again = try RawClient(port: wire.port)
                await again.send(Wire.request("card", body: [UInt8](repeating: 1, count: 200)))
                #expect(await again.readAnswer()?.status == 200)
            }
        }

        @Test("A126: what is announced takes no room, and what is worked on keeps its room", arguments: [false, true])
        func A126_roomIsForBytesThatAreThere(isReset: Bool) async throws {
            var limits = ServerLimits()
            limits.bodyByteCountOfSource = 1_000
            let handler = NotingHandler(holding: .append)
            try await Wire.run(limits: limits, handler: handler) { wire in
                let body = [UInt8](repeating: 1, count: 900)
                let announcing = try RawClient(port: wire.port)
                await announcing.send(Array(Wire.request("append", body: body).dropLast(900)))
                let first = try RawClient(port: wire.port)
                await first.send(Wire.request("card", body: body))
                #expect(await first.readAnswer()?.status == 200)
                var leaving: RawClient? = try RawClient(port: wire.port)
                await leaving?.send(Wire.request("append", body: body))
                try await until { handler.heldCount == 1 }
                if isReset { leaving?.endsWithReset() }
                leaving = nil
                try await Task.sleep(for: .milliseconds(300))
                let second = try RawClient(port: wire.port)
                await second.send(Wire.request("card", body: body))
                #expect(await second.readAnswer()?.status == 429)
                handler.release()
                try await Task.sleep(for: .milliseconds(300))
                let third = try RawClient(port: wire.port)
                await third.send(Wire.request("card", body: body))
                #expect(await third.readAnswer()?.status == 200)
            }
        }

        #if os(Linux)
            @Test("A126: the bodies of many addresses share one room")
            func A126_theBodiesOfManyAddressesShareOneRoom() async throws {
                var limits = ServerLimits()
                limits.bodyByteCount = 2_000
                try await Wire.run(limits: limits) { wire in
                    let request = Wire.request("append", body: [UInt8](repeating: 1, count: 901))
                    let slow = try (2...3).map { try RawClient(port: wire.port, source: $0) }
                    for client in slow { await client.send(Array(request.dropLast())) }
                    try await until { wire.server.bodies.taken >= 1_800 }
                    let refused = try RawClient(port: wire.port, source: 4)
                    await refused.send(request)
                    #expect(await refused.readAnswer()?.status == 429)
                    #expect(try await wire.serves())
                    await slow[0].send([1])
                    #expect(await slow[0].readAnswer()?.status == 200)
                    let client = try RawClient(port: wire.port, source: 4)
                    await client.send(request)
                    #expect(await client.readAnswer()?.status == 200)
                }
            }

            @Test("A230: heads that prove nothing leave room to those that do")
            func A230_strangersLeaveRoom() async throws {
                var limits = ServerLimits()
                limits.bodyByteCount = 16 * 2_000
                try await Wire.run(limits: limits, handler: NotingHandler(knowing: "a proof")) { wire in
                    let body = [UInt8](repeating: 1, count: 901)
                    let request = Wire.request("append", body: body)
                    let slow = try (2...3).map { try RawClient(port: wire.port, source: $0) }
                    for client in slow { await client.send(Array(request.dropLast())) }
                    try await until { wire.server.bodies.taken >= 1_800 }
                    let stranger = try RawClient(port: wire.port, source: 4)
                    await stranger.send(request)
                    #expect(await stranger.readAnswer()?.status == 429)
                    for _ in 0..<3 {
                        let known = try RawClient(port: wire.port, source: 4)
                        let head = ["Authorization: a proof"]
                        await known.send(Wire.request("append", body: body, headers: head))
                        #expect(await known.readAnswer()?.status == 200)
                    }
                }
            }
        #endif

        @Test("A126: answers that clients do not read take room")
        func A126_answersThatNobodyReadsTakeRoom() async throws {
            var limits = ServerLimits()
            limits.bodyByteCountOfSource = 24 << 20
            try await Wire.run(limits: limits) { wire in
                // The handler answers with the body, and no socket holds as much.
                let lazy = try RawClient(port: wire.port)
                await lazy.send(Wire.request("append", body: [UInt8](repeating: 1, count: 16 << 20)))
                try await until { wire.handler.calls.count == 1 }
                try await Task.sleep(for: .milliseconds(500))
                let head = Wire.request("append", body: [UInt8](repeating: 2, count: 9 << 20)).dropLast(9 << 20)
                let client = try RawClient(port: wire.port)
                await client.send(Array(head))
                #expect(await client.readAnswer()?.status == 429)
                #expect(await lazy.readAnswer(seconds: 30)?.body.count == 16 << 20)
                let again = try RawClient(port: wire.port)
                await again.send(Wire.request("append", body: [UInt8](repeating: 2, count: 9 << 20)))
                #expect(await again.readAnswer(seconds: 30)?.body.count == 9 << 20)
            }
        }

        @Test("A wait for news ends when the client leaves")
        func endsWaitsOfClientsThatLeave() async throws {
            try await Wire.run { wire in
                var client: RawClient? = try RawClient(port: wire.port)
                await client?.send(Wire.request("news"))
                try await until { wire.handler.calls.count == 1 }
                #expect(try await wire.serves())
                #expect(wire.handler.endedWaits == 0)
                client = nil
                try await until { wire.handler.endedWaits == 1 }
            }
        }

        @Test("A stop ends the waits with an answer, finishes what runs, and ends idle connections at once")
        func stopsGracefully() async throws {
            let start = ContinuousClock.now
            try await Wire.run { wire in
                let idle = try RawClient(port: wire.port)
                await idle.send(Wire.request("card"))
                #expect(await idle.readAnswer()?.status == 200)
                let waiting = try RawClient(port: wire.port)
                await waiting.send(Wire.request("news"))
                let reading = try RawClient(port: wire.port)
                let request = Wire.request("append", body: [1, 2, 3])
                await reading.send(Array(request.dropLast(1)))
                try await until { wire.handler.calls.count == 2 }
                try await Task.sleep(for: .milliseconds(200))
                async let stopped: Void = wire.server.stop()
                #expect(await waiting.readAnswer()?.status == 200)
                #expect(await idle.readToEnd().isClosed)
                await reading.send([3])
                let answer = await reading.readAnswer()
                #expect(answer?.status == 200)
                #expect(answer?.headers["connection"] == "close")
                #expect(throws: (any Error).self) { _ = try RawClient(port: wire.port) }
                await stopped
            }
            // A wait for news would take 55 seconds, and a stop that cuts off its connections 10.
            #expect(ContinuousClock.now - start < .seconds(9))
        }

        @Test("A stop waits for a client no longer than its time")
        func stopsInTime() async throws {
            var limits = ServerLimits()
            limits.stop = .milliseconds(500)
            let start = ContinuousClock.now
            try await Wire.run(limits: limits) { wire in
                let reading = try RawClient(port: wire.port)
                await reading.send(Array(Wire.request("append", body: [1, 2, 3]).dropLast(1)))
                try await Task.sleep(for: .milliseconds(200))
                await wire.server.stop()
                #expect(await reading.readToEnd().isClosed)
            }
            // Without the limit the body has 30 seconds.
            #expect(ContinuousClock.now - start < .seconds(20))
        }

        @Test("An address that closes by itself is told")
        func tellsTheEndOfAnAddress() async throws {
            try await Wire.run { wire in
                await withCheckedContinuation { ended in
                    wire.server.onEnd { ended.resume() }
                    for channel in wire.server.listening { channel.close(promise: nil) }
                }
            }
        }

        @Test("The health is 200, and 503 after a second without an answer of the database")
        func saysItsHealth() async throws {
            let request = "GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
            var patient = ServerLimits()
            patient.health = .seconds(15)
            try await Wire.run(limits: patient) { wire in
                let client = try RawClient(port: wire.port)
                await client.send(request)
                let answer = try #require(await client.readAnswer())
                #expect(answer.status == 200)
                #expect(answer.body.isEmpty)
            }
            try await Wire.run { wire in
                wire.handler.setHealthy(false)
                let client = try RawClient(port: wire.port)
                await client.send(request)
                // The handler itself takes 20 seconds.
                #expect(await client.readAnswer(seconds: 15)?.status == 503)
            }
        }

        private func until(_ condition: () -> Bool) async throws {
            for _ in 0..<200 where !condition() { try await Task.sleep(for: .milliseconds(25)) }
            #expect(condition())
        }
    }
#endif

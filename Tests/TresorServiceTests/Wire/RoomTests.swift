// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The room for bodies: who takes how much of it, and how fast a body comes.
    @Suite struct RoomTests {
        private static func source(_ site: UInt8, _ line: UInt8, _ network: UInt8) -> [UInt8] {
            [0x20, 0x01, 0x0d, 0xb8, 0, site, line, network]
        }

        @Test func A230_largeBodiesLeaveRoomToSmallOnes() {
            let room = SharedBudget(maximum: 8 << 20, share: 4 << 20)
            func fill(_ last: UInt8) -> Int {
                var count = 0
                while room.take(1 << 20, for: [192, 0, 2, last], isLarge: true) { count += 1 }
                return count
            }
            // A share of 4 MiB keeps 512 KiB of it, and the room of 8 MiB keeps 1 MiB.
            #expect(fill(1) == 3)
            #expect(fill(2) == 3)
            #expect(fill(3) == 1)
            var count = 0
            while room.take(64 << 10, for: [192, 0, 2, 1]) { count += 1 }
            #expect(count == 16)
            #expect(room.taken == 8 << 20)
        }

        @Test func A230_aLineOfIPv6HasFourShares() {
            let room = SharedBudget(maximum: 1_000, share: 1)
            let ofLine = (0...255).count(where: { room.take(1, for: Self.source(1, 1, UInt8($0))) })
            #expect(ofLine == 4)
            let ofSite = (2...255).count(where: { room.take(1, for: Self.source(1, UInt8($0), 0)) })
            #expect(ofSite == 12)
            #expect(room.take(1, for: Self.source(2, 0, 0)))
            room.giveBack(1, for: Self.source(1, 1, 0))
            #expect(!room.take(1, for: Self.source(1, 1, 1)))
            #expect(room.take(1, for: Self.source(1, 1, 9)))
        }

        /// Somebody with a line, or a site with many, leaves three quarters to all others.
        @Test func A230_noNetworkTakesMoreThanAQuarter() {
            let room = SharedBudget(maximum: 100, share: 20)
            #expect((0...255).count(where: { room.take(1, for: Self.source(1, 1, UInt8($0))) }) == 25)
            #expect((2...255).count(where: { room.take(1, for: Self.source(1, UInt8($0), 0)) }) == 0)
            #expect((2...255).count(where: { room.take(1, for: Self.source(2, UInt8($0), 0)) }) == 25)
            #expect((0..<60).count(where: { _ in room.take(1, for: [192, 0, 2, 1]) }) == 20)
            // The share of an address is its own, however large.
            let small = SharedBudget(maximum: 10, share: 8)
            #expect((0..<60).count(where: { _ in small.take(1, for: Self.source(1, 1, 1)) }) == 8)
        }

        @Test func theNetworksOfASource() {
            func shares(_ source: [UInt8]) -> [[UInt8]: Int] {
                Dictionary(uniqueKeysWithValues: SourceNetwork.all(of: source).map { ($0.prefix, $0.share) })
            }
            #expect(shares([]).isEmpty)
            #expect(shares([192, 0, 2, 1]) == [[192, 0, 2, 1]: 1])
            let source = Self.source(1, 2, 3)
            #expect(shares(source) == [source: 1, Array(source.prefix(7)): 4, Array(source.prefix(6)): 16])
        }

        /// Whether a body is read on, after each span with so many bytes.
        private func looks(at counts: [Int]) -> [Bool] {
            var pace = ServerLimits().body
            return counts.map { pace.isKept(by: $0) }
        }

        @Test func A230_aBodyThatHardlyComesEnds() {
            #expect(ServerLimits().body.span == .seconds(10))
            #expect(looks(at: [(80 << 10) - 1]) == [false])
            #expect(looks(at: [80 << 10, 160 << 10]) == [true, true])
            // Whatever came before.
            #expect(looks(at: [1 << 20, (1 << 20) + 1]) == [true, false])
            // A line of 300 kbit/s is fast enough, however long the body is.
            #expect(looks(at: (1...40).map { $0 * 375_000 }) == Array(repeating: true, count: 40))
        }

        @Test func A230_strangersShareALittleRoom() async throws {
            let responder = Responder(
                target: .service(NotingHandler(knowing: "a proof")), rule: .service(names: []), limits: ServerLimits(),
                report: Report(logsSources: false) { _ in }, isBehindProxy: false)
            func room(_ authorization: String?) async throws -> SharedBudget {
                let head = AcceptedHead(
                    endpoint: .operation(.append), bodyByteCount: 64 << 10, authorization: authorization,
                    host: "localhost", ports: [], forwardedFor: nil, closes: false)
                return try await responder.judge(head, from: [192, 0, 2, 1], to: []).room
            }
            let strangers = try await room(nil)
            var count = 0
            while strangers.take(64 << 10, for: [198, 51, 100, UInt8(count / 64)]) { count += 1 }
            #expect(count == 256)
            #expect(!strangers.hasRoom(for: 1, of: [192, 0, 2, 1]))
            let proved = try await room("a proof")
            #expect(proved.taken == 16 << 20)
            #expect(proved.hasRoom(for: 16 << 20, of: [192, 0, 2, 1], isLarge: true))
        }

        private static func user(_ account: UInt8) throws -> UserID {
            UserID(try #require(Hash256([UInt8](repeating: account, count: Hash256.byteCount))))
        }

        /// The bodies of an account that get room.
        ///
        /// - Parameter last: gives the last byte of the address from which each is sent.
        static func held(
            of account: UInt8, in room: SharedBudget, from last: (UInt8) -> UInt8
        ) throws -> [HTTPExchange] {
            let user = try Self.user(account)
            return (0..<9).compactMap { (number: UInt8) in
                let head = AcceptedHead(
                    endpoint: .operation(.append), bodyByteCount: 1 << 20, authorization: nil, host: "localhost",
                    ports: [], forwardedFor: nil, closes: false)
                let exchange = HTTPExchange(source: [192, 0, 2, last(number)], head: head, budget: room)
                guard exchange.move(to: Responder.Verdict(room: room, account: user)),
                    exchange.append(ByteBuffer(repeating: 1, count: 1 << 20))
                else { return nil }
                return exchange
            }
        }

        /// Many accounts share an address, and one may have many.
        @Test func A231_anAccountTakesAShareOfItsOwnWhereverItAsksFrom() throws {
            let room = SharedBudget(maximum: 16 << 20, share: 4 << 20)
            let heldByEve = try Self.held(of: 1, in: room) { $0 }
            #expect(heldByEve.count == 3)
            let heldByAnna = try Self.held(of: 2, in: room) { _ in 1 }
            #expect(heldByAnna.count == 3)
            for body in heldByEve + heldByAnna { body.giveBack() }
            #expect(room.taken == 0)
        }

        /// Somebody with several accounts leaves half to all others, and an eighth of the other half to small bodies.
        @Test func A231_theAccountsBehindOneAddressLeaveHalfToOthers() throws {
            let room = SharedBudget(maximum: 16 << 20, share: 4 << 20)
            let heldByEve = try (1...6).flatMap { try Self.held(of: $0, in: room) { _ in 1 } }
            #expect(heldByEve.count == 7)
            let heldByAnna = try Self.held(of: 7, in: room) { _ in 2 }
            #expect(heldByAnna.count == 3)
            let bert = try Self.user(8)
            #expect(room.take(64 << 10, for: [192, 0, 2, 1], by: bert))
            // Somebody without an account there has another share.
            #expect(room.take(1 << 20, for: [192, 0, 2, 1], isLarge: true))
            room.giveBack(64 << 10, for: [192, 0, 2, 1], by: bert)
            room.giveBack(1 << 20, for: [192, 0, 2, 1])
            for body in heldByEve + heldByAnna { body.giveBack() }
            #expect(room.taken == 0)
        }

        @Test func A231_theAccountsOfALineOfIPv6LeaveHalfToOthers() throws {
            let room = SharedBudget(maximum: 100, share: 20)
            var count = 0
            for account: UInt8 in 1...9 {
                let user = try Self.user(account)
                while room.take(1, for: Self.source(1, account, account), by: user) { count += 1 }
            }
            #expect(count == 50)
            #expect(try room.take(1, for: Self.source(2, 0, 0), by: Self.user(10)))
        }

        /// Bodies that lack a byte fill what strangers have, and each command asks for the description first.
        @Test func A230_strangersBodiesLeaveRoomToTheDescriptionOfTheService() async throws {
            let responder = Responder(
                target: .service(NotingHandler(knowing: "a proof")), rule: .service(names: []), limits: ServerLimits(),
                report: Report(logsSources: false) { _ in }, isBehindProxy: false)
            func exchange(_ operation: ServiceOperation, _ byteCount: Int, from last: UInt8) async throws
                -> HTTPExchange?
            {
                let head = AcceptedHead(
                    endpoint: .operation(operation), bodyByteCount: byteCount, authorization: nil, host: "localhost",
                    ports: [], forwardedFor: nil, closes: false)
                let source: [UInt8] = [198, 51, 100, last]
                let exchange = HTTPExchange(source: source, head: head, budget: responder.bodies)
                return exchange.move(to: try await responder.judge(head, from: source, to: [])) ? exchange : nil
            }
            var held: [HTTPExchange] = []
            for number in 0..<320 {
                let body = try await exchange(.register, 64 << 10, from: UInt8(number / 64))
                guard let body, body.append(ByteBuffer(repeating: 1, count: (64 << 10) - 1)) else { continue }
                held.append(body)
            }
            #expect(held.count == 224)
            // Also for somebody who shares the address of one of them.
            for last: UInt8 in [0, 200] {
                let asking = try #require(try await exchange(.server, ServerRequest().bytes.count, from: last))
                #expect(asking.append(ByteBuffer(bytes: ServerRequest().bytes)))
                #expect(asking.takeRoom(64 << 10))
                asking.giveBack()
            }
            for body in held { body.giveBack() }
            #expect(responder.bodies.taken == 0)
        }

        @Test func A230_aLargeBodyWithoutAProofIsRefusedWithItsHead() async throws {
            try await Wire.run(handler: NotingHandler(knowing: "a proof")) { wire in
                let body = [UInt8](repeating: 1, count: (64 << 10) + 1)
                let refused = try await wire.send(Array(Wire.request("append", body: body).dropLast(body.count)))
                #expect(refused.answer?.status == 401)
                #expect(refused.isClosed)
                let headers = ["Authorization: a proof", "Connection: close"]
                let done = try await wire.send(Wire.request("append", body: body, headers: headers))
                #expect(done.answer?.status == 200)
                #expect(wire.handler.calls.map(\.body.count) == [body.count])
            }
        }

        @Test("A126: an answer without room is refused")
        func A126_anAnswerWithoutRoomIsRefused() async throws {
            var limits = Wire.patientLimits
            limits.bodyByteCountOfSource = 1_000
            try await Wire.run(limits: limits, handler: NotingHandler(growth: 2)) { wire in
                let client = try RawClient(port: wire.port)
                await client.send(Wire.request("card", body: [UInt8](repeating: 1, count: 600)))
                let answer = try #require(await client.readAnswer())
                #expect(answer.status == 429)
                #expect(answer.headers["retry-after"] == "1")
                await client.send(Wire.request("card", body: [UInt8](repeating: 1, count: 400)))
                #expect(await client.readAnswer()?.body.count == 800)
            }
        }
    }
#endif

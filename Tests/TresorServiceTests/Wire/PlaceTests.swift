// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import TestSupport
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The places of connections: whose they are, and who leaves when there are too many.
    @Suite struct PlaceTests {
        /// The places that others got.
        private final class Lost: Sendable {
            private let noted = Mutex<[UInt64]>([])

            var numbers: [UInt64] { noted.withLock { $0 } }
            func add(_ number: UInt64) { noted.withLock { $0.append(number) } }
        }

        private let lost = Lost()

        private static func places(
            _ count: Int, strangers: Int, ofSource: Int = 3, ofAccount: Int = 2, ofLine: Int = 1_000
        ) -> Places {
            var limits = ServerLimits()
            limits.connections = count
            limits.connectionsOfStrangers = strangers
            limits.connectionsOfSource = ofSource
            limits.connectionsOfAccount = ofAccount
            limits.connectionsOfLine = ofLine
            return Places(limits)
        }

        private func take(_ places: Places, for source: [UInt8]) -> UInt64? {
            places.take(for: source) { [lost] in lost.add($0) }
        }

        /// Takes a place for an address.
        private func take(_ places: Places, _ last: UInt8) -> UInt64? { take(places, for: [192, 0, 2, last]) }

        @Test func A230_theNewestStrangerDisplacesTheOldestOfTheAddress() throws {
            let places = Self.places(100, strangers: 50)
            let elsewhere = try #require(take(places, 2))
            let first = try (0..<3).map { _ in try #require(take(places, 1)) }
            #expect(lost.numbers.isEmpty)
            let fourth = try #require(take(places, 1))
            #expect(lost.numbers == [first[0]])
            // The one whom the service works for stays.
            places.mark(first[1], isIdle: false)
            let fifth = try #require(take(places, 1))
            #expect(lost.numbers == [first[0], first[2]])
            for place in [fourth, fifth] { places.mark(place, isIdle: false) }
            #expect(take(places, 1) == nil)
            #expect(lost.numbers == [first[0], first[2]])
            // A place that was lost is given back no more.
            places.giveBack(first[0])
            #expect(take(places, 1) == nil)
            places.giveBack(fourth)
            #expect(take(places, 1) != nil)
            #expect(!lost.numbers.contains(elsewhere))
            #expect(lost.numbers.count == 2)
        }

        @Test func A230_strangersOfAllAddressesHaveAPart() throws {
            let places = Self.places(100, strangers: 10)
            let all = try (0..<15).map { try #require(take(places, UInt8($0 / 3))) }
            #expect(lost.numbers == Array(all[0..<5]))
        }

        @Test func A230_aLineOfIPv6HasNoMorePlacesThanAQuarter() {
            let places = Self.places(1_000, strangers: 100, ofSource: 20)
            for network in UInt8(0)..<26 {
                #expect(take(places, for: [0x20, 0x01, 0x0d, 0xb8, 0, 0, 1, network]) != nil)
            }
            #expect(lost.numbers.count == 1)
        }

        @Test func A230_nobodyDisplacesAnAccount() throws {
            // Three places for accounts, of which one has two.
            let places = Self.places(13, strangers: 10)
            let users = try (UInt8(1)...3).map {
                UserID(try #require(Hash256([UInt8](repeating: $0, count: 32))))
            }
            let taken = try (0..<3).map { _ in try #require(take(places, 1)) }
            #expect(places.give(taken[0], to: users[0]))
            #expect(places.give(taken[1], to: users[0]))
            // A place beyond the share stays a stranger's.
            #expect(!places.give(taken[2], to: users[0]))
            let other = try #require(take(places, 1))
            #expect(places.give(other, to: users[1]))
            let third = try #require(take(places, 1))
            #expect(!places.give(third, to: users[2]))
            for _ in 0..<20 { #expect(take(places, 1) != nil) }
            #expect(Set(lost.numbers).isSuperset(of: [taken[2], third]))
            #expect(Set(lost.numbers).isDisjoint(with: [taken[0], taken[1], other]))
            // One that was lost belongs to nobody.
            #expect(!places.give(taken[2], to: users[1]))
            places.giveBack(taken[0])
            let last = try #require(take(places, 1))
            #expect(places.give(last, to: users[2]))
        }

        /// However many accounts somebody has at an address, others have places.
        @Test(
            arguments: [
                [[192, 0, 2, 1], [192, 0, 2, 1], [192, 0, 2, 2]],
                // Two networks of one line of IPv6, and another line.
                [[32, 1, 13, 184, 0, 1, 0, 1], [32, 1, 13, 184, 0, 1, 9, 9], [32, 1, 13, 184, 0, 2, 0, 1]],
            ] as [[[UInt8]]])
        func A231_allAccountsOfALineHaveAShare(_ sources: [[UInt8]]) throws {
            let places = Self.places(1_000, strangers: 100, ofLine: 40)
            var last: UInt8 = 0
            func gives(_ source: [UInt8]) throws -> UInt64? {
                last += 1
                let user = UserID(try #require(Hash256([UInt8](repeating: last, count: 32))))
                let place = try #require(take(places, for: source))
                return places.give(place, to: user) ? place : nil
            }
            let given = try (0..<40).map { try gives(sources[$0 % 2]) }
            #expect(given.allSatisfy { $0 != nil })
            for source in sources.prefix(2) { #expect(try gives(source) == nil) }
            #expect(try gives(sources[2]) != nil)
            // A place that is given back is free for another account there.
            places.giveBack(try #require(given[0]))
            #expect(try gives(sources[1]) != nil)
            #expect(try gives(sources[0]) == nil)
        }

        @Test func anAddressThatIsAHouseHasMore() {
            var limits = ServerLimits()
            #expect(limits.connectionsOfLine == limits.connectionsOfAccounts / 2)
            limits.allow(ofSource: 1_000)
            #expect(limits.connectionsOfLine == 10_000)
            limits.allow(ofSource: 5_000)
            #expect(limits.connectionsOfLine == limits.connectionsOfAccounts)
        }

        @Test func A231_behindAProxyTheAccountsOfAnAddressHaveAShare() async throws {
            var limits = Wire.patientLimits
            limits.connectionsOfSource = 1
            limits.connectionsOfLine = 1
            let directory = try TestDirectory()
            let path = directory["socket"]
            let handler = NotingHandler(holding: .append, knowing: "a proof")
            try await Wire.run(at: .socket(path: path), limits: limits, handler: handler) { wire in
                func asks(_ source: String) async throws -> RawClient {
                    let client = try RawClient(socket: path)
                    await client.send(
                        Wire.request(
                            "append", body: [1],
                            headers: ["Authorization: a proof", "X-Forwarded-For: \(source)"]))
                    return client
                }
                var held: [RawClient] = []
                // The second one of an address is a stranger's.
                for (count, source) in ["192.0.2.1", "192.0.2.1", "192.0.2.2"].enumerated() {
                    held.append(try await asks(source))
                    try await wait { handler.heldCount > count }
                }
                let refused = try await asks("192.0.2.1")
                #expect(await refused.readAnswer()?.status == 429)
                handler.release()
                for client in held { #expect(await client.readAnswer()?.status == 200) }
            }
        }

        /// The account is known at once, or after a look at its rows.
        @Test(arguments: [true, false]) func A230_anIdleStrangerMakesRoomAndAnAccountStays(
            isKnownAtOnce: Bool
        ) async throws {
            var limits = Wire.patientLimits
            limits.connectionsOfSource = 2
            let handler = NotingHandler(knowing: "a proof", atOnce: isKnownAtOnce)
            try await Wire.run(limits: limits, handler: handler) { wire in
                let proved = Wire.request("card", body: [1, 2, 3], headers: ["Authorization: a proof"])
                func asks(_ client: RawClient, _ request: [UInt8] = Wire.request("card")) async -> Bool {
                    await client.send(request)
                    return await client.readAnswer()?.status == 200
                }
                let account = try RawClient(port: wire.port)
                #expect(await asks(account, proved))
                let first = try RawClient(port: wire.port)
                #expect(await asks(first))
                let second = try RawClient(port: wire.port)
                #expect(await asks(second))
                let newest = try RawClient(port: wire.port)
                #expect(await asks(newest))
                let end = await first.readToEnd()
                #expect(end.isClosed && end.bytes.isEmpty)
                for client in [second, newest] { #expect(await asks(client)) }
                #expect(await asks(account, proved))
                #expect(handler.calls.filter { $0.authorization != nil }.map(\.body) == [[1, 2, 3], [1, 2, 3]])
                #expect(wire.log.all.count { $0.contains("\"event\":\"turned-away\"") } == 1)
            }
        }

        @Test func A230_aConnectionIsNoLongerThatOfAnAccountWhichIsRefused() async throws {
            try await Wire.run(handler: NotingHandler(knowing: "a proof", refusing: .tresors)) { wire in
                let stranger = try RawClient(port: wire.port)
                for _ in 0..<2 {
                    await stranger.send(Wire.request("tresors"))
                    #expect(await stranger.readAnswer()?.status == 401)
                }
                let account = try RawClient(port: wire.port)
                await account.send(Wire.request("card", headers: ["Authorization: a proof"]))
                #expect(await account.readAnswer()?.status == 200)
                await account.send(Wire.request("tresors"))
                let end = await account.readToEnd()
                #expect(end.isClosed && Answer(end.bytes)?.status == 401)
            }
        }

        @Test func aStrangerForWhomTheServiceWorksStays() async throws {
            var limits = Wire.patientLimits
            limits.connectionsOfSource = 1
            let handler = NotingHandler(holding: .append, knowing: "a proof")
            try await Wire.run(limits: limits, handler: handler) { wire in
                let working = try RawClient(port: wire.port)
                await working.send(Wire.request("append", body: [1]))
                try await wait { handler.heldCount > 0 }
                let refused = try RawClient(port: wire.port)
                await refused.send(Wire.request("card"))
                #expect(await refused.readToEnd().bytes.isEmpty)
                handler.release()
                #expect(await working.readAnswer()?.body == [1])
                #expect(handler.calls.map(\.operation) == [.append])
            }
        }

        /// All come from the proxy, on connections that it shares.
        @Test func A230_behindAProxyEachRequestHasAPlace() async throws {
            var limits = Wire.patientLimits
            limits.connectionsOfSource = 1
            let directory = try TestDirectory()
            let path = directory["socket"]
            let handler = NotingHandler(knowing: "a proof")
            try await Wire.run(at: .socket(path: path), limits: limits, handler: handler) { wire in
                func request(_ source: String, _ operation: String, _ body: [UInt8] = []) -> [UInt8] {
                    Wire.request(operation, body: body, headers: ["X-Forwarded-For: \(source)"])
                }
                var slow: [RawClient] = []
                for source in ["192.0.2.1", "192.0.2.2"] {
                    let client = try RawClient(socket: path)
                    await client.send(Array(request(source, "append", [1, 2]).dropLast()))
                    slow.append(client)
                    let count = slow.count
                    try await wait { wire.server.bodies.taken >= count }
                }
                var client = try RawClient(socket: path)
                var status: Int?
                // The head of the slow one may still be judged: nobody displaces it then.
                try await wait(looks: 100_000) {
                    client = try RawClient(socket: path)
                    await client.send(request("192.0.2.1", "card"))
                    status = await client.readAnswer()?.status
                    return status != 429
                }
                #expect(status == 200)
                let end = await slow[0].readToEnd()
                #expect(end.isClosed && end.bytes.isEmpty)
                #expect(wire.log.all.contains { $0.contains("\"cause\":\"displaced\"") })
                // A place is given back with the answer.
                for _ in 0..<3 {
                    await client.send(request("192.0.2.1", "card"))
                    #expect(await client.readAnswer()?.status == 200)
                }
                await slow[1].send([2])
                #expect(await slow[1].readAnswer()?.body == [1, 2])
            }
        }

        /// A look at the service's health asks for none.
        @Test func behindAProxyTheHealthTakesNoPlace() async throws {
            var limits = Wire.patientLimits
            limits.connectionsOfStrangers = 1
            let directory = try TestDirectory()
            let path = directory["socket"]
            let handler = NotingHandler(holding: .append, knowing: "a proof")
            try await Wire.run(at: .socket(path: path), limits: limits, handler: handler) { wire in
                let working = try RawClient(socket: path)
                await working.send(
                    Wire.request("append", body: [1], headers: ["X-Forwarded-For: 192.0.2.1"]))
                try await wait { handler.heldCount == 1 }
                let health = try RawClient(socket: path)
                await health.send("GET /health HTTP/1.1\r\nHost: tresor.example\r\n\r\n")
                #expect(await health.readAnswer()?.status == 200)
                handler.release()
                #expect(await working.readAnswer()?.status == 200)
            }
        }
    }
#endif

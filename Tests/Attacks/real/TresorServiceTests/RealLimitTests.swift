// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOEmbedded
    import NIOHTTP1
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer
    @testable import TresorService
    import TresorTLS
    import TresorTesting

    /// The attacks on what everybody shares: room, time and the limits of an address.
    extension RealServiceTests {
        @Test func A230_withoutTheChecksStrangersTakeTheRoom() async throws {
            try await Self.expectReal(without: .provedHead) {
                let bench = try await Bench()
                let call = try bench.stranger("eve").call(.append, [])
                let head = ServiceHead(
                    operation: .append, bodyByteCount: 16 << 20, authorization: call.authorization,
                    source: call.source)
                // A caller who is heard is nobody yet: only the refusal tells.
                do throws(Refusal) {
                    _ = try await bench.service.proves(head)
                    return true
                } catch {
                    return false
                }
            }
            try await Self.expectReal(without: .strangersRoom) {
                let responder = Responder(
                    target: .service(NotingHandler(knowing: "a proof")), rule: .service(names: []),
                    limits: ServerLimits(), report: Report(logsSources: false) { _ in }, isBehindProxy: false)
                let head = AcceptedHead(
                    endpoint: .operation(.account), bodyByteCount: 0, authorization: nil, host: "localhost", ports: [],
                    forwardedFor: nil,
                    closes: false)
                let room = try await responder.judge(head, from: [], to: []).room
                return room.hasRoom(for: 128 << 20, of: [])
            }
            try await Self.expectReal(without: .ownSession) {
                let bench = try await Bench()
                let (anna, eve) = (try await bench.person("anna"), try bench.stranger("eve"))
                _ = try await anna.ask(AccountRequest())
                let head = ServiceHead(
                    operation: .account, bodyByteCount: 10,
                    authorization: try HeadTests.request(naming: anna, by: eve).text, source: [192, 0, 2, 1])
                return try await bench.service.proves(head) == anna.user
            }
            try await Self.expectReal(without: .personsHead) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let (device, _) = try await anna.trustedDevice()
                let call = try device.call(.append, [])
                let head = ServiceHead(
                    operation: .append, bodyByteCount: 16 << 20, authorization: call.authorization,
                    source: call.source)
                return (try? await bench.service.proves(head)) == anna.user
            }
            try await Self.expectReal(without: .recentSession) {
                let bench = try await Bench()
                let anna = try await bench.person("anna")
                let other = try await bench.anotherService()
                _ = try await anna.at(other).ask(AccountRequest())
                _ = try await anna.ask(EndSessionsRequest())
                bench.clock.now += 61
                let call = try anna.call(AccountRequest())
                let head = ServiceHead(
                    operation: .account, bodyByteCount: 10, authorization: call.authorization, source: call.source)
                return try await other.proves(head) == anna.user
            }
            try await Self.expectReal(without: .activeAccount) {
                let bench = try await Bench(.closed)
                let eve = try bench.stranger("eve")
                _ = try await eve.ask(eve.registration())
                let call = try eve.call(AccountRequest())
                let head = ServiceHead(
                    operation: .account, bodyByteCount: 10, authorization: call.authorization, source: call.source)
                return try await bench.service.proves(head) == eve.user
            }
            try await Self.expectReal(without: .signedAsBefore) {
                let bench = try await Bench()
                let engine = CountingEngine(bench.engine)
                let service = try Service(engine: engine, settings: bench.settings)
                let call = try bench.stranger("eve").call(.append, [])
                for _ in 0..<100 { service.noteFailure(of: call.source) }
                let head = ServiceHead(
                    operation: .append, bodyByteCount: 1 << 20, authorization: call.authorization, source: call.source)
                _ = try? await service.proves(head)
                return engine.count > 0
            }
            try await Self.expectReal(without: .loginCopySize) {
                let scene = try await LoginScene(.closed)
                let eve = try scene.bench.stranger("eve")
                let first = try await scene.setting(LoginScene.password, of: eve, revision: 1)
                let copy = [UInt8](repeating: 1, count: 1 << 19)
                let large = try scene.finishing(first.record, of: eve, revision: 1, copy: copy)
                return try await eve.reply(large).status == 200
            }
            try await Self.expectReal(without: .waitersSource) {
                let scene = try await LoginScene(.closed)
                var last = 0
                for handle in ["eve", "mallory"] {
                    let signer = try scene.bench.stranger(handle)
                    let first = try await scene.setting(LoginScene.password, of: signer, revision: 1)
                    _ = try await signer.ask(first)
                    for revision: UInt64 in 2...7 {
                        last = try await signer.reply(
                            scene.finishing(first.record, of: signer, revision: revision)
                        ).status
                    }
                }
                return last == 200
            }
            try await Self.expectReal(without: .displacedStranger) {
                let places = Places(ServerLimits())
                let all = (0..<5_001).map { places.take(for: [192, 0, 2, UInt8($0 / 200)]) { _ in } }
                return all.last == .some(nil)
            }
            try await Self.expectReal(without: .provedPlace) {
                let places = Places(ServerLimits())
                let lost = LogLines()
                let source: [UInt8] = [192, 0, 2, 1]
                let taken = places.take(for: source) { lost.add("\($0)") }
                let place = try #require(taken)
                _ = places.give(place, to: UserID(.zero))
                for _ in 0..<200 { _ = places.take(for: source) { _ in } }
                return lost.all == ["\(place)"]
            }
            try await Self.expectReal(without: .keptRoom) {
                let room = SharedBudget(maximum: 8 << 20, share: 8 << 20)
                while room.take(1 << 20, for: [], isLarge: true) {}
                return !room.hasRoom(for: 1, of: [])
            }
            try await Self.expectReal(without: .bodyPace) {
                var pace = ServerLimits().body
                return pace.isKept(by: 1)
            }
            try await Self.expectReal(without: .sourceNetworks) {
                let room = SharedBudget(maximum: 256, share: 1)
                return (0...255).allSatisfy { room.take(1, for: [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, UInt8($0)]) }
            }
            try await Self.expectReal(without: .networkQuarter) {
                let room = SharedBudget(maximum: 100, share: 20)
                return (0..<26).allSatisfy { room.take(1, for: [0x20, 0x01, 0x0d, 0xb8, 0, 0, 0, UInt8($0)]) }
            }
        }

        @Test func A231_withoutTheCheckAnAccountTakesTheRoomOfItsAddress() async throws {
            try await Self.expectReal(without: .accountRoom) {
                let room = SharedBudget(maximum: 16 << 20, share: 4 << 20)
                let held = try RoomTests.held(of: 1, in: room) { _ in 1 }
                return try !held.isEmpty && RoomTests.held(of: 2, in: room) { _ in 1 }.isEmpty
            }
            try await Self.expectReal(without: .lineRoom) {
                let room = SharedBudget(maximum: 16 << 20, share: 4 << 20)
                let held = try (1...5).flatMap { try RoomTests.held(of: $0, in: room) { _ in 1 } }
                return try !held.isEmpty && RoomTests.held(of: 6, in: room) { _ in 2 }.isEmpty
            }
            try await Self.expectReal(without: .linePlaces) {
                let limits = ServerLimits()
                let places = Places(limits)
                func gives(_ account: Int, _ source: [UInt8]) throws -> Bool {
                    let bytes = [UInt8](repeating: 0, count: 31) + [UInt8(account)]
                    let user = UserID(try #require(Hash256(bytes)))
                    guard let place = places.take(for: source, displaced: { _ in }) else { return false }
                    return places.give(place, to: user)
                }
                for number in 0..<limits.connectionsOfAccounts { _ = try gives(number / 100, [192, 0, 2, 1]) }
                return try !gives(255, [192, 0, 2, 2])
            }
        }

        @Test func A126_withoutTheCheckWorkForClientsWhoResetTakesNoRoom() async throws {
            try await Self.expectReal(without: .keptBody) {
                let handler = NotingHandler(holding: .append)
                var isFree = false
                try await Wire.run(handler: handler) { wire in
                    var leaving: RawClient? = try RawClient(port: wire.port)
                    await leaving?.send(Wire.request("append", body: [1]))
                    while handler.heldCount == 0 { try await Task.sleep(for: .milliseconds(5)) }
                    leaving?.endsWithReset()
                    leaving = nil
                    while !wire.server.connections.open.isEmpty { try await Task.sleep(for: .milliseconds(5)) }
                    isFree = wire.server.bodies.taken == 0
                    handler.release()
                }
                return isFree
            }
        }

        @Test func A126_withoutTheChecksAClientFloodsTLS() async throws {
            try await Self.expectReal(without: .endedInput) {
                try await TLSPair.run { pair in
                    let junk = [UInt8](repeating: 0, count: 64 << 10)
                    try pair.send(pair.client.record(of: [1, 2, 3]) + pair.client.farewell())
                    for _ in 0..<16 { try pair.send(junk) }
                    return pair.handler.engine.unreadCount >= 1 << 20
                }
            }
            try await Self.expectReal(without: .keyUpdates) {
                try await TLSPair.run { pair in
                    for _ in 0..<100 { try pair.send(pair.client.newKeys()) }
                    pair.channel.embeddedEventLoop.run()
                    return try !pair.note.isGone && pair.sent().count > 64 * pair.client.newKeys().count
                }
            }
        }

        @Test func A243_withoutTheCheckBadRequestsBarEverybodyThere() async throws {
            try await Self.expectReal(without: .heardIfBarred) {
                let bench = try await Bench()
                let call = try await bench.person("anna").call(AccountRequest())
                for _ in 0..<100 { bench.service.noteFailure(of: call.source) }
                return await bench.service.answer(call).status == 429
            }
        }

        @Test func A246_withoutTheCheckALetterStandsForAnother() async throws {
            try await Self.expectReal(without: .asciiHeaders) {
                let headers = [
                    ("Host", "klinik.example"), ("Connection", "\u{212A}eep-alive"), ("Content-Length", "0"),
                    ("Content-Type", WireForm.mediaType),
                ]
                let head = HTTPRequestHead(
                    version: .http1_1, method: .POST, uri: "/v1/server", headers: HTTPHeaders(headers))
                return (try? HeadRule.service(named: "klinik.example").accept(head)) != nil
            }
        }

        @Test func A249_withoutTheCheckASourceAsksWithoutEnd() async throws {
            try await Self.expectReal(without: .sourceBucket) {
                let bench = try await Bench()
                let call = ServiceCall(
                    operation: .kitCopy, body: KitCopyRequest(locator: .zero).bytes, authorization: nil,
                    source: [192, 0, 2, 1])
                for _ in 0..<60 { _ = await bench.service.answer(call) }
                return await bench.service.answer(call).status == 200
            }
        }

        @Test func A250_withoutTheCheckAnAccountPushesOutTheSessionsOfOthers() async throws {
            try await Self.expectReal(without: .heldShare) {
                let held = Held<Int>(share: 1, halfCount: 3)
                let eve = UserID(Hash256([UInt8](repeating: 1, count: 32)) ?? .zero)
                held.keep(0, of: UserID(.zero))
                for session in 0..<9 { held.keep(session, of: eve) }
                return !held.contains(of: UserID(.zero)) { $0 == 0 }
            }
        }
    }
#endif

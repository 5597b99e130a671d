// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto
import TresorTesting

@testable import TresorRemote

/// The deeds of a client when an answer is not the one it hoped for.
@Suite struct ServiceClientTests {
    /// The ids of the requests that put a card.
    private static func ids(_ stage: RemoteStage) -> [[UInt8]] {
        stage.transport.sent.compactMap(\.authorization).compactMap { try? Authorization($0).id }
    }

    @Test func theServiceIsAskedForItsIDOnce() async throws {
        let stage = try RemoteStage()
        #expect(try await stage.publish() == .done)
        #expect(try await stage.publish() == .done)
        #expect(stage.handler.seen.map(\.operation) == [.server, .putCard, .putCard])
    }

    @Test func aKnownIDIsNotAskedFor() async throws {
        let id = try RemoteStage().handler.server.id()
        let stage = try RemoteStage(expecting: id)
        #expect(try await stage.publish() == .done)
        #expect(stage.handler.seen.map(\.operation) == [.putCard])
    }

    @Test func aSessionForAnotherServiceIsRefused() async throws {
        let stage = try RemoteStage(expecting: try BLAKE2b.hash(.userID, [9]))
        #expect(await errorOf { _ = try await stage.publish() } == .noAccess)
    }

    @Test func oneSessionServesAllRequestsOfAPerson() async throws {
        let stage = try RemoteStage()
        _ = try await stage.publish()
        _ = try await stage.asAnna { (store) async throws(TresorError) in try await store.cards(handle: [1]) }
        let statements = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).statement }
        #expect(statements.count == 2)
        #expect(Set(statements).count == 1)
        #expect(statements[0].until - statements[0].since == 3600)
    }

    @Test func nobodyIsRefusedWithoutARequest() async throws {
        let stage = try RemoteStage()
        #expect(await errorOf { _ = try await stage.store.cards(handle: [1]) } == .noAccess)
        #expect(stage.transport.sent.isEmpty)
        #expect(try await stage.store.kitCopy(locator: .zero) == nil)
    }

    @Test(arguments: [LoopbackTransport.Fault.breaking, .losingAnswer])
    func aBrokenConnectionIsMendedWithTheSameID(_ fault: LoopbackTransport.Fault) async throws {
        let stage = try RemoteStage(fault: { [1, 2].contains($0) ? fault : nil })
        #expect(try await stage.publish() == .done)
        let ids = Self.ids(stage)
        #expect(ids.count == 3)
        #expect(Set(ids).count == 1)
        #expect(stage.waited == [.milliseconds(50), .seconds(1)])
    }

    @Test func aConnectionThatBreaksFourTimesIsGivenUp() async throws {
        let stage = try RemoteStage(fault: { $0 > 0 ? .breaking : nil })
        #expect(await errorOf { _ = try await stage.publish() } == .store(.unreachable))
        #expect(stage.transport.sent.count == 5)
    }

    /// The address may be wrong, and nothing was sent.
    @Test func aServiceThatIsNotThereIsAskedOnce() async throws {
        let stage = try RemoteStage(fault: { _ in .unreachable })
        #expect(await errorOf { _ = try await stage.publish() } == .store(.unreachable))
        #expect(stage.transport.sent.count == 1)
    }

    @Test func aServiceThatStartsAgainIsAwaited() async throws {
        let stage = try RemoteStage(fault: { $0 == 1 ? .breaking : $0 == 2 ? .unreachable : nil })
        #expect(try await stage.publish() == .done)
    }

    /// A server share is handed out once for an id.
    @Test func aServerShareIsAskedForUnderAnotherID() async throws {
        let stage = try RemoteStage(fault: { $0 == 2 ? .losingAnswer : nil })
        _ = try await stage.publish()
        let user = stage.identity.user
        let device = try DeviceID.random()
        let share = try await stage.asAnna { (store) async throws(TresorError) in
            try await store.serverShare(user: user, device: device)
        }
        #expect(share == nil)
        #expect(Set(Self.ids(stage)).count == 3)
    }

    @Test(arguments: [
        (429, TresorError.busy, TresorError.busy), (429, .noAccess, .busy), (503, .store(.other), .store(.other)),
        (503, .noAccess, .store(.other)), (503, .waiting, .store(.other)), (503, .unverified, .store(.other)),
        (503, .unsupported, .store(.other)),
    ])
    func aBusyServiceIsAskedFourTimes(_ status: Int, _ said: TresorError, _ error: TresorError) async throws {
        let stage = try RemoteStage(fault: { $0 > 0 ? refused(status, said) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == error)
        #expect(Self.ids(stage).count == 4)
        #expect(Set(Self.ids(stage)).count == 1)
    }

    @Test func theTimeThatAServiceAsksForIsKept() async throws {
        let stage = try RemoteStage(fault: { $0 == 1 ? refused(429, .busy, retryAfter: 4) : nil })
        #expect(try await stage.publish() == .done)
        #expect(stage.waited == [.seconds(4)])
    }

    @Test func nobodyWaitsLongerThanTenSeconds() async throws {
        let stage = try RemoteStage(fault: { $0 == 1 ? refused(429, .busy, retryAfter: 11) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == .busy)
        #expect(stage.waited.isEmpty)
    }

    @Test(arguments: [
        (400, TresorError.altered, TresorError.store(.other)), (400, .failed(.other), .store(.other)),
        (400, .unsupported, .unsupported), (400, .unverified, .unverified), (401, .noAccess, .noAccess),
        (403, .noAccess, .noAccess), (403, .waiting, .waiting), (405, .failed(.other), .store(.other)),
        (413, .failed(.other), .store(.other)), (421, .failed(.other), .store(.other)),
        (505, .failed(.other), .store(.other)), (507, .store(.other), .store(.full)),
        (507, .failed(.other), .store(.full)),
    ])
    func aRefusalIsAnErrorOfTheStore(_ status: Int, _ said: TresorError, _ error: TresorError) async throws {
        let stage = try RemoteStage(fault: { $0 > 0 ? refused(status, said) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == error)
        #expect(stage.waited.isEmpty)
    }

    /// A redirect, a proxy's page, an unknown status, a body of another form.
    @Test(
        arguments: [
            (302, Refusal(.invalid, .busy).body, true), (502, Array("<html>".utf8), false),
            (503, Array("<html>".utf8), false), (503, [], true), (418, Refusal(.invalid, .busy).body, true),
            (200, [0], false), (200, [], true), (200, [0, 0], true), (200, [2], true), (403, [1], true),
            (204, [], true),
        ] as [(Int, [UInt8], Bool)])
    func anythingElseIsNoAnswer(_ status: Int, _ body: [UInt8], _ isOfService: Bool) async throws {
        let answer = TransportAnswer(
            status: status, isOfService: isOfService, date: nil, retryAfter: nil, body: body)
        let stage = try RemoteStage(fault: { $0 > 0 ? .answering(answer) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == .store(.foreign))
        #expect(stage.transport.sent.count == 2)
    }

    /// A refusal is an answer too: another magic of this project, another version, another suite.
    @Test(arguments: [400, 401, 403, 429, 503, 507], [7, 8, 9])
    func aRefusalOfAnotherReleaseIsUnsupported(_ status: Int, _ place: Int) async throws {
        var body = Refusal(.invalid, .busy).body
        body[place] = place == 7 ? UInt8(ascii: "2") : 2
        let answer = TransportAnswer(status: status, isOfService: true, date: nil, retryAfter: nil, body: body)
        let stage = try RemoteStage(fault: { $0 > 0 ? .answering(answer) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == .unsupported)
        #expect(stage.transport.sent.count == 2)
    }

    @Test(arguments: [-900, -301, 301, 900] as [Int64])
    func aClockThatIsOffIsMendedOnce(_ lead: Int64) async throws {
        let stage = try RemoteStage(lead: lead)
        #expect(try await stage.publish() == .done)
        #expect(try await stage.publish() == .done)
        // The service, a refusal, and two requests by its clock.
        #expect(stage.transport.sent.count == 4)
        let times = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).time }
        #expect(times.map { Int64($0) - Int64(RemoteStage.time) } == [0, lead, lead])
        let service = UInt64(Int64(RemoteStage.time) + lead)
        #expect(stage.told == [.clockOff(own: RemoteStage.time, service: service)])
    }

    @Test(arguments: [-901, 901, 31_536_000] as [Int64])
    func A236_aClockThatIsFarOffIsNotTaken(_ lead: Int64) async throws {
        let stage = try RemoteStage(lead: lead)
        #expect(await errorOf { _ = try await stage.publish() } == .failed(.serviceClock))
        let times = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).time }
        #expect(times == [RemoteStage.time])
        let service = UInt64(Int64(RemoteStage.time) + lead)
        #expect(stage.told == [.clockFarOff(own: RemoteStage.time, service: service)])
    }

    /// No answer can lead a client on in steps.
    @Test func A236_aClockIsTakenOnce() async throws {
        let time = RemoteStage.time
        let stage = try RemoteStage(fault: { refusedAhead($0, from: time) })
        for _ in 0..<3 { #expect(await errorOf { _ = try await stage.publish() } == .noAccess) }
        let times = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).time }
        #expect(times.first == time && times.dropFirst().allSatisfy { $0 == time + 800 })
        #expect(stage.told == [.clockOff(own: time, service: time + 800)])
    }

    /// A refusal dated 800 seconds later than the one before.
    private func refusedAhead(_ number: Int, from time: UInt64) -> LoopbackTransport.Fault? {
        number == 0 ? nil : refused(401, .noAccess, date: time + UInt64(number) * 800)
    }

    @Test func A236_theEraOfARefusalIsThatOfTheNextSession() async throws {
        let era = try Era.first.next()
        let stage = try RemoteStage(fault: { $0 == 1 ? refused(401, .noAccess, era: era) : nil })
        let device = try DeviceID.random()
        let (store, chain) = (stage.store, stage.identity.chain)
        for _ in 0..<2 {
            let outcome = try await store.called(by: .person(stage.identity, device: { device })) {
                (store) async throws(TresorError) in
                try await store.putCard(chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
            }
            #expect(outcome == .done)
        }
        let statements = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).statement }
        #expect(statements.map(\.era) == [.first, era, era])
        // The device was not what the service refused.
        #expect(statements.map(\.device) == [device, device, device])
    }

    @Test func A235_aSessionNamesTheAddressThatIsDialled() async throws {
        let stage = try RemoteStage()
        _ = try await stage.publish()
        let statements = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).statement }
        #expect(try statements.map(\.audience) == [Audience.ofTests.hash()])
        let addresses: [(text: String, audience: Audience)] = [
            ("https://Tresor.Example", .ofTests), ("https://tresor.example:443/", .ofTests),
            ("https://tresor.example:8443", Audience(isSecure: true, host: "tresor.example", port: 8443)),
            ("http://127.0.0.1", Audience(isSecure: false, host: "127.0.0.1", port: 80)),
            ("https://[2001:DB8::1]", Audience(isSecure: true, host: "[2001:db8::1]", port: 443)),
        ]
        for address in addresses {
            #expect(try ServiceAddress(address.text).audience == address.audience, "\(address.text)")
        }
    }

    @Test func A235_anotherServiceAtAnAddressIsRefusedBeforeAnythingIsSigned() async throws {
        let home = MemoryHome()
        let stage = try RemoteStage()
        #expect(try await stage.publish(from: home) == .done)
        #expect(try await stage.publish(from: home) == .done)
        let other = try RemoteStage(expecting: try BLAKE2b.hash(.userID, [9]))
        #expect(await errorOf { _ = try await other.publish(from: home) } == .altered)
        #expect(other.transport.sent.isEmpty)
        #expect(other.told == [.otherService])
        // The person says that it is another one.
        try KnownServices.forget(Audience.ofTests.hash(), in: home)
        #expect(await errorOf { _ = try await other.publish(from: home) } == .noAccess)
        #expect(await errorOf { _ = try await RemoteStage().publish(from: home) } == .altered)
    }

    /// The clock is off, and the device was removed: both show one after the other, and both are mended.
    @Test func aClockThatIsOffHidesNoRemovedDevice() async throws {
        let stage = try RemoteStage(lead: 900, fault: { $0 == 2 ? refused(401, .noAccess) : nil })
        let device = try DeviceID.random()
        let (store, chain) = (stage.store, stage.identity.chain)
        let outcome = try await store.called(by: .person(stage.identity, device: { device })) {
            (store) async throws(TresorError) in
            try await store.putCard(chain.bytes, user: chain.user, handle: chain.handle.bytes, replacing: nil)
        }
        #expect(outcome == .done)
        let statements = try stage.transport.sent.compactMap(\.authorization).map { try Authorization($0).statement }
        #expect(statements.map(\.device) == [device, device, nil])
    }

    @Test func aSecondRefusalIsTheEnd() async throws {
        let stage = try RemoteStage(fault: { $0 > 0 ? refused(401, .noAccess) : nil })
        #expect(await errorOf { _ = try await stage.publish() } == .noAccess)
        #expect(stage.transport.sent.count == 3)
    }

    /// A log that is not there, whatever era stands in the refusal. Any other refusal is an error.
    @Test(
        arguments: [
            (403, TresorError.noAccess, nil), (403, .waiting, .waiting), (401, .noAccess, .noAccess),
            (400, .noAccess, .noAccess),
        ] as [(Int, TresorError, TresorError?)])
    func aForbiddenLogHasNoEntries(_ status: Int, _ said: TresorError, _ error: TresorError?) async throws {
        for era in [Era.first, try Era.first.next()] {
            let stage = try RemoteStage(fault: { $0 > 0 ? refused(status, said, era: era) : nil })
            let found = await errorOf {
                let entries = try await stage.asAnna { (store) async throws(TresorError) in
                    try await store.entries(of: TresorID(.zero), from: 0, limit: 1)
                }
                #expect(entries.isEmpty)
            }
            #expect(found == error)
        }
    }

    @Test func aLockedIdentitySignsNothing() async throws {
        let stage = try RemoteStage()
        _ = try await stage.publish()
        stage.identity.lock()
        #expect(await errorOf { _ = try await stage.publish() } == .usage(.locked))
        #expect(stage.transport.sent.count == 2)
    }

    /// A change that has begun goes on to its end in its session, and the session ends with it.
    @Test func aChangeUnderWayKeepsItsSession() async throws {
        let stage = try RemoteStage()
        _ = try await stage.publish()
        try await stage.identity.changes.counting { () async throws(TresorError) in
            stage.identity.lock()
            #expect(await errorOf { _ = try await stage.publish() } == nil)
        }
        #expect(await errorOf { _ = try await stage.publish() } == .usage(.locked))
        #expect(stage.transport.sent.count == 3)
    }
}

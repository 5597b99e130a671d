// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCommand
@testable import TresorRemote

/// The command before a service: homes on disk, and a device that opens each.
@Suite struct RemoteCommandTests {
    private typealias Stage = CommandStage<OpenHandler>

    /// A service that judges nothing.
    private func stage() throws -> Stage {
        let clock = FixedClock()
        return try Stage(before: try OpenHandler(MemoryStore(), clock: clock.read), clock: clock)
    }

    /// A service whose clock is ahead.
    private func stage(ahead lead: UInt64) throws -> Stage {
        let clock = FixedClock()
        let handler = try OpenHandler(MemoryStore(), clock: { clock.now + lead })
        return try Stage(before: handler, clock: clock, lead: lead)
    }

    @Test func A236_aPersonIsToldThatTheServiceDatesTheirRequests() async throws {
        let stage = try stage(ahead: 600)
        _ = try await person("anna", on: stage)
        let told = try await stage.messages(0, as: "anna", "list")
        #expect(told.contains("this clock says \(Timestamp(seconds: stage.clock.now).rfc3339), that of the service at"))
        #expect(
            told.contains("\(Timestamp(seconds: stage.clock.now + 600).rfc3339); requests are dated by the service"))
        #expect(told.split(separator: "\n").count { $0.contains("this clock says") } == 1)
    }

    @Test func A236_aServiceThatIsFarOffIsToldWithBothClocks() async throws {
        let stage = try stage(ahead: 901)
        try await stage.keygen("cara")
        let told = try await stage.failure(1, as: "cara", "register", "--no-login")
        #expect(told.contains("this clock says \(Timestamp(seconds: stage.clock.now).rfc3339), that of the service at"))
        #expect(
            told.contains("\(Timestamp(seconds: stage.clock.now + 901).rfc3339): they are more than 15 minutes apart"))
    }

    /// Makes a person whom the service knows.
    private func person(_ handle: String, on stage: Stage) async throws -> Session {
        try await stage.settle(try Identity.make(handle: Name(typed: handle), time: stage.clock.now))
    }

    @Test func aSyncThatLearnsAsksOnceForTheListOfTresors() async throws {
        let stage = try stage()
        _ = try await person("anna", on: stage)
        try FileManager.default.copyItem(atPath: stage.path("anna"), toPath: stage.path("desk"))
        let number = try await person("bruno", on: stage).chain.number().grouped
        try await stage.run(0, as: "anna", "verify", "bruno", "--number", number)
        try await stage.run(0, as: "anna", "sync")
        let before = stage.handler.seen.count
        try await stage.run(0, as: "desk", "sync")
        let asked = stage.handler.seen.dropFirst(before).count { $0.operation == .tresors }
        #expect(asked == 1)
        #expect(try await stage.run(0, as: "desk", "check").contains("known from another device of yours"))
    }

    @Test func everyCommandWorksBeforeAService() async throws {
        let stage = try stage()
        let anna = try await person("anna", on: stage)
        let bruno = try await person("bruno", on: stage)
        let (hers, his) = (try anna.chain.number().grouped, try bruno.chain.number().grouped)
        try stage.write("plan", to: "plan")

        try await stage.run(0, as: "anna", "verify", "bruno", "--number", his)
        try await stage.run(0, as: "bruno", "verify", "anna", "--number", hers)
        try await stage.run(0, as: "anna", "create", "plans")
        try await stage.run(0, as: "anna", "share", "-t", "plans", "bruno")
        try await stage.run(0, as: "anna", "encrypt", "-t", "plans", "@plan", "-o", "@plan.tresor")
        #expect(try await stage.run(0, as: "bruno", "decrypt", "@plan.tresor") == "plan")
        #expect(try await stage.run(0, as: "bruno", "members", "-t", "anna/plans").contains("bruno"))
        #expect(try await stage.run(0, as: "bruno", "list").contains("plans"))
        #expect(try await stage.run(0, as: "anna", "log", "-t", "plans").contains("bruno"))
        try await stage.run(0, as: "anna", "card", "bruno")
        try await stage.run(0, as: "anna", "check")
        try await stage.run(0, as: "anna", "check", "--deep", "@plan.tresor")
        try await stage.run(0, as: "anna", "device", "list")
        try await stage.run(0, as: "anna", "revoke", "-t", "plans", "bruno", "--yes")
        try await stage.run(0, as: "anna", "rotate", "-t", "plans", "--yes")
        try await stage.run(0, as: "anna", "reseal", "@plan.tresor")
        try await stage.run(13, as: "bruno", "decrypt", "@plan.tresor", "-o", "@out")
        try await stage.run(10, as: "anna", "share", "-t", "plans", "nobody")
    }

    /// Forgetting asks no password: the device itself deletes its server share.
    @Test func aDeviceIsForgottenWithoutAPassword() async throws {
        let stage = try stage()
        let anna = try await person("anna", on: stage)
        let device = try #require(try anna.client.device.idBlocking())
        try await stage.run(0, as: "anna", "forget")
        #expect(try await stage.handler.store.serverShare(user: anna.user, device: device) == nil)
        try await stage.run(64, as: "anna", "list")
    }

    /// A service whose disk is full hands out no server share, and the password opens.
    @Test func aServiceWithoutRoomPointsToThePassword() async throws {
        let clock = FixedClock()
        let handler = FullHandler(base: try OpenHandler(MemoryStore(), clock: clock.read))
        let stage = try CommandStage(before: handler, clock: clock)
        try await stage.settle(try Identity.make(handle: Name(typed: "anna"), time: clock.now))
        handler.fill()
        let told = try await stage.failure(18, as: "anna", "list")
        #expect(told.contains("this device does not open the identity now: the store at "), "\(told)")
        #expect(told.contains("--password-file FILE") && !told.contains("tresor remember"), "\(told)")
    }

    /// A person who has not registered has an identity, and is told what to do.
    @Test func anIdentityIsMadeBeforeTheRegistration() async throws {
        let stage = try stage()
        try await stage.keygen("cara")
        let note = try String(contentsOfFile: stage.path("cara/store"), encoding: .utf8)
        #expect(note == "https://tresor.example\n")
        #expect(stage.handler.seen.isEmpty)
        try stage.write("the password of dora\n", to: "dora.password")
        try await stage.run(0, as: "dora", "keygen", "dora", "--kit", "@kit", "--argon2id", "64,3")
        #expect(stage.handler.seen.isEmpty)
    }

    @Test func aServiceIsNotedWithItsWay() throws {
        let location = try ServiceLocation(
            "https://Tresor.example:8443/", certificates: "/etc/ca with blanks.pem", proxy: "proxy.example:3128")
        #expect(
            location.note == "https://tresor.example:8443\nca /etc/ca with blanks.pem\nproxy proxy.example:3128\n")
        #expect(ServiceLocation(note: location.note) == location)
        let bare = try ServiceLocation("http://localhost:8080")
        #expect(ServiceLocation(note: bare.note) == bare)
        for note in [
            "", "\n", "/path", "https://a\nb", "https://a\nproxy b\nca c", "https://a\nca b\nca c", "https://",
        ] {
            #expect(ServiceLocation(note: note) == nil, "\(note)")
        }
    }
}

/// A service that has no room to note that it handed out a server share.
private final class FullHandler: ServiceHandler {
    let base: OpenHandler
    private let isFull = Mutex(false)

    init(base: OpenHandler) { self.base = base }

    func fill() { isFull.withLock { $0 = true } }

    func answer(_ call: ServiceCall) async -> ServiceReply {
        guard call.operation == .serverShare, isFull.withLock(\.self) else { return await base.answer(call) }
        return ServiceReply(Refusal(.full, .store(.full)))
    }

    func isHealthy() async -> Bool { await base.isHealthy() }
}

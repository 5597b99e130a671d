// SPDX-License-Identifier: Apache-2.0

import Foundation
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
    /// People whose homes note nothing, and a service that judges nothing.
    private final class Stage: Sendable {
        let directory: URL
        let clock = FixedClock()
        let handler: OpenHandler

        init() throws {
            directory = FileManager.default.temporaryDirectory.appending(path: "tresor-remote-\(UUID())")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            handler = try OpenHandler(MemoryStore(), clock: clock.read)
        }

        deinit { try? FileManager.default.removeItem(at: directory) }

        func path(_ name: String) -> String { directory.appending(path: name).path }

        /// A process of its own, as far as the service can tell.
        func store() -> HTTPStore {
            HTTPStore(
                ServiceClient(over: LoopbackTransport(into: handler, clock: clock.read), clock: clock.read))
        }

        /// Makes a person whom the service knows.
        func person(_ handle: String) async throws -> Session {
            let identity = try Identity.make(handle: Name(typed: handle), time: clock.now)
            let kit = try RecoveryKit()
            let slot = try identity.seal(
                under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
                since: clock.now)
            let home = DirectoryHome(data: path(handle), state: path("\(handle)/state"))
            try home.replace(.identity, with: try IdentityFile(of: identity, previous: [], slots: [slot]).bytes)
            let session = Session(client: Client(home: home, store: store(), clock: clock.read), identity: identity)
            try await session.client.people.publishCard()
            _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
            return session
        }

        /// Runs a command as a person. A word that begins with `@` is a file of the stage.
        @discardableResult func run(
            _ code: Int32, as name: String, _ words: String..., source: SourceLocation = #_sourceLocation
        ) async throws -> String {
            let files = [path("\(UUID())"), path("\(UUID())")]
            let descriptors = files.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
            var surroundings = Surroundings()
            surroundings.output = Channel(descriptor: descriptors[0], name: "standard output")
            surroundings.error = Channel(descriptor: descriptors[1], name: "standard error")
            surroundings.openService = { [self] (_, _) throws(CommandFailure) in store() }
            surroundings.now = clock.read
            let places = ["--home", path(name), "--store", "https://tresor.example", "--batch"]
            let given = places + words.map { $0.hasPrefix("@") ? path(String($0.dropFirst())) : $0 }
            let ended = await Surroundings.$current.withValue(surroundings) { await Program.run { given } }
            for descriptor in descriptors { close(descriptor) }
            let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
            #expect(ended == code, "\(words): \(texts)", sourceLocation: source)
            return texts[0]
        }
    }

    @Test func everyCommandWorksBeforeAService() async throws {
        let stage = try Stage()
        let anna = try await stage.person("anna")
        let bruno = try await stage.person("bruno")
        let (hers, his) = (try anna.chain.number().grouped, try bruno.chain.number().grouped)
        try Data("plan".utf8).write(to: stage.directory.appending(path: "plan"))

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
        let stage = try Stage()
        let anna = try await stage.person("anna")
        let device = try #require(try await anna.client.device.id())
        try await stage.run(0, as: "anna", "forget")
        #expect(try await stage.handler.store.serverShare(user: anna.user, device: device) == nil)
        try await stage.run(64, as: "anna", "list")
    }

    /// A person who has not registered has an identity, and is told what to do.
    @Test func anIdentityIsMadeBeforeTheRegistration() async throws {
        let stage = try Stage()
        let password = stage.path("password")
        #expect(FileManager.default.createFile(atPath: password, contents: Data("a long password\n".utf8)))
        try FileManager.default.setAttributes([.posixPermissions: 0o600], ofItemAtPath: password)
        try await stage.run(
            0, as: "cara", "keygen", "cara", "--no-kit", "--argon2id", "64,3", "--password-file", password)
        let note = try String(contentsOfFile: stage.path("cara/store"), encoding: .utf8)
        #expect(note == "https://tresor.example\n")
        #expect(stage.handler.seen.isEmpty)
        try await stage.run(
            64, as: "dora", "keygen", "dora", "--kit", "@kit", "--argon2id", "64,3", "--password-file", password)
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

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCommand

/// The command run in this process: people with homes on disk, before a store that a test holds.
@Suite enum CommandSuite {}

/// The homes of all people and their store. A trusted device opens each home, so that no run costs an Argon2id.
final class CommandStage: Sendable {
    let directory: URL
    let evil = EvilStore()
    let world: World
    /// The service that the command asks, if it asks one.
    private let service: OpenWire?

    /// How a run ended and what it printed.
    struct Ending {
        let words: [String]
        let code: Int32
        let output: [UInt8]
        let error: String

        var text: String { String(decoding: output, as: UTF8.self) }
    }

    init() throws {
        world = World(store: evil)
        service = OpenWires.service(before: evil)
        directory = FileManager.default.temporaryDirectory.appending(path: "tresor-stage-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    func bytes(_ name: String) throws -> [UInt8] { Array(try Data(contentsOf: directory.appending(path: name))) }

    func write(_ bytes: [UInt8], to name: String) throws {
        try Data(bytes).write(to: directory.appending(path: name))
    }

    func copy(_ name: String, to other: String) throws {
        let target = directory.appending(path: other)
        if FileManager.default.fileExists(atPath: target.path) { try FileManager.default.removeItem(at: target) }
        try FileManager.default.copyItem(at: directory.appending(path: name), to: target)
    }

    /// A home, file by file, without evidence and locks.
    func home(_ name: String) throws -> [String: [UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: path(name))
        return names.filter { !$0.hasPrefix("evidence") && !$0.hasSuffix("lock") }
            .reduce(into: [:]) { $0[$1] = try? bytes("\(name)/\($1)") }
    }

    private func directory(_ name: String) -> DirectoryHome {
        DirectoryHome(data: path(name), state: path("\(name)/state"))
    }

    func client(_ name: String) -> Client {
        let store: any Store = service ?? StageStores.seen(evil)
        return Client(home: directory(name), store: store, clock: { [clock = world.clock] in clock.now })
    }

    /// Somebody whom the operator of a service helps.
    func inLeague(_ identity: Identity, at name: String) -> Session {
        Session(client: world.client(directory(name), seeing: StageStores.inLeague(evil)), identity: identity)
    }

    /// Makes and publishes a person.
    func person(_ handle: String) async throws -> Session {
        try await settle(Identity.make(handle: Name(typed: handle), time: world.clock.now), at: handle)
    }

    /// Makes and publishes a person whose password opens the home too. It lies in the file `password`.
    func personWithPassword(_ handle: String) async throws -> Session {
        let session = try await person(handle)
        try await session.unlocking.changePassword(to: password(handle), cost: .floor)
        try write(Array("password of \(handle)\n".utf8), to: "password")
        guard chmod(path("password"), 0o600) == 0 else { throw TresorError.failed(.other) }
        return session
    }

    /// Gives a home an identity in the place of what it had, or a first one.
    func settle(_ identity: Identity, previous: [[UInt8]] = [], at name: String) async throws -> Session {
        let kit = try RecoveryKit()
        let slot = try identity.seal(
            under: try kit.slotKey(), id: try DeviceID.random(), kind: .kit(locator: try kit.locator()),
            since: world.clock.now)
        let session = Session(client: client(name), identity: identity)
        let file = try IdentityFile(of: identity, previous: previous, slots: [slot])
        try session.client.home.replace(.identity, with: file.bytes)
        try await session.client.people.publishCard()
        _ = try await session.unlocking.rememberDevice(name: .empty, until: Format.latestTime)
        return session
    }

    /// Gives a person the next generation of keys. No log learns of it.
    func renew(_ session: Session, at name: String) async throws -> Session {
        let (next, sealed) = try session.identity.renewCard(time: world.clock.now)
        return try await settle(next, previous: [sealed], at: name)
    }

    /// Runs the command as a person. A word that begins with `@` is a file of the stage.
    ///
    /// - Parameter view: what stands before the store for this run, where that is no service.
    func run(
        as name: String, _ words: [String], slotWait: SlotWait = SlotWait(), watchInterval: Duration = .zero,
        seeing view: (any Store)? = nil
    ) async throws -> Ending {
        let (output, error) = (path("\(UUID())"), path("\(UUID())"))
        let descriptors = [output, error].map { (file: String) in open(file, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        defer {
            for descriptor in descriptors { close(descriptor) }
            for file in [output, error] { try? FileManager.default.removeItem(atPath: file) }
        }
        var surroundings = Surroundings()
        surroundings.output = Channel(descriptor: descriptors[0], name: "standard output")
        surroundings.error = Channel(descriptor: descriptors[1], name: "standard error")
        surroundings.openStore = { [evil] (_, _) throws(TresorError) in view ?? StageStores.seen(evil) }
        if let service = try await service?.open() {
            surroundings.openService = { (_, _, _) throws(CommandFailure) in service }
        }
        surroundings.now = { [clock = world.clock] in clock.now }
        surroundings.slotWait = slotWait
        surroundings.watchInterval = watchInterval
        let store = service == nil ? path("store.db") : "https://tresor.example"
        let places = ["--home", path(name), "--store", store, "--batch"]
        let given = places + words.map { $0.hasPrefix("@") ? path(String($0.dropFirst())) : $0 }
        let code = await Surroundings.$current.withValue(surroundings) { await Program.run { given } }
        return Ending(
            words: words, code: code, output: Array(try Data(contentsOf: URL(filePath: output))),
            error: String(decoding: try Data(contentsOf: URL(filePath: error)), as: UTF8.self))
    }

    /// Runs what must end with a code.
    @discardableResult func expect(
        _ code: Int32, as name: String, _ words: String..., source: SourceLocation = #_sourceLocation
    ) async throws -> Ending {
        let ending = try await run(as: name, words)
        #expect(ending.code == code, "\(words): \(ending.text)\(ending.error)", sourceLocation: source)
        return ending
    }
}

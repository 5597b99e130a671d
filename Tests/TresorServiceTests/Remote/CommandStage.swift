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

/// People with homes on disk, who run the command before a service.
final class CommandStage<Handler: ServiceHandler>: Sendable {
    let handler: Handler
    let clock: FixedClock
    /// The seconds by which the clock of the service is ahead.
    private let lead: UInt64
    private let directory: URL
    /// The operation whose answer is lost, with everything after it, and how; `nil` for none.
    let cut = Mutex<(operation: ServiceOperation, failure: TransportFailure)?>(nil)

    init(before handler: Handler, clock: FixedClock, lead: UInt64 = 0) throws {
        self.handler = handler
        self.clock = clock
        self.lead = lead
        directory = FileManager.default.temporaryDirectory.appending(path: "tresor-remote-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
    }

    deinit { try? FileManager.default.removeItem(at: directory) }

    func path(_ name: String) -> String { directory.appending(path: name).path }

    /// The sizes of objects in the home of a person; 0 for those that are not there.
    func sizes(of objects: [String], in name: String) -> [Int] {
        objects.map { (try? Data(contentsOf: URL(filePath: path("\(name)/\($0)"))))?.count ?? 0 }
    }

    /// Writes a file that nobody else may read.
    func write(_ text: String, to name: String) throws {
        #expect(
            FileManager.default.createFile(
                atPath: path(name), contents: Data(text.utf8), attributes: [.posixPermissions: 0o600]))
    }

    /// A process of its own, as far as the service can tell.
    func store(report: ServiceReport = ServiceReport()) -> HTTPStore {
        let transport = LoopbackTransport(into: handler, clock: { [clock, lead] in clock.now + lead })
        let cut = cut.withLock { $0.map { CutTransport(over: transport, at: $0.operation, by: $0.failure) } }
        let way: any Transport = cut ?? transport
        return HTTPStore(ServiceClient(over: way, report: report, clock: clock.read, pause: { _ in }))
    }

    /// Makes the home of a person whom the service knows, or lets publish a card. Their device opens it.
    @discardableResult func settle(_ identity: Identity) async throws -> Session {
        let handle = identity.handle.text
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

    /// Makes the home of a person of whom the service has not heard. Their password opens it.
    func keygen(_ handle: String, source: SourceLocation = #_sourceLocation) async throws {
        try write("the password of \(handle)\n", to: "\(handle).password")
        try await run(0, as: handle, "keygen", handle, "--no-kit", "--argon2id", "64,3", source: source)
    }

    /// Runs a command as a person, with their password if they have one. A word that begins with `@` is a file of the
    /// stage.
    ///
    /// - Returns: standard output.
    @discardableResult func run(
        _ code: Int32, as name: String, _ words: String..., source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await run(code, as: name, words, source: source)
    }

    @discardableResult func run(
        _ code: Int32, as name: String, _ words: [String], source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await run(words, as: name, source) { ended, texts in
            #expect(ended == code, "\(words): \(texts)", sourceLocation: source)
        }[0]
    }

    /// Runs a command.
    ///
    /// - Returns: standard error.
    func messages(
        _ code: Int32, as name: String, _ words: String..., source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await run(words, as: name, source) { ended, texts in
            #expect(ended == code, "\(words): \(texts)", sourceLocation: source)
        }[1]
    }

    /// Runs a command that fails.
    ///
    /// - Returns: standard error.
    func failure(
        _ code: Int32, as name: String, _ words: String..., source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await failure(code, as: name, words, source: source)
    }

    func failure(
        _ code: Int32, as name: String, _ words: [String], source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        try await run(words, as: name, source) { ended, texts in
            #expect(ended == code && texts[0].isEmpty, "\(words): \(texts)", sourceLocation: source)
        }[1]
    }

    /// Runs an example of a page as it stands there; `replacing` gives what differs from reader to reader.
    func example(
        _ line: String, as name: String, replacing: [String: String] = [:],
        source: SourceLocation = #_sourceLocation
    ) async throws -> String {
        let parts = line.split(separator: "\"", omittingEmptySubsequences: false).enumerated()
        let words = parts.flatMap { index, part in
            index.isMultiple(of: 2) ? part.split(separator: " ").map(String.init) : [String(part)]
        }
        return try await run(words.dropFirst().map { replacing[$0] ?? $0 }, as: name, source) { ended, texts in
            #expect(ended == 0, "\(line): \(texts)", sourceLocation: source)
        }[0]
    }

    private func run(
        _ words: [String], as name: String, _ source: SourceLocation, _ judge: (Int32, [String]) -> Void
    ) async throws -> [String] {
        let files = [path("\(UUID())"), path("\(UUID())")]
        let descriptors = files.map { open($0, O_WRONLY | O_CREAT | O_CLOEXEC, 0o600) }
        var surroundings = Surroundings()
        surroundings.output = Channel(descriptor: descriptors[0], name: "standard output")
        surroundings.error = Channel(descriptor: descriptors[1], name: "standard error")
        surroundings.openService = { [self] (_, report, _) throws(CommandFailure) in store(report: report) }
        surroundings.now = clock.read
        var places = ["--home", path(name), "--batch"]
        if !words.contains("--store") { places += ["--store", "https://tresor.example"] }
        let password = path("\(name).password")
        if FileManager.default.fileExists(atPath: password) { places += ["--password-file", password] }
        let given = places + words.map { $0.hasPrefix("@") ? path(String($0.dropFirst())) : $0 }
        let ended = await Surroundings.$current.withValue(surroundings) { await Program.run { given } }
        for descriptor in descriptors { close(descriptor) }
        let texts = try files.map { try String(contentsOfFile: $0, encoding: .utf8) }
        judge(ended, texts)
        return texts
    }
}

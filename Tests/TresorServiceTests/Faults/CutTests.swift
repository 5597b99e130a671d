// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    @testable import TresorServer
    @testable import TresorService

    /// A connection that ends at any byte of a request or of its answer.
    @Suite(.serialized, .longRun) struct CutTests {
        /// An act that is done once or not at all.
        enum Subject: String, CaseIterable, Sendable {
            case append
            case register
            case putServerShare = "put-server-share"
            case serverShare = "server-share"
            case putCard = "put-card"
        }

        /// Each byte is tried if this variable is set, otherwise a sample.
        private static let triesEach = ProcessInfo.processInfo.environment["TRESOR_EVERY"] != nil

        /// The places where a connection is cut: the first and the last ones, and some between.
        private static func places(_ count: Int) -> [Int] {
            guard !triesEach else { return Array(0..<count) }
            let between = (0..<2).map { _ in Int.random(in: 0..<max(1, count)) }
            return Array(Set([0, 1, count - 2, count - 1] + between).filter { $0 >= 0 && $0 < count }).sorted()
        }

        @Test(arguments: Subject.allCases, [false, true])
        func anActIsDoneOnceWhereverItsConnectionEnds(_ subject: Subject, isSecure: Bool) async throws {
            let line = try await Line(isSecure: isSecure)
            try await line.run {
                let act = try await line.act(subject)
                #expect(await line.ask(act) == nil)
                let counts = CuttingRelay.Direction.allCases.map { ($0, line.relay.passed($0)) }
                #expect(try await line.count(act) == 1)
                for (direction, count) in counts {
                    for (index, place) in Self.places(count).enumerated() {
                        let isReset = index.isMultiple(of: 2)
                        try await cutOnce(
                            .init(direction: direction, count: place, isReset: isReset), subject, line)
                        try await cutEach(
                            .init(direction: direction, count: place, isReset: isReset, isOfEach: true), subject, line)
                    }
                }
                #expect(try await line.bench.service.check().isClean)
            }
        }

        /// The client asks again by itself. Before the handshake is over nothing was sent, and it says so at once.
        private func cutOnce(_ cut: CuttingRelay.Cut, _ subject: Subject, _ line: Line) async throws {
            let act = try await line.act(subject)
            line.relay.plan(cut)
            let error = await line.ask(act)
            if let error {
                #expect(line.isSecure, "\(cut)")
                #expect(error == .store(.unreachable), "\(cut)")
                #expect(line.relay.connectionCount == 1, "\(cut)")
                #expect(try await line.count(act) == (subject == .serverShare ? 1 : 0), "\(cut)")
                try await finish(act, line)
            }
            #expect(try await line.count(act) == 1, "\(cut)")
        }

        /// The client gives up. The act is done or not, and doing it again does it once.
        private func cutEach(_ cut: CuttingRelay.Cut, _ subject: Subject, _ line: Line) async throws {
            let act = try await line.act(subject)
            line.relay.plan(cut)
            // The last bytes differ in number from time to time, as signatures of TLS do.
            if let error = await line.ask(act) {
                #expect(error == .store(.unreachable), "\(cut)")
            } else {
                #expect(line.isSecure, "\(cut)")
            }
            // The service may still be at work on what it has got.
            try await Task.sleep(for: .milliseconds(20))
            let count = try await line.count(act)
            #expect(count <= 1, "\(cut)")
            if !line.isSecure, subject != .serverShare {
                #expect(count == (cut.direction == .answer ? 1 : 0), "\(cut)")
            }
            try await finish(act, line)
            #expect(try await line.count(act) == 1, "\(cut)")
        }

        private func finish(_ act: Line.Act, _ line: Line) async throws {
            line.relay.plan(nil)
            let error = await line.ask(act)
            // A client that gave up sends a new request: the service says that the entry has its place already.
            #expect(error == nil)
        }
    }

    /// A person before a service of their own, with a relay between them.
    final class Line: Sendable {
        /// One act of somebody.
        struct Act: Sendable {
            let caller: TresorCore.Caller
            /// Asks, and throws what is not the answer that was to come.
            let ask: @Sendable (ServiceClient) async throws(TresorError) -> Void
            /// Counts the rows that it leaves.
            let rows: SQL
        }

        let bench: Bench
        let isSecure: Bool
        let relay: CuttingRelay
        private let files: CertificateFiles?
        private let server: RunningWire
        /// A service beside it, where the entries are made that this one gets.
        private let other: Bench
        private let store: SignedStore
        private let author: Session
        private let tresor: TresorID
        private let anna: Signer

        init(isSecure: Bool) async throws {
            self.isSecure = isSecure
            bench = try await Bench()
            files = isSecure ? try await CertificateFiles.make("localhost") : nil
            relay = try CuttingRelay()
            server = try await RunningWire(
                SourceChanger(service: bench.service), names: ["localhost:\(relay.port)"],
                certificates: try files?.certificates)
            relay.pass(to: server.port)
            other = try await Bench()
            store = SignedStore(other)
            let cast = PreviewCast(store: store, clock: other.clock)
            author = try await cast.person("author")
            tresor = try await author.tresors.create(Name(typed: "plans")).tresor
            anna = try await bench.person("anna")
            let signer = try bench.signer(author.identity)
            _ = try await signer.ask(signer.registration())
            _ = try await signer.ask(signer.finishing())
            for request in store.appends { _ = try await signer.ask(request) }
        }

        /// Makes requests possible while `body` runs.
        func run(_ body: () async throws -> Void) async throws {
            do {
                try await body()
            } catch {
                await end()
                throw error
            }
            await end()
        }

        private func end() async {
            relay.stop()
            await server.stop()
            files?.remove()
        }

        /// Asks through the relay on a connection of its own, with a session of its own.
        func ask(_ act: Act) async -> TresorError? {
            do throws(TresorError) {
                let transport = try SocketTransport(
                    to: ServiceAddress("\(isSecure ? "https" : "http")://localhost:\(relay.port)"),
                    authorities: Authorities(named: files?.certificate.path), proxy: nil)
                let client = ServiceClient(
                    over: transport, expecting: bench.service.id, clock: bench.clock.read, pause: { _ in })
                try await act.ask(client.speaking(as: act.caller))
                return nil
            } catch {
                return error
            }
        }

        /// How often an act was done.
        func count(_ act: Act) async throws -> Int {
            try await bench.engine.read(act.rows).count
        }

        func act(_ subject: CutTests.Subject) async throws -> Act {
            switch subject {
            case .append: try await append()
            case .register: try register()
            case .putServerShare: try putServerShare()
            case .serverShare: try await serverShare()
            case .putCard: try await putCard()
            }
        }

        private func append() async throws -> Act {
            try await author.tresors.perform(.rotate, on: tresor)
            guard let request = store.appends.last else { throw TresorError.notFound }
            return Act(
                caller: .person(author.identity),
                ask: { client async throws(TresorError) in
                    let outcome = try await client.call(request).outcome
                    guard outcome == .conflict else { return }
                    let kept = try await client.call(
                        EntriesRequest(tresor: request.tresor, first: request.sequence, limit: 1)
                    ).entries
                    guard kept == [request.entry] else { throw .forked }
                },
                rows: SQL(
                    "SELECT sequence FROM entries WHERE tresor = $1 AND sequence = $2 AND entry = $3",
                    [.digest(request.tresor.digest), .number(request.sequence), .bytes(request.entry)]))
        }

        private func register() throws -> Act {
            let person = try bench.stranger("person \(UInt64.random(in: 1 << 60..<1 << 61))")
            let request = person.registration()
            return Act(
                caller: .person(person.identity),
                ask: { client async throws(TresorError) in
                    guard try await client.call(request).state == .asked else { throw .failed(.other) }
                },
                rows: SQL("SELECT state FROM accounts WHERE account = $1", [.digest(person.user.digest)]))
        }

        private func putServerShare() throws -> Act {
            let share = try DeviceShare(user: anna.user)
            let request = PutServerShareRequest(
                device: share.id, share: [UInt8](repeating: 5, count: 32), deviceKey: try share.publicKey())
            return Act(
                caller: .person(anna.identity),
                ask: { client async throws(TresorError) in _ = try await client.call(request) },
                rows: SQL("SELECT device FROM server_shares WHERE device = $1", [.bytes(share.id.bytes)]))
        }

        /// A share is handed out once for an id, so that a client asks with another one each time.
        private func serverShare() async throws -> Act {
            let share = try DeviceShare(user: anna.user)
            let bytes = [UInt8](repeating: 6, count: 32)
            _ = try await anna.ask(
                PutServerShareRequest(device: share.id, share: bytes, deviceKey: try share.publicKey()))
            let request = ServerShareRequest(device: share.id)
            return Act(
                caller: .device(share),
                ask: { client async throws(TresorError) in
                    guard try await client.call(request).share == bytes else { throw .altered }
                },
                rows: SQL(
                    "SELECT device FROM server_shares WHERE device = $1 AND share = $2",
                    [.bytes(share.id.bytes), .bytes(bytes)]))
        }

        private func putCard() async throws -> Act {
            let person = try bench.stranger("person \(UInt64.random(in: 1 << 60..<1 << 61))")
            // A source may not register many people in a short time.
            let inserted = try await bench.engine.write([
                Account.insertion(of: person.identity.chain, .active, invitation: nil, at: bench.clock.now)
            ])
            #expect(inserted == [1])
            let next = try person.identity.renewCard(time: bench.clock.now).identity
            let request = PutCardRequest(chain: next.chain.bytes, replacing: person.identity.chain.bytes)
            return Act(
                caller: .person(next),
                ask: { client async throws(TresorError) in
                    guard try await client.call(request).outcome == .done else { throw .forked }
                },
                rows: SQL(
                    "SELECT generation FROM accounts WHERE account = $1 AND chain = $2",
                    [.digest(person.user.digest), .bytes(next.chain.bytes)]))
        }
    }

    /// A service to which each request comes from another address, so that no limit of an address holds.
    private struct SourceChanger: ServiceHandler {
        let service: TresorService.Service

        func answer(_ call: ServiceCall) async -> ServiceReply {
            let source = (0..<16).map { _ in UInt8.random(in: 0...255) }
            return await service.answer(
                ServiceCall(
                    operation: call.operation, body: call.body, authorization: call.authorization, source: source,
                    audiences: call.audiences))
        }

        func isHealthy() async -> Bool { await service.isHealthy() }
    }

    /// A handler behind the wire of the program, on a port or a socket, until it is stopped.
    final class RunningWire: Sendable {
        let log: LogLines
        let report: Report
        private let server: RunningServer

        var port: Int { server.port }

        init(
            _ handler: any ServiceHandler, at address: WireServer.Address = .network(host: "127.0.0.1", port: 0),
            names: [String] = ["tresor.example"], certificates: Certificates? = nil
        ) async throws {
            let log = LogLines()
            self.log = log
            report = Report(logsSources: true) { log.add($0) }
            server = try await WireServer(
                handler: handler, address: address, names: names.compactMap { HostName($0) },
                certificates: certificates, report: report
            ).start()
        }

        func stop() async { await server.stop() }
    }
#endif

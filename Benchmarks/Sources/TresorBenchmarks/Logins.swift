// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Foundation
import Measuring
import Serving
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// Logging in by name and password, before a service on SQLite and over TLS on loopback.
struct Logins {
    /// An address has sixty messages of log-ins at once, and one more a second: with more the figure would be the wait.
    private static let (rounds, shareRounds) = (9, 25)
    /// The memory of the password's cost: at a service as it is made, and of the smallest slot of a home.
    private static let (memory, slotMemory) = (256 << 20, 64 << 20)

    private let home: CommandHome
    private let server: RunningServer
    private let certificate: String

    private var address: String { "https://127.0.0.1:\(server.port)" }

    static func measure(_ program: String, in directory: String, for report: Report) async throws {
        guard let server = ProcessInfo.processInfo.environment["BENCHMARK_SERVER"] else {
            return note("login: left out, BENCHMARK_SERVER names no program")
        }
        let logins = try Logins(program, server: server, in: "\(directory)/login")
        defer { logins.server.stop() }
        let before = try logins.server.memory.peak
        report.add(try await logins.command())
        report.add(try await logins.library())
        report.add(try await logins.share())
        report.add(
            Figure(
                work: "memory that the service took for \(2 * rounds + shareRounds) log-ins",
                time: try logins.server.memory.peak - before, baseline: "one Argon2id", baselineTime: Double(memory),
                goal: .atMost(0.1), unit: .bytes))
    }

    /// Makes a service where anna has an account, and registers her password there.
    private init(_ program: String, server path: String, in folder: String) throws {
        home = try CommandHome(program, in: folder)
        try home.run(["card", "-o", "\(folder)/operator.card"])
        let site = Site(folder, tresor: program, server: path)
        server = try RunningServer(
            "login", on: "\(folder)/service.db", from: home.store, operator: "\(folder)/operator.card", isSecure: true,
            in: site)
        certificate = try site.certificate().certificate
        try run(["register"])
    }

    private func run(_ words: [String]) throws {
        try home.run(
            words + ["--store", address, "--store-ca", certificate, "--password-file", home.passwordFile])
    }

    /// The whole command in an empty home, which gets a password slot too.
    private func command() async throws -> Figure {
        var turn = 0
        let times = try await Measure.byTurns(Self.rounds, after: { turn = $0 }) {
            try run(["login", "anna", "--home", "\(home.folder)/new-\(turn)", "--argon2id", "64,3"])
        } _: {
            try require(baseline_argon2id(Self.memory, 3))
            try require(baseline_argon2id(Self.slotMemory, 3))
        }
        return Figure(
            work: "tresor login over TLS, with a slot of 64 MiB", time: times.first,
            baseline: "plain Argon2id of log-in and slot", baselineTime: times.second, goal: .later(0.25))
    }

    /// The log-in alone, with a new connection each time.
    private func library() async throws -> Figure {
        let times = try await Measure.byTurns(Self.rounds, after: { _ in }) {
            let store = try HTTPStore(address, certificates: certificate)
            let client = Client(home: VolatileHome(), store: store, clock: CommandHome.clock)
            let login = Login(client, at: store.service, audience: try store.audience.hash())
            _ = try await login.open(Name(text: "anna"), password: Password(CommandHome.password))
        } _: {
            try require(baseline_argon2id(Self.memory, 3))
        }
        return Figure(
            work: "log in over TLS", time: times.first, baseline: "plain Argon2id", baselineTime: times.second,
            goal: .later(0.25))
    }

    /// What the service does, without what it does for any two requests. The client stretches its password by nothing.
    private func share() async throws -> Figure {
        let embedded = try await SQLiteStore.open(at: home.store, creating: false)
        let person = try await QuickLogin(
            home.session(on: embedded).identity, at: HTTPStore(address, certificates: certificate).service)
        let transactions = "\(home.folder)/plain-transactions.db"
        var times: (logIns: [Double], requests: [Double], plain: [Double]) = ([], [], [])
        for _ in 0..<Self.shareRounds {
            times.logIns.append(try await person.logIn())
            times.requests.append(
                try await QuickLogin.time {
                    for _ in 0..<2 { _ = try await person.service.call(ServerRequest()) }
                })
            times.plain.append(
                try await QuickLogin.time {
                    try require(baseline_multiply(7))
                    try require(baseline_transactions(transactions))
                })
        }
        return Figure(
            work: "the service's share of a log-in",
            time: Measure.median(times.logIns) - Measure.median(times.requests),
            baseline: "seven scalar multiplications, two transactions", baselineTime: Measure.median(times.plain),
            goal: .atMost(1.2))
    }
}

/// Somebody with a log-in whose password takes no Argon2id, on a connection that stays open.
private struct QuickLogin {
    private static let password = "another password"

    let service: ServiceClient
    private let parameters: LoginParameters
    private let names: OPAQUE.Names
    private let handle: Name

    /// Puts this password in the place of the one that the person has registered.
    init(_ identity: Identity, at service: ServiceClient) async throws {
        self.service = service
        handle = identity.handle
        let server = try await service.server()
        parameters = try LoginParameters(server: server, handle: identity.handle)
        names = try parameters.names()
        let registration = try OPAQUERegistration(input: parameters.input(Password(Self.password)))
        let request = RegisterRequest(
            chain: identity.chain.bytes, invitation: [], blinded: registration.message)
        let evaluated = try await Self.call(request, as: identity, at: service).evaluated
        let outcome = try registration.finish(
            evaluated: evaluated, serverKey: server.key.bytes, names: names, parameters: Self.quick(parameters))
        let record = outcome.record
        // The service does not open it. It has about the size of one.
        let copy = [UInt8](repeating: 1, count: identity.chain.bytes.count + 300)
        let statement = try LoginStatement(
            by: identity, server: server.id(), revision: 2, record: LoginStatement.hash(ofRecord: record),
            copy: LoginStatement.hash(ofCopy: copy), time: CommandHome.clock())
        _ = try await Self.call(
            FinishRequest(record: record, statement: statement, copy: copy), as: identity, at: service)
    }

    private static func call<Request: ServiceRequest>(
        _ request: Request, as identity: Identity, at service: ServiceClient
    ) async throws -> Request.Answer {
        try await service.speaking(as: .person(identity)).call(request)
    }

    private static func quick(_ parameters: LoginParameters) throws -> OPAQUE.Parameters {
        try OPAQUE.Parameters(context: parameters.context) { (output) throws(TresorError) in
            try SecretBytes(copying: output.span)
        }
    }

    /// Logs in.
    ///
    /// - Returns: the seconds that the answers to the two messages took.
    func logIn() async throws -> Double {
        let login = try OPAQUELogin(input: parameters.input(Password(Self.password)))
        let first = try LoginRequest(handle: handle, message: login.message)
        let start = ContinuousClock.now
        let answer = try await service.call(first)
        let answered = ContinuousClock.now
        let outcome = try login.finish(
            answer: answer.message, names: names, parameters: Self.quick(parameters))
        let last = FinishLoginRequest(attempt: answer.attempt, message: outcome.message)
        let time = try await Self.time { _ = try await service.call(last) }
        return Measure.seconds(answered - start) + time
    }

    /// The seconds on the clock: the service is another process.
    static func time(_ body: () async throws -> Void) async rethrows -> Double {
        let start = ContinuousClock.now
        try await body()
        return Measure.seconds(ContinuousClock.now - start)
    }
}

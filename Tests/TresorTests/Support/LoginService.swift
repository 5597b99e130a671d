// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto

@testable import TresorCore

/// A service of one person, with what log-ins by password take. It judges nothing, and shows what a test tells it to.
final class LoginService: ServiceCaller {
    /// The log-in of the person.
    struct KeptLogin: Sendable {
        var record: [UInt8]
        var statement: LoginStatement
        var copy: [UInt8]
    }

    private struct State {
        var seen: [ServiceOperation] = []
        var kept: KeptLogin?
        var hasRecord = true
        var keepsRecords = true
        var keepsStatements = true
        var attempts: [[UInt8]: HeldAnswer] = [:]
        var shows: @Sendable (FinishLoginAnswer) -> FinishLoginAnswer = { $0 }
    }

    /// An answer that waits for the client's last message.
    private final class HeldAnswer: Sendable {
        let value: OPAQUEServer.Answer

        init(_ value: consuming OPAQUEServer.Answer) { self.value = value }
    }

    private let secrets: OPAQUEServer
    /// The description that it shows.
    let shown: Server
    private let state = Mutex(State())

    /// - Parameter shown: the description of another service, whose key this one does not have.
    init(memoryKiB: UInt32 = 65_536, passes: UInt32 = 3, showing shown: Server? = nil) throws {
        let secrets = try OPAQUEServer(seed: SecretBytes(randomCount: 64), privateKey: Ristretto255.randomScalar())
        guard let key = Hash256(secrets.publicKey) else { throw TresorError.failed(.library) }
        self.secrets = secrets
        self.shown = shown ?? Server(key: key, memoryKiB: memoryKiB, passes: passes)
    }

    /// The operations since the last look.
    func take() -> [ServiceOperation] {
        state.withLock { state in
            defer { state.seen = [] }
            return state.seen
        }
    }

    /// The log-in that it shows from now on.
    var kept: KeptLogin? {
        get { state.withLock { $0.kept } }
        set { state.withLock { $0.kept = newValue } }
    }

    /// Whether it keeps the records that it accepts.
    var keepsRecords: Bool {
        get { state.withLock { $0.keepsRecords } }
        set { state.withLock { $0.keepsRecords = newValue } }
    }

    /// Whether it keeps the statements that it accepts.
    var keepsStatements: Bool {
        get { state.withLock { $0.keepsStatements } }
        set { state.withLock { $0.keepsStatements = newValue } }
    }

    /// Whether it has the record, which newer keys drop.
    var hasRecord: Bool {
        get { state.withLock { $0.hasRecord } }
        set { state.withLock { $0.hasRecord = newValue } }
    }

    /// Changes the answer to somebody who proved the password.
    func show(_ change: @escaping @Sendable (FinishLoginAnswer) -> FinishLoginAnswer) {
        state.withLock { $0.shows = change }
    }

    func speaking(as caller: Caller) -> Self { self }

    func server() async throws(TresorError) -> Server {
        state.withLock { $0.seen.append(.server) }
        return shown
    }

    func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
        state.withLock { $0.seen.append(Request.operation) }
        guard let answer = try reply(to: request) as? Request.Answer else { throw .unsupported }
        return answer
    }

    private func reply(to request: any ServiceRequest) throws(TresorError) -> any ServiceMessage {
        switch request {
        case let request as RegisterRequest:
            let (blinded, chain) = (request.blinded, try CardChain(request.chain))
            let parameters = try LoginParameters(server: shown, handle: chain.handle)
            return RegisterAnswer(
                state: kept == nil ? .asked : .active,
                evaluated: try secrets.register(blinded.span, identifier: parameters.identifier))
        case let request as FinishRequest:
            if keepsStatements {
                kept = KeptLogin(record: request.record, statement: request.statement, copy: request.copy)
            }
            hasRecord = keepsRecords
            return FinishAnswer(state: .active)
        case is AccountRequest:
            return AccountAnswer(
                state: .active, statement: kept?.statement, hasRecord: kept != nil && hasRecord, failures: 0, failed: 0,
                tresors: 0, bytes: 0, maximumTresors: 1, maximumBytes: 1, maximumEntries: 1)
        case let request as LoginRequest: return try answer(request)
        case let request as FinishLoginRequest: return try answer(request)
        default: throw .unsupported
        }
    }

    private func answer(_ request: LoginRequest) throws(TresorError) -> LoginAnswer {
        let parameters = try LoginParameters(server: shown, handle: request.handle)
        let record = if let kept { kept.record } else { try Self.nobodysRecord() }
        let answer = try secrets.answer(
            request.message, record: record, identifier: parameters.identifier, names: parameters.names(),
            context: parameters.context)
        let attempt = try randomBytes(LoginAnswer.attemptByteCount)
        let message = answer.message
        let held = HeldAnswer(answer)
        state.withLock { $0.attempts[attempt] = held }
        return LoginAnswer(attempt: attempt, message: message)
    }

    private func answer(_ request: FinishLoginRequest) throws(TresorError) -> FinishLoginAnswer {
        let last = request.message
        let held = state.withLock { $0.attempts.removeValue(forKey: request.attempt) }
        guard let held, let kept else { throw .noAccess }
        do throws(TresorError) { try held.value.check(last.span) } catch { throw .noAccess }
        let change = state.withLock { $0.shows }
        return change(FinishLoginAnswer(statement: kept.statement, copy: kept.copy))
    }

    private static func nobodysRecord() throws(TresorError) -> [UInt8] {
        let key = try Ristretto255.multiplyGenerator(by: Ristretto255.randomScalar()).bytes
        return try key + randomBytes(64) + [UInt8](repeating: 0, count: 96)
    }
}

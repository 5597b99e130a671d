// SPDX-License-Identifier: Apache-2.0

import Synchronization
package import TresorCore
package import TresorCrypto

/// Asks a service, in the name of a ``Caller`` (SPEC §18).
///
/// It makes a session for each caller and keeps it for an hour. It asks again where a connection broke, and where the
/// service is busy or away for a moment: with the same request id, so that nothing is done twice. The home of the caller
/// judges which service it is, before anything is signed for it.
package struct ServiceClient: ServiceCaller {
    private let transport: any Transport
    private let report: ServiceReport
    private let clock: @Sendable () -> UInt64
    private let pause: @Sendable (Duration) async throws -> Void
    private let steadyClock: @Sendable () -> Duration
    private let memory: Memory
    /// Whom the requests are signed by; `nil` for nobody.
    private(set) var caller: Caller?

    private struct State {
        /// The id of the service, once it is known.
        var server: Hash256?
        /// The seconds by which the clock of the service is ahead of ours, once a refusal has told it.
        var lead: Int64?
        var people: [ObjectIdentifier: PersonSession] = [:]
        var devices: [DeviceID: SessionKey] = [:]
        /// The eras of accounts that a refusal has told.
        var eras: [UserID: Era] = [:]
    }

    /// The state, one for all callers.
    private final class Memory: Sendable {
        let state: Mutex<State>
        init(server: Hash256?) { state = Mutex(State(server: server)) }
    }

    /// Makes a client.
    ///
    /// - Parameters:
    ///   - server: the id of the service, if it is known; otherwise the service is asked for it once.
    ///   - report: takes what the client says beside answers and errors.
    ///   - clock: gives seconds since 1970.
    ///   - pause: waits before a request is sent again.
    ///   - steadyClock: a time that never goes back; attempts end by it.
    package init(
        over transport: any Transport, expecting server: Hash256? = nil, report: ServiceReport = ServiceReport(),
        clock: @escaping @Sendable () -> UInt64,
        pause: @escaping @Sendable (Duration) async throws -> Void = { try await Task.sleep(for: $0) },
        steadyClock: (@Sendable () -> Duration)? = nil
    ) {
        self.transport = transport
        self.report = report
        self.clock = clock
        self.pause = pause
        let start = ContinuousClock.now
        self.steadyClock = steadyClock ?? { ContinuousClock.now - start }
        memory = Memory(server: server)
    }

    package func speaking(as caller: Caller) -> ServiceClient {
        var client = self
        client.caller = caller
        return client
    }

    /// The address under which the service is asked.
    var audience: Audience { transport.audience }

    /// Sends a request and reads its answer.
    ///
    /// - Throws: ``TresorError/noAccess`` where the caller may not do this, or nobody calls; ``TresorError/waiting``,
    ///   ``TresorError/unverified`` and ``TresorError/unsupported`` as the service says; ``TresorError/busy``;
    ///   ``TresorError/store(_:)`` for anything else that is not an answer.
    package func call<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer {
        switch try await result(of: request) {
        case .success(let answer): return answer
        case .failure(let refusal): throw refusal.storeError
        }
    }

    /// Sends a request and reads its answer; `nil` where the service says *forbidden or not there*.
    ///
    /// - Throws: the errors of ``call(_:)``.
    package func find<Request: ServiceRequest>(_ request: Request) async throws(TresorError) -> Request.Answer? {
        switch try await result(of: request) {
        case .success(let answer): return answer
        case .failure(let refusal):
            guard refusal.status == .forbidden, refusal.error == .noAccess else { throw refusal.storeError }
            return nil
        }
    }

    private func result<Request: ServiceRequest>(
        of request: Request
    ) async throws(TresorError) -> Result<Request.Answer, Refusal> {
        let body = request.bytes
        guard body.count <= Request.operation.maximumBodyByteCount else { throw .store(.full) }
        var attempts = try Attempts(by: steadyClock)
        var renewals = 0
        while true {
            let outcome = try await send(body, to: Request.operation, attempts, seconds: Self.wait(of: request))
            switch outcome {
            case .answer(let bytes):
                if Request.operation.speaker != .anyone { noteAnswer() }
                do throws(TresorError) { return .success(try Request.Answer(bytes)) } catch {
                    throw error == .unsupported ? error : .store(.foreign)
                }
            case .refused(let refusal, let date):
                // One of the two clocks may be off, all sessions may have been ended, or this one: each is mended once.
                guard refusal.status == .unauthorized, renewals < Self.mostRenewals else {
                    if refusal.status != .unauthorized { noteAnswer() } else { noteUnknownKeys() }
                    return .failure(refusal)
                }
                renewals += try renew(at: date, in: refusal.era) ? 1 : Self.mostRenewals
            case .later(let error, let delay):
                guard let delay = attempts.delay(atLeast: delay) else { throw error }
                do { try await pause(delay) } catch { throw .cancelled }
                try attempts.goOn(isKept: Request.operation.keepsAnswer)
            }
        }
    }

    /// Asks for the id of the service. The first answer counts for this client.
    ///
    /// - Throws: the errors of ``call(_:)``.
    package func serverID() async throws(TresorError) -> Hash256 {
        if let known = memory.state.withLock({ $0.server }) { return known }
        return note(try await call(ServerRequest()).server.id())
    }

    package func server() async throws(TresorError) -> Server {
        let server = try await call(ServerRequest()).server
        let id = try server.id()
        guard note(id) == id else { throw .altered }
        return server
    }

    /// Notes the id of the service unless one is known.
    ///
    /// - Returns: the known id.
    private func note(_ id: Hash256) -> Hash256 {
        memory.state.withLock { state in
            let server = state.server ?? id
            state.server = server
            return server
        }
    }

    /// The clock of the service, as far as it is known.
    private var now: UInt64 {
        let lead = memory.state.withLock { $0.lead } ?? 0
        let time = Int64(clamping: clock()).addingReportingOverflow(lead)
        return min(UInt64(max(0, time.overflow ? 0 : time.partialValue)), Format.latestTime)
    }

    private enum Outcome {
        case answer([UInt8])
        case refused(Refusal, date: UInt64?)
        /// To be sent again; the error if it is not.
        case later(TresorError, after: Duration)
    }

    private func send(
        _ body: [UInt8], to operation: ServiceOperation, _ attempts: Attempts, seconds: Int
    ) async throws(TresorError) -> Outcome {
        let authorization = try await authorization(for: operation, body: body, id: attempts.id)
        let request = TransportRequest(
            target: WireForm.target(of: operation), authorization: authorization?.text, body: body,
            timeout: .seconds(seconds), maximumAnswerByteCount: ServiceOperation.maximumAnswerByteCount,
            isLongPoll: operation == .news, transfer: report.transfer)
        let answer: TransportAnswer
        do throws(TransportFailure) {
            answer = try await transport.exchange(request)
        } catch {
            report.obstacle(error.obstacle)
            if operation.isChange, error.mayBeDone { report.mayBeDone(true) }
            // A connection that cannot be made again after it broke is the same outage.
            guard error.isBroken || (attempts.count > 0 && error == .unreachable) else { throw error.error }
            return .later(error.error, after: .zero)
        }
        guard answer.isOfService else { throw .store(.foreign) }
        report.obstacle(Obstacle(Refusal.Status(rawValue: answer.status), host: transport.audience.host))
        if answer.status == 200 {
            if operation.isChange { report.mayBeDone(false) }
            return .answer(answer.body)
        }
        let refusal = try Refusal(status: answer.status, body: answer.body)
        if refusal.status == .full { report.obstacle(.noRoom(isQuota: refusal.error == .failed(.other))) }
        guard refusal.status == .tooManyRequests || refusal.status == .unavailable else {
            if operation.isChange { report.mayBeDone(false) }
            return .refused(refusal, date: answer.date)
        }
        let seconds = answer.retryAfter ?? 0
        if refusal.status == .tooManyRequests { report.obstacle(.tooOften(minutes: (max(seconds, 1) - 1) / 60 + 1)) }
        return .later(refusal.storeError, after: .seconds(Int64(seconds)))
    }

    /// The time in which nothing may move, in seconds.
    private static func wait(of request: some ServiceRequest) -> Int {
        switch request {
        case let news as NewsRequest: 30 + Int(news.seconds)
        case is AppendRequest, is PutWrapsRequest: 60
        default: 30
        }
    }
}

/// Sessions.
extension ServiceClient {
    /// The session of one unlocked identity. Unlocking it again begins another one.
    fileprivate struct PersonSession {
        weak var identity: Identity?
        var key: SessionKey?
        /// Whether the service has answered a session that named the device.
        var isDeviceKnown = false
        /// Whether the service did not know the device at the beginning: it was removed before, and the person has
        /// unlocked the identity by another way.
        var isDeviceUnknown = false

        /// The key of a session goes with those of its identity, and where changes go on after these, with the last one.
        var isNeeded: Bool {
            guard let identity else { return false }
            return !identity.isLocked || !identity.changes.isEmpty
        }
    }

    /// The duration of a session in seconds: an hour. It is not used in its last minute.
    private static let duration: UInt64 = 3600
    private static let reserve: UInt64 = 60
    /// The most sessions that are made for one request.
    private static let mostRenewals = 3

    /// Signs a request in the name of the caller; `nil` for an operation that anyone may ask for.
    private func authorization(
        for operation: ServiceOperation, body: [UInt8], id: [UInt8]
    ) async throws(TresorError) -> Authorization? {
        guard operation.speaker != .anyone else { return nil }
        guard let caller else { throw .noAccess }
        if case .device = caller.key, operation.speaker != .device { throw .noAccess }
        let session = try session(of: caller, at: try await serverID())
        return try session.authorization(for: operation, body: body, id: id, time: now)
    }

    private func session(of caller: Caller, at server: Hash256) throws(TresorError) -> SessionKey {
        switch caller.key {
        case .person(let identity, let device): try session(of: identity, on: device, at: server)
        case .device(let share): try session(of: share, at: server)
        }
    }

    private func session(
        of identity: Identity, on device: () -> DeviceID?, at server: Hash256
    ) throws(TresorError) -> SessionKey {
        let now = now
        let (present, era) = memory.state.withLock { state in
            state.people = state.people.filter { $0.value.isNeeded }
            let present = state.people[ObjectIdentifier(identity)] ?? PersonSession(identity: identity)
            return (present, state.eras[identity.user] ?? .first)
        }
        if let key = present.key, Self.isGood(key, at: now) { return key }
        let key = try SessionKey(
            of: identity, device: present.isDeviceUnknown ? nil : device(), server: server, audience: try meet(server),
            era: era, since: now, duration: Self.duration)
        memory.state.withLock {
            $0.people[ObjectIdentifier(identity), default: PersonSession(identity: identity)].key = key
        }
        return key
    }

    private func session(of share: DeviceShare, at server: Hash256) throws(TresorError) -> SessionKey {
        let now = now
        let (present, era) = memory.state.withLock { ($0.devices[share.id], $0.eras[share.user] ?? .first) }
        if let present, Self.isGood(present, at: now) { return present }
        let key = try SessionKey(
            of: share, server: server, audience: try meet(server), era: era, since: now, duration: Self.duration)
        memory.state.withLock { $0.devices[share.id] = key }
        return key
    }

    /// Has the home of the caller judge the service.
    ///
    /// - Returns: the audience of the address.
    private func meet(_ server: Hash256) throws(TresorError) -> Hash256 {
        let audience = try transport.audience.hash()
        guard let home = caller?.home else { return audience }
        do throws(TresorError) {
            try KnownServices.meet(server, at: audience, in: home)
        } catch {
            if error == .altered { report.notice(.otherService) }
            throw error
        }
        return audience
    }

    private static func isGood(_ key: SessionKey, at now: UInt64) -> Bool {
        key.statement.since <= now + RequestStatement.clockWindow && now + reserve <= key.statement.until
    }

    /// Notes that the service has no session by the keys of the person.
    private func noteUnknownKeys() {
        if case .person = caller?.key { report.areKeysTaken(false) }
    }

    /// Notes that the service knows the keys of the person, and the device of the session.
    private func noteAnswer() {
        guard case .person(let identity, _) = caller?.key else { return }
        report.areKeysTaken(true)
        let isDeviceUnknown = memory.state.withLock { state in
            guard let session = state.people[ObjectIdentifier(identity)] else { return false }
            if session.key?.statement.device != nil { state.people[ObjectIdentifier(identity)]?.isDeviceKnown = true }
            return session.isDeviceUnknown
        }
        if isDeviceUnknown { report.notice(.deviceUnknown) }
    }

    /// Makes a new session after a refusal: by the clock of the service if ours is off, in the era of the account, and
    /// without a device that the service does not know. A service that has lost its devices tells the era only then.
    ///
    /// - Returns: whether one of the three was learned.
    /// - Throws: ``TresorError/failed(_:)`` with `serviceClock` for a clock that is too far off to sign by that of the service.
    private func renew(at date: UInt64?, in era: Era) throws(TresorError) -> Bool {
        guard let caller else { return false }
        let isClockLearned = try learnClock(date)
        return memory.state.withLock { state in
            let isEraLearned = era != .first && state.eras.updateValue(era, forKey: caller.user) != era
            var isLearned = isClockLearned || isEraLearned
            switch caller.key {
            case .person(let identity, _):
                guard var session = state.people[ObjectIdentifier(identity)] else { break }
                let isRefused = session.key?.statement.device != nil && !isLearned
                if isRefused, !session.isDeviceKnown {
                    session.isDeviceUnknown = true
                    isLearned = true
                }
                session.key = nil
                state.people[ObjectIdentifier(identity)] = session
            case .device(let share): state.devices[share.id] = nil
            }
            return isLearned
        }
    }

    /// Takes the clock of a service, once, and only if it is near. Who chooses the time freely would get requests for
    /// later.
    ///
    /// - Returns: whether it was taken.
    private func learnClock(_ date: UInt64?) throws(TresorError) -> Bool {
        let own = min(clock(), Format.latestTime)
        guard let date, date <= Format.latestTime, memory.state.withLock({ $0.lead }) == nil else { return false }
        let lead = Int64(clamping: date) - Int64(clamping: own)
        guard lead.magnitude > RequestStatement.clockWindow / 2 else { return false }
        guard lead.magnitude <= RequestStatement.maximumLead else {
            report.notice(.clockFarOff(own: own, service: date))
            throw .failed(.serviceClock)
        }
        let isFirst = memory.state.withLock { state in
            defer { state.lead = state.lead ?? lead }
            return state.lead == nil
        }
        if isFirst { report.notice(.clockOff(own: own, service: date)) }
        return isFirst
    }
}

extension ServiceOperation {
    /// Whether a request may be sent again under its id. A server share is handed out once for an id.
    fileprivate var keepsAnswer: Bool { self != .serverShare }
}

extension Refusal {
    /// Reads the refusal of a service.
    ///
    /// - Throws: ``TresorError/unsupported`` for one of another release; ``TresorError/store(_:)`` for a status or a body
    ///   that is none.
    fileprivate init(status: Int, body: [UInt8]) throws(TresorError) {
        guard let status = Status(rawValue: status) else { throw .store(.foreign) }
        do throws(TresorError) {
            let said = try Self.read(body)
            self.init(status, said.error, era: said.era)
        } catch {
            throw error == .unsupported ? error : .store(.foreign)
        }
    }

    /// The error that a store throws for it (SPEC §11).
    fileprivate var storeError: TresorError {
        switch (status, error) {
        case (.full, _): .store(.full)
        case (.tooManyRequests, _): .busy
        case (.unauthorized, _): .noAccess
        case (.unavailable, _): .store(.other)
        case (.behind, _): .store(.behind)
        case (_, .noAccess), (_, .waiting), (_, .unverified), (_, .unsupported): error
        default: .store(.other)
        }
    }
}

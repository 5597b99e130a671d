// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Measuring
import Synchronization

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// People who work as on every day: each appends an entry and runs a command by turns.
struct HonestPeople: Sendable {
    static let count = 32
    /// The steps of each in a second.
    private static let rate = 2.0
    /// The time for which somebody tries a step again.
    private static let patience = Duration.seconds(10)

    let authors: [Author]

    /// What people met.
    struct Experience: Sendable {
        /// The seconds from the moment when each step was due until it was done.
        var times: [Double] = []
        /// The tries that were refused, or whose connection broke.
        var refusals = 0

        var median: Double { Measure.median(times) }
        var percentile: Double { times.isEmpty ? 0 : times.sorted()[times.count * 99 / 100] }
        var greatest: Double { times.max() ?? 0 }
    }

    private enum Step {
        /// An entry, on the connection that stays.
        case entry(TransportRequest)
        /// What a command sends, in a session and on a connection of its own.
        case command([TransportRequest])
    }

    /// Has everybody work for some seconds.
    func work(at target: Target, seconds: Double, under watch: HealthWatch) async throws -> Experience {
        let stepCount = Int(seconds * Self.rate)
        let authors = authors
        return try await onThreads(authors.count) { number in
            try Self.work(authors[number], number, stepCount, target, watch)
        }.reduce(into: Experience()) { all, one in
            all.times += one.times
            all.refusals += one.refusals
        }
    }

    private static func work(
        _ author: Author, _ number: Int, _ stepCount: Int, _ target: Target, _ watch: HealthWatch
    ) throws -> Experience {
        let entries = try author.requests(stepCount / 2, to: target.service)
        let steps = try entries.flatMap { entry in
            [Step.entry(entry.request), .command(try command(of: author.session.identity, to: target))]
        }
        var line = ClientLine(to: target)
        var experience = Experience()
        var takenCount = 0
        defer { if takenCount > 0 { author.advance(to: entries[takenCount - 1].head) } }
        let start = ContinuousClock.now + .milliseconds(number * 15)
        for (place, step) in steps.enumerated() {
            let due = start + .seconds(Double(place) / rate)
            let left = Measure.seconds(due - ContinuousClock.now)
            if left > 0 { usleep(UInt32(left * 1e6)) }
            var isDone = false
            while !isDone, ContinuousClock.now - due < patience {
                isDone = isAnswered(step, on: &line, at: target)
                watch.note(isAnswered: isDone)
                guard !isDone else { break }
                experience.refusals += 1
                usleep(100_000)
            }
            experience.times.append(Measure.seconds(ContinuousClock.now - due))
            guard case .entry = step else { continue }
            // The entries behind one that is not taken have no place.
            guard isDone else { break }
            takenCount += 1
        }
        return experience
    }

    private static func command(of identity: Identity, to target: Target) throws -> [TransportRequest] {
        let session = try target.session(of: identity)
        return [
            try target.request(ServerRequest(), by: nil),
            try target.request(TresorsRequest(after: .zero), by: session),
        ]
    }

    private static func isAnswered(_ step: Step, on line: inout ClientLine, at target: Target) -> Bool {
        switch step {
        case .entry(let request):
            return line.ask(request)?.body == OutcomeAnswer(.done).bytes
        case .command(let requests):
            var line = ClientLine(to: target)
            return requests.allSatisfy { line.ask($0)?.status == 200 }
        }
    }
}

/// Asks for the health of a service each second, and compares the answer with what people met since the last one.
final class HealthWatch: Sendable {
    private struct State {
        var answers = 0
        var refusals = 0
        var looks = 0
        var lies = 0
    }

    private let state = Mutex(State())

    /// The number of looks.
    var lookCount: Int { state.withLock(\.looks) }
    /// The number of those at which the service said something else than what people met.
    var lieCount: Int { state.withLock(\.lies) }

    /// Notes what somebody met.
    func note(isAnswered: Bool) {
        state.withLock { state in
            if isAnswered { state.answers += 1 } else { state.refusals += 1 }
        }
    }

    /// Looks until it is over.
    func look(at target: Target, until isOver: Flag) {
        while true {
            sleep(1)
            guard !isOver.isRaised else { return }
            let isHealthy = Self.isHealthy(target)
            state.withLock { state in
                state.looks += 1
                let serves = state.answers > 0 && state.refusals == 0
                if isHealthy != serves { state.lies += 1 }
                (state.answers, state.refusals) = (0, 0)
            }
        }
    }

    private static func isHealthy(_ target: Target) -> Bool {
        let descriptor = wire_connect(Int32(target.port))
        guard descriptor >= 0 else { return false }
        defer { close(descriptor) }
        let request = Array("GET /health HTTP/1.1\r\nHost: 127.0.0.1\r\nConnection: close\r\n\r\n".utf8)
        var body = [UInt8](repeating: 0, count: 1_024)
        var count = body.count
        return wire_exchange(descriptor, request, request.count, &body, &count) == 200
    }
}

// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Measuring
import Serving
import Synchronization
import TresorSQLite

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// 10 000 people who wait for news over TLS, and what that costs those who write meanwhile.
struct IdleLoad {
    private static let waitCount = 10_000
    /// A service lets each account wait four times, and each address have 200 connections that have shown no account yet.
    private static let waitsOfPerson = 4
    private static let waitsOfAddress = 180
    /// Those who write: each sends so many requests a second.
    private static let writerCount = 8
    private static let rate = 20.0
    private static let seconds = 10.0

    private let site: Site

    init(_ site: Site) { self.site = site }

    func figures() async throws -> [Figure] {
        let folder = try site.folder("idle")
        let store = try await SQLiteStore.open(at: folder + "/embedded.db", creating: true)
        var authors: [Author] = []
        for number in 0..<Self.writerCount { authors.append(try await Author("author \(number)", in: store)) }
        var makers: [(RunningServer.Addressee) throws -> SessionKey] = []
        for number in 0..<(Self.waitCount / Self.waitsOfPerson) {
            makers.append(try await Person.visitor("person \(number)", in: store).1)
        }
        try Data(authors[0].session.identity.chain.bytes).write(to: URL(filePath: folder + "/operator.card"))
        let server = try RunningServer(
            "idle", on: try site.database("idle"), from: folder + "/embedded.db", operator: folder + "/operator.card",
            isSecure: true, in: site)
        let route = try server.route(certificates: try site.certificate().certificate)
        let id = try server.id(over: route)
        let sessions = try makers.map { try $0(id) }
        let cursor = try cursor(sessions[0], over: route)
        let (alone, beside, memory) = try await Site.alone { () async throws -> ([Double], [Double], Double) in
            _ = try await write(authors, to: id, over: route)
            let memoryBefore = try server.memory.present
            let before = try await write(authors, to: id, over: route)
            let start = ContinuousClock.now
            let waits = try await open(sessions, cursor, port: server.port)
            note("opened \(waits.count) waits in \(ContinuousClock.now - start)")
            let during = try await write(authors, to: id, over: route)
            let memory = try server.memory
            let waiting = waits.all.count { wire_is_waiting($0) == 1 }
            note(
                "\(waiting) still wait; \(Int(memory.present) / 1_048_576) MiB, before \(Int(memoryBefore) / 1_048_576)"
            )
            guard waiting == Self.waitCount else { throw LoadFailure("only \(waiting) wait") }
            waits.close()
            try await Task.sleep(for: .seconds(3))
            let after = try await write(authors, to: id, over: route)
            return (before + after, during, memory.present)
        }
        server.stop()
        func percentile(_ times: [Double]) -> Double { times.sorted()[times.count * 99 / 100] }
        return [
            Figure(
                work: "memory of the service with \(Self.waitCount) waits", time: memory, baseline: "640 MB",
                baselineTime: 640e6, goal: .atMost(1), unit: .bytes),
            Figure(
                work: "append beside them, p99", time: percentile(beside), baseline: "append beside none, p99",
                baselineTime: percentile(alone), goal: .atMost(1.5)),
            Figure(
                work: "append beside them, median", time: Measure.median(beside),
                baseline: "append beside none, median", baselineTime: Measure.median(alone), goal: nil),
        ]
    }

    /// A cursor of somebody without tresors, which is good for everybody without.
    private func cursor(_ session: SessionKey, over route: ConnectionTarget) throws -> [UInt8] {
        let body = NewsRequest(cursor: [], seconds: 0).bytes
        let authorization = try session.authorization(
            for: .news, body: body, id: try randomBytes(RequestStatement.idByteCount), time: Site.clock())
        let answer = try Connection(to: route, for: ExchangeControl()).ask(.news, body, authorization.text)
        return try NewsAnswer(answer.body).cursor
    }

    /// Connections that wait.
    private final class Waits: @unchecked Sendable {
        let all: [UnsafeMutableRawPointer]

        init(_ all: [UnsafeMutableRawPointer]) { self.all = all }

        var count: Int { all.count }

        func close() { for wait in all { wire_close(wait) } }
    }

    /// Opens all waits, on as many threads as there are cores.
    private func open(_ sessions: [SessionKey], _ cursor: [UInt8], port: Int) async throws -> Waits {
        let threadCount = 2
        let parts = try await onThreads(threadCount) { part in
            var addresses: [UInt] = []
            for number in stride(from: part, to: Self.waitCount, by: threadCount) {
                let request = try Self.request(of: sessions[number / Self.waitsOfPerson], cursor, port: port)
                let source = UInt32(0x7f01_0000) + UInt32(number / Self.waitsOfAddress) * 16 + 1
                guard let wait = wire_open_waiting(source, Int32(port), request, request.count) else {
                    throw LoadFailure("wait \(number) cannot be opened")
                }
                addresses.append(UInt(bitPattern: wait))
            }
            return addresses
        }
        return Waits(parts.flatMap { $0 }.compactMap { UnsafeMutableRawPointer(bitPattern: $0) })
    }

    private static func request(of session: SessionKey, _ cursor: [UInt8], port: Int) throws -> [UInt8] {
        let body = NewsRequest(cursor: cursor, seconds: NewsRequest.maximumSeconds).bytes
        let authorization = try session.authorization(
            for: .news, body: body, id: try randomBytes(RequestStatement.idByteCount), time: Site.clock())
        let lines = [
            "POST /v1/news HTTP/1.1", "Host: 127.0.0.1:\(port)", "Authorization: \(authorization.text)",
            "Content-Type: \(WireForm.mediaType)", "Content-Length: \(body.count)", "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8) + body
    }

    /// Appends at a fixed rate for some seconds, and returns the time that each took from the moment when it was due.
    private func write(_ authors: [Author], to id: RunningServer.Addressee, over route: ConnectionTarget) async throws
        -> [Double]
    {
        let count = Int(Self.seconds * Self.rate)
        let done = OutcomeAnswer(.done).bytes
        return try await onThreads(authors.count) { number in
            let requests = try authors[number].requests(count, to: id)
            let connection = try Connection(to: route, for: ExchangeControl())
            let start = ContinuousClock.now + .milliseconds(number * 6)
            var times: [Double] = []
            for (step, request) in requests.enumerated() {
                let due = start + .seconds(Double(step) / Self.rate)
                let left = Measure.seconds(due - ContinuousClock.now)
                if left > 0 { usleep(UInt32(left * 1e6)) }
                guard try connection.ask(request.request).body == done else {
                    throw LoadFailure("an entry is not taken")
                }
                times.append(Measure.seconds(ContinuousClock.now - due))
            }
            authors[number].advance(to: requests.last?.head)
            return times
        }.flatMap { $0 }
    }
}

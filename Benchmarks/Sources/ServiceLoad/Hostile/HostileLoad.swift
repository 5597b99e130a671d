// SPDX-License-Identifier: Apache-2.0

import Foundation
import Measuring
import Serving

@testable import TresorCore

/// Honest people at a service with the limits that every service has, while somebody attacks it, beside the same people
/// before the attack.
struct HostileLoad {
    private static let attacks: [any Attack.Type] = [
        StrangersBodies.self, UnkeptState.self, FilledRoom.self, OldSeed.self, LargeStates.self, LongChains.self,
        BadRequests.self,
    ]
    /// So many people make a state that is not kept.
    private static let elderCount = 200

    private let site: Site
    private let attacks: [any Attack.Type]
    /// The seconds of an attack. Before it people work half as long, and a sixth before that, which nobody measures.
    private let seconds: Double

    /// - Parameter rows: the rows of SPEC §14.2 that are tried, as `A230`; none for all.
    init(_ site: Site, rows: Set<String>) throws {
        self.site = site
        attacks = Self.attacks.filter { rows.isEmpty || rows.contains($0.row) }
        guard attacks.count >= rows.count else { throw LoadFailure("there is no such attack") }
        seconds = ProcessInfo.processInfo.environment["BENCHMARK_SECONDS"].flatMap { Double($0) } ?? 24
    }

    func measure(for report: Report) async throws {
        note("making \(Self.elderCount) people who have renewed their keys 255 times")
        let elders = try await Cast.elders(Self.elderCount)
        for (number, attack) in attacks.enumerated() {
            for kind in ["SQLite", "PostgreSQL"] {
                let name = "hostile_\(number)_\(kind.lowercased())"
                note("\(attack.name), \(kind)")
                let cast = try await Cast(in: try site.folder(name), elders: elders)
                report.add(
                    try await measure(
                        attack, beside: cast, name: name, kind: kind,
                        on: kind == "SQLite" ? "\(cast.folder)/clinic.db" : site.database(name)))
            }
        }
    }

    /// - Parameter place: the database of the service.
    private func measure(
        _ type: any Attack.Type, beside cast: Cast, name: String, kind: String, on place: String
    ) async throws -> [Figure] {
        let attack = try await type.init(in: cast)
        let server = try RunningServer(
            name, on: place, from: cast.embedded, operator: cast.card, isSecure: false, limits: [], in: site)
        defer { server.stop() }
        let target = try Target(server)
        let people = HonestPeople(authors: cast.authors)
        return try await Site.alone {
            _ = try await people.work(at: target, seconds: seconds / 6, under: HealthWatch())
            let before = try await people.work(at: target, seconds: seconds / 2, under: HealthWatch())
            let memory = try server.memory.present
            let watch = HealthWatch()
            var during = try await work(people, at: target, beside: attack, under: watch)
            let peak = try server.memory.peak
            during.refusals += try attack.refusalsAfterwards(at: target)
            return rows(
                "\(type.name), \(kind)", before, during, watch, memory: (before: memory, peak: peak))
        }
    }

    /// Has people work while an attack runs.
    private func work(
        _ people: HonestPeople, at target: Target, beside attack: any Attack, under watch: HealthWatch
    ) async throws -> HonestPeople.Experience {
        let isOver = Flag()
        let watching: Line = { watch.look(at: target, until: $0) }
        let lines = try attack.lines(to: target) + [watching]
        async let hostile: [Void] = onThreads(lines.count) { try lines[$0](isOver) }
        defer { isOver.raise() }
        let experience = try await people.work(at: target, seconds: seconds, under: watch)
        isOver.raise()
        _ = try await hostile
        return experience
    }

    private func rows(
        _ name: String, _ before: HonestPeople.Experience, _ during: HonestPeople.Experience, _ watch: HealthWatch,
        memory: (before: Double, peak: Double)
    ) -> [Figure] {
        [
            Figure(
                work: "\(name): median", time: during.median, baseline: "before", baselineTime: before.median),
            Figure(
                work: "\(name): p99", time: during.percentile, baseline: "before", baselineTime: before.percentile,
                goal: .atMost(3)),
            Figure(
                work: "\(name): p99", time: during.percentile, baseline: "a quarter of a second", baselineTime: 0.25,
                goal: .atMost(1)),
            Figure(
                work: "\(name): greatest", time: during.greatest, baseline: "before", baselineTime: before.greatest),
            Figure(
                work: "\(name): refused", time: Double(during.refusals), baseline: "of all steps",
                baselineTime: Double(during.times.count), goal: .atMost(0), unit: .number),
            Figure(
                work: "\(name): false answers of /health", time: Double(watch.lieCount), baseline: "of all",
                baselineTime: Double(max(1, watch.lookCount)), goal: .atMost(0), unit: .number),
            Figure(
                work: "\(name): memory, before", time: memory.before, baseline: "512 MiB",
                baselineTime: 512 * 1_048_576,
                unit: .bytes),
            Figure(
                work: "\(name): most memory", time: memory.peak, baseline: "512 MiB", baselineTime: 512 * 1_048_576,
                goal: .atMost(1), unit: .bytes),
        ]
    }
}

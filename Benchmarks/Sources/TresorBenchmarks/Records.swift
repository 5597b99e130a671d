// SPDX-License-Identifier: Apache-2.0

import CBaseline
import Foundation
import Measuring
import Tresor
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

private enum BenchmarkUse: SealingUse {}

/// Small contents with an unlocked epoch, in process.
enum Records {
    private static let rounds = 20_000

    static func figures() async throws -> [Figure] {
        var figures: [Figure] = []
        let key = try SecretKey<BenchmarkUse>()
        let context = [UInt8](repeating: 1, count: 90)
        let hashed = 4 + 14 + 4 + 18 + 24 + 4 + context.count
        for (count, name) in [(1024, "1 KiB"), (16 * 1024, "16 KiB"), (65536, "64 KiB")] {
            let content = [UInt8](repeating: 7, count: count)
            let rounds = Self.rounds * 1024 / max(count, 1024)
            let seal = try await Measure.byTurns(9) {
                for _ in 0..<rounds {
                    _ = try TC1.seal(content.span, with: key, label: .fileSeal, context: context.span)
                }
            } _: {
                try require(baseline_seal(rounds, hashed, count))
            }
            figures.append(
                Figure(
                    work: "seal \(name)", time: seal.first / Double(rounds), baseline: "plain libsodium",
                    baselineTime: seal.second / Double(rounds), goal: count == 1024 ? .atMost(1.15) : nil))
            let sealed = try TC1.seal(content.span, with: key, label: .fileSeal, context: context.span)
            let open = try await Measure.byTurns(9) {
                for _ in 0..<rounds {
                    _ = try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span)
                }
            } _: {
                try require(baseline_open(rounds, hashed, count))
            }
            figures.append(
                Figure(
                    work: "open \(name)", time: open.first / Double(rounds), baseline: "plain libsodium",
                    baselineTime: open.second / Double(rounds), goal: count == 1024 ? .atMost(1.15) : nil))
        }
        let whole = try await signed()
        return figures + whole + others(beside: figures + whole)
    }

    /// The libraries of PyPI, measured in the same run if `BENCHMARK_PYTHON` names a Python that has them.
    private static func others(beside figures: [Figure]) -> [Figure] {
        guard let python = ProcessInfo.processInfo.environment["BENCHMARK_PYTHON"] else { return [] }
        let script = Process()
        let output = Pipe()
        script.executableURL = URL(filePath: python)
        script.arguments = ["records.py"]
        script.standardOutput = output
        guard (try? script.run()) != nil else { return [] }
        let text = String(decoding: output.fileHandleForReading.readDataToEndOfFile(), as: UTF8.self)
        return text.split(separator: "\n").compactMap { line in
            let columns = line.split(separator: "\t").map(String.init)
            guard columns.count == 3, let time = Double(columns[2]),
                let ours = figures.first(where: { $0.work == columns[0] })
            else { return nil }
            return Figure(work: columns[0], time: ours.time, baseline: columns[1], baselineTime: time)
        }
    }

    /// Whole sealed files of 1 KiB: hashes, signature, seal.
    private static func signed() async throws -> [Figure] {
        let people = try await Circle(members: 1)
        let state = try await people.anna.client.logs.state(of: people.tresor)
        let keys = try await people.anna.keyRing.keys(of: 1, in: state)
        let content = [UInt8](repeating: 7, count: 1024)
        let type = try Name(text: "application/json")
        let record = try Name(text: "plan.json")
        let identity = people.anna.identity
        let rounds = 4000
        let file = try FileSealer.sealFile(
            content, type: type, record: record, keys: keys, state: state, author: identity, time: 1)
        let payload = file.bytes.count - 90 - 72
        let message = 4 + 24 + 90 + 49 + type.bytes.count + record.bytes.count + 64
        let seal = try await Measure.byTurns(9) {
            for _ in 0..<rounds {
                _ = try FileSealer.sealFile(
                    content, type: type, record: record, keys: keys, state: state, author: identity, time: 1)
            }
        } _: {
            try require(baseline_hash_and_sign(rounds, content.count, message))
            try require(baseline_seal(rounds, 158, payload))
        }
        let open = try await Measure.byTurns(9) {
            for _ in 0..<rounds { _ = try FileOpener.openFile(file, with: keys, in: state) }
        } _: {
            try require(baseline_hash_and_verify(rounds, content.count, message))
            try require(baseline_open(rounds, 158, payload))
        }
        return [
            Figure(
                work: "seal 1 KiB, signed", time: seal.first / Double(rounds), baseline: "plain libsodium",
                baselineTime: seal.second / Double(rounds), goal: .atMost(1.10)),
            Figure(
                work: "open 1 KiB, signature checked", time: open.first / Double(rounds), baseline: "plain libsodium",
                baselineTime: open.second / Double(rounds), goal: .atMost(1.10)),
        ]
    }
}

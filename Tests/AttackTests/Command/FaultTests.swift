// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

/// The disk is full, fails or cannot be written, or the power goes, at one call after another: an act happens wholly or
/// not at all.
@Suite(.longRun, .enabled(if: has("strace"), "strace is not present")) final class FaultTests {
    private let stage: Stage
    private let device: String
    private var before: [String: [UInt8]] = [:]

    init() throws {
        (stage, device) = try Stage.withActs()
        before = try contents()
    }

    private func contents() throws -> [String: [UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: stage.scratch.path)
        return try names.reduce(into: [:]) { found, name in
            let type = try FileManager.default.attributesOfItem(atPath: stage.scratch[name])[.type]
            if type as? FileAttributeType == .typeRegular { found[name] = stage[name] }
        }
    }

    /// Restores every file to its state before the first act.
    private func putBack() throws {
        for name in try contents().keys where before[name] == nil {
            try FileManager.default.removeItem(atPath: stage.scratch[name])
        }
        for (name, bytes) in before where stage[name] != bytes {
            if !FileManager.default.fileExists(atPath: stage.scratch[name]) {
                try stage.write([], to: name, mode: 0o600)
            }
            let file = try #require(FileHandle(forWritingAtPath: stage.scratch[name]))
            try file.truncate(atOffset: 0)
            try file.write(contentsOf: bytes)
            try file.close()
        }
    }

    /// A call that changes a file of the stage, with its place among the calls of its name that one thread makes:
    /// strace counts so.
    struct Call: CustomStringConvertible {
        let name: String
        let number: Int
        let line: String

        var description: String { "\(name) \(number): \(line.suffix(160))" }
        /// Whether the call is one whose failure SQLite makes up for: a shared-memory index, a checkpoint, an early
        /// hint.
        var isSpare: Bool { line.contains("-shm") || line.contains("ftruncate") || line.contains("fallocate") }
        /// Whether it is one of those that put an output, or what the home cannot do without, in its place: every one
        /// of which counts.
        var counts: Bool {
            let isOfAHome = line.contains("/homes/")
            let isPlacing = ["rename", "link"].contains { name.hasPrefix($0) }
            if isOfAHome {
                return isPlacing
                    && ["identity", "pins", "heads", "device-share"].contains { line.contains("\"\($0)\"") }
            }
            return !line.contains(".db") && (isPlacing || ["write", "fsync"].contains(name))
        }
    }

    private static let calls =
        "pwrite64,write,ftruncate,fallocate,fsync,fdatasync,rename,renameat,renameat2,link,linkat,unlink,unlinkat,mkdir,fchmod"

    private func strace(_ options: [String]) {
        stage.wrapper =
            [
                "/usr/bin/strace", "-f", "--seccomp-bpf", "-qq", "-y", "-s", "16", "-o", stage.scratch.path + ".trace",
                "-e",
                "trace=\(Self.calls)",
            ]
            + options
    }

    private func trace() -> [String] {
        String(decoding: bytes(at: stage.scratch.path + ".trace"), as: UTF8.self).split(separator: "\n").map(
            String.init)
    }

    /// Every such call of a run that succeeds.
    private func changes(_ arguments: [String]) throws -> [Call] {
        strace([])
        try stage.expect(as: "anna", arguments)
        stage.wrapper = []
        var counts: [String: Int] = [:]
        var found: [Call] = []
        for line in trace() {
            guard let call = line.firstMatch(of: /^(\d+) +(\w+)\(/) else { continue }
            let place = "\(call.1) \(call.2)"
            counts[place, default: 0] += 1
            guard line.contains(stage.scratch.path) else { continue }
            found.append(Call(name: String(call.2), number: counts[place] ?? 0, line: line))
        }
        try putBack()
        return found
    }

    /// Some calls of an act, spread over it with the last among them, and those that put an output in its place; all
    /// with `TRESOR_EVERY_CALL` in the environment.
    private func sample(_ calls: [Call], _ count: Int) -> [Call] {
        guard ProcessInfo.processInfo.environment["TRESOR_EVERY_CALL"] == nil, calls.count > count else { return calls }
        let spread = Set((1...count).map { $0 * calls.count / count - 1 })
        return calls.indices.filter { spread.contains($0) || calls[$0].counts }.map { calls[$0] }
    }

    /// Whatever fails, the command says so or has done all of it; what was there before is there, and the next run goes
    /// through.
    @Test(arguments: Stage.acts) func A106_aFailingCallIsNeverASuccess(act: [String]) throws {
        let act = stage.words(act, device: device)
        let calls = try changes(act)
        #expect(calls.count > 1, "\(act)")
        for (index, call) in sample(calls, 3).enumerated() {
            strace([
                "-e", "inject=\(call.name):error=\(index.isMultiple(of: 2) ? "EIO" : "ENOSPC"):when=\(call.number)",
            ])
            let ending = try stage.run(as: "anna", act)
            stage.wrapper = []
            // Threads take turns: what was hit need not be the call that was meant.
            let failed = trace().filter { $0.contains("(INJECTED)") }
            let hits = failed.filter { $0.contains(stage.scratch.path) }
                .map { Call(name: call.name, number: call.number, line: $0) }
            // The same number of another thread's write may be the message itself.
            let isSilenced = failed.contains { $0.contains(" write(2<") }
            if ending.code == 0 {
                let isDone = try stage.isDone(act, device: device)
                let (areSpare, oneCounts) = (hits.allSatisfy { $0.isSpare }, hits.contains { $0.counts })
                #expect(isDone || areSpare, "\(act): success after \(hits)")
                #expect(!oneCounts, "\(act): success after \(hits)")
            } else {
                #expect([1, 11, 18].contains(ending.code), "\(act): \(ending.code) after \(call): \(ending.errorText)")
                #expect(isSilenced || ending.errorText.contains("tresor: error: "), "\(act) after \(call)")
            }
            try expectOrder(act, after: call)
            try putBack()
        }
    }

    /// The power goes before a call: the act is done or not, what `members` says is what opens, and the same act again
    /// ends well.
    @Test(arguments: Stage.acts.prefix(5)) func A90_aKilledActIsDoneOrNot(act: [String]) throws {
        for call in sample(try changes(act), 6) {
            strace(["-e", "inject=\(call.name):signal=KILL:when=\(call.number)"])
            let ending = try stage.run(as: "anna", act)
            stage.wrapper = []
            #expect([-9, 0, 128 + 9].contains(ending.code), "\(ending.code) at \(call)")
            let isMember = try stage.expect(as: "anna", ["members", "-t", "plans"]).contains("house")
            try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "after.tresor"])
            let opens = try stage.run(as: "house", ["decrypt", "after.tresor", "-o", "seen.json"])
            #expect(opens.code == (isMember ? 0 : 13), "\(act): \(opens.errorText) after \(call)")
            try expectOrder(act, after: call)
            try putBack()
        }
    }

    /// Files are wholly the old or the new ones, the same act again ends well, and the machine finds nothing wrong.
    private func expectOrder(_ act: [String], after call: Call) throws {
        let moment: Comment = "\(act) after \(call)"
        for (name, bytes) in before where !name.contains("/") && !name.contains(".db") {
            // Two long contents are not to be compared element by element for a message.
            let isOld = stage[name] == bytes
            guard !isOld else { continue }
            let isNew = try ["plan.tresor", "read.json"].contains(name) && stage.isDone(act, device: device)
            #expect(isNew, "\(name) is neither: \(moment)")
        }
        for name in try FileManager.default.contentsOfDirectory(atPath: stage.scratch.path) where name.hasPrefix(".") {
            #expect(!stage[name].holds(Array(Stage.marker.utf8)), "\(name): \(moment)")
        }
        let again = try stage.run(as: "anna", act)
        let isRefusal = ["create", "recover", "card", "keygen"].contains(act[0]) && [1, 64].contains(again.code)
        let isGone = act[0] == "device" && again.code == 10
        #expect(again.code == 0 || isRefusal || isGone, "again: \(again.code) \(again.errorText) \(moment)")
        #expect(try stage.isDone(act, device: device), moment)
        let check = try stage.run(as: "anna", ["check", "--deep", "plan.tresor"])
        #expect(check.code == 0, "\(check.outputText) \(moment)")
    }
}

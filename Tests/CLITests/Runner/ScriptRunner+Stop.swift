// SPDX-License-Identifier: Apache-2.0

import Foundation

/// `kill every` and `interrupt every`: the command after it is stopped at each of its operations on files in turn.
///
/// After each stop `check` passes, or says what it said before the command; then the command, run again, completes, `check` passes, and whatever the script says
/// behind the command holds. Lines between the verb and the command belong to each of its runs. `kill every CODE` lets the repeated command end with that
/// code: for what was done already and cannot be done twice.
///
/// That is: before and after every operation that gives, changes or takes a name, and behind all that is written before a sync. Of the other states, which are
/// half written temporaries and transactions, every sixth. Of a long command's, 60 are taken, evenly, and 6 under a sanitizer, which
/// looks at how the program runs and not at where it ends. `TRESOR_EVERY=1` in the environment takes all.
extension ScriptRunner {
    private static let given = ProcessInfo.processInfo.environment["TRESOR_EVERY"].flatMap { Int($0) }
    private static let stride = given ?? 6
    private static let isSanitized = ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] != nil
    private static let most = given != nil ? Int.max : isSanitized ? 6 : 60

    func stopEverywhere(_ commands: ArraySlice<Script.Command>) throws {
        guard let verb = commands.first, let place = commands.firstIndex(where: { $0.text.hasPrefix("tresor ") }) else {
            throw ScriptFailure("there is no command to stop")
        }
        let command = commands[commands.index(after: commands.startIndex)...place]
        let rest = commands[commands.index(after: place)...]
        let signal = verb.text.hasPrefix("kill") ? SIGKILL : SIGINT
        let allowed = verb.text.split(separator: " ").dropFirst(2).compactMap { Int32($0) }
        let saved = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-before-\(UUID())")
        try FileManager.default.copyItem(at: work, to: saved)
        defer { try? FileManager.default.removeItem(at: saved) }
        let before = try runTresor(["check"]).code
        let start = log
        for operation in try operations(of: command) {
            try FileManager.default.removeItem(at: work)
            try FileManager.default.copyItem(at: saved, to: work)
            log = start + "[stopped at operation \(operation)]\n"
            intruder.stop = (operation, signal)
            try run(command, allowing: signal == SIGKILL ? [Intruder.killed] : [130])
            if signal != SIGKILL { try expectNoTemporaries() }
            try expectCheck(in: [0, before])
            try run(command, allowing: allowed)
            try expectCheck(in: [0])
            try run(rest)
        }
        log = ""
    }

    /// The numbers of the operations at which to stop a command.
    private func operations(of command: ArraySlice<Script.Command>) throws -> [Int] {
        let trace = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-trace-\(UUID())")
        defer { try? FileManager.default.removeItem(at: trace) }
        intruder.trace = trace
        try run(command)
        guard let letters = try? Data(contentsOf: trace), !letters.isEmpty else {
            throw ScriptFailure("the command has no operations on files")
        }
        var others = 0
        var before = UInt8(ascii: "f")
        let places = letters.enumerated().compactMap { index, letter -> Int? in
            defer { before = letter }
            // Whoever is killed behind a sync leaves what they would have left before it.
            guard before != UInt8(ascii: "s") else { return nil }
            if letter == UInt8(ascii: "s") || [letter, before].contains(UInt8(ascii: "r")) { return index + 1 }
            others += 1
            return others % Self.stride == 0 ? index + 1 : nil
        }
        let step = (places.count - 1) / Self.most + 1
        return places.enumerated().compactMap { $0.offset % step == 0 ? $0.element : nil }
    }

    private func run(_ command: ArraySlice<Script.Command>, allowing codes: [Int32]) throws {
        do {
            try run(command)
        } catch {
            guard let code = last?.code, codes.contains(code) else { throw error }
        }
    }

    private func expectCheck(in codes: [Int32]) throws {
        let result = try runTresor(["check"])
        guard codes.contains(result.code) else { throw ScriptFailure("check ends with \(result.code)\n\(log)") }
    }

    private func expectNoTemporaries() throws {
        for case let name as String in FileManager.default.enumerator(atPath: work.path) ?? .init()
        where name.hasSuffix(".tmp") || name.hasSuffix(".new") {
            throw ScriptFailure("\(name) was left behind\n\(log)")
        }
    }
}

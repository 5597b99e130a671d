// SPDX-License-Identifier: Apache-2.0

import Foundation

/// `kill every` and `interrupt every`: the command after it is stopped at each of its operations on files in turn.
///
/// After each stop `check` passes, or reports the same as before the command. The repeated command then completes and
/// leaves no temporaries, `check` passes, and the expectations of the script after the command hold. Lines between the
/// verb and the command belong to each of its runs. Lines between the command and `again` describe the state after a
/// stop; they are checked first, and the state is then restored. `kill every CODE` lets the repeated command end with
/// that code, for a command that cannot run twice. A second such verb begins where the first did.
///
/// That is: before and after every operation that gives, changes or takes a name, and behind all that is written before
/// a sync. Of the other states, which are half written temporaries and transactions, every sixth. Of a long command's,
/// 7 are taken, evenly, and 6 under a sanitizer, which looks at how the program runs and not at where it ends.
/// `TRESOR_EVERY=1` in the environment takes all.
extension ScriptRunner {
    private static let given = ProcessInfo.processInfo.environment["TRESOR_EVERY"].flatMap { Int($0) }
    private static let stride = given ?? 6
    private static let isSanitized = ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] != nil
    private static let most = given != nil ? Int.max : isSanitized ? 6 : 7

    func stopEverywhere(_ commands: ArraySlice<Script.Command>) throws {
        let saved = work.appendingPathExtension("saved")
        try FileManager.default.copyItem(at: work, to: saved)
        defer { try? FileManager.default.removeItem(at: saved) }
        var rest = commands
        while let verb = rest.first {
            rest.removeFirst()
            let next = rest.firstIndex(where: \.isStop) ?? rest.endIndex
            try stop(rest[..<next], by: verb, from: saved)
            rest = rest[next...]
        }
    }

    private func stop(_ commands: ArraySlice<Script.Command>, by verb: Script.Command, from saved: URL) throws {
        guard let place = commands.firstIndex(where: \.isRun) else {
            throw ScriptFailure("there is no command to stop")
        }
        let command = commands[...place]
        let behind = commands[commands.index(after: place)...]
        let again = behind.firstIndex { $0.text == "again" }
        let rest = again.map { behind[behind.index(after: $0)...] } ?? behind
        let signal = verb.text.hasPrefix("kill") ? SIGKILL : SIGINT
        let allowed = verb.text.split(separator: " ").dropFirst(2).compactMap { Int32($0) }
        let start = log
        try putBack(saved)
        try run(command.dropLast())
        let before = try runTresor(["check"]).code
        try putBack(saved)
        for operation in try operations(of: command) {
            try putBack(saved)
            log = start + "[stopped at operation \(operation)]\n"
            intruder.stop = (operation, signal)
            try run(command, allowing: signal == SIGKILL ? [Intruder.killed] : [130])
            if signal != SIGKILL { try expectNoTemporaries() }
            if let again { try look(behind[..<again]) }
            try expectCheck(in: [0, before])
            try run(command, allowing: allowed)
            if last?.code == 0 { try expectNoTemporaries() }
            try expectCheck(in: [0])
            try run(rest)
        }
        log = ""
    }

    /// The expectations for a copy of the files after a stop; the next run finds the originals, hard links included.
    private func look(_ lines: ArraySlice<Script.Command>) throws {
        let stopped = work.appendingPathExtension("stopped")
        try FileManager.default.moveItem(at: work, to: stopped)
        defer { try? FileManager.default.removeItem(at: stopped) }
        try FileManager.default.copyItem(at: stopped, to: work)
        try run(lines)
        try FileManager.default.removeItem(at: work)
        try FileManager.default.moveItem(at: stopped, to: work)
    }

    private func putBack(_ copy: URL) throws {
        try FileManager.default.removeItem(at: work)
        try FileManager.default.copyItem(at: copy, to: work)
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
            // A kill after a sync leaves the same files as a kill before it.
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

extension Script.Command {
    fileprivate var isRun: Bool { text.hasPrefix("tresor ") || text.hasPrefix("! tresor ") }

    /// Whether what follows is stopped at each of its operations.
    var isStop: Bool { text.hasPrefix("kill every") || text.hasPrefix("interrupt every") }
}

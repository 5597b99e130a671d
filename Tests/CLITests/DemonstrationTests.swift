// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import TestSupport
    import Testing

    /// `scripts/demo --service`: what it prints is what README shows, and it leaves nothing behind.
    @Suite(
        .serialized, .enabled(if: DemonstrationRun.isPossible, "PostgreSQL is not installed"),
        .enabled(if: DemonstrationRun.hasNamespaces, "missing: namespaces"))
    struct DemonstrationTests {
        @Test func theSessionsOfReadmeAreThoseThatRun() async throws {
            let run = try DemonstrationRun()
            #expect(await run.end() == 0, "\(run.output)")
            // Each machine has an address of its own.
            for address in ["192.0.2.1/", "198.51.100.2/", "203.0.113.2/"] { #expect(run.output.contains(address)) }
            for (section, count) in [("Two machines", 10), ("Approval", 13)] {
                var lines = run.output.split(separator: "\n").map(DemonstrationRun.general)[...]
                let steps = try ReadmeSession(section: section).steps
                #expect(steps.count == count)
                for line in steps.flatMap({ ["\($0.person)$ \($0.command)"] + $0.output }) {
                    let place = lines.firstIndex { $0.hasPrefix(DemonstrationRun.general(line)) }
                    lines = lines[(try #require(place, "\(line)") + 1)...]
                }
            }
            #expect(run.output.contains("the doctor's copy is the same, byte for byte"))
            #expect(run.leftovers == [])
        }

        /// A demonstration that somebody interrupts in its middle, or of which a step fails.
        @Test(.longRun, arguments: [nil, "create"])
        func aDemonstrationThatEndsEarlyLeavesNothing(failing: String?) async throws {
            let run = try DemonstrationRun(failing: failing, holding: failing == nil ? "create" : nil)
            if failing == nil {
                try #require(await run.says("anna$ tresor create"))
                run.interrupt()
            }
            #expect(await run.end() == (failing == nil ? 143 : 77), "\(run.output)")
            #expect(!run.output.contains("tresor encrypt"))
            #expect(run.leftovers == [])
        }
    }

    /// One run of the script over the programs that are built, with a temporary directory of its own.
    final class DemonstrationRun {
        private let process = Process()
        private let temporary: URL
        private let log: URL

        static var isPossible: Bool {
            let versions = (try? FileManager.default.contentsOfDirectory(atPath: "/usr/lib/postgresql")) ?? []
            return !versions.isEmpty
        }

        /// Whether the system permits a network for each machine. Without, the script ends with 1.
        static let hasNamespaces: Bool = {
            let process = Process()
            process.executableURL = URL(fileURLWithPath: "/bin/sh")
            let up = "--net ip link set lo up 2>/dev/null"
            process.arguments = ["-c", "unshare \(up) || unshare --user --map-root-user \(up)"]
            guard (try? process.run()) != nil, (try? process.end()) != nil else { return false }
            return process.terminationStatus == 0
        }()

        /// - Parameters:
        ///   - failing: a command of tresor that ends with 77 there.
        ///   - holding: a command of tresor that waits there for the interruption.
        init(failing: String? = nil, holding: String? = nil) throws {
            // The path of a socket has at most 107 bytes.
            temporary = URL(fileURLWithPath: "/tmp/demo-\(UUID().uuidString.prefix(8))")
            log = temporary.appendingPathExtension("log")
            try FileManager.default.createDirectory(
                at: temporary, withIntermediateDirectories: false, attributes: [.posixPermissions: 0o755])
            _ = FileManager.default.createFile(atPath: log.path, contents: nil)
            var programs = URL(fileURLWithPath: ChildProcess.program).deletingLastPathComponent()
            if failing != nil || holding != nil {
                let real = programs
                let go = temporary.appendingPathExtension("go").path
                programs = temporary.appendingPathExtension("bin")
                try FileManager.default.createDirectory(at: programs, withIntermediateDirectories: false)
                let script = """
                    #!/bin/sh
                    [ "$1" != "\(failing ?? "")" ] || exit 77
                    [ "$1" != "\(holding ?? "")" ] || until [ -e \(go) ]; do sleep 0.05; done
                    exec \(real.path)/tresor "$@"
                    """
                try Data(script.utf8).write(to: programs.appending(path: "tresor"))
                chmod(programs.appending(path: "tresor").path, 0o755)
                try FileManager.default.createSymbolicLink(
                    at: programs.appending(path: "tresor-server"),
                    withDestinationURL: real.appending(path: "tresor-server"))
            }
            // Tests of the service have this process ignore signals, and a shell cannot trap what it began with ignored.
            process.executableURL = URL(fileURLWithPath: "/usr/bin/env")
            let demonstration = ReadmeSession.root.appending(path: "scripts/demo").path
            process.arguments = ["--default-signal=TERM", demonstration, "--service"]
            var environment = ProcessInfo.processInfo.environment
            environment["TRESOR_PROGRAMS"] = programs.path
            environment["TMPDIR"] = temporary.path
            process.environment = environment
            process.standardInput = FileHandle.nullDevice
            process.standardOutput = try FileHandle(forWritingTo: log)
            process.standardError = process.standardOutput
            try process.start()
        }

        deinit {
            if process.isRunning { process.terminate() }
            for place in [temporary, log] + ["bin", "go"].map({ temporary.appendingPathExtension($0) }) {
                try? FileManager.default.removeItem(at: place)
            }
        }

        var output: String { (try? String(contentsOf: log, encoding: .utf8)) ?? "" }

        /// Interrupts the script, and lets the command go on that waits for that.
        func interrupt() {
            process.terminate()
            _ = FileManager.default.createFile(atPath: temporary.appendingPathExtension("go").path, contents: nil)
        }

        func end() async -> Int32 {
            for _ in 0..<6000 where process.isRunning { try? await Task.sleep(for: .milliseconds(100)) }
            guard process.isRunning else { return process.terminationStatus }
            Issue.record("it did not end: \(doing(process.processIdentifier)); it said: \(output)")
            return -1
        }

        func says(_ text: String) async -> Bool {
            for _ in 0..<6000 where process.isRunning {
                if output.contains(text) { return true }
                try? await Task.sleep(for: .milliseconds(100))
            }
            Issue.record("it does not say \(text): \(doing(process.processIdentifier))")
            return false
        }

        /// The files that are left in its temporary directory, and the processes that it started.
        var leftovers: [String] {
            let manager = FileManager.default
            let files = (try? manager.contentsOfDirectory(atPath: temporary.path)) ?? ["?"]
            let processes = ((try? manager.contentsOfDirectory(atPath: "/proc")) ?? []).filter { name in
                guard Int(name) != nil, let bytes = manager.contents(atPath: "/proc/\(name)/environ") else {
                    return false
                }
                return String(decoding: bytes, as: UTF8.self).contains("TMPDIR=\(temporary.path)\0")
            }
            return files + processes
        }

        /// A line without what differs from run to run: safety numbers, ids, dates, columns as wide as their longest
        /// cell, and the address and certificate of the service.
        static func general(_ line: some StringProtocol) -> String {
            String(line).replacing(/[0-9]{5}( [0-9]{5}){5}/, with: "NUMBER")
                .replacing(/https:\/\/[0-9a-z.]+:8443/, with: "SERVICE")
                .replacing(/\b[0-9a-z]{10}\b/, with: "ID").replacing(/[0-9]{4}-[0-9]{2}-[0-9]{2}/, with: "DATE")
                .replacing(#/ {2,}/#, with: "  ")
        }
    }
#endif

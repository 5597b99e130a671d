// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The verbs of the operator of a service: `server WORDS` runs `tresor-server` to its end, `serve WORDS` lets it serve
/// from now on, and `stop` ends that gracefully. Everybody uses the service while it serves. `sql FILE STATEMENT` is the
/// operator's hand in its database.
extension ScriptRunner {
    func operate(_ verb: String, _ operands: [String], isNegated: Bool) throws -> Bool {
        switch verb {
        case "server":
            let result = try runTresor(operands, program: Service.program)
            guard result.code >= 0 else { throw ScriptFailure("the service was ended by signal \(-result.code)") }
            guard (result.code == 0) != isNegated else { throw ScriptFailure("the exit code is \(result.code)") }
        case "serve" where !isNegated:
            guard service == nil else { throw ScriptFailure("a service runs already") }
            let started = try Service(operands, environment: environment, directory: work)
            service = started
            environment["TRESOR_STORE"] = "http://127.0.0.1:\(try started.port())"
        case "stop" where !isNegated:
            guard let running = service else { throw ScriptFailure("no service runs") }
            service = nil
            try running.stop()
        case "sql" where !isNegated:
            guard operands.count == 2 else { throw ScriptFailure("sql takes a database and a statement") }
            try Database(work.appendingPathComponent(operands[0]).path).run(operands[1])
        default:
            return false
        }
        return true
    }
}

/// A `tresor-server` that serves on a port of loopback, until the value goes.
final class Service {
    /// The program lies beside the other one.
    static let program = URL(fileURLWithPath: ChildProcess.program).deletingLastPathComponent()
        .appendingPathComponent("tresor-server").path

    private let child: ChildProcess
    private let process: pid_t
    private let said: URL
    private var isRunning = true

    init(_ words: [String], environment: [String: String], directory: URL) throws {
        child = ChildProcess(
            arguments: ["run"] + words + ["--listen", "127.0.0.1:0"], environment: environment,
            directory: directory.path)
        said = directory.appendingPathComponent("service-\(UUID()).log")
        process = try child.spawn(Self.program, output: "/dev/null", error: said.path)
    }

    deinit {
        guard isRunning else { return }
        kill(process, SIGKILL)
        _ = try? child.wait(for: process)
    }

    private var text: String { (try? String(contentsOf: said, encoding: .utf8)) ?? "" }

    /// The port that it said it listens on.
    func port() throws -> Int {
        let deadline = Date(timeIntervalSinceNow: child.patience)
        while Date() < deadline {
            if let found = text.firstMatch(of: /"event":"listening".*"port":([0-9]+)/), let port = Int(found.1) {
                return port
            }
            var status: Int32 = 0
            guard waitpid(process, &status, WNOHANG) == 0 else {
                isRunning = false
                throw ScriptFailure("the service ended: \(text)")
            }
            usleep(2_000)
        }
        throw ScriptFailure("the service does not listen: \(doing(process)); it said: \(text)")
    }

    /// Ends it, and waits for that.
    func stop() throws {
        kill(process, SIGTERM)
        isRunning = false
        let code = try child.wait(for: process)
        guard code == 0 else { throw ScriptFailure("the service ended with \(code): \(text)") }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport

/// The built `tresor-server` with a database in the scratch of a stage, until the value goes. Everybody may register.
final class RunningService {
    /// The program lies beside the other one.
    private static let program = URL(fileURLWithPath: Program.path).deletingLastPathComponent()
        .appendingPathComponent("tresor-server").path

    static var isBuilt: Bool { FileManager.default.isExecutableFile(atPath: program) }

    /// The address that clients name.
    let address: String
    private let process: Process
    private let log: String

    /// - Parameter person: somebody of the stage, who becomes the operator.
    init(on stage: Stage, operator person: String) throws {
        let (database, card) = (stage.scratch["clinic.db"], stage.scratch["operator.card"])
        try stage.expect(as: person, ["card", "-o", card])
        let made = try Self.start(
            ["init", database, "--operator", card, "--registration", "open", "--argon2id", "65536,3"], in: stage,
            log: stage.scratch["init.log"])
        try made.end()
        guard made.terminationStatus == 0 else {
            throw Unmet("no service is made: \(String(decoding: stage["init.log"], as: UTF8.self))")
        }
        log = stage.scratch["service.log"]
        process = try Self.start(["run", database, "--listen", "127.0.0.1:0"], in: stage, log: log)
        address = "http://127.0.0.1:\(try Self.port(of: process, in: log))"
    }

    deinit {
        process.terminate()
        process.waitUntilExit()
    }

    /// The lines of its log.
    var said: [UInt8] { bytes(at: log) }

    private static func start(_ words: [String], in stage: Stage, log: String) throws -> Process {
        _ = FileManager.default.createFile(atPath: log, contents: nil)
        let process = Process()
        process.executableURL = URL(fileURLWithPath: program)
        process.arguments = words
        process.currentDirectoryURL = URL(fileURLWithPath: stage.scratch.path)
        process.standardInput = FileHandle.nullDevice
        process.standardOutput = FileHandle.nullDevice
        process.standardError = FileHandle(forWritingAtPath: log)
        try process.start()
        return process
    }

    private static func port(of process: Process, in log: String) throws -> Int {
        let deadline = Date(timeIntervalSinceNow: 60)
        while Date() < deadline, process.isRunning {
            let text = String(decoding: bytes(at: log), as: UTF8.self)
            if let found = text.firstMatch(of: /"event":"listening".*"port":([0-9]+)/), let port = Int(found.1) {
                return port
            }
            usleep(2_000)
        }
        process.terminate()
        throw Unmet("the service does not listen: \(String(decoding: bytes(at: log), as: UTF8.self))")
    }
}

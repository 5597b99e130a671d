// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor

@testable import TresorCommand

/// A file that somebody changes while it is read.
@Suite struct InputFileTests {
    private let url = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-input-\(UUID())")

    /// Reads a file, which is changed behind its first 4 bytes, to its end.
    private func read(_ change: (FileHandle) throws -> Void) throws -> (bytes: [UInt8], hasGrown: Bool) {
        try Data("beginning and end".utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let input = try InputFile(url.path, standardInput: StandardInput())
        var bytes = try input.start(4)
        let handle = try FileHandle(forUpdating: url)
        try change(handle)
        try handle.close()
        while true {
            let part = try input.read(upTo: 1 << 16)
            if part.isEmpty { break }
            bytes += part
        }
        return (bytes, try input.hasGrown())
    }

    @Test func aFileThatStaysAsItIsHasNotGrown() throws {
        let (bytes, hasGrown) = try read { _ in }
        #expect(bytes == Array("beginning and end".utf8))
        #expect(!hasGrown)
    }

    @Test func aFileThatGrowsIsReadToItsEnd() throws {
        let (bytes, hasGrown) = try read { file in
            try file.seekToEnd()
            try file.write(contentsOf: Data(" and more".utf8))
        }
        #expect(bytes == Array("beginning and end and more".utf8))
        #expect(hasGrown)
    }

    @Test func aFileThatIsCutIsBusy() throws {
        let failure = #expect(throws: CommandFailure.self) { _ = try read { try $0.truncate(atOffset: 6) } }
        #expect(failure?.error == .busy)
    }

    @Test func aFileThatIsRewrittenIsBusy() throws {
        let failure = #expect(throws: CommandFailure.self) {
            _ = try read { file in
                try file.write(contentsOf: Data("BEGINNING AND END".utf8))
                // A clock of the file system that is coarse would show no difference.
                try FileManager.default.setAttributes(
                    [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: url.path)
            }
        }
        #expect(failure?.error == .busy)
    }

    /// The log and the home are read again after the wait. What is there already ends no turn.
    @Test func aPipeThatIsWaitedForEndsTheTurn() throws {
        #expect(mkfifo(url.path, 0o600) == 0)
        defer { try? FileManager.default.removeItem(at: url) }
        // Both ends are open, so that nobody waits for the other one.
        let writer = try FileHandle(forUpdating: url)
        try writer.write(contentsOf: Data("at hand".utf8))
        let input = try InputFile(url.path, standardInput: StandardInput())
        let surroundings = Surroundings()
        let turns = surroundings.turns
        let before = turns.number
        try Surroundings.$current.withValue(surroundings) { () throws -> Void in
            #expect(try input.read(upTo: 100) == Array("at hand".utf8))
            #expect(turns.number == before)
            Thread {
                for _ in 0..<10_000_000 where turns.number == before { sched_yield() }
                try? writer.write(contentsOf: Data("late".utf8))
            }.start()
            #expect(try input.read(upTo: 100) == Array("late".utf8))
            #expect(turns.number == before + 1)
        }
    }

    /// Nobody writes into the pipe, so that a reader who waits for somebody would wait for ever.
    @Test func aPipeThatTakesTheNameIsBusy() throws {
        try Data("content".utf8).write(to: url)
        defer { try? FileManager.default.removeItem(at: url) }
        let input = try InputFile(url.path, standardInput: StandardInput())
        let look = try #require(input.look)
        try FileManager.default.removeItem(at: url)
        #expect(mkfifo(url.path, 0o600) == 0)
        let failure = #expect(throws: CommandFailure.self) { _ = try InputFile(look) }
        #expect(failure?.error == .busy)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Tresor
import TresorCrypto
import TresorStore

@testable import TresorCommand

/// An intruder who replaces an output while it is written, so that the program writes to another person's file.
@Suite(
    .disabled(
        if: ProcessInfo.processInfo.environment["TRESOR_SANITIZER"] == "thread",
        "the sanitizer does not see a Mutex handed on to who waited for it, and here threads wait all the time"))
struct OutputIntrusionTests {
    private let scratch: Scratch
    private var victim: String { scratch.path("victim") }
    private var target: String { scratch.path("out") }

    init() throws {
        scratch = try Scratch()
        try scratch.write("theirs", "victim", mode: 0o640)
    }

    enum Trap: CaseIterable, Sendable {
        case link, linkToNothing, pipe, directory, hardLink, file
    }

    /// Puts something at the target in a directory, in the place of whatever lies there.
    private static func set(_ trap: Trap, in directory: String) {
        let (place, target, victim) = ("\(directory)/trap", "\(directory)/out", "\(directory)/victim")
        for path in [place, target] where unlink(path) != 0 { rmdir(path) }
        switch trap {
        case .link: symlink(victim, place)
        case .linkToNothing: symlink("\(directory)/nothing", place)
        case .pipe: mkfifo(place, 0o600)
        case .directory: mkdir(place, 0o700)
        case .hardLink: link(victim, place)
        case .file: close(open(place, O_WRONLY | O_CREAT, 0o600))
        }
        rename(place, target)
    }

    private func expectVictim(_ comment: Comment) throws {
        #expect(try scratch.text("victim") == "theirs", comment)
        #expect(scratch.mode("victim") == 0o640, comment)
        #expect(!scratch.names.contains("nothing"), comment)
    }

    @Test(arguments: Trap.allCases, [true, false])
    func A103_aFileThatAppearsAtTheOutputIsNotWrittenTo(trap: Trap, replaces: Bool) throws {
        let file = OutputFile(path: target, access: .everybody, replaces: replaces)
        try file.write(Array("secret".utf8).span)
        Self.set(trap, in: scratch.url.path)
        let expected: CommandError? = trap.isFile ? (replaces ? nil : .usage) : .failed(.other)
        #expect(failure { try file.commit() } == expected)
        try expectVictim("\(trap)")
        #expect(scratch.names == ["out", "victim"])
        if trap.isFile {
            #expect(try scratch.text("out") == (replaces ? "secret" : trap == .file ? "" : "theirs"))
        }
    }

    /// An intruder may replace the output between any two calls; only the file at the last call decides.
    @Test(.longRun, arguments: [true, false]) func A103_anExchangedOutputHasNothingElseWritten(unnamed: Bool) throws {
        let isDone = Mutex(false)
        let rounds = Mutex(0)
        let directory = scratch.url.path
        let exchanger = Thread {
            while !isDone.withLock({ $0 }) {
                for trap in [Trap.file, .link, .hardLink, .linkToNothing, .pipe] { Self.set(trap, in: directory) }
                rounds.withLock { $0 += 1 }
            }
            isDone.withLock { $0 = false }
        }
        exchanger.start()
        while rounds.withLock({ $0 }) == 0 { usleep(1000) }
        var written = 0
        var refused = 0
        var round = 0
        // On a busy machine one turn of this thread can last for many rounds, in which the output stays the same.
        while round < 400 || (written == 0 || refused == 0) && round < 1_000_000 {
            round += 1
            if !round.isMultiple(of: 16) { sched_yield() } else { usleep(1) }
            let replaces = !round.isMultiple(of: 4)
            if unnamed {
                let error = failure {
                    let file = OutputFile(path: target, access: .everybody, replaces: replaces)
                    try file.write(Array("secret".utf8).span)
                    try file.commit()
                }
                // The last of these: it was there when the name was given, and no longer when its kind was looked at.
                #expect(
                    [nil, .usage, .failed(.other), .failed(.inputOutput)].contains(error),
                    "\(String(describing: error))")
                if error == nil { written += 1 } else { refused += 1 }
            } else {
                let draft = try Draft.open(for: target, unnamed: false)
                #expect(write(draft.descriptor, "secret", 6) == 6)
                do throws(SystemError) {
                    try draft.commit(replacing: replaces)
                    written += 1
                } catch {
                    #expect(error == SystemError(EEXIST))
                    refused += 1
                }
            }
        }
        isDone.withLock { $0 = true }
        while isDone.withLock({ $0 }) { usleep(1000) }
        #expect(written > 0 && refused > 0, "\(written) \(refused)")
        try expectVictim("after \(written) of \(written + refused)")
        #expect(!scratch.names.contains { $0.hasPrefix(".tresor-") }, "\(scratch.names)")
    }

    /// Files under the names of temporaries: neither writing nor sweeping follows a link.
    @Test(arguments: [true, false]) func A103_temporariesThatWereMadeBeforeAreNotFollowed(unnamed: Bool) throws {
        #expect(symlink(victim, scratch.path(".tresor-0000000000000001.tmp")) == 0)
        #expect(symlink(scratch.path("nothing"), scratch.path(".tresor-0000000000000002.tmp")) == 0)
        #expect(link(victim, scratch.path(".tresor-0000000000000003.tmp")) == 0)
        #expect(mkfifo(scratch.path(".tresor-0000000000000004.tmp"), 0o600) == 0)
        #expect(mkdir(scratch.path(".tresor-0000000000000005.tmp"), 0o700) == 0)
        for _ in 0..<20 {
            let draft = try Draft.open(for: target, unnamed: unnamed)
            #expect(write(draft.descriptor, "secret", 6) == 6)
            try draft.commit(replacing: true)
        }
        try expectVictim("left alone")
        #expect(try scratch.text("out") == "secret")
        let left = scratch.names.filter { $0.hasPrefix(".tresor-") }
        #expect(left == [1, 2, 5].map { ".tresor-000000000000000\($0).tmp" })
    }

    private func failure(_ body: () throws -> Void) -> CommandError? {
        do { try body() } catch { return (error as? CommandFailure)?.error }
        return nil
    }
}

extension OutputIntrusionTests.Trap {
    fileprivate var isFile: Bool { self == .hardLink || self == .file }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Synchronization
import TestSupport
import Testing
import Tresor
import TresorCrypto
import TresorStore

@testable import TresorCommand

/// A directory that lasts as long as the test.
final class Scratch {
    let url = FileManager.default.temporaryDirectory.appendingPathComponent("tresor-test-\(UUID())")

    init() throws { try FileManager.default.createDirectory(at: url, withIntermediateDirectories: true) }

    deinit { try? FileManager.default.removeItem(at: url) }

    func path(_ name: String) -> String { url.appendingPathComponent(name).path }

    func write(_ text: String, _ name: String, mode: mode_t = 0o600) throws {
        try Data(text.utf8).write(to: url.appendingPathComponent(name))
        chmod(path(name), mode)
    }

    func text(_ name: String) throws -> String { try String(contentsOfFile: path(name), encoding: .utf8) }

    func mode(_ name: String) -> mode_t {
        var status = stat()
        return lstat(path(name), &status) == 0 ? status.st_mode & 0o7777 : 0
    }

    var names: [String] { ((try? FileManager.default.contentsOfDirectory(atPath: url.path)) ?? []).sorted() }
}

@Suite("Output files")
struct OutputFileTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func write(_ text: String, to name: String, access: FileAccess = .owner, replaces: Bool = true) throws {
        let file = OutputFile(path: scratch.path(name), access: access, replaces: replaces)
        try file.write(Array(text.utf8).span)
        try file.commit()
    }

    private func failure(_ body: () throws -> Void) -> CommandError? {
        do { try body() } catch { return (error as? CommandFailure)?.error }
        return nil
    }

    @Test("Nothing exists before the commit, and nothing remains without one")
    func lazy() throws {
        do {
            let file = OutputFile(path: scratch.path("a"), access: .owner)
            #expect(scratch.names.isEmpty)
            try file.write(Array("half".utf8).span)
            #expect(!scratch.names.contains("a"))
        }
        #expect(scratch.names.isEmpty)
    }

    @Test("A commit puts the whole content in place, with its mode")
    func modes() throws {
        try write("secret", to: "a")
        try write("sealed", to: "b", access: .everybody)
        #expect(try scratch.text("a") == "secret")
        #expect(scratch.mode("a") == 0o600)
        #expect(scratch.mode("b") == 0o666 & ~Hardening.creationMask)
        #expect(scratch.names == ["a", "b"])
    }

    @Test("An output of no bytes is an empty file")
    func empty() throws {
        try OutputFile(path: scratch.path("a"), access: .owner).commit()
        #expect(try scratch.text("a") == "")
    }

    @Test("An existing file is replaced as a whole, and a hard link to it keeps the old content")
    func replaces() throws {
        try scratch.write("old and longer", "a", mode: 0o644)
        #expect(link(scratch.path("a"), scratch.path("b")) == 0)
        try write("new", to: "a")
        #expect(try scratch.text("a") == "new")
        #expect(scratch.mode("a") == 0o600)
        #expect(try scratch.text("b") == "old and longer")
    }

    @Test("A file that may not be replaced stays")
    func keeps() throws {
        try scratch.write("old", "a")
        #expect(failure { try write("new", to: "a", replaces: false) } == .usage)
        #expect(try scratch.text("a") == "old")
        try write("new", to: "b", replaces: false)
        #expect(try scratch.text("b") == "new")
        #expect(scratch.names == ["a", "b"])
    }

    @Test("A file that appears meanwhile is not replaced either")
    func race() throws {
        let file = OutputFile(path: scratch.path("a"), access: .owner, replaces: false)
        try file.write(Array("new".utf8).span)
        try scratch.write("theirs", "a")
        #expect(failure { try file.commit() } == .usage)
        #expect(try scratch.text("a") == "theirs")
        #expect(scratch.names == ["a"])
    }

    @Test("A link, a pipe and a directory at the output are refused and left alone")
    func special() throws {
        try scratch.write("target", "target")
        #expect(symlink(scratch.path("target"), scratch.path("link")) == 0)
        #expect(symlink(scratch.path("nowhere"), scratch.path("dangling")) == 0)
        #expect(mkfifo(scratch.path("pipe"), 0o600) == 0)
        #expect(mkdir(scratch.path("directory"), 0o700) == 0)
        let names = scratch.names
        for name in ["link", "dangling", "pipe", "directory"] {
            #expect(failure { try write("new", to: name) } == .failed(.other))
        }
        #expect(try scratch.text("target") == "target")
        #expect(scratch.names == names)
    }

    @Test("Without unnamed files a temporary one that nobody else can read takes its place", arguments: [true, false])
    func named(_ replaces: Bool) throws {
        do {
            let draft = try Draft.open(for: scratch.path("a"), unnamed: false)
            let names = scratch.names
            #expect(names.count == 1 && names.allSatisfy { $0.hasPrefix(".tresor-") && scratch.mode($0) == 0o600 })
            draft.discard()
            #expect(scratch.names.isEmpty)
        }
        let draft = try Draft.open(for: scratch.path("a"), unnamed: false)
        #expect(Foundation.write(draft.descriptor, "new", 3) == 3)
        try draft.commit(replacing: replaces)
        #expect(scratch.names == ["a"])
        #expect(try scratch.text("a") == "new")
    }

    @Test("What a dead process left under a temporary name is swept away, what a living one writes is not")
    func sweeps() throws {
        try scratch.write("content of somebody killed", ".tresor-00000000000dead0.tmp")
        try scratch.write("content of somebody at work", ".tresor-00000000000a11fe.tmp")
        let alive = open(scratch.path(".tresor-00000000000a11fe.tmp"), O_RDONLY)
        defer { close(alive) }
        #expect(flock(alive, LOCK_EX) == 0)
        try write("new", to: "file")
        #expect(scratch.names == [".tresor-00000000000a11fe.tmp", "file"])
    }

    @Test("What somebody sweeps away before it is locked is made once more", .longRun)
    func sweptWhileMade() throws {
        let directory = scratch.url.path
        let isDone = Mutex(false)
        let sweeper = Thread {
            while !isDone.withLock({ $0 }) {
                guard let opened = try? FileDescriptor(directory, O_RDONLY | O_DIRECTORY) else { continue }
                _ = try? AtomicFile.sweep(opened)
            }
        }
        sweeper.start()
        defer { isDone.withLock { $0 = true } }
        for _ in 0..<2000 {
            let draft = try Draft.open(for: scratch.path("a"), unnamed: false)
            try draft.commit(replacing: true)
        }
    }

    @Test("A missing directory is not found; a name without a last part is no file")
    func missing() {
        #expect(failure { try write("x", to: "no/a") } == .notFound)
    }

    @Test("Input and output may not be one file, by name or by link")
    func same() throws {
        try scratch.write("old", "a")
        #expect(link(scratch.path("a"), scratch.path("b")) == 0)
        #expect(symlink(scratch.path("a"), scratch.path("c")) == 0)
        let input = try InputFile(scratch.path("a"), standardInput: StandardInput())
        for name in ["a", "b", "c"] {
            #expect(
                failure { try OutputFile(path: scratch.path(name), access: .owner).refuse(input) } == .usage)
        }
        #expect(failure { try OutputFile(path: scratch.path("d"), access: .owner).refuse(input) } == nil)
    }
}

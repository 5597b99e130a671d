// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCore
import TresorCrypto

@testable import TresorStore

@Suite struct AtomicFileTests {
    let scratch: Scratch
    var path: String { scratch["file"] }

    init() throws { scratch = try Scratch() }

    private func commit(_ content: [UInt8], replacing: Bool, mode: mode_t = 0o600) throws -> Bool {
        let file = try AtomicFile(at: path, mode: mode)
        try file.write(content.span)
        return try file.commit(replacing: replacing)
    }

    @Test func fileAppearsWhole() throws {
        do {
            let file = try AtomicFile(at: path, mode: 0o600)
            for part in [[1, 2], [], [3]] as [[UInt8]] { try file.write(part.span) }
            #expect(!FileManager.default.fileExists(atPath: path))
            #expect(try file.commit(replacing: false))
        }
        #expect(try bytes(at: path) == [1, 2, 3])
        #expect(try scratch.names == ["file"])
        #expect(try mode(of: path) == 0o600)
    }

    @Test func droppedFileLeavesNothing() throws {
        try write([9], to: path)
        do {
            let file = try AtomicFile(at: path, mode: 0o600)
            try file.write([1].span)
            #expect(try scratch.names.count == 2)
        }
        #expect(try scratch.names == ["file"])
        #expect(try bytes(at: path) == [9])
    }

    @Test func existingFileStaysUnlessItIsToBeReplaced() throws {
        try write([9], to: path)
        #expect(try !commit([1], replacing: false))
        #expect(try bytes(at: path) == [9])
        #expect(try commit([1], replacing: true))
        #expect(try bytes(at: path) == [1])
        #expect(try scratch.names == ["file"])
    }

    @Test(arguments: [true, false]) func A103_linksAreNotFollowed(_ replacing: Bool) throws {
        for target in ["victim", "missing"] {
            try write([7], to: scratch["victim"])
            try FileManager.default.createSymbolicLink(atPath: path, withDestinationPath: scratch[target])
            #expect(try commit([1], replacing: replacing) == replacing)
            #expect(try bytes(at: scratch["victim"]) == [7])
            #expect(!FileManager.default.fileExists(atPath: scratch["missing"]))
            try FileManager.default.removeItem(atPath: path)
        }
    }

    @Test func A103_hardLinkIsReplacedNotWritten() throws {
        try write([7], to: scratch["victim"])
        #expect(link(scratch["victim"], path) == 0)
        #expect(try commit([1], replacing: true))
        #expect(try bytes(at: scratch["victim"]) == [7])
    }

    @Test func A103_directoryAndPipeAreRefused() throws {
        try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        #expect(throws: TresorError.failed(.inputOutput)) { try commit([1], replacing: true) }
        #expect(rmdir(path) == 0)
        #expect(mkfifo(path, 0o600) == 0)
        #expect(throws: TresorError.failed(.inputOutput)) { try commit([1], replacing: true) }
        #expect(try scratch.names == ["file"])
    }

    @Test func missingDirectoryIsNotFound() throws {
        #expect(throws: TresorError.notFound) {
            _ = try AtomicFile(at: scratch["none/file"], mode: 0o600).commit(replacing: true)
        }
    }

    @Test(arguments: [
        ("file", ".", "file"), ("/file", "/", "file"), ("a/file", "a", "file"), ("/a/b/file", "/a/b", "file"),
        ("./file", ".", "file"),
    ])
    func pathsAreSplitAtTheLastSlash(_ path: String, _ directory: String, _ name: String) {
        #expect(AtomicFile.split(path) == (directory, name))
    }

    @Test(.enabled(if: FileManager.default.fileExists(atPath: "/dev/full")))
    func A106_fullDiskIsNoticed() throws {
        let file = try FileDescriptor("/dev/full", O_WRONLY)
        do {
            try file.write([UInt8](repeating: 1, count: 10).span.bytes)
            Issue.record("wrote to a full disk")
        } catch {
            #expect(error.fault == .full)
        }
    }

    @Test(arguments: [
        (ENOSPC, TresorError.Fault.full), (EDQUOT, .full), (EROFS, .readOnly), (EACCES, .readOnly), (EIO, .inputOutput),
        (ENOMEM, .memory),
    ])
    func A106_systemErrorsHaveTheirNames(_ number: Int32, _ fault: TresorError.Fault) {
        #expect(SystemError(number).fault == fault)
    }

    @Test func A109_lowDescriptorsAreNeverUsed() async throws {
        await #expect(processExitsWith: .success) {
            for number in Int32(0)...2 { close(number) }
            guard let file = try? FileDescriptor("/dev/null", O_RDONLY) else { exit(1) }
            let flags = fcntl(file.number, F_GETFD)
            exit(file.number > 2 && flags & FD_CLOEXEC != 0 && fcntl(0, F_GETFD) == -1 ? 0 : 2)
        }
    }

    @Test func aCallThatIsInterruptedForEverFails() {
        var count = 0
        let call: () -> Int = {
            count += 1
            errno = EINTR
            return -1
        }
        #expect(throws: SystemError(EINTR)) { try SystemError.retrying(call) }
        #expect(count > 1)
        count = 0
        #expect((try? SystemError.retrying { count < 3 ? call() : 7 }) == 7)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCrypto
import TresorStore

@testable import TresorCommand

/// A file that is read, and replaced under its name.
@Suite("Files that are replaced in place")
struct ResealedFileTests {
    let scratch: Scratch

    init() throws { scratch = try Scratch() }

    private func opened(_ name: String) throws -> InputFile {
        let input = try InputFile(scratch.path(name), standardInput: StandardInput())
        _ = try input.start(1 << 20)
        return input
    }

    private func replace(_ input: InputFile) throws {
        let file = OutputFile(path: input.path ?? "", access: .asBefore(input))
        try file.write(Array("new".utf8).span)
        try file.commit()
    }

    @Test("Its mode stays, and its other names are counted")
    func replaced() throws {
        try scratch.write("old", "a", mode: 0o640)
        #expect(try opened("a").otherNameCount == 0)
        #expect(link(scratch.path("a"), scratch.path("b")) == 0)
        let input = try opened("a")
        #expect(input.otherNameCount == 1)
        try replace(input)
        #expect(try scratch.text("a") == "new")
        #expect(scratch.mode("a") == 0o640)
        #expect(try scratch.text("b") == "old")
    }

    @Test(
        "What somebody else has put there since is not replaced",
        arguments: ["another file", "other bytes", "a longer file", "a shorter file", "no file"])
    func changed(_ change: String) throws {
        try scratch.write("old", "a")
        let input = try opened("a")
        let path = scratch.path("a")
        switch change {
        case "another file":
            try scratch.write("newer", "b")
            #expect(rename(scratch.path("b"), path) == 0)
        case "other bytes":
            let handle = try FileHandle(forWritingTo: URL(fileURLWithPath: path))
            try handle.write(contentsOf: Data("OLD".utf8))
            try handle.close()
            // A clock of the file system that is coarse would show no difference.
            try FileManager.default.setAttributes(
                [.modificationDate: Date(timeIntervalSince1970: 1)], ofItemAtPath: path)
        case "a longer file": try Data("old and longer".utf8).write(to: URL(fileURLWithPath: path), options: [])
        case "a shorter file": #expect(truncate(path, 1) == 0)
        default: #expect(unlink(path) == 0)
        }
        let before = try? scratch.text("a")
        let failure = #expect(throws: CommandFailure.self) { try replace(input) }
        #expect(failure?.error == .busy)
        #expect((try? scratch.text("a")) == before)
    }

    @Test("A link is refused, and the hint names its target")
    func linked() throws {
        try scratch.write("old", "real")
        #expect(symlink("real", scratch.path("a")) == 0)
        let failure = #expect(throws: CommandFailure.self) { try replace(try opened("a")) }
        #expect(failure?.hints.count == 1)
        #expect(failure?.hints.first?.hasSuffix("/real") == true)
    }

    @Test("What would be lost is named, with a way out for each")
    func losses() {
        let failure = AttributeLoss.failure(
            [.owner(0), .group(0), .accessList, .attribute("user.origin note")], "plan.tresor")
        #expect(failure.error == .failed(.permissions))
        #expect(
            failure.message
                == "\"plan.tresor\" stays as it is: sealed again by you it would lose its owner root, its group root, "
                + "its access list, its attribute \"user.origin note\"")
        #expect(failure.hints[0] == "ask root to run: tresor reseal plan.tresor")
        #expect(failure.hints[1].hasPrefix("chgrp ") && failure.hints[1].hasSuffix(" plan.tresor"))
        #expect(failure.hints[2] == "setfacl -b plan.tresor")
        #expect(failure.hints[3] == "setfattr -x 'user.origin note' plan.tresor")
    }

    @Test("A sealed file, a card and an export that change while they are read are busy, not forged")
    func busy() throws {
        for reading in [
            { (input: InputFile) throws -> Void in throw FileRefusal.failure(.altered, input) },
            { (input: InputFile) throws -> Void in _ = try CardFile.read(input) },
            { (input: InputFile) throws -> Void in _ = try ExportFile.read(input) },
        ] {
            try scratch.write("a part of something", "a")
            let whole = try InputFile(scratch.path("a"), standardInput: StandardInput())
            let failure = #expect(throws: CommandFailure.self) { try reading(whole) }
            #expect(failure?.error == .altered)
            let input = try InputFile(scratch.path("a"), standardInput: StandardInput())
            #expect(truncate(scratch.path("a"), 3) == 0)
            let other = #expect(throws: CommandFailure.self) { try reading(input) }
            #expect(other?.error == .busy)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The paths of outputs, and the message about a file that is not the newest.
@Suite struct FileNameTests {
    private let stage: Stage

    init() throws {
        stage = try Stage("anna", "house")
        try stage.share(of: "anna", with: "house")
    }

    /// The record name of the author names no file.
    @Test func A100_outputsAreNamedAfterTheInput() throws {
        let records = ["../../x", "/etc/x", "a/b", ".", "..", "", "out/../../x"]
        try stage.write(Stage.plan(), to: "plan.json")
        for (index, record) in records.enumerated() {
            let input = "in\(index).tresor"
            try stage.expect(
                as: "anna", ["encrypt", "-t", "plans", "--record", record, "plan.json", "-o", input])
        }
        try FileManager.default.createDirectory(atPath: stage.scratch["out"], withIntermediateDirectories: false)
        let before = try stage.kept()
        let inputs = records.indices.map { "in\($0).tresor" }
        try stage.expect(as: "house", ["decrypt", "--any-record", "-C", "out"] + inputs)
        let written = Set(try stage.kept().keys).subtracting(before.keys)
        #expect(written.filter { !$0.hasPrefix("homes/") } == Set(records.indices.map { "out/in\($0)" }))
        for name in written where name.hasPrefix("out/") { #expect(stage[name] == Stage.plan()) }
        #expect(!FileManager.default.fileExists(atPath: "/etc/x"))
        for name in ["..", ".", "./..", "/"] {
            let ending = try stage.run(as: "house", ["decrypt", "--any-record", "-C", "out", name, "in0.tresor"])
            #expect(ending.code != 0, "\(name)")
        }
    }

    @Test func A104_theOutputIsNotTheInput() throws {
        try stage.write(Stage.plan(), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "plan.tresor"])
        for name in ["plan.json", "plan.tresor"] {
            try FileManager.default.createSymbolicLink(atPath: stage.scratch["link-\(name)"], withDestinationPath: name)
            try FileManager.default.linkItem(atPath: stage.scratch[name], toPath: stage.scratch["hard-\(name)"])
        }
        for output in ["plan.json", "./homes/../plan.json", "link-plan.json", "hard-plan.json"] {
            let ending = try stage.refuse(64, as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", output])
            #expect(ending.errorText.contains(/tresor: hint: tresor .*-o FILE/), "\(output)")
        }
        for output in ["plan.tresor", "./homes/../plan.tresor", "link-plan.tresor", "hard-plan.tresor"] {
            try stage.refuse(64, as: "house", ["decrypt", "plan.tresor", "-o", output])
        }
        try stage.refuse(
            64, as: "house", ["decrypt", "-o", "plan.tresor"], input: stage.scratch["plan.tresor"])
        try stage.refuse(
            64, as: "house",
            ["decrypt", "plan.tresor", "hard-plan.tresor", "link-plan.tresor", "-C", ".", "plan.tresor"])
    }

    /// A step that comes later would read what an earlier one has written.
    @Test func A104_anOutputIsNoneOfTheOtherInputs() throws {
        try stage.write(Stage.plan(), to: "plan")
        try stage.write(Array("another".utf8), to: "other")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan", "-o", "plan.tresor"])
        try FileManager.default.linkItem(atPath: stage.scratch["plan"], toPath: stage.scratch["hard"])
        try FileManager.default.createSymbolicLink(atPath: stage.scratch["link"], withDestinationPath: "plan.tresor")
        try stage.refuse(64, as: "anna", ["encrypt", "-t", "plans", "plan", "plan.tresor"])
        try stage.refuse(64, as: "anna", ["encrypt", "-t", "plans", "other", "plan", "link"])
        try stage.refuse(64, as: "house", ["decrypt", "--any-record", "plan", "plan.tresor"])
        let ending = try stage.refuse(64, as: "house", ["decrypt", "--any-record", "hard", "./homes/../plan.tresor"])
        #expect(ending.errorText.contains("plan\" is both input and output"))
        #expect(stage["plan"] == Stage.plan())
    }

    /// A file that is its own output would grow while space remains.
    @Test(arguments: ["\"$@\" big >> big", "\"$@\" < big >> big", "\"$@\" big 1<> big"])
    func A104_standardOutputIsNoInput(_ words: String) throws {
        try stage.write(Stage.plan(2 << 20), to: "big")
        let before = stage["big"]
        var program = stage.program
        program.wrapper = ["/bin/sh", "-c", "ulimit -f 20000; " + words, "sh"]
        let ending = try program.run(stage.words(as: "anna") + ["encrypt", "-t", "plans"])
        #expect(ending.code == 64, "\(ending.errorText)")
        #expect(stage["big"] == before)
        // Reading and writing another file is nothing special.
        program.wrapper = ["/bin/sh", "-c", "\"$@\" < big > sealed", "sh"]
        #expect(try program.run(stage.words(as: "anna") + ["encrypt", "-t", "plans"]).code == 0)
    }

    /// That a file is the newest cannot be proved; its date, its key and that there are newer heads are said.
    @Test func A97_lastMonthsFileSaysWhatItIs() throws {
        try stage.write(Stage.plan(), to: "plan.json")
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "old.tresor"])
        let fresh = try stage.run(as: "house", ["decrypt", "old.tresor", "-o", "read.json"])
        #expect(
            fresh.errorText.contains(
                /from anna \(verified\), \d{4}-\d\d-\d\d \d\d:\d\d UTC, plans, key 1, record "plan.json"/))
        #expect(!fresh.errorText.contains("sealed before the log's newest entry"))
        try stage.expect(as: "anna", ["rotate", "-t", "plans", "--yes"])
        try stage.expect(as: "anna", ["encrypt", "-t", "plans", "plan.json", "-o", "new.tresor"])
        let new = try stage.run(as: "house", ["decrypt", "new.tresor", "-o", "read.json"])
        #expect(
            new.code == 0 && new.errorText.contains("key 2")
                && !new.errorText.contains("sealed before the log's newest entry"))
        let old = try stage.run(as: "house", ["decrypt", "old.tresor", "-o", "read.json"])
        #expect(old.code == 0)
        #expect(old.errorText.contains(/\d{4}-\d\d-\d\d \d\d:\d\d UTC, plans, key 1/))
        #expect(old.errorText.contains("sealed before the log's newest entry"), "\(old.errorText)")
    }
}

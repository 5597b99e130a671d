// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The files add up. `vectors/generator` tests that they are what the generator makes.
@Suite struct FileTests {
    @Test func indexAddsUp() throws {
        let index = try Repository.json("index.json")
        let files = try #require(index["files"] as? [String: [String: Any]])
        var positives = 0
        var negatives = 0
        for (path, row) in files {
            positives += try #require(row["positives"] as? Int)
            negatives += try #require(row["negatives"] as? Int)
            let bytes = try Data(contentsOf: Repository.root.appendingPathComponent("vectors/\(path)"))
            #expect(row["sha256"] as? String == Repository.sha256(bytes), "\(path)")
            guard path.hasSuffix(".json"), !path.hasPrefix("scenario/") else { continue }
            let tests = try Repository.tests(String(path.dropLast(5)))
            #expect(tests.count { $0["error"] != nil } == row["negatives"] as? Int, "\(path)")
            #expect(tests.count { $0["error"] == nil } == row["positives"] as? Int, "\(path)")
        }
        #expect(index["numberOfTests"] as? Int == positives + negatives)
        #expect(negatives * 100 >= (positives + negatives) * 60)
    }

    /// The cases of a night are those of accumulated.json, a hundred times as many.
    @Test func nightlyIsAccumulated() throws {
        let tests = try zip(Repository.tests("accumulated"), Repository.tests("nightly")).map { ($0, $1) }
        #expect(tests.count == 9)
        for (few, many) in tests {
            let (few, many) = (few["in"] as? [String: String] ?? [:], many["in"] as? [String: String] ?? [:])
            #expect(few["construction"] == many["construction"])
            #expect(few["count"] == "0000000000002710" && many["count"] == "00000000000f4240")
        }
    }

    /// Values that can only change together.
    private static let together: [Set<String>] = [
        ["TK", "file"], ["epoch", "keys"], ["epochs", "keys"], ["own chain", "S"], ["tresor", "entry"],
        ["tresor", "log"], ["wrap", "e"], ["entry", "pack"], ["entry", "pack", "log"], ["entry", "pack", "keys"],
        ["entry", "volume"], ["entry", "attachment"],
        ["entry", "volume", "keys"], ["operation", "authorization"],
    ]

    @Test(arguments: Repository.files) func oneThingIsBroken(_ name: String) throws {
        for test in try Repository.tests(name) where test["base"] != nil {
            let changed = Set((test["in"] as? [String: Any] ?? [:]).keys)
            #expect(changed.count == 1 || Self.together.contains(changed), "\(name) \(test["id"] ?? 0)")
        }
    }

    @Test(arguments: Repository.files) func idsCountUp(_ name: String) throws {
        let ids = try Repository.tests(name).compactMap { $0["id"] as? Int }
        #expect(ids == Array(1...ids.count))
    }
}

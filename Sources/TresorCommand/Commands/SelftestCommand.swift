// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import TresorCrypto

struct SelftestCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "selftest", group: .proof,
            abstract: "Compare the cryptography of this machine with published answers.",
            usage: "tresor selftest",
            discussion: """
                Finds a cryptographic library that was built wrongly: each primitive computes an answer that others have \
                published. The sources hold another program for reviewers, tresor-selftest, which runs the vectors.
                """, examples: ["tresor selftest"])
    }

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        try Sodium.start()
        var failed = 0
        for answer in PublishedAnswer.all {
            let holds = answer.holds()
            if !holds { failed += 1 }
            if !options.json { try Channel.output.write("\(answer.name): \(holds ? "passed" : "failed")\n") }
        }
        let passed = PublishedAnswer.all.count - failed
        if options.json {
            let object: JSONObject = [
                "type": "tests", "passed": .integer(Int64(passed)), "failed": .integer(Int64(failed)),
            ]
            try Channel.output.write(object.line)
        } else {
            try Channel.output.write("\(passed) passed, \(failed) failed\n")
        }
        guard failed == 0 else { throw Exit(code: 1) }
    }
}

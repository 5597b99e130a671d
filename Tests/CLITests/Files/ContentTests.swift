// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// Real care plans and hostile JSON through the built program, byte for byte.
@Suite("Contents")
struct ContentTests {
    private static let files: [URL] = ["careplan", "json-hostile"].flatMap { folder in
        let root = URL(fileURLWithPath: #filePath).appendingPathComponent("../../../../../shared/vectors")
            .standardized.appendingPathComponent(folder)
        let found = FileManager.default.enumerator(at: root, includingPropertiesForKeys: [.isRegularFileKey])
        return (found?.allObjects as? [URL] ?? [])
            .filter { (try? $0.resourceValues(forKeys: [.isRegularFileKey]).isRegularFile) == true }
            .sorted { $0.path < $1.path }
    }

    /// `$0` is the program, `$1` the content, `$2` where it comes back.
    private static let ways = [
        "by file": """
        "$0" encrypt -t plans "$1" -o sealed && "$0" decrypt -t plans --any-record sealed -o "$2"
        """,
        "by standard input": """
        "$0" encrypt -t plans < "$1" > sealed && "$0" decrypt -t plans < sealed > "$2"
        """,
        "by pipe": """
        cat "$1" | "$0" encrypt -t plans | cat | "$0" decrypt -t plans | cat > "$2"
        """,
        "armoured": """
        "$0" encrypt -t plans -a "$1" | "$0" decrypt -t plans --any-record > "$2"
        """,
    ]

    @Test(
        "Every content comes back byte for byte", .enabled(if: !files.isEmpty, "skipped: shared/vectors, not present"),
        arguments: ways)
    func sameBytes(_ way: String, _ pipeline: String) throws {
        let runner = try ScriptRunner(
            Script(
                name: "contents", text: "as anna\ntresor create plans\ntresor remember --name here --accept-same-disk"))
        try runner.run()
        var environment = runner.environment
        environment["TRESOR_PASSWORD_FILE"] = nil
        #expect(Self.files.count >= 22)
        for file in Self.files {
            let back = runner.work.appendingPathComponent("back")
            let run = ChildProcess(
                arguments: ["-c", "set -e; " + pipeline, ChildProcess.program, file.path, back.path],
                environment: environment, directory: runner.work.path)
            let result = try run.run(program: "/bin/sh")
            #expect(result.code == 0, "\(file.lastPathComponent) \(way): \(result.errorText)")
            let isSame = try Data(contentsOf: file) == Data(contentsOf: back)
            #expect(isSame, "\(file.lastPathComponent) \(way)")
            try FileManager.default.removeItem(at: back)
        }
    }
}

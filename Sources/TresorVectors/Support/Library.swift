// SPDX-License-Identifier: Apache-2.0

import Foundation

/// Everything under `vectors/` that is generated, by path.
struct Library {
    private(set) var contents: [String: Bytes] = [:]

    static func make() -> Library {
        var library = Library()
        let files: [VectorFile] = [
            .encoding(), .text(), .tc1(), .identity(), .slots(), .password(), .log(), .epoch(), .wrap(), .file(), .labels(),
        ]
        for file in files { library.contents["\(file.name).json"] = ascii(file.json.text() + "\n") }
        library.contents["index.json"] = ascii(library.index(files).text() + "\n")
        library.contents["README.md"] = ascii(Readme.text(files))
        return library
    }

    private func index(_ files: [VectorFile]) -> JSONText {
        let rows = files.map { file in
            (
                "\(file.name).json",
                JSONText.object([
                    ("sha256", .hex(sha256(contents["\(file.name).json"] ?? []))), ("spec", .string(file.section)),
                    ("positives", .number(file.tests.count - file.negativeCount)), ("negatives", .number(file.negativeCount)),
                ])
            )
        }
        let total = files.reduce(0) { $0 + $1.tests.count }
        return .object([("version", .number(1)), ("numberOfTests", .number(total)), ("files", .object(rows))])
    }

    func write(to directory: String) throws {
        for (path, bytes) in contents {
            let url = URL(fileURLWithPath: directory).appendingPathComponent(path)
            try FileManager.default.createDirectory(at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            guard (try? Data(contentsOf: url)) != Data(bytes) else { continue }
            try Data(bytes).write(to: url)
        }
    }

    /// The paths that are missing or not equal.
    func differences(from directory: String) -> [String] {
        contents.filter { path, bytes in
            (try? Data(contentsOf: URL(fileURLWithPath: directory).appendingPathComponent(path))) != Data(bytes)
        }.keys.sorted()
    }
}

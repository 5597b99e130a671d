// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The generated files under `vectors/`, by path.
struct Library {
    private(set) var contents: [String: Bytes] = [:]

    static func make() -> Library {
        var library = Library()
        let files: [VectorFile] = [
            EncodingVectors.make(), TextVectors.make(), TC1Vectors.make(), IdentityVectors.make(), SlotVectors.make(),
            PasswordVectors.make(), DeviceVectors.make(),
            LogVectors.make(), EpochVectors.make(), WrapVectors.make(), ApprovalVectors.make(),
            ActVectors.make(),
            FileVectors.make(), PackVectors.make(), RecordVectors.make(), CheckpointVectors.make(),
            AccumulatedVectors.make(), LabelVectors.make(), ServiceVectors.make(), OpaqueVectors.make(),
        ]
        for file in files { library.contents["\(file.name).json"] = ascii(file.json.text() + "\n") }
        for file in files {
            library.contents["schema/\(file.name).schema.json"] = ascii(Schemas.schema(of: file).text() + "\n")
        }
        library.contents["schema/nightly.schema.json"] = ascii(
            Schemas.schema(of: AccumulatedVectors.nightly(count: 0)).text() + "\n")
        library.contents["schema/scenario.schema.json"] = ascii(Schemas.scenario.text() + "\n")
        let scenarios = Scenarios.all()
        for scenario in scenarios {
            library.contents["scenario/\(scenario.name).json"] = ascii(scenario.json.text() + "\n")
        }
        let kits = Testkit.all()
        for kit in kits { library.contents["testkit/\(kit.name)"] = kit.bytes }
        library.contents["index.json"] = ascii(
            library.index(files, scenarios, kits.map { ($0.name, $0.isNegative) }).text() + "\n")
        library.contents["README.md"] = ascii(Readme.text(files, scenarios, kits.count))
        return library
    }

    /// A million cases of each construction; takes some minutes.
    static func nightly() -> Library {
        var library = Library()
        library.contents["nightly.json"] = ascii(AccumulatedVectors.nightly().json.text() + "\n")
        return library
    }

    private func index(_ files: [VectorFile], _ scenarios: [Scenario], _ kits: [(String, Bool)]) -> JSONText {
        func row(_ path: String, _ section: String, _ count: Int, _ negatives: Int) -> (String, JSONText) {
            (
                path,
                .object([
                    ("sha256", .hex(sha256(contents[path] ?? []))), ("spec", .string(section)),
                    ("positives", .number(count - negatives)), ("negatives", .number(negatives)),
                ])
            )
        }
        let rows =
            files.map { row("\($0.name).json", $0.section, $0.tests.count, $0.negativeCount) }
            + scenarios.map { row("scenario/\($0.name).json", "9.8", $0.steps.count, $0.negativeCount) }
            + kits.map { row("testkit/\($0.0)", "10.5", 1, $0.1 ? 1 : 0) }
        let total = files.reduce(0) { $0 + $1.tests.count } + scenarios.reduce(0) { $0 + $1.steps.count } + kits.count
        return .object([("version", .number(1)), ("numberOfTests", .number(total)), ("files", .object(rows))])
    }

    func write(to directory: String) throws {
        for (path, bytes) in contents {
            let url = URL(fileURLWithPath: directory).appendingPathComponent(path)
            try FileManager.default.createDirectory(
                at: url.deletingLastPathComponent(), withIntermediateDirectories: true)
            guard (try? Data(contentsOf: url)) != Data(bytes) else { continue }
            try Data(bytes).write(to: url)
        }
    }

    /// The paths that are missing or different.
    func differences(from directory: String) -> [String] {
        contents.filter { path, bytes in
            (try? Data(contentsOf: URL(fileURLWithPath: directory).appendingPathComponent(path))) != Data(bytes)
        }.keys.sorted()
    }
}

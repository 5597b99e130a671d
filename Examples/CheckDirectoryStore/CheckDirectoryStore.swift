// SPDX-License-Identifier: Apache-2.0

import DirectoryStore
import Foundation
import TresorTesting

/// Holds the store to every promise. In a package of your own, a test does this.
@main struct CheckDirectoryStore {
    static func main() async throws {
        let root = FileManager.default.temporaryDirectory.appendingPathComponent(UUID().uuidString)
        let findings = await StoreClaim.findings {
            let place = root.appendingPathComponent(UUID().uuidString)
            return StorePlace(bytes: { try files(below: place) }) { try DirectoryStore(at: place.path) }
        }
        for finding in findings { print("broken: \(finding)") }
        print("\(StoreClaim.all.count - findings.count) of \(StoreClaim.all.count) promises kept")
        try FileManager.default.removeItem(at: root)
        if !findings.isEmpty { exit(1) }
    }

    /// The bytes of every file.
    private static func files(below root: URL) throws -> [[UInt8]] {
        let names = try FileManager.default.subpathsOfDirectory(atPath: root.path)
        return names.compactMap { try? Array(Data(contentsOf: root.appendingPathComponent($0))) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tresor
import TresorCore
import TresorRecords
import TresorStore

/// Puts a scan of any size into a record, and writes it into a file again. Ends with an error where that differs.
@main struct Scans {
    struct Broken: Error {}

    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let scan = folder.appending(path: "scan.png").path
        try Data(repeating: 7, count: 3_000_000).write(to: URL(filePath: scan))

        let client = Client(at: folder.appending(path: "anna"), store: MemoryStore())
        let anna = try await client.makeIdentity("anna", password: Password("correct horse battery"))
        let records = anna.records(in: try await anna.create("interventions").id)
        try await put(scan, into: records)
        let copy = folder.appending(path: "copy.png").path
        try await get(to: copy, from: records)
        guard FileManager.default.contentsEqual(atPath: scan, andPath: copy) else { throw Broken() }
        print("3 MB there and back")
    }

    static func put(_ path: String, into records: Records) async throws {
        var scan = try FileSource(at: path)
        try await records.attachments.put("scan", &scan, type: "image/png")
        let report = try await records.sync()
        if let error = report.held { throw error }
    }

    static func get(to path: String, from records: Records) async throws {
        var copy = try FileSink(at: path)
        let scan = try await records.attachments.get("scan", to: &copy)
        try await copy.commit()
        print(scan.type, scan.versionCount)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation
import Tresor
import TresorCore
import TresorSQLite

/// A patient seals a care plan, shares it with a doctor whose safety number she compared, and revokes the access.
@main struct TenLines {
    static func main() async throws {
        let folder = FileManager.default.temporaryDirectory.appending(path: UUID().uuidString)
        try FileManager.default.createDirectory(at: folder, withIntermediateDirectories: true)
        defer { try? FileManager.default.removeItem(at: folder) }
        let number = try await meetTheDoctor(in: folder)
        let plan = Data(#"{"resourceType":"CarePlan"}"#.utf8)

        let store = try await SQLiteStore.open(at: folder.appending(path: "store.db").path, creating: true)
        let client = Client(at: folder.appending(path: "anna"), store: store)
        let anna = try await client.makeIdentity("anna", password: Password("correct horse battery"))
        let plans = try await anna.create("interventions")
        let sealed = try await plans.seal(plan, record: "knee", type: "application/json")
        let house = try await client.verify("dr-house", number: number)
        try await plans.share(with: house)
        let opened = try await plans.open(sealed, record: "knee")
        print(opened.author.handle.text, opened.data == plan)
        try await plans.revoke(house)
    }

    /// The doctor works on the same store with a home of his own, and tells the patient his safety number.
    private static func meetTheDoctor(in folder: URL) async throws -> String {
        let store = try await SQLiteStore.open(at: folder.appending(path: "store.db").path, creating: true)
        let client = Client(at: folder.appending(path: "dr-house"), store: store)
        let house = try await client.makeIdentity("dr-house", password: Password("it is never lupus"))
        return try house.chain.number().grouped
    }
}

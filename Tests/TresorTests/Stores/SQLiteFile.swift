// SPDX-License-Identifier: Apache-2.0

import Foundation
import TresorSQLite
import TresorStore
import TresorCore
import TresorCrypto

/// An embedded store whose file goes with it.
final class SQLiteFile: TestStore {
    private let store: SQLiteStore
    private let directory: URL

    private init(_ store: SQLiteStore, in directory: URL) { (self.store, self.directory) = (store, directory) }

    deinit { try? FileManager.default.removeItem(at: directory) }

    static func open() async throws -> SQLiteFile {
        let directory = FileManager.default.temporaryDirectory.appending(path: "tresor-stage-\(UUID())")
        try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
        let store = try await SQLiteStore.open(at: directory.appending(path: "store.db").path, creating: true)
        return SQLiteFile(store, in: directory)
    }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(store) }
}

// SPDX-License-Identifier: Apache-2.0

import Cvariadic
package import GRDB
import TresorCrypto

/// The settings of every connection to an SQLite file of ours: the file is not trusted, deleted bytes are overwritten,
/// and a commit waits for the disk.
package enum StoreDefence {
    /// Prepares a connection.
    ///
    /// - Parameter greatestRow: the maximum size of a row in bytes.
    /// - Throws: an error of SQLite; `TresorError.store(_:)` if SQLite cannot defend itself.
    package static func prepare(_ database: Database, greatestRow: Int32) throws {
        guard let connection = database.sqliteConnection,
            variadic_sqlite3_defend(UnsafeMutableRawPointer(connection), greatestRow) == 0
        else { throw TresorError.store(.other) }
        // Temporary files with copies of pages would outlive deleted bytes.
        try database.execute(
            sql: """
                PRAGMA trusted_schema = OFF;
                PRAGMA cell_size_check = ON;
                PRAGMA mmap_size = 0;
                PRAGMA temp_store = MEMORY;
                PRAGMA secure_delete = ON;
                PRAGMA synchronous = FULL;
                """)
    }
}

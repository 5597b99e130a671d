// SPDX-License-Identifier: Apache-2.0

import GRDB
import TresorCore
package import TresorCrypto

extension TresorError {
    /// The error of the store for an error of SQLite.
    package init(store error: any Error) {
        switch error {
        case let error as TresorError: self = error
        case let error as DatabaseError: self.init(sqlite: error.extendedResultCode)
        case is CancellationError: self = .cancelled
        default: self = .store(.other)
        }
    }

    /// The error of the store for a result code of SQLite.
    init(sqlite code: ResultCode) {
        switch code {
        case .SQLITE_IOERR_NOMEM, .SQLITE_NOMEM: self = .store(.memory)
        // The third is of a reader that others kept from the write-ahead log for ten seconds.
        case .SQLITE_BUSY, .SQLITE_LOCKED, .SQLITE_PROTOCOL: self = .busy
        // The second is of the index of the write-ahead log, which takes room of its own.
        case .SQLITE_FULL, .SQLITE_IOERR_SHMSIZE: self = .store(.full)
        case .SQLITE_READONLY, .SQLITE_PERM: self = .store(.readOnly)
        // Every write of this program keeps the constraints, so another program wrote a value that breaks one.
        case .SQLITE_CORRUPT, .SQLITE_TOOBIG, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
            self = .store(.damaged)
        case .SQLITE_IOERR, .SQLITE_CANTOPEN: self = .store(.inputOutput)
        case .SQLITE_INTERRUPT: self = .cancelled
        default: self = .store(.other)
        }
    }
}

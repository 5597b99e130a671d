// SPDX-License-Identifier: Apache-2.0

import GRDB
import TresorCore

extension TresorError {
    /// What a failure below the store is called above it.
    init(store error: any Error) {
        switch error {
        case let error as TresorError: self = error
        case let error as DatabaseError: self.init(sqlite: error.extendedResultCode)
        case is CancellationError: self = .interrupted
        default: self = .store(.other)
        }
    }

    /// What a result code of SQLite is called.
    init(sqlite code: ResultCode) {
        switch code {
        case .SQLITE_IOERR_NOMEM, .SQLITE_NOMEM: self = .store(.memory)
        case .SQLITE_BUSY, .SQLITE_LOCKED: self = .busy
        case .SQLITE_FULL: self = .store(.full)
        case .SQLITE_READONLY, .SQLITE_PERM: self = .store(.readOnly)
        // A value that breaks a constraint which every write of ours keeps was not written by us.
        case .SQLITE_CORRUPT, .SQLITE_TOOBIG, .SQLITE_NOTADB, .SQLITE_CONSTRAINT, .SQLITE_MISMATCH:
            self = .store(.damaged)
        case .SQLITE_IOERR, .SQLITE_CANTOPEN: self = .store(.inputOutput)
        case .SQLITE_INTERRUPT: self = .interrupted
        default: self = .store(.other)
        }
    }
}

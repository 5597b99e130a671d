// SPDX-License-Identifier: Apache-2.0

import Foundation
import GRDB
import TresorCore
import TresorCrypto

extension Hash256 {
    var data: Data { Data(bytes) }
}

extension UInt64 {
    /// 8 big-endian bytes.
    var data: Data { withUnsafeBytes(of: bigEndian) { Data($0) } }
}

extension DatabaseValue {
    /// The bytes. A store file may have values of any type anywhere.
    func blob() throws -> [UInt8] {
        guard case .blob(let data) = storage else { throw TresorError.store(.damaged) }
        return Array(data)
    }

    func digest() throws -> Hash256 {
        guard let digest = Hash256(try blob()) else { throw TresorError.store(.damaged) }
        return digest
    }
}

extension Database {
    /// The first column of every row; each must be bytes.
    func blobs(_ sql: String, _ arguments: StatementArguments) throws -> [[UInt8]] {
        try DatabaseValue.fetchAll(self, sql: sql, arguments: arguments).map { try $0.blob() }
    }

    /// The first column of the first row.
    func blob(_ sql: String, _ arguments: StatementArguments) throws -> [UInt8]? {
        try DatabaseValue.fetchOne(self, sql: sql, arguments: arguments)?.blob()
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    import TresorCore
    package import TresorCrypto

    /// A statement for both engines, and the values for its placeholders `$1`, `$2` and so on.
    ///
    /// The text is a literal of this program, so no value can ever become SQL. A text means the same to PostgreSQL and to
    /// SQLite if it keeps to these rules: columns are bytes and integers; a sum is cast, `CAST(sum(bytes) AS bigint)`;
    /// there is no array, no text, no `FOR UPDATE`, no function of one engine; `$n` stands nowhere but for a value.
    package struct SQL: Sendable {
        package let text: String
        package let values: [SQLValue]
        /// Whether an engine keeps the plan of this statement for the next time.
        package let isKept: Bool
        /// The error that the transaction throws unless this changes a row, also where another row has its key; `nil` for a
        /// statement that may change none.
        package private(set) var requirement: TresorError?
        /// Whether its transaction may take longer than a request may.
        package private(set) var liftsLimits = false

        package init(_ text: StaticString, _ values: [SQLValue] = []) {
            self.text = text.description
            self.values = values
            isKept = true
        }

        /// A statement that creates a part of the schema.
        package init(schema text: String) {
            self.text = text
            values = []
            isKept = false
        }

        /// The statement after which a transaction of PostgreSQL may take as long as it takes.
        static let liftingLimits = {
            var statement = SQL("SET LOCAL statement_timeout = 0")
            statement.liftsLimits = true
            return statement
        }()

        /// The statement, on which its transaction depends: unless it changes a row, nothing of the transaction stays,
        /// and it throws `error`. So a transaction can compare, swap and end in one exchange. A row that has the key already
        /// is the same: an `INSERT` needs no `ON CONFLICT`, which costs PostgreSQL another look and another record.
        ///
        /// An `INSERT`, `UPDATE` or `DELETE` without `RETURNING`. Its result has no rows.
        package func orElse(_ error: TresorError) -> SQL {
            var statement = self
            statement.requirement = error
            return statement
        }
    }

    /// A value in a database: nothing, 64 bits, or bytes.
    package enum SQLValue: Hashable, Sendable, ExpressibleByNilLiteral, ExpressibleByIntegerLiteral {
        case null
        case integer(Int64)
        case bytes([UInt8])

        package init(nilLiteral: ()) { self = .null }
        package init(integerLiteral value: Int64) { self = .integer(value) }

        /// The number, at most 2^63 − 1. No log has an entry beyond that, so a search from a greater number ends there.
        package static func number(_ number: UInt64) -> SQLValue { .integer(Int64(clamping: number)) }

        /// The 32 bytes of a hash or of an id.
        package static func digest(_ digest: Hash256) -> SQLValue { .bytes(digest.bytes) }
    }

    /// A row of an answer. A value of another type than the column should have is `damaged`.
    package struct SQLRow: Hashable, Sendable {
        package let values: [SQLValue]

        package init(_ values: [SQLValue]) { self.values = values }

        /// Returns the value of a column, counted from 0.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` if there is no such column.
        package func value(_ column: Int) throws(TresorError) -> SQLValue {
            guard values.indices.contains(column) else { throw .store(.damaged) }
            return values[column]
        }

        /// Returns an integer.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` for anything else.
        package func integer(_ column: Int) throws(TresorError) -> Int64 {
            guard case .integer(let integer) = try value(column) else { throw .store(.damaged) }
            return integer
        }

        /// Returns an integer that is not negative: a sequence number, an epoch, a count.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` for anything else.
        package func number(_ column: Int) throws(TresorError) -> UInt64 {
            guard let number = UInt64(exactly: try integer(column)) else { throw .store(.damaged) }
            return number
        }

        /// Returns bytes.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` for anything else.
        package func bytes(_ column: Int) throws(TresorError) -> [UInt8] {
            guard case .bytes(let bytes) = try value(column) else { throw .store(.damaged) }
            return bytes
        }

        /// Returns 32 bytes.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` for anything else.
        package func digest(_ column: Int) throws(TresorError) -> Hash256 {
            guard let digest = Hash256(try bytes(column)) else { throw .store(.damaged) }
            return digest
        }

        /// Returns whether a column holds nothing.
        ///
        /// - Throws: `TresorError.store(_:)` with `damaged` if there is no such column.
        package func isNull(_ column: Int) throws(TresorError) -> Bool { try value(column) == .null }
    }

    /// The effect of a statement.
    package struct SQLResult: Sendable {
        /// The rows that it returned.
        package let rows: [SQLRow]
        /// The number of rows that it inserted, updated or deleted; without meaning for a statement that only reads.
        package let changes: Int

        package init(rows: [SQLRow], changes: Int) {
            self.rows = rows
            self.changes = changes
        }
    }
#endif

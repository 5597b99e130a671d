// SPDX-License-Identifier: Apache-2.0

#if Server
    import Clibpq
    import TresorCrypto
    import TresorService

    /// The types of PostgreSQL that this program writes or reads, by their number there.
    enum PostgresType {
        static let bool: Oid = 16
        static let bytes: Oid = 17
        static let int8: Oid = 20
        static let int2: Oid = 21
        static let int4: Oid = 23
        /// PostgreSQL finds the type out.
        static let unknown: Oid = 0

        /// The type of a value.
        static func of(_ value: SQLValue) -> Oid {
            switch value {
            case .null: unknown
            case .integer: int8
            case .bytes: bytes
            }
        }
    }

    /// The values of a statement in PostgreSQL's binary form.
    struct PostgresParameters {
        let types: [Oid]
        private let ranges: [Range<Int>?]
        private let buffer: [UInt8]

        init(_ values: [SQLValue]) {
            types = values.map(PostgresType.of)
            // A byte more than needed, so that an empty value has an address too.
            var buffer: [UInt8] = [0]
            ranges = values.map { value in
                let start = buffer.count
                switch value {
                case .null: return nil
                case .integer(let integer): withUnsafeBytes(of: integer.bigEndian) { buffer += $0 }
                case .bytes(let bytes): buffer += bytes
                }
                return start..<buffer.count
            }
            self.buffer = buffer
        }

        typealias Addresses = [UnsafePointer<CChar>?]

        /// Calls `body` with the addresses, lengths and formats of the values.
        func withArguments<Result>(
            _ body: (_ count: Int32, Addresses, _ lengths: [Int32], _ formats: [Int32]) -> Result
        )
            -> Result
        {
            buffer.withUnsafeBytes { bytes in
                let start = bytes.baseAddress?.assumingMemoryBound(to: CChar.self)
                let addresses = ranges.map { range in range.flatMap { range in start.map { $0 + range.lowerBound } } }
                let lengths = ranges.map { Int32($0?.count ?? 0) }
                return body(Int32(ranges.count), addresses, lengths, [Int32](repeating: 1, count: ranges.count))
            }
        }
    }

    extension SQLResult {
        /// The result of a statement, which has binary columns.
        init(_ result: OpaquePointer) throws(PostgresFailure) {
            let types = (0..<PQnfields(result)).map { PQftype(result, $0) }
            var rows: [SQLRow] = []
            rows.reserveCapacity(Int(PQntuples(result)))
            for row in 0..<PQntuples(result) {
                var values: [SQLValue] = []
                for (column, type) in zip(Int32(0)..., types) {
                    values.append(try SQLValue(result, row: row, column: column, type: type))
                }
                rows.append(SQLRow(values))
            }
            self.init(rows: rows, changes: PQcmdTuples(result).flatMap { Int(String(cString: $0)) } ?? 0)
        }
    }

    extension SQLValue {
        fileprivate init(_ result: OpaquePointer, row: Int32, column: Int32, type: Oid) throws(PostgresFailure) {
            guard PQgetisnull(result, row, column) == 0 else {
                self = .null
                return
            }
            let count = Int(PQgetlength(result, row, column))
            let bytes = UnsafeRawBufferPointer(start: PQgetvalue(result, row, column), count: count)
            switch (type, count) {
            case (PostgresType.bytes, _): self = .bytes(Array(bytes))
            case (PostgresType.int8, 8): self = .integer(Int64(bigEndian: bytes.loadUnaligned(as: Int64.self)))
            case (PostgresType.int4, 4): self = .integer(Int64(Int32(bigEndian: bytes.loadUnaligned(as: Int32.self))))
            case (PostgresType.int2, 2): self = .integer(Int64(Int16(bigEndian: bytes.loadUnaligned(as: Int16.self))))
            case (PostgresType.bool, 1): self = .integer(bytes[0] == 0 ? 0 : 1)
            default: throw .refused(.store(.schema))
            }
        }
    }
#endif

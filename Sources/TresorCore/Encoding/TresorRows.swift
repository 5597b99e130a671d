// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

// The tables of a home with one row for each tresor (SPEC §8.5, §9.8).

extension ByteEncoder {
    /// Rows of a tresor id and a value, by rising id.
    package mutating func rows<Value>(_ rows: [TresorID: Value], _ encode: (inout ByteEncoder, Value) -> Void) {
        for (tresor, value) in rows.sorted(by: { $0.key < $1.key }) {
            digest(tresor.digest)
            encode(&self, value)
        }
    }
}

extension ByteDecoder {
    /// All remaining bytes, as rows of a tresor id and a value.
    ///
    /// - Throws: ``TresorError/altered`` for ids that do not rise strictly; the errors of `decode`.
    package mutating func rows<Value>(
        _ decode: (inout ByteDecoder) throws(TresorError) -> Value
    ) throws(TresorError) -> [TresorID: Value] {
        var rows: [TresorID: Value] = [:]
        var last: TresorID?
        while remaining > 0 {
            let tresor = TresorID(try digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            rows[tresor] = try decode(&self)
        }
        return rows
    }
}

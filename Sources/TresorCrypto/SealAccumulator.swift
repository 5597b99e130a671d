// SPDX-License-Identifier: Apache-2.0

/// Thousands of sealed messages, reduced to one hash (vectors/accumulated.json).
package enum SealAccumulator {
    private enum AccumulatedUse: SealingUse {}

    /// Seals random messages under random keys and salts, all derived from their numbers, and hashes them. Takes
    /// neither a key nor a salt, so it cannot seal anything else.
    ///
    /// - Parameter draw: gives the first `count` bytes of the random value for a name and a number.
    package static func hash(
        _ count: Int, draw: (_ name: String, _ number: Int, _ count: Int) throws(TresorError) -> [UInt8]
    ) throws(TresorError) -> [UInt8] {
        var sum = [UInt8](repeating: 0, count: 32)
        for number in 0..<count {
            let bytes = try draw("seal K", number, 32)
            let key = try SecretKey<AccumulatedUse>(SecretBytes(copying: bytes.span))
            let context = try draw("seal context", number, number % 100)
            let plaintext = try draw("seal plaintext", number, number % 300)
            let sealed = try TC1.seal(
                plaintext.span, with: key, label: .fileSeal, context: context.span,
                salt: try draw("seal salt", number, TC1.saltByteCount))
            var hash = try BLAKE2b(outputCount: 32)
            try hash.update(sum.span)
            try hash.update(sealed.span)
            sum = try hash.finalize()
        }
        return sum
    }
}

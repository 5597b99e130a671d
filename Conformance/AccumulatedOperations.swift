// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Thousands of random cases of one construction, reduced to one hash.
enum AccumulatedOperations {
    static func accumulate(_ input: VectorFields) throws -> VectorFields {
        let construction = String(decoding: try input.bytes("construction"), as: UTF8.self)
        let count = Int(try input.integer("count"))
        guard construction != "seal" else { return VectorFields(["hash": try SealAccumulator.hash(count, draw: draw)]) }
        var sum = [UInt8](repeating: 0, count: 32)
        for number in 0..<count {
            let result = try self.result(of: construction, number)
            var hash = try BLAKE2b(outputCount: 32)
            try hash.update(sum.span)
            try hash.update(result.span)
            sum = try hash.finalize()
        }
        return VectorFields(["hash": sum])
    }

    private static func draw(_ name: String, _ number: Int, _ count: Int) throws(TresorError) -> [UInt8] {
        var drawn: [UInt8] = []
        var block: UInt32 = 0
        while drawn.count < count {
            var hash = try BLAKE2b(outputCount: 64)
            for part in ["tresor vectors v1", "accumulated"] { try hash.updatePrefixed(Array(part.utf8).span) }
            try hash.updateInteger(UInt32(truncatingIfNeeded: number))
            try hash.updatePrefixed(Array(name.utf8).span)
            try hash.updateInteger(block)
            drawn += try hash.finalize()
            block += 1
        }
        return Array(drawn.prefix(count))
    }

    private static func secret(_ name: String, _ number: Int) throws -> SecretBytes {
        let bytes = try draw(name, number, 32)
        return try SecretBytes(copying: bytes.span)
    }

    private static func result(of construction: String, _ number: Int) throws -> [UInt8] {
        switch construction {
        case "derive":
            let context = try draw("derive context", number, number % 64)
            let key = try SecretKey<VectorUse>(secret("derive K", number))
            let derived: SecretKey<VectorUse> = try key.derive(.slotDevice, context: context.span)
            return derived.span.publicBytes
        case "hash": return try BLAKE2b.hash(.entryHash, draw("hash x", number, number % 200)).bytes
        case "padding":
            let length = try draw("padding L", number, 5).reduce(0) { $0 << 8 | Int($1) } >> (number % 40)
            return bigEndianBytes(UInt64(Conformance.paddedByteCount(length)))
        case "armour": return Armour.card.armour(try draw("armour bytes", number, number % 100))
        case "id": return Array(Base32.text(try draw("id id", number, number % 2 == 0 ? 16 : 32)).utf8)
        case "number":
            guard let hash = Hash256(try draw("number hash", number, 32)) else { throw VectorProblem("no hash") }
            return Array(SafetyNumber(hash).digits.utf8)
        case "words":
            let words = try RecoveryKit(SecretKey(secret("words K", number))).words()
            return words.span.publicBytes
        case "sign":
            let key = try SigningKey(seed: SecretKey(secret("sign seed", number)))
            return try key.sign(DomainLabel.entrySignature.message(draw("sign x", number, number % 150)))
        default: throw VectorProblem("unknown construction")
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// Argon2id version 1.3 (RFC 9106) with one lane and a 16-byte salt (SPEC §8.1).
package enum Argon2id {
    /// The size of the salt in bytes: 16.
    package static let saltByteCount = 16

    /// The cost of one guess. Every value lies within the floor and the ceiling.
    package struct Cost: Hashable, Sendable {
        /// The memory in KiB: 65 536 (64 MiB) to 4 194 304 (4 GiB).
        package let memoryKiB: UInt32
        /// The number of passes over the memory: 3 to 16.
        package let passes: UInt32

        /// The floor: 64 MiB, 3 passes.
        package static let floor = Cost(uncheckedMemoryKiB: 65_536, passes: 3)
        /// The cost of new slots: 256 MiB, 3 passes.
        package static let standard = Cost(uncheckedMemoryKiB: 262_144, passes: 3)

        /// - Throws: ``TresorError/altered`` outside the floor and the ceiling, before any work.
        package init(memoryKiB: UInt32, passes: UInt32) throws(TresorError) {
            let isWithin = (65_536...4_194_304).contains(memoryKiB) && (3...16).contains(passes)
            guard isWithin else { throw .altered }
            self.init(uncheckedMemoryKiB: memoryKiB, passes: passes)
        }

        private init(uncheckedMemoryKiB memoryKiB: UInt32, passes: UInt32) {
            self.memoryKiB = memoryKiB
            self.passes = passes
        }
    }

    /// Derives a 32-byte key from a prepared password. Blocks for about a second.
    ///
    /// - Parameters:
    ///   - password: at most 1024 prepared bytes.
    ///   - salt: exactly 16 bytes.
    ///   - cost: memory and passes.
    ///   - use: the use of the key, as a type.
    /// - Throws: ``TresorError/altered`` for another salt size, ``TresorError/failed(_:)`` with `memory` when the
    ///   memory is not available.
    package static func key<Use: KeyUse>(
        password: borrowing SecretBytes, salt: [UInt8], cost: Cost, as use: Use.Type = Use.self
    ) throws(TresorError) -> SecretKey<Use> {
        let output = try hash(
            password: password.span, salt: salt, outputCount: 32, passes: UInt64(cost.passes),
            memoryByteCount: Int(cost.memoryKiB) * 1024)
        return try SecretKey(output)
    }

    /// Computes the function without floor or ceiling. For published vectors, which lie below the floor.
    package static func hash(
        password: Span<UInt8>, salt: [UInt8], outputCount: Int, passes: UInt64, memoryByteCount: Int
    ) throws(TresorError) -> SecretBytes {
        guard salt.count == saltByteCount else { throw .altered }
        let output = try SecretBytes(count: outputCount)
        try unsafe output.withMutablePointer { (pointer) throws(TresorError) in
            let status = unsafe password.withUnsafeBufferPointer { password in
                unsafe password.withMemoryRebound(to: CChar.self) { password in
                    // The library wants an address that it does not read; an empty span may have none.
                    let anywhere = unsafe UnsafeRawPointer(pointer).assumingMemoryBound(to: CChar.self)
                    return unsafe crypto_pwhash(
                        pointer, UInt64(outputCount), password.baseAddress ?? anywhere, UInt64(password.count), salt,
                        passes, memoryByteCount, crypto_pwhash_ALG_ARGON2ID13)
                }
            }
            // The library leaves the result in its own dead stack frames.
            sodium_stackzero(16_384)
            guard status == 0 else { throw .failed(.memory) }
        }
        return output
    }
}

// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// A BLAKE2b hash (RFC 7693), plain or keyed, fed in parts. No salt and no personalisation.
///
/// Wipes its state at the end of its life.
@safe package struct BLAKE2b: ~Copyable {
    private let state: OpaquePointer
    private let memory: UnsafeMutableRawPointer
    private let outputCount: Int

    /// Begins a hash.
    ///
    /// - Parameters:
    ///   - outputCount: the size of the result, 1 to 64 bytes. The 32-byte result is not a prefix of the 64-byte one.
    ///   - key: at most 64 bytes; `nil` hashes without a key.
    /// - Throws: ``TresorError/usage(_:)`` for other sizes, ``TresorError/failed(_:)`` when the library fails its
    ///   check.
    package init(outputCount: Int, key: Span<UInt8>? = nil) throws(TresorError) {
        try Sodium.start()
        let keyCount = key?.count ?? 0
        guard (1...64).contains(outputCount), keyCount <= 64 else { throw .usage(.outOfBounds) }
        let memory = UnsafeMutableRawPointer.allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        let state = OpaquePointer(memory)
        let status: Int32
        if let key {
            status = unsafe key.withUnsafeBufferPointer { bytes in
                unsafe crypto_generichash_init(state, bytes.baseAddress, keyCount, outputCount)
            }
        } else {
            status = unsafe crypto_generichash_init(state, nil, 0, outputCount)
        }
        guard status == 0 else {
            unsafe memory.deallocate()
            throw .failed(.library)
        }
        unsafe self.memory = memory
        unsafe self.state = state
        self.outputCount = outputCount
    }

    /// Goes on from where another hash is, which goes on too.
    package init(copying other: borrowing BLAKE2b) {
        let memory = UnsafeMutableRawPointer.allocate(byteCount: crypto_generichash_statebytes(), alignment: 64)
        unsafe memory.copyMemory(from: other.memory, byteCount: crypto_generichash_statebytes())
        unsafe self.memory = memory
        unsafe state = OpaquePointer(memory)
        outputCount = other.outputCount
    }

    deinit {
        unsafe sodium_memzero(memory, crypto_generichash_statebytes())
        unsafe memory.deallocate()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: Span<UInt8>) throws(TresorError) {
        let status = unsafe bytes.withUnsafeBufferPointer { bytes in
            unsafe crypto_generichash_update(state, bytes.baseAddress, UInt64(bytes.count))
        }
        guard status == 0 else { throw .failed(.library) }
    }

    /// Adds `LP(bytes)`: the count as a big-endian `u32`, then the bytes.
    package mutating func updatePrefixed(_ bytes: Span<UInt8>) throws(TresorError) {
        guard let count = UInt32(exactly: bytes.count) else { throw .usage(.outOfBounds) }
        try updateInteger(count)
        try update(bytes)
    }

    /// Adds `LP(label)`.
    package mutating func updatePrefixed(_ label: DomainLabel) throws(TresorError) {
        try update(label.prefixed.span)
    }

    /// Adds a big-endian integer.
    package mutating func updateInteger(_ value: UInt64) throws(TresorError) { try updateBytes(of: value) }

    /// Adds a big-endian integer.
    package mutating func updateInteger(_ value: UInt32) throws(TresorError) { try updateBytes(of: value) }

    private mutating func updateBytes(of value: some FixedWidthInteger) throws(TresorError) {
        let status = unsafe withUnsafeBytes(of: value.bigEndian) { bytes in
            let base = unsafe bytes.baseAddress?.assumingMemoryBound(to: UInt8.self)
            return unsafe crypto_generichash_update(state, base, UInt64(bytes.count))
        }
        guard status == 0 else { throw .failed(.library) }
    }

    /// Returns the hash.
    package consuming func finalize() throws(TresorError) -> [UInt8] {
        var output = [UInt8](repeating: 0, count: outputCount)
        try unsafe write(to: &output)
        return output
    }

    /// Returns the hash in secret memory of exactly its size.
    package consuming func finalize(into output: borrowing SecretBytes) throws(TresorError) {
        guard output.count == outputCount else { throw .usage(.outOfBounds) }
        try unsafe output.withMutablePointer { (pointer) throws(TresorError) in try unsafe write(to: pointer) }
        wipeDeadStack()
    }

    /// Writes the hash into memory of at least its size. Borrows the state, so that the state outlives the call.
    borrowing func write(to output: UnsafeMutablePointer<UInt8>) throws(TresorError) {
        guard unsafe crypto_generichash_final(state, output, outputCount) == 0 else { throw .failed(.library) }
    }

    /// The labelled hash of SPEC §5: `H(label, x) = BLAKE2b-256(LP(label) ‖ x)`, where `x` is the concatenation of the
    /// parts.
    package static func hash(_ label: DomainLabel, _ parts: [UInt8]...) throws(TresorError) -> Hash256 {
        var hash = try BLAKE2b(outputCount: 32)
        try hash.updatePrefixed(label)
        for part in parts { try hash.update(part.span) }
        guard let digest = Hash256(try hash.finalize()) else { throw .failed(.library) }
        return digest
    }

    /// The labelled hash with a secret at the end of its input.
    package static func hash(
        _ label: DomainLabel, _ prefix: [UInt8], secret: Span<UInt8>
    ) throws(TresorError) -> Hash256 {
        var hash = try BLAKE2b(outputCount: 32)
        try hash.updatePrefixed(label)
        try hash.update(prefix.span)
        try hash.update(secret)
        guard let digest = Hash256(try hash.finalize()) else { throw .failed(.library) }
        return digest
    }
}

/// Wipes the traces of a secret result in the dead stack frames of the library. Optimized code would leave them there.
func wipeDeadStack() { sodium_stackzero(2048) }

/// The bytes of an integer, most significant first.
package func bigEndianBytes(_ value: UInt64) -> [UInt8] {
    bigEndianBytes(UInt32(truncatingIfNeeded: value >> 32)) + bigEndianBytes(UInt32(truncatingIfNeeded: value))
}

/// The bytes of an integer, most significant first.
package func bigEndianBytes(_ value: UInt32) -> [UInt8] {
    [
        UInt8(truncatingIfNeeded: value >> 24), UInt8(truncatingIfNeeded: value >> 16),
        UInt8(truncatingIfNeeded: value >> 8), UInt8(truncatingIfNeeded: value),
    ]
}

/// The bytes of an integer, most significant first.
package func bigEndianBytes(_ value: some FixedWidthInteger) -> [UInt8] {
    stride(from: value.bitWidth - 8, through: 0, by: -8).map { UInt8(truncatingIfNeeded: value >> $0) }
}

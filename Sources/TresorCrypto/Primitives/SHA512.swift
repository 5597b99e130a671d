// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// A SHA-512 hash (FIPS 180-4), fed in parts. Wipes its state at the end of its life.
@safe package struct SHA512: ~Copyable {
    /// The size of the result in bytes: 64.
    package static let byteCount = 64

    private let state: UnsafeMutablePointer<crypto_hash_sha512_state>

    /// Begins a hash.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when the library fails its check.
    package init() throws(TresorError) {
        try Sodium.start()
        unsafe state = .allocate(capacity: 1)
        unsafe crypto_hash_sha512_init(state)
    }

    deinit {
        unsafe sodium_memzero(state, MemoryLayout<crypto_hash_sha512_state>.size)
        unsafe state.deallocate()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe crypto_hash_sha512_update(state, start, UInt64(bytes.count))
        }
    }

    /// Adds public bytes.
    package mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Returns the 64 bytes in secret memory.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package consuming func finalize() throws(TresorError) -> SecretBytes {
        let output = try SecretBytes(count: Self.byteCount)
        try write(to: output)
        wipeDeadStack()
        return output
    }

    /// Borrows the state, so that the state outlives the call.
    private borrowing func write(to output: borrowing SecretBytes) throws(TresorError) {
        try unsafe output.withMutablePointer { (pointer) throws(TresorError) in
            _ = unsafe crypto_hash_sha512_final(state, pointer)
        }
    }

    /// The hash of public bytes.
    package static func hash(_ bytes: [UInt8]) throws(TresorError) -> [UInt8] {
        var hash = try SHA512()
        hash.update(bytes)
        let output = try hash.finalize()
        return output.span.publicBytes
    }
}

/// HMAC-SHA-512 (RFC 2104), fed in parts. Wipes its state at the end of its life.
@safe package struct HMACSHA512: ~Copyable {
    private let state: UnsafeMutablePointer<crypto_auth_hmacsha512_state>

    /// Begins an authentication code.
    ///
    /// - Parameter key: any number of bytes.
    /// - Throws: ``TresorError/failed(_:)`` when the library fails its check.
    package init(key: Span<UInt8>) throws(TresorError) {
        try Sodium.start()
        let state = UnsafeMutablePointer<crypto_auth_hmacsha512_state>.allocate(capacity: 1)
        // The library wants an address that it does not read; an empty key may have none.
        unsafe key.withUnsafeBufferPointer { key in
            let anywhere = unsafe UnsafeRawPointer(state).assumingMemoryBound(to: UInt8.self)
            unsafe crypto_auth_hmacsha512_init(state, key.baseAddress ?? anywhere, key.count)
        }
        unsafe self.state = state
    }

    deinit {
        unsafe sodium_memzero(state, MemoryLayout<crypto_auth_hmacsha512_state>.size)
        unsafe state.deallocate()
    }

    /// Adds bytes.
    package mutating func update(_ bytes: Span<UInt8>) {
        unsafe bytes.withUnsafeBufferPointer { bytes in
            guard let start = bytes.baseAddress else { return }
            unsafe crypto_auth_hmacsha512_update(state, start, UInt64(bytes.count))
        }
    }

    /// Adds public bytes.
    package mutating func update(_ bytes: [UInt8]) { update(bytes.span) }

    /// Returns the 64 bytes in secret memory.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package consuming func finalize() throws(TresorError) -> SecretBytes {
        let output = try SecretBytes(count: SHA512.byteCount)
        try write(to: output)
        wipeDeadStack()
        return output
    }

    /// Borrows the state, so that the state outlives the call.
    private borrowing func write(to output: borrowing SecretBytes) throws(TresorError) {
        try unsafe output.withMutablePointer { (pointer) throws(TresorError) in
            _ = unsafe crypto_auth_hmacsha512_final(state, pointer)
        }
    }

    /// The code of public bytes.
    package static func code(key: borrowing SecretBytes, _ bytes: [UInt8]) throws(TresorError) -> SecretBytes {
        var code = try HMACSHA512(key: key.span)
        code.update(bytes)
        return try code.finalize()
    }
}

/// HKDF-SHA-512 (RFC 5869), without salt.
package enum HKDFSHA512 {
    /// Extracts a key of 64 bytes from the concatenation of two secrets.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func extract(
        _ first: borrowing SecretBytes, _ second: borrowing SecretBytes
    ) throws(TresorError) -> SecretBytes {
        let salt: [UInt8] = []
        var code = try HMACSHA512(key: salt.span)
        code.update(first.span)
        code.update(second.span)
        return try code.finalize()
    }

    /// Expands a key to `count` bytes, bound to public bytes.
    ///
    /// - Parameters:
    ///   - key: the 64 bytes of an extraction.
    ///   - info: what the result is for.
    ///   - count: 1 to 255 × 64.
    /// - Throws: ``TresorError/usage(_:)`` for another count; ``TresorError/failed(_:)`` when memory is not available.
    package static func expand(
        _ key: borrowing SecretBytes, info: [UInt8], count: Int
    ) throws(TresorError) -> SecretBytes {
        guard (1...(255 * SHA512.byteCount)).contains(count) else { throw .usage(.outOfBounds) }
        var output = try SecretBytes(count: count)
        var block = try SecretBytes(count: 0)
        var offset = 0
        for number in UInt8(1)...255 where offset < count {
            var code = try HMACSHA512(key: key.span)
            code.update(block.span)
            code.update(info + [number])
            block = try code.finalize()
            var span = output.mutableSpan
            for index in 0..<min(SHA512.byteCount, count - offset) { span[offset + index] = block.span[index] }
            offset += SHA512.byteCount
        }
        return output
    }
}

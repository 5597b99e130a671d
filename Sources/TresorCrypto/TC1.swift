// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// TC1, the authenticated encryption of tresor (SPEC §6): ChaCha20-Poly1305 in chunks of 64 KiB under a key derived for
/// each message, with a commitment to key, label, context and salt.
///
/// A sealed message is `salt(24) ‖ commitment(32) ‖ chunk …`. Each chunk has at most 65 536 bytes of ciphertext and a
/// tag of 16 bytes. Callers cannot pass a nonce or a salt.
package enum TC1 {
    /// The size in bytes of the plaintext of every chunk but the last: 65 536.
    package static let chunkByteCount = 65536
    /// The maximum size in bytes of a plaintext: 2^40.
    package static let maximumByteCount = 1 << 40

    static let saltByteCount = 24
    static let commitmentByteCount = 32
    static let tagByteCount = 16
    package static let prefixByteCount = saltByteCount + commitmentByteCount

    /// The sealed size of `count` bytes of plaintext: 72 more for one chunk, 16 for each further chunk.
    ///
    /// A count outside the limits is taken as the nearest limit: 0 or 2^40.
    package static func sealedByteCount(_ count: Int) -> Int {
        let count = min(max(0, count), maximumByteCount)
        return prefixByteCount + count + tagByteCount * max(1, (count + chunkByteCount - 1) / chunkByteCount)
    }

    /// The size of the plaintext in `count` sealed bytes; `nil` if no plaintext has that sealed size.
    package static func openedByteCount(_ count: Int) -> Int? {
        guard count >= prefixByteCount + tagByteCount else { return nil }
        let body = count - prefixByteCount
        let whole = chunkByteCount + tagByteCount
        let chunks = (body - 1) / whole + 1
        let last = body - (chunks - 1) * whole
        guard last > tagByteCount || (chunks == 1 && last == tagByteCount) else { return nil }
        let opened = body - chunks * tagByteCount
        return opened <= maximumByteCount ? opened : nil
    }

    /// Seals `plaintext`.
    ///
    /// - Parameters:
    ///   - plaintext: at most 2^40 bytes.
    ///   - key: the key; each message derives its own from it.
    ///   - label: the kind of object. Opening requires the same label.
    ///   - context: the bytes that the object is bound to. Opening requires the same bytes.
    /// - Returns: the sealed object: 72 bytes more than a plaintext of one chunk, 16 more for each further chunk of 64 KiB.
    /// - Throws: ``TresorError/usage(_:)`` above the limit, ``TresorError/failed(_:)`` when the library fails its
    ///   check.
    package static func seal<Use: SealingUse>(
        _ plaintext: Span<UInt8>, with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>
    ) throws(TresorError) -> [UInt8] {
        try seal(plaintext, with: key, label: label, context: context, salt: randomBytes(saltByteCount))
    }

    /// Seals with a given salt. For the vector generator; the products only pass a random salt.
    package static func seal<Use: SealingUse>(
        _ plaintext: Span<UInt8>, with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>,
        salt: [UInt8]
    ) throws(TresorError) -> [UInt8] {
        guard plaintext.count <= maximumByteCount else { throw .usage(.contentTooLong) }
        guard salt.count == saltByteCount else { throw .usage(.outOfBounds) }
        let count = plaintext.count
        var isSealed = false
        let sealed = try unsafe withMessageKey(key.span, label: label, context: context, salt: salt.span) { message in
            unsafe plaintext.withUnsafeBufferPointer { plaintext in
                unsafe [UInt8](unsafeUninitializedCapacity: sealedByteCount(count)) { output, filled in
                    guard let base = output.baseAddress else { return }
                    for index in 0..<saltByteCount { unsafe base[index] = salt[index] }
                    unsafe (base + saltByteCount).update(from: message.commitment, count: commitmentByteCount)
                    let chunks = Chunks(first: 0, byteCount: count, endsMessage: true)
                    isSealed = unsafe chunks.encrypt(
                        plaintext.baseAddress, into: base + prefixByteCount, under: message.key)
                    filled = sealedByteCount(count)
                }
            }
        }
        guard isSealed else { throw .failed(.library) }
        return sealed
    }

    /// Opens a sealed message into ordinary memory.
    ///
    /// - Throws: ``TresorError/altered`` for another key, label or context, and for any changed bit of the message.
    package static func open<Use: SealingUse>(
        _ sealed: Span<UInt8>, with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>
    ) throws(TresorError) -> [UInt8] {
        guard let count = openedByteCount(sealed.count) else { throw .altered }
        let salt = sealed.extracting(first: saltByteCount)
        return try unsafe withMessageKey(key.span, label: label, context: context, salt: salt) {
            (message) throws(TresorError) in
            guard unsafe message.matches(sealed) else { throw .altered }
            var isOpen = false
            // All empty arrays share one buffer, whose count every thread would write.
            let opened = unsafe [UInt8](unsafeUninitializedCapacity: max(1, count)) { output, filled in
                isOpen = unsafe decrypt(sealed, message, into: output.baseAddress, count: count)
                if !isOpen, let base = output.baseAddress { unsafe sodium_memzero(base, count) }
                filled = isOpen ? count : 0
            }
            guard isOpen else { throw .altered }
            return opened
        }
    }

    /// Opens a sealed message directly into secret memory.
    ///
    /// - Throws: ``TresorError/altered`` for any cause, ``TresorError/failed(_:)`` when memory is not available.
    package static func openSecret<Use: SealingUse>(
        _ sealed: Span<UInt8>, with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>
    ) throws(TresorError) -> SecretBytes {
        guard let count = openedByteCount(sealed.count) else { throw .altered }
        let opened = try SecretBytes(count: count)
        let salt = sealed.extracting(first: saltByteCount)
        try unsafe withMessageKey(key.span, label: label, context: context, salt: salt) {
            (message) throws(TresorError) in
            let isOpen = try unsafe opened.withMutablePointer { (pointer) throws(TresorError) in
                unsafe message.matches(sealed) && decrypt(sealed, message, into: pointer, count: count)
            }
            guard isOpen else { throw .altered }
        }
        return opened
    }

    private static func decrypt(
        _ sealed: Span<UInt8>, _ message: MessageKey, into output: UnsafeMutablePointer<UInt8>?, count: Int
    ) -> Bool {
        unsafe sealed.withUnsafeBufferPointer { sealed in
            guard let source = sealed.baseAddress else { return false }
            let chunks = Chunks(first: 0, byteCount: count, endsMessage: true)
            return unsafe chunks.decrypt(source + prefixByteCount, into: output, under: message.key)
        }
    }
}

extension SecretKey {
    /// Seals this key under another.
    package borrowing func sealed<Other: SealingUse>(
        with key: borrowing SecretKey<Other>, label: DomainLabel, context: [UInt8]
    ) throws(TresorError) -> [UInt8] {
        try TC1.seal(span, with: key, label: label, context: context.span)
    }
}

extension TC1 {
    /// `okm` of SPEC §6: the message's own key and its commitment, on the stack.
    @unsafe struct MessageKey {
        let okm: UnsafeMutablePointer<UInt8>

        /// The 32-byte key of the chunks.
        var key: UnsafePointer<UInt8> { unsafe UnsafePointer(okm) }
        /// The 32-byte commitment, which a message carries in clear.
        var commitment: UnsafePointer<UInt8> { unsafe UnsafePointer(okm + 32) }

        /// Compares in constant time with the commitment that `sealed` carries.
        func matches(_ sealed: Span<UInt8>) -> Bool {
            let isSame = unsafe sealed.extracting(saltByteCount..<prefixByteCount).withUnsafeBufferPointer { carried in
                guard let base = carried.baseAddress else { return false }
                return unsafe sodium_memcmp(commitment, base, commitmentByteCount) == 0
            }
            return isSame
        }
    }

    /// Derives the key of a message, runs `body`, and wipes the key.
    static func withMessageKey<Result: ~Copyable>(
        _ key: Span<UInt8>, label: DomainLabel, context: Span<UInt8>, salt: Span<UInt8>,
        _ body: (MessageKey) throws(TresorError) -> Result
    ) throws(TresorError) -> Result {
        var okm = InlineArray<64, UInt8>(repeating: 0)
        var span = okm.mutableSpan
        return try unsafe span.withUnsafeMutableBufferPointer { (buffer) throws(TresorError) in
            guard let base = buffer.baseAddress else { throw .failed(.memory) }
            defer { unsafe sodium_memzero(base, 64) }
            try unsafe derive(key, label: label, context: context, salt: salt, to: base)
            wipeDeadStack()
            return try unsafe body(MessageKey(okm: base))
        }
    }

    /// Derives `okm`. Nearly every input is short and is assembled on the stack: one call of the library, no
    /// allocation.
    private static func derive(
        _ key: Span<UInt8>, label: DomainLabel, context: Span<UInt8>, salt: Span<UInt8>,
        to okm: UnsafeMutablePointer<UInt8>
    ) throws(TresorError) {
        try Sodium.start()
        var input = InlineArray<512, UInt8>(repeating: 0)
        let fixed = sealPrefix.count + 4 + label.bytes.count + salt.count + 4
        guard fixed + context.count <= input.count else {
            return try unsafe deriveInParts(key, label: label, context: context, salt: salt, to: okm)
        }
        var span = input.mutableSpan
        var count = 0
        span.put(sealPrefix.span, at: &count)
        span.put(UInt32(truncatingIfNeeded: label.bytes.count), at: &count)
        span.put(label.bytes.span, at: &count)
        span.put(salt, at: &count)
        span.put(UInt32(truncatingIfNeeded: context.count), at: &count)
        span.put(context, at: &count)
        let status = unsafe span.withUnsafeMutableBufferPointer { input in
            unsafe key.withUnsafeBufferPointer { key in
                unsafe crypto_generichash(okm, 64, input.baseAddress, UInt64(count), key.baseAddress, key.count)
            }
        }
        guard status == 0 else { throw .failed(.library) }
    }

    private static let sealPrefix = DomainLabel.seal.prefixed

    private static func deriveInParts(
        _ key: Span<UInt8>, label: DomainLabel, context: Span<UInt8>, salt: Span<UInt8>,
        to okm: UnsafeMutablePointer<UInt8>
    ) throws(TresorError) {
        var hash = try BLAKE2b(outputCount: 64, key: key)
        try hash.updatePrefixed(.seal)
        try hash.updatePrefixed(label)
        try hash.update(salt)
        try hash.updatePrefixed(context)
        try unsafe hash.write(to: okm)
    }
}

extension MutableSpan<UInt8> {
    fileprivate mutating func put(_ bytes: Span<UInt8>, at count: inout Int) {
        for index in bytes.indices { self[count + index] = bytes[index] }
        count += bytes.count
    }

    fileprivate mutating func put(_ value: UInt32, at count: inout Int) {
        for byte in 0..<4 { self[count + byte] = UInt8(truncatingIfNeeded: value >> (24 - 8 * UInt32(byte))) }
        count += 4
    }
}

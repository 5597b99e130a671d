// SPDX-License-Identifier: Apache-2.0

import Clibsodium

/// Secret bytes in guarded memory (`sodium_malloc`): locked where the system permits it, between guard pages, wiped on
/// release.
///
/// The type cannot be copied, printed, compared with `==`, hashed or encoded. Read it by borrowing ``span``. What
/// compares secrets here takes constant time. An allocation costs about 20 µs and four memory mappings: hold one
/// per long-lived secret, never one per message.
@safe public struct SecretBytes: ~Copyable, @unchecked Sendable {
    private let base: UnsafeMutablePointer<UInt8>

    /// The number of bytes.
    package let count: Int

    /// Allocates zeroed secret memory.
    ///
    /// - Parameter count: 0 to 2^30 bytes.
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available or the library fails its check.
    package init(count: Int) throws(TresorError) {
        unsafe base = try Self.allocate(count)
        self.count = count
    }

    /// Allocates secret memory that `fill` writes directly.
    ///
    /// - Parameters:
    ///   - count: the number of bytes, at most 2^30.
    ///   - fill: writes the bytes through a mutable span; unwritten bytes stay zero.
    /// - Throws: what `fill` throws, or ``TresorError/failed(_:)`` when memory is not available.
    public init(count: Int, fill: (inout MutableSpan<UInt8>) throws(TresorError) -> Void) throws(TresorError) {
        let memory = try unsafe Self.allocate(count)
        do throws(TresorError) {
            var span = unsafe MutableSpan(_unsafeStart: memory, count: count)
            try fill(&span)
        } catch {
            unsafe sodium_free(memory)
            throw error
        }
        unsafe base = memory
        self.count = count
    }

    private static func allocate(_ count: Int) throws(TresorError) -> UnsafeMutablePointer<UInt8> {
        try Sodium.start()
        guard (0...(1 << 30)).contains(count), let memory = unsafe sodium_malloc(max(count, 1)) else {
            throw .failed(.memory)
        }
        unsafe sodium_memzero(memory, max(count, 1))
        return unsafe memory.assumingMemoryBound(to: UInt8.self)
    }

    /// Whether the system locks secret memory, so that it never reaches a swap area (SPEC §14.4 P1). Beyond a limit of
    /// the process (`ulimit -l`) memory is not locked; nothing else changes.
    ///
    /// - Throws: ``TresorError/failed(_:)`` when memory is not available.
    package static func isLocked() throws(TresorError) -> Bool {
        let memory = try SecretBytes(count: 32)
        return unsafe sodium_mlock(memory.base, memory.count) == 0
    }

    /// Copies `bytes` into secret memory. The caller wipes the source.
    public init(copying bytes: Span<UInt8>) throws(TresorError) {
        try self.init(count: bytes.count)
        unsafe bytes.withUnsafeBufferPointer { source in
            if let start = source.baseAddress { unsafe base.update(from: start, count: source.count) }
        }
    }

    /// Draws random bytes from the system's generator.
    package init(randomCount count: Int) throws(TresorError) {
        try self.init(count: count)
        unsafe randombytes_buf(base, count)
    }

    deinit {
        unsafe sodium_free(base)
    }

    /// The bytes, borrowed.
    public var span: Span<UInt8> {
        @_lifetime(borrow self)
        borrowing get {
            let span = unsafe Span(_unsafeStart: base, count: count)
            return unsafe _overrideLifetime(span, borrowing: self)
        }
    }

    /// The bytes, borrowed for writing.
    package var mutableSpan: MutableSpan<UInt8> {
        @_lifetime(&self)
        mutating get {
            let span = unsafe MutableSpan(_unsafeStart: base, count: count)
            return unsafe _overrideLifetime(span, mutating: &self)
        }
    }

    /// Whether the bytes are equal. The time depends only on the counts.
    package borrowing func matches(_ other: borrowing SecretBytes) -> Bool {
        guard count == other.count else { return false }
        return unsafe sodium_memcmp(base, other.base, count) == 0
    }

    /// Copies the bytes into other secret memory, from `offset` on.
    package borrowing func copy(into output: inout MutableSpan<UInt8>, at offset: Int) {
        let span = span
        for index in 0..<count { output[offset + index] = span[index] }
    }

    /// Moves the first `count` bytes into secret memory of their own; `self` is wiped.
    package consuming func prefix(_ count: Int) throws(TresorError) -> SecretBytes {
        guard (0...self.count).contains(count) else { throw .usage(.outOfBounds) }
        return try SecretBytes(copying: span.extracting(first: count))
    }

    /// Lends the address to a C call that fills the memory. `self` must outlive every use of it.
    borrowing func withMutablePointer<Result: ~Copyable>(
        _ body: (UnsafeMutablePointer<UInt8>) throws(TresorError) -> Result
    ) throws(TresorError) -> Result {
        try unsafe body(base)
    }
}

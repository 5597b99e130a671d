// SPDX-License-Identifier: Apache-2.0

import Clibsodium

extension TC1 {
    /// The key of one message, in guarded memory while the message is processed.
    fileprivate final class StreamKey: Sendable {
        let bytes: SecretBytes

        init(_ bytes: consuming SecretBytes) { self.bytes = bytes }
    }

    /// Seals one message in parts, on any number of cores (SPEC §6.3).
    ///
    /// Hands out runs of chunks in the order of the message, each chunk once, and each run seals once. Two plaintexts
    /// therefore never share a nonce.
    package struct Sealing: ~Copyable {
        /// The first 56 bytes of the sealed message: salt and commitment.
        package let prefix: [UInt8]
        private let key: StreamKey
        private var nextChunk = 0
        private var hasEnded = false

        /// Begins a message.
        ///
        /// - Throws: ``TresorError/failed(_:)`` when memory is not available or the library fails its check.
        package init<Use: SealingUse>(
            with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>
        ) throws(TresorError) {
            try self.init(with: key, label: label, context: context, salt: randomBytes(saltByteCount))
        }

        /// Begins a message with a given salt. For tests that compare with a message sealed at once.
        init<Use: SealingUse>(
            with key: borrowing SecretKey<Use>, label: DomainLabel, context: Span<UInt8>, salt: [UInt8]
        ) throws(TresorError) {
            var prefix = salt
            let bytes = try unsafe withMessageKey(key.span, label: label, context: context, salt: salt.span) {
                (message) throws(TresorError) in
                let commitment = unsafe UnsafeBufferPointer(start: message.commitment, count: commitmentByteCount)
                unsafe prefix.append(contentsOf: commitment)
                return try unsafe message.copy()
            }
            self.key = StreamKey(bytes)
            self.prefix = prefix
        }

        /// Hands out the next chunks.
        ///
        /// - Parameters:
        ///   - byteCount: the size of their plaintext; a multiple of 65 536 greater than 0 unless they are the last.
        ///   - endsMessage: whether the message ends with them. Only an empty message has an empty last chunk.
        /// - Throws: ``TresorError/usage(_:)`` for other counts, after the end, and above 2^40 bytes in all.
        package mutating func next(_ byteCount: Int, endsMessage: Bool) throws(TresorError) -> Run {
            guard !hasEnded else { throw .usage(.outOfOrder) }
            guard (0...maximumByteCount).contains(byteCount),
                byteCount > 0 || (endsMessage && nextChunk == 0),
                endsMessage || byteCount.isMultiple(of: chunkByteCount),
                nextChunk * chunkByteCount + byteCount <= maximumByteCount
            else { throw .usage(.outOfBounds) }
            let chunks = Chunks(first: nextChunk, byteCount: byteCount, endsMessage: endsMessage)
            nextChunk += chunks.count
            hasEnded = endsMessage
            return Run(chunks: chunks, key: key)
        }
    }

    /// The right to seal some chunks of a message once.
    package struct Run: ~Copyable, Sendable {
        private let chunks: Chunks
        private let key: StreamKey

        fileprivate init(chunks: Chunks, key: StreamKey) {
            self.chunks = chunks
            self.key = key
        }

        /// Seals exactly the plaintext that the run was handed out for.
        ///
        /// - Parameter output: room for the plaintext and 16 bytes for each chunk.
        /// - Returns: the number of bytes written.
        /// - Throws: ``TresorError/usage(_:)`` for another size.
        package consuming func seal(
            _ plaintext: Span<UInt8>, into output: inout MutableSpan<UInt8>
        ) throws(TresorError) -> Int {
            let chunks = chunks
            guard plaintext.count == chunks.byteCount, output.count >= chunks.sealedByteCount else {
                throw .usage(.outOfBounds)
            }
            let isSealed = try unsafe key.bytes.withMutablePointer { key throws(TresorError) in
                unsafe plaintext.withUnsafeBufferPointer { source in
                    unsafe output.withUnsafeMutableBufferPointer { output in
                        guard let target = output.baseAddress else { return false }
                        return unsafe chunks.encrypt(source.baseAddress, into: target, under: key)
                    }
                }
            }
            guard isSealed else { throw .failed(.library) }
            return chunks.sealedByteCount
        }
    }

    /// Opens one message in parts, in any order and on any number of cores (SPEC §6.4).
    package final class Opening: Sendable {
        /// The size of the whole plaintext in bytes.
        package let byteCount: Int
        /// The number of chunks in the message.
        package let chunkCount: Int
        private let key: StreamKey

        /// Begins with the first 56 bytes of a message and its size.
        ///
        /// - Throws: ``TresorError/altered`` for a size that no message has, and for a commitment to another key, label
        ///   or context.
        package init<Use: SealingUse>(
            prefix: Span<UInt8>, sealedByteCount: Int, with key: borrowing SecretKey<Use>, label: DomainLabel,
            context: Span<UInt8>
        ) throws(TresorError) {
            guard prefix.count == prefixByteCount, let count = openedByteCount(sealedByteCount) else { throw .altered }
            let salt = prefix.extracting(first: saltByteCount)
            let bytes = try unsafe withMessageKey(key.span, label: label, context: context, salt: salt) {
                (message) throws(TresorError) in
                guard unsafe message.matches(prefix) else { throw .altered }
                return try unsafe message.copy()
            }
            self.key = StreamKey(bytes)
            byteCount = count
            chunkCount = Chunks(first: 0, byteCount: count, endsMessage: true).count
        }

        private func chunks(_ range: Range<Int>) -> Chunks {
            let endsMessage = range.upperBound == chunkCount
            let end = endsMessage ? byteCount : range.upperBound * chunkByteCount
            return Chunks(
                first: range.lowerBound, byteCount: end - range.lowerBound * chunkByteCount, endsMessage: endsMessage)
        }

        /// The range of some chunks in the sealed message.
        package func sealedRange(_ range: Range<Int>) -> Range<Int> {
            let start = prefixByteCount + range.lowerBound * (chunkByteCount + tagByteCount)
            return start..<(start + chunks(range).sealedByteCount)
        }

        /// Opens chunks.
        ///
        /// - Parameters:
        ///   - range: the indexes of the chunks; at least one.
        ///   - sealed: the bytes at ``sealedRange(_:)``.
        ///   - output: room for the plaintext, 65 536 bytes a chunk. On failure, wipes all bytes written so far.
        /// - Returns: the number of bytes written.
        /// - Throws: ``TresorError/altered``, ``TresorError/usage(_:)`` for chunks that do not exist.
        package func open(
            _ range: Range<Int>, from sealed: Span<UInt8>, into output: inout MutableSpan<UInt8>
        ) throws(TresorError) -> Int {
            guard !range.isEmpty, range.lowerBound >= 0, range.upperBound <= chunkCount else {
                throw .usage(.outOfBounds)
            }
            let chunks = chunks(range)
            guard sealed.count == chunks.sealedByteCount, output.count >= chunks.byteCount else {
                throw .usage(.outOfBounds)
            }
            let isOpen = try unsafe key.bytes.withMutablePointer { key throws(TresorError) in
                unsafe sealed.withUnsafeBufferPointer { source in
                    unsafe output.withUnsafeMutableBufferPointer { output in
                        guard let source = source.baseAddress else { return false }
                        let isOpen = unsafe chunks.decrypt(source, into: output.baseAddress, under: key)
                        if !isOpen, let base = output.baseAddress { unsafe sodium_memzero(base, chunks.byteCount) }
                        return isOpen
                    }
                }
            }
            guard isOpen else { throw .altered }
            return chunks.byteCount
        }
    }
}

extension TC1.MessageKey {
    /// The key of the chunks in guarded memory.
    fileprivate func copy() throws(TresorError) -> SecretBytes {
        try SecretBytes(copying: unsafe Span(_unsafeStart: key, count: 32))
    }
}

// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Testing

    @testable import TresorCrypto

    /// A39: a secret lies only in guarded memory, whatever operation used it. Each test scans a process of its own, in
    /// which nothing else maps or releases memory.
    @Suite(.disabled(if: isSanitized, "a sanitizer keeps copies of its own")) struct StrayCopyTests {
        @Test func A39_theScanFindsACopy() async {
            await #expect(processExitsWith: .success) {
                let secret = try random()
                let before = MemoryScan.strayCopies(of: secret)
                #expect(before == 0, "before: \(before)")
                let copy = secret.span.publicBytes
                let after = MemoryScan.strayCopies(of: secret)
                #expect(after == 1, "after: \(after)")
                withExtendedLifetime(copy) {}
            }
        }

        /// Of several sizes, since the allocator soon hands out again what was released.
        @Test(arguments: [32, 64, 200, 1000, 8192, 50_000])
        func A39_wrappingLeavesNoCopy(count: Int) async {
            await #expect(processExitsWith: .success) { [count] in
                let secret = try random(count)
                let seed = try SecretKey<KEMUse>()
                _ = try XWing.hpkeWrap(secret, for: XWing.publicKey(seed: seed), info: [1])
                let copies = MemoryScan.strayCopies(of: secret)
                #expect(copies == 0)
            }
        }

        @Test func A39_unwrappingLeavesNoCopy() async {
            await #expect(processExitsWith: .success) {
                let secret = try random(8192)
                let seed = try SecretKey<KEMUse>()
                let wrapped = try XWing.hpkeWrap(secret, for: XWing.publicKey(seed: seed), info: [1])
                let opened = try XWing.hpkeUnwrap(wrapped, seed: seed, info: [1])
                let copies = [MemoryScan.strayCopies(of: secret), MemoryScan.strayCopies(of: opened)]
                #expect(copies == [1, 1], "the two secrets, and nothing else")
            }
        }

        @Test func A39_openingIntoSecretMemoryLeavesNoCopy() async {
            await #expect(processExitsWith: .success) {
                let secret = try random()
                let key = try SecretKey<TestUse>()
                let sealed = try TC1.seal(secret.span, with: key, label: .slotSeal, context: secret.span)
                let opened = try TC1.openSecret(sealed.span, with: key, label: .slotSeal, context: secret.span)
                let copies = [MemoryScan.strayCopies(of: secret), MemoryScan.strayCopies(of: opened)]
                #expect(copies == [1, 1], "the two secrets, and nothing else")
                let ofKey = MemoryScan.strayCopies(of: key.bytes)
                #expect(ofKey == 0)
            }
        }

        @Test func A39_derivingLeavesNoCopy() async {
            await #expect(processExitsWith: .success) {
                let key = try SecretKey<TestUse>()
                let derived = try deriveDeepInTheStack(key)
                let copies = [MemoryScan.strayCopies(of: key.bytes), MemoryScan.strayCopies(of: derived.bytes)]
                #expect(copies == [0, 0])
            }
        }

        @Test func A39_signingLeavesNoCopyOfTheSeed() async {
            await #expect(processExitsWith: .success) {
                let seed = try SecretKey<SigningUse>()
                let signing = try signDeepInTheStack(seed)
                let copies = MemoryScan.strayCopies(of: seed.bytes)
                #expect(copies == 1, "the expanded key begins with it")
                let signature = try signing.sign([1, 2, 3])
                try Ed25519.verify(signature, of: [1, 2, 3], by: signing.publicKey)
            }
        }

        @Test func A39_passwordHashLeavesNoCopy() async {
            await #expect(processExitsWith: .success) {
                let password = try random()
                let output = try hashDeepInTheStack(password)
                let copies = [MemoryScan.strayCopies(of: output), MemoryScan.strayCopies(of: password)]
                #expect(copies == [0, 0])
            }
        }
    }

    /// So deep that the frames of a later scan do not overwrite what the library left in its own.
    @inline(never)
    private func hashDeepInTheStack(_ password: borrowing SecretBytes) throws(TresorError) -> SecretBytes {
        var room = InlineArray<32_768, UInt8>(repeating: 0)
        room[password.count] = 1
        let output = try Argon2id.hash(
            password: password.span, salt: [UInt8](0..<16), outputCount: 32, passes: 1, memoryByteCount: 64 * 1024)
        guard room[password.count] == 1 else { throw .failed(.other) }
        return output
    }

    @inline(never)
    private func deriveDeepInTheStack(
        _ key: borrowing SecretKey<TestUse>
    ) throws(TresorError) -> SecretKey<OtherUse> {
        var room = InlineArray<32_768, UInt8>(repeating: 0)
        room[SecretKey<TestUse>.byteCount] = 1
        let derived: SecretKey<OtherUse> = try key.derive(.identitySign, context: [UInt8]().span)
        guard room[SecretKey<TestUse>.byteCount] == 1 else { throw .failed(.other) }
        return derived
    }

    @inline(never)
    private func signDeepInTheStack(_ seed: borrowing SecretKey<SigningUse>) throws(TresorError) -> SigningKey {
        var room = InlineArray<32_768, UInt8>(repeating: 0)
        room[SecretKey<SigningUse>.byteCount] = 1
        let signing = try SigningKey(seed: seed)
        guard room[SecretKey<SigningUse>.byteCount] == 1, try signing.sign([1, 2, 3]).count == 64 else {
            throw .failed(.other)
        }
        return signing
    }

    private func random(_ count: Int = 32) throws(TresorError) -> SecretBytes {
        try SecretBytes(randomCount: count)
    }
#endif

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

enum TestUse: SealingUse {}

@Suite struct TC1Tests {
    private let context: [UInt8] = [1, 2, 3]

    @Test(arguments: [0, 1, 15, 16, 65535, 65536, 65537, 131072, 131073, 200_000])
    func opensWhatItSealed(count: Int) throws {
        let key = try SecretKey<TestUse>()
        let plaintext = (0..<count).map { UInt8(truncatingIfNeeded: $0 &* 7) }
        let sealed = try TC1.seal(plaintext.span, with: key, label: .fileSeal, context: context.span)
        #expect(sealed.count == TC1.sealedByteCount(count))
        #expect(TC1.openedByteCount(sealed.count) == count)
        let opened = try TC1.open(sealed.span, with: key, label: .fileSeal, context: context.span)
        #expect(opened == plaintext)
    }
}

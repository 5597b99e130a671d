// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct BLAKE2bTests {
    @Test func hashesABC() throws {
        var hash = try BLAKE2b(outputCount: 64)
        let abc = Array("abc".utf8)
        try hash.update(abc.span)
        let expected = """
            ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
            7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
            """
        #expect(Hex.text(try hash.finalize()) == expected)
        let memory = try SecretBytes(count: 64)
        var second = try BLAKE2b(outputCount: 64)
        try second.update(abc.span)
        try second.finalize(into: memory)
        #expect(Hex.text(memory.span.array) == expected)
    }
}

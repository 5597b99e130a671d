// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct NumberTests {
    /// Computed with Python's integers.
    @Test(arguments: [
        (String(repeating: "00", count: 32), "000000000000000000000000000000"),
        (String(repeating: "ff", count: 32), "640564039457584007913129639935"),
        (String(repeating: "00", count: 31) + "2a", "000000000000000000000000000042"),
        ("a0fe995e04e0c66415307bcaf9af9342260cbb4c0c7176331df18c80852692b6", "248869377273633617561369612982"),
    ])
    func isTheHashModuloTenToTheThirty(hash: String, digits: String) throws {
        let digest = try #require(Hash256(try bytes(hash)))
        let number = SafetyNumber(digest)
        #expect(number.digits == digits)
        #expect(try SafetyNumber(typed: number.grouped) == number)
        #expect(try SafetyNumber(typed: digits) == number)
    }

    @Test func isShownInSixGroups() throws {
        let number = try SafetyNumber(typed: "123456789012345678901234567890")
        #expect(number.grouped == "12345 67890 12345 67890 12345 67890")
    }

    @Test(arguments: ["  12345 67890 12345 67890 12345 67890 ", "1 2 3 4 5 67890123456789012345678 90"])
    func ignoresSpaces(typed: String) throws {
        #expect(try SafetyNumber(typed: typed).digits == "123456789012345678901234567890")
    }

    @Test(arguments: [
        "", " ", "12345678901234567890123456789", "1234567890123456789012345678901",
        "12345678901234567890123456789x", "-23456789012345678901234567890", "12345-67890-12345-67890-12345-67890",
        "12345\t67890\t12345\t67890\t12345\t67890", "12345 67890 12345 67890 12345 67890\n",
        "12345\u{a0}67890 12345 67890 12345 67890",
        "١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨٩٠١٢٣٤٥٦٧٨٩٠", "１２３４５６７８９０１２３４５６７８９０１２３４５６７８９０",
        "12345678901234567890123456789٠", "12345678901234567890123456789\u{0660}\u{0301}",
        "12345678901234567890123456789\0",
    ])
    func refusesEverythingElse(typed: String) {
        #expect(throws: TresorError.usage(.safetyNumber)) { try SafetyNumber(typed: typed) }
    }
}

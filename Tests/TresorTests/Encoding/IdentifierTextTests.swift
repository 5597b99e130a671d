// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// An id becomes text and an id again, and no other text becomes an id.
@Suite struct IdentifierTextTests {
    private func goThere<ID: LosslessStringConvertible & Codable & Equatable>(_ id: ID) throws {
        #expect(ID(id.description) == id)
        let data = try JSONEncoder().encode([id])
        #expect(String(decoding: data, as: UTF8.self) == "[\"\(id.description)\"]")
        #expect(try JSONDecoder().decode([ID].self, from: data) == [id])
    }

    @Test func idsAreReadAsTheyAreWritten() throws {
        for _ in 0..<50 {
            try goThere(UserID(anyDigest()))
            try goThere(TresorID(anyDigest()))
            try goThere(DeviceID.random())
        }
        try goThere(TresorID(.zero))
    }

    /// Text that people may type for an id, and text that no id has.
    private func others(_ text: String) -> [String] {
        var others = ["", text + "0", String(text.dropLast()), text + " ", " " + text, text.uppercased(), "é" + text]
        for letter in ["i", "l", "o", "u", "-", "1\u{301}"] { others.append(letter + text.dropFirst()) }
        // The last character holds bits that no id has.
        others.append(text.dropLast() + (text.hasSuffix("z") ? "0" : "z"))
        return others
    }

    @Test func noOtherTextIsAnID() throws {
        let user = UserID(try anyDigest())
        let device = try DeviceID.random()
        for text in others("a" + user.description.dropFirst()) where text != user.description {
            #expect(UserID(text) == nil, "\(text)")
            #expect(TresorID(text) == nil, "\(text)")
            let data = try JSONEncoder().encode([text])
            #expect(throws: DecodingError.self) { try JSONDecoder().decode([UserID].self, from: data) }
        }
        for text in others("a" + device.description.dropFirst()) { #expect(DeviceID(text) == nil, "\(text)") }
        #expect(DeviceID(user.description) == nil)
        #expect(UserID(device.description) == nil)
        #expect(throws: DecodingError.self) { try JSONDecoder().decode([TresorID].self, from: Data("[7]".utf8)) }
    }
}

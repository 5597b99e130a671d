// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing
import Tresor
import TresorCore

/// `inspect` and `verify --card` give the same answer for every possible card.
@Suite struct CardJudgeTests {
    private let stage: Stage
    private let card: [UInt8]

    init() throws {
        stage = try Stage("anna", "house")
        try stage.expect(as: "house", ["card", "-o", "house.txt"])
        card = try CardChain(armoured: stage["house.txt"]).bytes
        try stage.write(card, to: "house.card")
    }

    /// A generated card: cut, lengthened, doubled, or with a byte changed.
    private static func mutated(_ card: [UInt8], _ number: Int) -> [UInt8] {
        var generator = Sequence(seed: UInt64(number))
        var bytes = card
        switch number % 6 {
        case 0: bytes.removeLast(Int.random(in: 1...card.count, using: &generator))
        case 1: bytes.append(.random(in: .min ... .max, using: &generator))
        case 2: bytes += card
        // The beginning says what it is: every byte of it is changed more often.
        case 3: bytes[number / 6 % 16] ^= 1 << UInt8.random(in: 0..<8, using: &generator)
        default: bytes[.random(in: bytes.indices, using: &generator)] = .random(in: .min ... .max, using: &generator)
        }
        return bytes
    }

    private struct Sequence: RandomNumberGenerator {
        private var state: UInt64

        init(seed: UInt64) { state = seed &* 0x9e37_79b9_7f4a_7c15 &+ 1 }

        mutating func next() -> UInt64 {
            state ^= state << 13
            state ^= state >> 7
            state ^= state << 17
            return state
        }
    }

    @Test(arguments: ["house.card", "house.txt"]) func A211_thereIsOneJudgeOfACard(form: String) throws {
        let user = try CardChain(card).user.description
        let count = (form == "house.card" ? 120 : 60) / (LongRun.isOn ? 1 : 3)
        var codes: [Int32: Int] = [:]
        for number in 0..<count {
            let bytes = Self.mutated(stage[form], number)
            try stage.write(bytes, to: "mutated")
            let inspected = try stage.run(as: "anna", ["inspect", "mutated"])
            let verified = try stage.run(as: "anna", ["verify", user, "--card", "mutated"])
            codes[inspected.code, default: 0] += 1
            #expect([0, 14, 19].contains(inspected.code), "\(number): \(inspected.errorText)")
            #expect(inspected.code == verified.code, "\(number): \(inspected.errorText)\(verified.errorText)")
        }
        #expect(codes[14] ?? 0 > count / 3, "\(codes)")
        #expect(form != "house.card" || codes[19] ?? 0 >= count / 40, "\(codes)")
    }

    /// Changes of a mail or a paste around a card do no damage; changes inside do.
    @Test func A211_aPastedCardIsACard() throws {
        let text = String(decoding: stage["house.txt"], as: UTF8.self)
        let lines = text.replacing("\n", with: "\r\n")
        for pasted in [
            String(text.dropLast()), "\n\n" + text, text + "\n \n", "  " + text + "\t", lines,
            String(lines.dropLast(1)), "see below\n" + text, text + "regards",
        ] {
            try stage.write(Array(pasted.utf8), to: "pasted")
            for arguments in [["inspect", "pasted"], ["verify", "house", "--card", "pasted"]] {
                let ending = try stage.run(as: "anna", arguments)
                #expect(ending.code == 0, "\(arguments[0]) \(pasted.debugDescription): \(ending.errorText)")
            }
        }
        for spoilt in [text.replacing("\n", with: " \n"), text.replacing("\n", with: "\n\n")] {
            try stage.write(Array(spoilt.utf8), to: "spoilt")
            for arguments in [["inspect", "spoilt"], ["verify", "house", "--card", "spoilt"]] {
                let code = try stage.run(as: "anna", arguments).code
                #expect([14, 19].contains(code), "\(arguments[0]) \(spoilt.debugDescription)")
            }
        }
    }

    @Test func A211_aCutCardAndAnotherVersionHaveTheirOwnErrors() throws {
        try stage.write(Array(card.dropLast()), to: "cut")
        var newer = card
        newer[8] = 2
        try stage.write(newer, to: "newer")
        for (name, code) in [("cut", 14), ("newer", 19)] as [(String, Int32)] {
            try stage.refuse(code, as: "anna", ["inspect", name])
            try stage.refuse(code, as: "anna", ["verify", "house", "--card", name])
        }
    }
}

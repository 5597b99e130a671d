// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

@testable import TresorCommand

/// Armour as mail programs, editors and shells hand it over.
@Suite("Armour in other text")
struct PastedArmourTests {
    private static let bytes = (0..<200).map { UInt8(truncatingIfNeeded: $0 * 7) }
    private static let armour = String(decoding: Armour.file.armour(bytes), as: UTF8.self)

    private static func crlf(_ text: String) -> String { text.replacing("\n", with: "\r\n") }

    @Test(
        "A whole block between other text opens",
        arguments: [
            armour, String(armour.dropLast()), "\u{feff}\(armour)", "  \n\n\t\(armour)\n \n", crlf(armour),
            "Dear Bob,\n\n\(armour)\n-- \nAnna\n", crlf("Dear Bob,\n\n\(armour)\n-- \nAnna\n"),
            "Dear Bob, - here -----\n\(crlf(armour))Bye\n", "\(armour)=3D > quoted\n", "\(armour.dropLast())  \nBye",
        ])
    func opens(_ text: String) throws {
        let parts = try #require(PastedArmour.parts(of: Array(text.utf8)))
        #expect(try Armour.file.dearmour(parts.block) == Self.bytes)
        #expect(TransportDamage(of: Array(text.utf8)) == nil)
        #expect(text.utf8.starts(with: parts.before))
        #expect(Array(text.utf8).suffix(parts.after.count).elementsEqual(parts.after))
    }

    private static func lines(_ change: (String) -> String) -> String {
        armour.split(separator: "\n").map { change(String($0)) + "\n" }.joined()
    }

    private static let damaged: [(TransportDamage, String)] = [
        (.quoted, lines { "> \($0)" }), (.quoted, "Anna wrote:\n" + lines { "> \($0)" }),
        (.quoted, lines { "  \($0)" }), (.dashes, armour.replacing("-----", with: "\u{2014}")),
        (.dashes, "Bob,\n\(armour.replacing("--", with: "\u{2013}"))Anna\n"),
        (.blanks, lines { "\($0) " }), (.blanks, lines { "\($0)\u{a0}" }), (.short, String(armour.prefix(150))),
        (.several, "\(armour)\n\(armour)"), (.broken, armour.replacing(armour.split(separator: "\n")[1], with: "")),
        (
            .broken,
            lines { line in line.count < 64 ? line : "\(line.prefix(40))\n\(line.dropFirst(40))" }
        ),
        (.encoded, lines { line in line.count < 64 ? line : "\(line.prefix(60))=\n\(line.dropFirst(60))" }),
        (.lines(nil), armour.replacing("-----\n", with: "-----\r\n", maxReplacements: 1)),
    ]

    /// One character is another one, is missing, or stands there twice.
    @Test("One mistyped character is named by its line, in every line", arguments: [".", "", "AA", "u ", "="])
    func mistyped(_ other: String) throws {
        let lines = Self.armour.split(separator: "\n").map(String.init)
        for (index, line) in lines.enumerated() where other.count == 1 || (1..<lines.count - 1).contains(index) {
            // A mark of base64 in the first or the last place is another damage.
            for place in [1, line.count / 2, line.count - 6] {
                let at = line.index(line.startIndex, offsetBy: place)
                let changed = line[..<at] + other + line[line.index(after: at)...]
                let text = (lines[..<index] + [String(changed)] + lines[(index + 1)...]).joined(separator: "\n")
                for before in ["", "Dear Bob,\n\n"] {
                    let damage = TransportDamage(of: Array((before + text + "\n").utf8))
                    #expect(damage == .lines(index + (before.isEmpty ? 1 : 3)), "\(index) \(place) \(text)")
                }
            }
        }
    }

    @Test("A missing end is named wherever it is cut, and whatever stands behind")
    func endless() throws {
        let lines = Self.armour.split(separator: "\n")
        let end = Self.armour.utf8.count - 1
        for length in (lines[0].count + 2)..<end {
            for rest in ["", "\n", "\r\n\r\n", "\n-- \nAnna\n", "\n\n-- \nAnna House \nward 3\n"] {
                let text = Self.armour.prefix(length) + rest
                #expect(TransportDamage(of: Array(text.utf8)) == .short, "\(length) \(rest)")
            }
        }
    }

    @Test("A mistyped line is named in a beginning too, whose end has not been read")
    func mistypedInABeginning() {
        let armour = Armour.file.armour([UInt8](repeating: 9, count: 3000))
        var start = Array(armour.prefix(2000))
        #expect(TransportDamage(of: start) == .short)
        start[500] = UInt8(ascii: "*")
        #expect(TransportDamage(of: start) == .lines(9))
    }

    @Test("Armour of another program is none of this one", arguments: ["PGP MESSAGE", "OPENSSH PRIVATE KEY", "X"])
    func foreign(_ word: String) {
        #expect(TransportDamage(of: Array("-----BEGIN \(word)-----\nAAAA\n-----END \(word)-----\n".utf8)) == nil)
    }

    @Test("What was changed on the way is named", arguments: damaged.indices)
    func named(_ index: Int) throws {
        let (damage, text) = Self.damaged[index]
        #expect(TransportDamage(of: Array(text.utf8)) == damage)
        if let block = PastedArmour.block(of: Array(text.utf8)) {
            #expect(throws: TresorError.altered) { try Armour.file.dearmour(block) }
        }
    }

    @Test("UTF-16 is named, with a mark and without, in both orders")
    func wide() {
        let units = Array(Self.armour.utf16)
        let little: [UInt8] = units.flatMap { [UInt8(truncatingIfNeeded: $0), 0] as [UInt8] }
        let big: [UInt8] = units.flatMap { [0, UInt8(truncatingIfNeeded: $0)] as [UInt8] }
        for text in [little, big, [0xff, 0xfe] + little, [0xfe, 0xff] + big] {
            #expect(TransportDamage(of: text) == .wide)
            #expect(PastedArmour.block(of: text) == nil)
        }
    }

    @Test(
        "What never was armour is not called damaged",
        arguments: ["", "{}", "tresorF1", "\0\0\0", "Dear Bob,\n", "Dear Bob \u{2014}\n"])
    func other(_ text: String) {
        #expect(TransportDamage(of: Array(text.utf8)) == nil)
        #expect(PastedArmour.block(of: Array(text.utf8)) == nil)
    }

    @Test("A block that is too large for memory is found between other text")
    func large() async throws {
        let scratch = try Scratch()
        let armour = String(decoding: Armour.file.armour([UInt8](repeating: 9, count: 1_500_000)), as: UTF8.self)
        let text = "Dear Bob,\n\(armour)Bye - Anna\n"
        try scratch.write(text, "mail")
        let input = try InputFile(scratch.path("mail"), standardInput: StandardInput())
        let source = FileBytes(input.descriptor, owner: input, byteCount: text.utf8.count)
        let start = Array(text.utf8.prefix(1 << 20))
        let (before, after) = try await TresorCommand.SealedFileReader.textAround(source, startingWith: start)
        #expect(before == Array("Dear Bob,\n".utf8))
        #expect(after == Array("Bye - Anna\n".utf8))
        let block = source.part(before.count..<(text.utf8.count - after.count))
        #expect(try await SealedFileSource(block, startingWith: Array(start[before.count...])).byteCount == 1_500_000)
    }

    /// As a pipe hands it over: the beginning first, then pieces of any size.
    @Test("A stream is judged from its block on, and text behind it is limited", arguments: [1, 7, 64, 4096])
    func stream(_ size: Int) throws {
        let long = String(decoding: Armour.file.armour([UInt8](repeating: 5, count: 3000)), as: UTF8.self)
        let text = Array("Dear Bob,\n\(long)Bye - Anna\n".utf8)
        func judge(_ text: [UInt8]) throws(TresorError) {
            let start = Array(text.prefix(2000))
            var judge = StreamJudge(start)
            try judge.append(start)
            var rest = text[2000...]
            while !rest.isEmpty {
                try judge.append(Array(rest.prefix(size)))
                rest = rest.dropFirst(size)
            }
        }
        try judge(text)
        #expect(throws: TresorError.altered) {
            try judge(text + [UInt8](repeating: 0x20, count: PastedArmour.greatestRest + 4096))
        }
        var broken = text
        broken[2500] = 0x2d
        #expect(throws: TresorError.altered) { try judge(broken) }
    }
}

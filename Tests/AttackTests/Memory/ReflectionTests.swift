// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing
import TresorStore

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Values that can become `Any` and hold secrets, passed to everything that shows an `Any`.
@Suite struct ReflectionTests {
    /// The bytes themselves, in hexadecimal, and as a list of numbers: eight random ones in a row are no chance.
    ///
    /// - Parameter count: how many in a row. One word of a phrase may well stand in the name of a type; sixteen letters
    ///   are of more than one word.
    private static func needles(of secret: [UInt8], count: Int = 8) -> [[UInt8]] {
        stride(from: 0, through: secret.count - count, by: 8).flatMap { start in
            let window = Array(secret[start..<(start + count)])
            let hexadecimal = window.map { String($0 >> 4, radix: 16) + String($0 & 15, radix: 16) }.joined()
            let list = window.map(String.init).joined(separator: ", ")
            let lines = window.map { "- \($0)" }.joined(separator: "\n")
            return [window, Array(hexadecimal.utf8), Array(hexadecimal.uppercased().utf8)]
                + [list, lines].map { Array($0.utf8) }
        }
    }

    private static func shown(_ value: Any) -> [UInt8] {
        var text = ""
        dump(value, to: &text)
        text += "\(value)" + String(reflecting: value) + String(describing: value)
        return Array(text.utf8)
    }

    @Test func A41_nothingThatHoldsASecretShowsIt() async throws {
        let world = World(store: MemoryStore())
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 1, in: state)
        _ = try await anna.unlocking.rememberDevice(name: .empty, until: world.clock.now + 9)
        let share = try #require(anna.home[.deviceShare])
        let device = try DeviceShare(SecretBytes(copying: share.span))
        let kit = try await anna.unlocking.makeKit()
        let words = try kit.words()
        let secret = try keys.secret()
        let content = secret.span.publicBytes
        let phrase = words.span.publicBytes
        let needles =
            [content, Array(share.suffix(32))].flatMap { Self.needles(of: $0) }
            + Self.needles(of: phrase, count: 16)
        let values: [Any] = [
            anna, anna.identity, anna.client, keys, device, state, try anna.client.identityFileBlocking(),
            TresorError.altered, try Snapshots(anna.identity),
        ]
        for value in values {
            let shown = Self.shown(value)
            #expect(!shown.isEmpty)
            for needle in needles { #expect(!shown.holds(needle), "\(type(of: value))") }
        }
    }

    @Test func A41_theSearchFindsWhatIsShown() {
        let secret = (0..<32).map { _ in UInt8.random(in: .min ... .max) }
        let shown = Self.shown(["a key": secret])
        #expect(Self.needles(of: secret).contains { shown.holds($0) })
    }
}

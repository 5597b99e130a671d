// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// The code, the letters and the mailbox of two machines (SPEC §8.6).
@Suite struct DeviceFormatTests {
    private func text(_ bytes: [UInt8]) throws -> String {
        let code = try DeviceCode(SecretBytes(copying: bytes.span))
        let text = try code.text()
        return String(decoding: text.span.publicBytes, as: UTF8.self)
    }

    private func read(_ typed: String) throws -> [UInt8] {
        let secret = try SecretBytes(copying: Array(typed.utf8).span)
        let code = try DeviceCode(typed: secret)
        return code.bytes.span.publicBytes
    }

    @Test func aCodeIsShownInFourGroups() throws {
        #expect(try text([UInt8](repeating: 0, count: 10)) == "0000-0000-0000-0000")
        #expect(try text([UInt8](repeating: 255, count: 10)) == "zzzz-zzzz-zzzz-zzzz")
        #expect(try text([0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 1]) == "0110-0000-0000-0001")
    }

    @Test func aCodeIsReadAsItIsTyped() throws {
        let bytes: [UInt8] = [0x00, 0x42, 0, 0, 0, 0, 0, 0, 0, 1]
        for typed in ["0110-0000-0000-0001", "oiLO 0000\t0000 000l\r\n", "0110000000000001", "-0-110000000000001-"] {
            #expect(try read(typed) == bytes, "\(typed)")
        }
        for code in 0..<64 {
            let bytes = (0..<10).map { UInt8(truncatingIfNeeded: (code * 37 + $0 * 101) ^ (code << $0)) }
            #expect(try read(text(bytes)) == bytes)
        }
        let long = String(repeating: " ", count: 1020) + "0110000000000001"
        #expect(error { _ = try read(long) } == .notFound)
    }

    @Test func aMailboxIsReadWholeOrNotAtAll() throws {
        let offer = [UInt8](repeating: 1, count: DeviceOffer.byteCount)
        let answer = [UInt8](repeating: 2, count: DeviceAnswer.minimumByteCount)
        let mailboxes = [
            DeviceMailbox(until: 5), DeviceMailbox(until: 5, .offer(offer)),
            DeviceMailbox(until: Format.latestTime, .answer(answer, to: offer)),
            DeviceMailbox(until: 5, .receipt(.zero)),
        ]
        for mailbox in mailboxes {
            let bytes = mailbox.bytes
            #expect(try DeviceMailbox(bytes) == mailbox)
            #expect(DeviceMailbox.begins(bytes))
            for count in [0, 7, 9, 17, 18, bytes.count - 1] {
                #expect(error { _ = try DeviceMailbox(Array(bytes.prefix(count))) } == .altered, "\(count)")
            }
            #expect(error { _ = try DeviceMailbox(bytes + [0]) } == .altered)
        }
        for size in [DeviceAnswer.minimumByteCount - 1, DeviceAnswer.maximumByteCount + 1] {
            let other = DeviceMailbox(until: 5, .answer([UInt8](repeating: 2, count: size), to: offer))
            #expect(error { _ = try DeviceMailbox(other.bytes) } == .altered, "\(size)")
        }
        let greatest = DeviceMailbox(
            until: 5, .answer([UInt8](repeating: 2, count: DeviceAnswer.maximumByteCount), to: offer))
        #expect(greatest.bytes.count == IdentityFile.maximumByteCount)
    }

    @Test func theSizesAreThoseOfTheSpecification() {
        #expect(DeviceOffer.byteCount == 1266)
        #expect(DeviceAnswer.minimumByteCount == 1694)
        #expect(DeviceAnswer.maximumByteCount == 1_047_287)
        #expect(DeviceMailbox.emptyByteCount == 19)
    }

    /// A home that knows more than an answer holds is told so, and nothing is put into the mailbox.
    @Test func whatDoesNotFitIsNotGiven() throws {
        let anna = try identity("anna")
        let slot = try Slot.kit(of: anna, kit: RecoveryKit(), time: 1)
        let file = try IdentityFile(of: anna, previous: [], slots: [slot])
        let key = try DeviceCode().key()
        let seed = try SecretKey<KEMUse>()
        let offer = try DeviceOffer(of: XWing.publicKey(seed: seed), until: 5, under: key)
        func give(_ count: Int) -> TresorError? {
            error {
                let belongings = DeviceBelongings(
                    file: file, store: nil, objects: [[UInt8](repeating: 0, count: count), [], [], [], [], []])
                _ = try DeviceAnswer(anna, belongings, to: offer, under: key)
            }
        }
        #expect(give(1_000_000) == nil)
        #expect(give(1_047_287) == .usage(.contentTooLong))
    }
}

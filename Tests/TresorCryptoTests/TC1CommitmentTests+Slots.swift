// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The same attack on an identity file: a slot is as long as the two blocks. A file that opened with two passwords
/// would tell a store which half of a list the owner's is in.
extension TC1CommitmentTests {
    private struct Slots {
        let file: IdentityFile
        /// Whether the bare cipher opens the slot under the first and under the second key.
        let bare: [Bool]
    }

    /// An identity file whose one slot the bare cipher opens under both keys. The first is whole: a renewal may choose
    /// its seed, and takes what the slot then holds.
    private func file(
        _ kind: Slot.Kind, _ first: borrowing SecretKey<SlotUse>, _ second: borrowing SecretKey<SlotUse>
    ) throws -> Slots {
        let anna = try Identity.make(handle: Name(typed: "anna"), time: 1)
        let id = try #require(DeviceID([UInt8](1...16)))
        var encoder = ByteEncoder()
        try anna.seal(under: first, id: id, kind: kind, since: 2).encode(into: &encoder)
        let fields = Array(encoder.bytes.dropLast(Slot.sealedByteCount))
        let context = anna.user.digest.bytes + bigEndianBytes(UInt32(1)) + fields
        let salt = try randomBytes(24)
        let label = "tresor/v1/slot-seal"
        let ours = try Collision.messageKey(first, label: label, salt: salt, context: context)
        let theirs = try Collision.messageKey(second, label: label, salt: salt, context: context)
        let chunk = try #require(Collision.chunk(ours.key, theirs.key))
        let seed = try #require(Collision.open(chunk, key: ours.key))
        let (renewed, previous) = try anna.renewCard(time: 2, seed: key(seed))
        var decoder = ByteDecoder(fields + salt + ours.commitment + chunk)
        let slot = try Slot(from: &decoder)
        try decoder.end()
        return Slots(
            file: try IdentityFile(of: renewed, previous: [previous], slots: [slot]),
            bare: [ours.key, theirs.key].map { Collision.open(chunk, key: $0) != nil })
    }

    @Test func A2_oneSlotForTwoPasswords() throws {
        let salt = try randomBytes(Argon2id.saltByteCount)
        let first = try Password(typed: secret(Array("the first password".utf8)))
        let second = try Password(typed: secret(Array("the second password".utf8)))
        let slots = try file(
            .password(cost: .floor, salt: salt), Argon2id.key(password: first.bytes, salt: salt, cost: .floor),
            Argon2id.key(password: second.bytes, salt: salt, cost: .floor))
        #expect(slots.bare == [true, true])
        #expect(try slots.file.open(withPassword: first).generation == 1)
        func guess() throws(TresorError) { _ = try slots.file.open(withPassword: second) }
        #expect(thrown(guess) == .wrongPassword)
        // Without the comparison the second password opens something too, and the error says so.
        withoutKeyCommitment { #expect(thrown(guess) == .altered) }
    }

    @Test func A2_oneSlotForTwoKits() throws {
        let first = try RecoveryKit()
        let second = try RecoveryKit()
        let slots = try file(.kit(locator: first.locator()), first.slotKey(), second.slotKey())
        #expect(slots.bare == [true, true])
        #expect(try slots.file.open(withKit: first).generation == 1)
        func guess() throws(TresorError) { _ = try slots.file.open(withKit: second) }
        #expect(thrown(guess) == .wrongPassword)
        withoutKeyCommitment { #expect(thrown(guess) == .altered) }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Parts of slots in each other's place, between the slots of one identity file and of two. The tag is made anew each
/// time, so that the slot alone has to tell.
@Suite struct SlotExchangeTests {
    /// Secrets cannot be captured by value.
    private final class SlotKey: Sendable {
        let key: SecretKey<SlotUse>

        init(_ key: consuming SecretKey<SlotUse>) { self.key = key }
    }

    /// A person with a password, a kit and two devices.
    private struct Person {
        let identity: Identity
        let name: String
        let words: [UInt8]
        let devices: [DeviceShare]
        let serverShare: [UInt8]
        private(set) var slots: [Slot]
        let keys: [SlotKey]

        init(_ name: String, since: UInt64) throws {
            self.name = name
            identity = try Identity.make(handle: try Name(typed: name), time: since)
            let kit = try RecoveryKit()
            let words = try kit.words()
            let serverShare = try randomBytes(32)
            let devices = [try DeviceShare(user: identity.user), try DeviceShare(user: identity.user)]
            let salt = try randomBytes(Argon2id.saltByteCount)
            let secret = try password(name)
            var keys = [
                SlotKey(try Argon2id.key(password: secret.bytes, salt: salt, cost: .floor)),
                SlotKey(try kit.slotKey()),
            ]
            for device in devices {
                keys.append(SlotKey(try device.slotKey(serverShare: SecretBytes(copying: serverShare.span))))
            }
            let kinds: [Slot.Kind] = [
                .password(cost: .floor, salt: salt), .kit(locator: try kit.locator()),
                .device(name: try Name(typed: "desk of \(name)"), until: since + 100),
                .device(name: try Name(typed: "ward of \(name)"), until: since + 200),
            ]
            let ids = [try DeviceID.random(), try DeviceID.random()] + devices.map(\.id)
            slots = []
            for index in kinds.indices {
                slots.append(
                    try identity.seal(
                        under: keys[index].key, id: ids[index], kind: kinds[index], since: since + UInt64(index)))
            }
            self.words = words.span.publicBytes
            self.devices = devices
            self.serverShare = serverShare
            self.keys = keys
        }

        /// How the owner is refused who opens this slot of a file; `nil` when it opens.
        func refusal(of index: Int, in slots: [Slot]) throws -> TresorError? {
            let file = try IdentityFile(of: identity, previous: [], slots: slots)
            return error {
                switch index {
                case 0: _ = try file.open(withPassword: password(name))
                case 1: _ = try file.open(withKit: RecoveryKit(typed: SecretBytes(copying: words.span)))
                default:
                    _ = try file.open(
                        withDevice: devices[index - 2], serverShare: SecretBytes(copying: serverShare.span), now: 0)
                }
            }
        }

        /// Whether a slot opens with the key of one of this person's.
        func opens(_ slot: Slot, as index: Int) -> Bool {
            error { _ = try slot.open(with: keys[index].key, user: identity.user, generation: 0) } == nil
        }
    }

    /// The exchanged part.
    private enum Part: CaseIterable {
        case sealed, salt, commitment, body, id, since, kind

        /// `slot` with this part of `other`.
        func move(from other: Slot, to slot: Slot) throws -> Slot {
            switch self {
            case .sealed: try slot.with(sealed: other.sealed)
            case .salt: try slot.with(sealed: slot.sealed.replacing(0..<24, from: other.sealed))
            case .commitment: try slot.with(sealed: slot.sealed.replacing(24..<56, from: other.sealed))
            case .body: try slot.with(sealed: slot.sealed.replacing(56..<104, from: other.sealed))
            case .id: try slot.with(id: other.id)
            case .since: try slot.with(since: other.since)
            case .kind: try slot.with(kind: other.kind)
            }
        }
    }

    private typealias Place = (person: Int, index: Int)

    @Test func A25_noPartOfASlotMovesToAnother() throws {
        let people = [try Person("anna", since: 1000), try Person("house", since: 2000)]
        let places: [Place] = people.indices.flatMap { person in (0..<4).map { (person, $0) } }
        for place in places {
            let person = people[place.person]
            let slot = person.slots[place.index]
            #expect(try person.refusal(of: place.index, in: person.slots) == nil)
            let stranger = people[1 - place.person].identity.user
            for (user, generation) in [(stranger, 0), (person.identity.user, 1)] as [(UserID, UInt32)] {
                let key = person.keys[place.index]
                #expect(error { _ = try slot.open(with: key.key, user: user, generation: generation) } == .altered)
            }
        }
        for (first, one) in places.enumerated() {
            for other in places[(first + 1)...] {
                for part in Part.allCases { try exchange(part, people, one, other) }
            }
        }
    }

    private func exchange(_ part: Part, _ people: [Person], _ one: Place, _ other: Place) throws {
        var slots = people.map(\.slots)
        let (left, right) = (slots[one.person][one.index], slots[other.person][other.index])
        slots[one.person][one.index] = try part.move(from: right, to: left)
        slots[other.person][other.index] = try part.move(from: left, to: right)
        for (place, partner) in [(one, other), (other, one)] {
            let person = people[place.person]
            let what: Comment = "\(part) of \(partner) in \(place)"
            for (index, slot) in slots[place.person].enumerated() {
                let isTouched = [one, other].contains { $0 == (place.person, index) }
                #expect(person.opens(slot, as: index) != isTouched, what)
            }
            guard let expected = expected(part, place, partner) else { continue }
            #expect(try person.refusal(of: place.index, in: slots[place.person]) == expected, what)
        }
    }

    /// How the owner of the slot at `place` is refused; `nil` where there is no such file, or where another Argon2id
    /// would tell nothing more.
    private func expected(_ part: Part, _ place: Place, _ partner: Place) -> TresorError? {
        let isSameFile = place.person == partner.person
        let areDevices = place.index >= 2 && partner.index >= 2
        let isSameKind = place.index == partner.index || areDevices
        // A file with two passwords or two kits is none.
        if part == .kind, !isSameFile, !isSameKind { return nil }
        switch place.index {
        case 0: return part == .sealed || part == .kind ? .wrongPassword : nil
        case 1: return .wrongPassword
        default:
            // Then the file has no device of this id.
            if part == .id, !isSameFile || !areDevices { return .noAccess }
            return part == .kind && !areDevices ? .noAccess : .altered
        }
    }
}

extension [UInt8] {
    fileprivate func replacing(_ range: Range<Int>, from other: [UInt8]) -> [UInt8] {
        var bytes = self
        bytes.replaceSubrange(range, with: other[range])
        return bytes
    }
}

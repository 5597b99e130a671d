// SPDX-License-Identifier: Apache-2.0

/// A pin (SPEC §7.5).
struct PinWriter {
    /// The ways in which a home comes to know a person.
    enum How {
        static let number: UInt8 = 1
        static let card: UInt8 = 2
        static let link: UInt8 = 3
        static let known: UInt8 = 4
    }

    let person: Person
    var time: UInt64 = 1_767_300_000
    var replaced: UInt8 = 0
    var how = How.number
    /// The hash of the card whose signature said so.
    var by = zeros(32)

    init(_ person: Person, replaced: Bool = false, time: UInt64 = 1_767_300_000) {
        self.person = person
        self.time = time
        self.replaced = replaced ? 1 : 0
    }

    /// A pin that another device of a person stated.
    static func known(_ person: Person, by me: Person, replaced: Bool = false, time: UInt64 = 1_767_300_000) -> Self {
        var pin = PinWriter(person, replaced: replaced, time: time)
        (pin.how, pin.by) = (How.known, me.newest.hash)
        return pin
    }

    var bytes: Bytes { join(u64(time), [replaced, how], by, prefixed(person.chain)) }

    static func object(_ pins: [PinWriter]) -> Bytes { preamble("tresorP2") + join(pins.map(\.bytes)) }
}

/// The pinned and the told head of a tresor (SPEC §9.8).
struct HeadRow {
    let tresor: Bytes
    var pinned: Bytes?
    var told: Bytes?

    static func head(_ sequence: UInt64, _ hash: Bytes) -> Bytes { u64(sequence) + hash }

    var bytes: Bytes {
        tresor + [(pinned == nil ? 0 : 1) + (told == nil ? 0 : 2)] + (pinned ?? []) + (told ?? [])
    }

    static func object(_ rows: [HeadRow], ownTime: UInt64 = 0) -> Bytes {
        preamble("tresorH2") + u64(ownTime) + join(rows.map(\.bytes))
    }
}

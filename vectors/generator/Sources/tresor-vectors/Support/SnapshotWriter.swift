// SPDX-License-Identifier: Apache-2.0

/// A snapshot of SPEC §9.10, field by field.
struct SnapshotWriter {
    struct Change {
        var sequence: UInt64
        var time: UInt64
        var author: Bytes
        var kind: UInt8
        var role: UInt8
        var notAfter: UInt64 = 0

        var bytes: Bytes { join(u64(sequence), u64(time), author, [kind, role], u64(notAfter)) }
    }

    struct Record {
        var chain: Bytes
        var generations: [(sequence: UInt64, time: UInt64, generation: Int)]
        var changes: [Change]
        var lastTime: UInt64?
        var history: UInt64 = 0
        /// The field in place of `wrote`.
        var wrote: UInt8?

        var bytes: Bytes {
            join(
                prefixed(chain), u32(generations.count),
                join(generations.map { join(u64($0.sequence), u64($0.time), u32($0.generation)) }),
                u32(changes.count), join(changes.map(\.bytes)), [wrote ?? (lastTime == nil ? 0 : 1)],
                lastTime.map { u64($0) } ?? [], u64(history))
        }
    }

    var preamble: Bytes = join(ascii("tresorS2"), [1, 1])
    var additive: Bytes = u16(129)
    var root: Bytes
    var headTime: UInt64
    var ownerTime: UInt64
    var founderGeneration = 0
    var floor: UInt64 = 0
    var checkpoint: UInt64 = 0
    var approvers: [Bytes] = []
    var approversSince: UInt64 = 0
    var hashes: [Bytes]
    var epochs: [(statement: Bytes, sequence: UInt64)]
    var name: Bytes
    var nameSequence: UInt64
    var marks: [UInt64]
    var people: [Record]

    var untagged: Bytes {
        join(
            preamble, additive, root, u64(headTime), u64(ownerTime), u32(founderGeneration), u64(floor),
            u64(checkpoint), u16(approvers.count), join(approvers), u64(approversSince),
            u32(hashes.count), join(hashes), u32(epochs.count), join(epochs.map { $0.statement + u64($0.sequence) }),
            name,
            u64(nameSequence), u32(marks.count),
            join(marks.map { u64($0) }), u32(people.count), join(people.map(\.bytes)))
    }

    static func key(_ person: Person) -> Bytes { derive(person.newest.seed, "tresor/v1/home-cache") }

    static func tagged(_ body: Bytes, _ person: Person) -> Bytes {
        body + derive(key(person), "tresor/v1/state-tag", body)
    }

    func bytes(of person: Person) -> Bytes { Self.tagged(untagged, person) }
}

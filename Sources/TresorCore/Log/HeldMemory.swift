// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// The memory that states hold: each part counted with the room that its array or dictionary takes around it.
package enum HeldMemory {
    /// The bytes of a state.
    package static func byteCount(of state: LogState) -> Int {
        var sum = MemoryLayout<LogState>.size + Hash256.byteCount * state.hashes.count
        sum += array(state.name.sealed.bytes.count)
        for record in state.epochs {
            sum += MemoryLayout<LogState.EpochRecord>.stride + array(record.epoch.backLink.count)
        }
        sum += slots(state.commitments.count, MemoryLayout<Hash256>.stride)
        sum += MemoryLayout<LogState.RekeyMark>.stride * state.rekeyMarks.count
        sum += slots(state.members.count + state.waiting.count, pair(Member.self))
        sum += slots(state.lastTimes.count, pair(UInt64.self))
        sum += slots(state.chains.count, pair(CardChain.self))
        for chain in state.chains.values { sum += byteCount(of: chain) }
        sum += slots(state.changes.count + state.generations.count, pair([UInt8].self))
        for records in state.changes.values { sum += array(MemoryLayout<LogState.ChangeRecord>.stride * records.count) }
        for records in state.generations.values {
            sum += array(MemoryLayout<LogState.GenerationRecord>.stride * records.count)
        }
        return sum
    }

    /// The bytes of a chain: those of its newest card for each of its cards.
    private static func byteCount(of chain: CardChain) -> Int {
        let card =
            MemoryLayout<Card>.stride + array(chain.newest.bytes.count) + array(chain.newest.kemKey.bytes.count)
            + array(chain.handle.bytes.count)
        return array(card * chain.cards.count)
    }

    /// The bytes of an array whose elements take so many: with its header, and what an allocator rounds up.
    private static func array(_ byteCount: Int) -> Int { byteCount + 48 }

    /// The bytes of a hash table of so many elements. It is between three eighths and three quarters full.
    private static func slots(_ count: Int, _ stride: Int) -> Int { 2 * count * stride }

    /// The stride of a value of this type under a user id.
    private static func pair<Value>(_ type: Value.Type) -> Int { MemoryLayout<(key: UserID, value: Value)>.stride }
}

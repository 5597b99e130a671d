// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Asks for entries of a log.
package struct EntriesRequest: ServiceRequest {
    package typealias Answer = EntriesAnswer
    package static let operation = ServiceOperation.entries

    package let tresor: TresorID
    /// The first sequence number.
    package let first: UInt64
    /// The maximum number of entries.
    package let limit: UInt32

    package init(tresor: TresorID, first: UInt64, limit: UInt32) {
        self.tresor = tresor
        self.first = first
        self.limit = limit
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.integer(first)
        encoder.integer(limit)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        first = try decoder.integer()
        limit = try decoder.integer()
    }
}

/// A page of entries: at most 4 MiB, but at least one entry if there is one.
package struct EntriesAnswer: ServiceMessage {
    /// Whether the log goes on after the last of them.
    package let more: Bool
    package let entries: [[UInt8]]

    package init(entries: [[UInt8]], more: Bool) {
        self.entries = entries
        self.more = more
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.flag(more)
        encoder.list(entries) { $0.vector32($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        more = try decoder.flag()
        entries = try decoder.list(of: more ? 1 : 0, byteCount: 5) { (decoder) throws(TresorError) in
            try decoder.vector32(1...Entry.maximumByteCount)
        }
    }
}

/// Appends an entry, and puts its blobs, and puts and removes wraps in the same step.
package struct AppendRequest: ServiceRequest {
    package typealias Answer = OutcomeAnswer
    package static let operation = ServiceOperation.append
    /// The maximum number of wraps, and of members whose wraps are deleted: 10 000, as many as a tresor has members. Also
    /// that of blobs, as many as a checkpoint has volumes.
    package static let maximumCount = 10_000

    package let tresor: TresorID
    package let sequence: UInt64
    /// The hash of the entry before; zero for sequence number 0.
    package let previous: Hash256
    package let entry: [UInt8]
    package let wraps: [[UInt8]]
    /// The members whose wraps are deleted.
    package let removing: [UserID]
    /// The blobs that the entry names, in its order; none where an entry is restored without them.
    package let blobs: [StoredBlob]

    package init(
        tresor: TresorID, sequence: UInt64, previous: Hash256, entry: [UInt8], wraps: [[UInt8]], removing: [UserID],
        blobs: [StoredBlob] = []
    ) {
        self.tresor = tresor
        self.sequence = sequence
        self.previous = previous
        self.entry = entry
        self.wraps = wraps
        self.removing = removing
        self.blobs = blobs
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.integer(sequence)
        encoder.digest(previous)
        encoder.vector32(entry)
        encoder.list(wraps) { $0.vector16($1) }
        encoder.list(removing) { $0.digest($1.digest) }
        encoder.list(blobs, counted: UInt16.self) { $1.encode(to: &$0) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        sequence = try decoder.integer()
        previous = try decoder.digest()
        entry = try decoder.vector32(1...Entry.maximumByteCount)
        wraps = try readWraps(atMost: Self.maximumCount, from: &decoder)
        removing = try decoder.digests(to: Self.maximumCount).map { UserID($0) }
        blobs = try decoder.list(
            of: 0, to: Self.maximumCount, counted: UInt16.self, byteCount: StoredBlob.leastByteCount
        ) { (decoder) throws(TresorError) in try StoredBlob(from: &decoder) }
    }
}

/// Asks for wraps of members: of one epoch, or of all from one on.
package struct WrapsRequest: ServiceRequest {
    package typealias Answer = WrapsAnswer
    package static let operation = ServiceOperation.wraps
    /// The maximum number of members: 2000.
    package static let maximumCount = 2000

    package let tresor: TresorID
    /// The epoch; `nil` for all from ``first`` on.
    package let epoch: UInt64?
    /// The first epoch, where all from one on are asked for.
    package let first: UInt64
    package let users: [UserID]

    package init(tresor: TresorID, epoch: UInt64?, users: [UserID]) {
        self.tresor = tresor
        self.epoch = epoch
        self.users = users
        first = 0
    }

    package init(tresor: TresorID, from first: UInt64, users: [UserID]) {
        self.tresor = tresor
        self.users = users
        self.first = first
        epoch = nil
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.flag(epoch == nil)
        encoder.integer(epoch ?? first)
        encoder.list(users) { $0.digest($1.digest) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        let all = try decoder.flag()
        let epoch = try decoder.integer(UInt64.self)
        self.epoch = all ? nil : epoch
        first = all ? epoch : 0
        users = try decoder.digests(of: 1, to: Self.maximumCount).map { UserID($0) }
    }
}

/// The wraps of the first members of a request, by rising epoch: at most 4 MiB, but at least one member. Of a member who
/// has more, the first 4 MiB stand alone.
package struct WrapsAnswer: ServiceMessage {
    package let wraps: [[[UInt8]]]

    package init(wraps: [[[UInt8]]]) { self.wraps = wraps }

    /// Whether a person who stands alone in an answer may have more wraps than these: they take more than 3 MiB, and an
    /// answer is cut at 4 MiB.
    package static func mayGoOn(_ wraps: [[UInt8]]) -> Bool { wraps.reduce(0) { $0 + $1.count } > 3 << 20 }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.list(wraps) { encoder, wraps in encoder.list(wraps) { $0.vector16($1) } }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        wraps = try decoder.list(of: 1, byteCount: 4) { (decoder) throws(TresorError) in
            try readWraps(atMost: .max, from: &decoder)
        }
    }
}

/// Puts wraps without an entry.
package struct PutWrapsRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.putWraps

    package let tresor: TresorID
    package let wraps: [[UInt8]]

    package init(tresor: TresorID, wraps: [[UInt8]]) {
        self.tresor = tresor
        self.wraps = wraps
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.digest(tresor.digest)
        encoder.list(wraps) { $0.vector16($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        tresor = TresorID(try decoder.digest())
        wraps = try readWraps(atMost: AppendRequest.maximumCount, from: &decoder)
    }
}

/// Asks for the tresors of which the speaker is a member.
package struct TresorsRequest: ServiceRequest {
    package typealias Answer = TresorsAnswer
    package static let operation = ServiceOperation.tresors

    /// The tresor after which the page begins, in byte order; zero for the first page.
    package let after: Hash256

    package init(after: Hash256) { self.after = after }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(after) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { after = try decoder.digest() }
}

/// A page of tresors, rising in byte order.
package struct TresorsAnswer: ServiceMessage {
    /// The maximum number of tresors in a page: 4096.
    package static let maximumCount = 4096

    package let more: Bool
    package let tresors: [TresorID]

    package init(tresors: [TresorID], more: Bool) {
        self.tresors = tresors
        self.more = more
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.flag(more)
        encoder.list(tresors) { $0.digest($1.digest) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        more = try decoder.flag()
        let tresors = try decoder.digests(of: more ? 1 : 0, to: Self.maximumCount)
        try ByteDecoder.checkRising(tresors)
        self.tresors = tresors.map { TresorID($0) }
    }
}

/// Waits until a log of the speaker's tresors grows, or the time is over.
package struct NewsRequest: ServiceRequest {
    package typealias Answer = NewsAnswer
    package static let operation = ServiceOperation.news
    /// The maximum time of waiting, in seconds: 55.
    package static let maximumSeconds: UInt16 = 55

    /// The cursor of the answer before; empty for the first request.
    package let cursor: [UInt8]
    package let seconds: UInt16

    package init(cursor: [UInt8], seconds: UInt16) {
        self.cursor = cursor
        self.seconds = seconds
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.vector8(cursor)
        encoder.integer(seconds)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        cursor = try decoder.vector8(0...NewsAnswer.maximumCursorByteCount)
        seconds = try decoder.integer()
        guard seconds <= Self.maximumSeconds else { throw .altered }
    }
}

/// Hints at tresors whose logs have grown. The logs prove it.
package struct NewsAnswer: ServiceMessage {
    /// The maximum size of a cursor in bytes: 64.
    static let maximumCursorByteCount = 64

    /// Whether there are more tresors than this answer names: ask again at once.
    package let more: Bool
    /// The service's own note of what it has said.
    package let cursor: [UInt8]
    package let tresors: [TresorID]

    package init(tresors: [TresorID], cursor: [UInt8], more: Bool) {
        self.tresors = tresors
        self.cursor = cursor
        self.more = more
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.flag(more)
        encoder.vector8(cursor)
        encoder.list(tresors, counted: UInt16.self) { $0.digest($1.digest) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        more = try decoder.flag()
        cursor = try decoder.vector8(0...Self.maximumCursorByteCount)
        tresors = try decoder.digests(
            of: more ? 1 : 0, to: TresorsAnswer.maximumCount, counted: UInt16.self
        ).map { TresorID($0) }
    }
}

/// Deletes a tresor. Its place stays taken, so that no stale client brings it back.
package struct DeleteTresorRequest: ServiceRequest {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.deleteTresor

    package let tresor: TresorID

    package init(tresor: TresorID) { self.tresor = tresor }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(tresor.digest) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { tresor = TresorID(try decoder.digest()) }
}

/// A `u32` count of wraps, each `opaque16<1..1359>`. The count is judged before a wrap is read.
private func readWraps(atMost most: Int, from decoder: inout ByteDecoder) throws(TresorError) -> [[UInt8]] {
    try decoder.list(of: 0, to: most, byteCount: 3) { (decoder) throws(TresorError) in
        try decoder.vector16(1...Wrap.maximumByteCount)
    }
}

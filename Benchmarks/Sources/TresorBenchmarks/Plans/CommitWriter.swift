// SPDX-License-Identifier: Apache-2.0

import Measuring

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// Writes commits to the end of a log, without the home and the outbox that a person has.
struct CommitWriter {
    let tresor: TresorID
    /// All entries of the log, and the packs of the commits among them, by the numbers of their entries.
    private(set) var entries: [[UInt8]]
    private(set) var packs: [UInt64: [UInt8]] = [:]
    private let author: Identity
    private let keys: EpochKeys
    private var fold: Fold

    /// Keeps no reference to the store, which is closed with its session.
    ///
    /// - Parameter session: the founder of the tresor.
    init(_ session: Session, _ tresor: TresorID) async throws {
        author = session.identity
        self.tresor = tresor
        let state = try await session.client.logs.state(of: tresor)
        keys = try await session.keyRing.keys(of: state.epoch, in: state)
        entries = try await session.client.store.entries(of: tresor, from: 0, limit: Int(state.entryCount))
        fold = Fold(state: state)
    }

    /// The state of the log after the last commit.
    var state: LogState {
        get throws {
            guard let state = fold.state else { throw BaselineFailure() }
            return state
        }
    }

    /// Appends a commit of these records to a store.
    mutating func commit(_ items: [Item], to store: any Store) async throws {
        let time = CommandHome.clock()
        let head = try state.head.hash
        let (entry, pack) = try Self.sealed(items, at: try state, with: keys, by: author, time: time)
        try fold.apply(entry)
        let blob = try Blob(of: pack)
        let change = LogChange(
            tresor: tresor, sequence: UInt64(entries.count), previous: head, entry: entry,
            blobs: [StoredBlob(hash: blob.hash, size: blob.size, bytes: pack)])
        guard try await store.append(change) == .done else { throw BaselineFailure() }
        packs[UInt64(entries.count)] = pack
        entries.append(entry)
    }

    /// Keeps no reference to the state, which the fold would copy.
    private static func sealed(
        _ items: [Item], at state: LogState, with keys: EpochKeys, by author: Identity, time: UInt64
    ) throws -> (entry: [UInt8], pack: [UInt8]) {
        let pack = try Pack.sealPack(items, with: keys, at: state, by: author, time: time).bytes
        let entry = try Entry(
            tresor: state.tresor, sequence: state.head.sequence + 1, previous: state.head.hash, author: author,
            time: time, body: .commit(CommitBody(epoch: state.epoch, blobs: [try Blob(of: pack)])))
        return (entry.bytes, pack)
    }

    /// Opens packs as a member who has just folded these entries.
    ///
    /// - Returns: the number of their records.
    func open(_ packs: [UInt64: [UInt8]], of entries: [[UInt8]], in state: LogState) throws -> Int {
        var count = 0
        for (sequence, pack) in packs {
            let outcome = PackOutcome.openPack(
                pack, of: try Entry(entries[Int(sequence)]), history: .all, in: state
            ) { () throws(TresorError) in keys }
            guard case .items(let items) = outcome else { throw BaselineFailure() }
            count += items.count
        }
        return count
    }
}

/// Records of a care plan.
enum CareEvent {
    /// The bytes of the content of an event, as Etebase was measured with.
    static let byteCount = 130

    /// An event: a name of 29 bytes and a content of 130.
    static func item(_ number: Int, byteCount: Int = byteCount) throws -> Item {
        let digits = String(number)
        let padded = String(repeating: "0", count: 8 - digits.utf8.count) + digits
        return Item(
            record: try Name(text: "event/ibuprofen/dose/\(padded)"), replaces: [], time: CommandHome.clock(),
            content: .bytes(content(number, byteCount: byteCount), type: try Name(text: "application/json")))
    }

    /// A content that no other number has.
    static func content(_ number: Int, byteCount: Int = byteCount) -> [UInt8] {
        var content = [UInt8](repeating: 0x20, count: byteCount)
        for (place, byte) in "{\"dose\":\(number)}".utf8.enumerated() where place < byteCount { content[place] = byte }
        return content
    }
}

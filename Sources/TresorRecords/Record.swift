// SPDX-License-Identifier: Apache-2.0

public import TresorCore
public import TresorCrypto

/// A version of a record, with its content.
public struct Record: Hashable, Sendable {
    /// The name.
    public let name: String
    /// The content type; empty for none.
    public let type: String
    /// The content; `nil` for one of more than 64 KiB, unless ``Records/get(_:acceptingIncomplete:)`` fetched it, and for
    /// one of more than 64 MiB.
    public package(set) var content: [UInt8]?
    /// The sequence number of its commit; `nil` for a change that is not sent yet.
    public let revision: UInt64?
    /// The author.
    public let author: UserID
    /// Whether the author may still write, or how that ended (SPEC §10.6).
    public let status: AuthorStatus
    /// The time of the change by the author's account, in seconds since 1970.
    public let time: UInt64
    /// The number of versions that were made without knowing of each other, this one included.
    public let versionCount: Int
    /// The owner on whose word the content is the author's: the pack was not there any more, and a volume has it (SPEC
    /// §19.5); `nil` where the author's own pack says it.
    public let vouchedBy: UserID?
    /// Where the content lies if it is no part of a pack.
    let place: Place?

    /// The place of a content that is too large for a pack.
    enum Place: Hashable, Sendable {
        /// In the home, for a change that is not sent yet.
        case held(Item, HeldContent)
        /// In the store.
        case attachment(Attachment)
    }

    /// The number of bytes of the content; for an attachment in the store the most that it can have.
    package var mostByteCount: Int { size.most }

    fileprivate var size: ContentSize {
        if let content { return .exactly(content.count) }
        return switch place {
        case .held(_, let content)?: .exactly(Int(clamping: content.byteCount))
        case .attachment(let attachment)?: .atMost(attachment.mostByteCount)
        case nil: .exactly(0)
        }
    }
}

/// The size of a content as far as it is known without fetching it, in bytes.
package enum ContentSize: Hashable, Sendable {
    /// So many.
    case exactly(Int)
    /// The log hides up to 6.25 percent by padding (SPEC §10.3).
    case atMost(Int)

    /// The most that it can be.
    package var most: Int {
        switch self {
        case .exactly(let count), .atMost(let count): count
        }
    }
}

/// A version of a record that no later one replaces, which is read when it is asked for.
package struct VersionReading: Sendable {
    /// The sequence number of its commit; `nil` for a change that is not sent yet.
    package let revision: UInt64?
    private let read: @Sendable () async throws(TresorError) -> Record

    init(revision: UInt64?, _ read: @escaping @Sendable () async throws(TresorError) -> Record) {
        self.revision = revision
        self.read = read
    }

    /// Reads the version, and fetches no content.
    ///
    /// - Throws: the errors of ``Records/versions(of:)`` that concern this version: ``TresorError/unverified`` while its
    ///   author was not compared; ``TresorError/store(_:)`` and ``TresorError/altered`` where the home has lost its pack.
    package func record() async throws(TresorError) -> Record { try await read() }
}

/// A record in a list.
public struct RecordSummary: Hashable, Sendable {
    /// The state of a record, as a list shows it.
    public enum State: String, Hashable, Sendable {
        /// One version is shown, and no other stands beside it.
        case ok
        /// Several versions were made without knowing of each other; one of them is shown.
        case versions
        /// It is deleted.
        case deleted
        /// The newest change is not sent yet.
        case unsent
    }

    /// The name.
    public let name: String
    /// The revision that is shown; `nil` for a change that is not sent yet.
    public let revision: UInt64?
    /// The author of the change.
    public let author: UserID
    /// Whether the author may still write, or how that ended (SPEC §10.6).
    package let status: AuthorStatus
    /// Whether ``Records/get(_:acceptingIncomplete:)`` takes the author's word; otherwise it throws
    /// ``TresorError/unverified``.
    public let isVerified: Bool
    /// The time of the change by the author's account, in seconds since 1970.
    public let time: UInt64
    /// The state of the record.
    public let state: State
    /// The owner on whose word it is the author's, as ``Record/vouchedBy`` says.
    package let vouchedBy: UserID?
    /// The content type; empty for none and for a deletion.
    package let type: String
    /// The size of the content; 0 bytes for a deletion.
    package let size: ContentSize
}

extension RecordSummary {
    /// A change that is not sent yet.
    ///
    /// - Parameter author: the person whose outbox it is in.
    init(unsent item: Item, in outbox: Outbox, by author: UserID) {
        let (type, byteCount): (Name, Int)
        switch item.content {
        case .deleted: (type, byteCount) = (.empty, 0)
        case .bytes(let bytes, let said): (type, byteCount) = (said, bytes.count)
        case .attachment(let number, let said):
            (type, byteCount) = (said, Int(clamping: outbox.content(number)?.byteCount ?? 0))
        }
        self.init(
            name: item.record.text, revision: nil, author: author, status: .current, isVerified: true,
            time: item.time, state: .unsent, vouchedBy: nil, type: type.text, size: .exactly(byteCount))
    }

    /// One of the versions of a record, whose author was compared.
    package init(of version: Record) {
        self.init(
            name: version.name, revision: version.revision, author: version.author, status: version.status,
            isVerified: true, time: version.time, state: version.revision == nil ? .unsent : .versions,
            vouchedBy: version.vouchedBy, type: version.type, size: version.size)
    }
}

/// Records that the home has newly.
public struct RecordChanges: Hashable, Sendable {
    /// The names, by rising bytes.
    public let names: [String]
    /// The last entry of the log that they are from.
    package let revision: UInt64

    /// Both as one.
    func joined(with other: RecordChanges) -> RecordChanges {
        let all = Set(names.map { Array($0.utf8) } + other.names.map { Array($0.utf8) })
        return RecordChanges(
            names: all.sorted { $0.lexicographicallyPrecedes($1) }.map { String(decoding: $0, as: UTF8.self) },
            revision: max(revision, other.revision))
    }
}

/// The report of a sync in one tresor.
public struct SyncReport: Hashable, Sendable {
    /// The tresor.
    package let tresor: TresorID
    /// The number of commits that came; a volume of a checkpoint counts as one.
    package internal(set) var receivedCount = 0
    /// The commits whose packs came, by number.
    private(set) var received: Set<UInt64> = []
    /// Whether a volume came.
    private(set) var hasVolumes = false
    /// The number of changes that were sent, and are in the log.
    package internal(set) var sentCount = 0
    /// The commits that hold them, by number, in order.
    package internal(set) var commits: [UInt64] = []
    /// The last of them that holds each record.
    package internal(set) var revisions: [Name: UInt64] = [:]
    /// The names of records with changes that are not sent.
    package var unsent: [String] { outbox.records.map(\.text) }
    /// The changes that are not sent, as the sync tried them.
    package internal(set) var outbox = Outbox()
    /// Why they could not be sent; `nil` where nothing stood against it. They stay in the home.
    public internal(set) var held: TresorError?
    /// The record of whose unsent content the home has lost or altered a piece, so that nothing could be sent.
    package internal(set) var damaged: String?
    /// Whether that is an attachment of the commit that was sent. The next sync makes another one of the content, once
    /// any entry has taken the place of the commit in the log.
    package internal(set) var isFrozen = false
    /// The commits that everybody who can open them finds wrong, by number. They change nothing.
    package internal(set) var void: [UInt64] = []
    /// The commits whose packs are missing, with the error of each.
    package internal(set) var missing: [UInt64: TresorError] = [:]
    /// Whether nothing is missing. Otherwise no version is proved to be the newest.
    public internal(set) var isComplete = true
    /// The last entry of the log.
    package internal(set) var head: UInt64 = 0
    /// Whether this person is no member any more. What they had of the records is deleted.
    public internal(set) var isGone = false

    init(tresor: TresorID) { self.tresor = tresor }

    /// Takes what came.
    mutating func note(_ commits: Set<UInt64>, volumeCount: Int) {
        receivedCount += commits.count + volumeCount
        received.formUnion(commits)
        hasVolumes = hasVolumes || volumeCount > 0
    }

    /// Takes what a view says.
    mutating func note(_ view: RecordView) {
        head = view.state.head.sequence
        void = view.table.void
        missing = view.table.missing
        isComplete = view.table.isComplete
    }
}

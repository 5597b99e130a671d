// SPDX-License-Identifier: Apache-2.0

import Synchronization
import Testing
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorCore
@testable import TresorRecords

/// Changes for which a store has no room.
@Suite struct RecordRoomTests {
    /// A large one is not frozen, and is sent again only when that is wanted.
    @Test func whatAStoreHasNoRoomForIsPendingAgain() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("plan", AttachmentScene.content(70_000))
        try await scene.records.put("note", AttachmentScene.content(80_000))
        let full = scene.refusing("append", .store(.full))
        #expect(try await scene.device(scene.home, over: full).sync().held == .store(.full))
        #expect(full.calls.count { $0.name == "append" } == 2)
        let box = try await scene.records.outbox.present()
        #expect(box.sent == nil && box.pending.count == 2 && box.refusedByteCount != nil)
        #expect(try Outbox(box.bytes) == box)
        // Nor does a smaller change send it.
        try await scene.records.put("a", "".utf8)
        let report = try await scene.records.sync(again: false)
        #expect(report.held == .store(.full) && report.sentCount == 1 && report.unsent == ["note", "plan"])
        #expect(try await scene.records.sync().unsent == [])
        #expect(scene.home.read(.outbox(scene.tresor)) == nil)
    }

    /// A small change does not wait for a person after a disk was full, and lets no large one be put each time.
    @Test func aSmallChangeIsTriedEachTime() async throws {
        let scene = try await AttachmentScene()
        let full = scene.device(scene.home, over: scene.refusing("append", .store(.full)))
        try await scene.records.put("plan", "one".utf8)
        #expect(try await full.sync(again: false).held == .store(.full))
        #expect(try await scene.records.outbox.present().refusedByteCount == nil)
        #expect(try await scene.records.sync(again: false).unsent == [])
        try await scene.records.put("plan", "two".utf8)
        try await scene.records.put("scan", AttachmentScene.content(70_000))
        #expect(try await full.sync(again: false).held == .store(.full))
        #expect(try await scene.records.outbox.present().pending.count == 2)
        let puts = scene.calls("putBlob")
        #expect(try await full.sync(again: false).held == .store(.full))
        #expect(scene.calls("putBlob") == puts)
        #expect(try await scene.records.sync(again: false).unsent == ["scan"])
        #expect(try await scene.records.sync().unsent == [])
    }

    /// A new change is tried, and none that is larger.
    @Test func aLargeChangeLetsNoLargerOneBeSentAgain() async throws {
        let scene = try await AttachmentScene()
        let full = scene.device(scene.home, over: scene.refusing("append", .store(.full)))
        try await scene.records.put("scan", AttachmentScene.content(70_000))
        try await scene.records.put("film", AttachmentScene.content(200_000))
        #expect(try await full.sync().held == .store(.full))
        try await scene.records.put("photo", AttachmentScene.content(100_000))
        #expect(try await scene.records.sync(again: false).unsent == ["film"])
        // Where none is left that is as large, nothing is held back.
        try await scene.records.put("film", AttachmentScene.content(200_000, 1))
        #expect(try await scene.records.outbox.present().refusedByteCount == nil)
        #expect(try await scene.records.sync(again: false).unsent == [])
    }

    /// Changes of one commit stay apart where somebody else was faster, so that the small one is sent alone then.
    @Test func changesStayApartBehindAFasterOne() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("note", "one".utf8)
        try await scene.records.put("scan", AttachmentScene.content(70_000))
        let (theirs, counts) = (scene.theirs, CallCounts())
        let store = FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            switch counts.counts["append"] ?? 0 {
            case 1:
                do {
                    try await theirs.put("theirs", "x".utf8)
                    _ = try await theirs.sync()
                } catch {
                    Issue.record(error)
                }
                return nil
            case 3: return nil
            default: return .refusing(.store(.full))
            }
        }
        let report = try await scene.device(scene.home, over: store).sync()
        #expect(report.held == .store(.full) && report.sentCount == 1 && report.unsent == ["scan"])
        #expect(counts.counts == ["append": 4])
    }

    /// A store that has no room at some appends, counted from 1.
    private func full(_ scene: AttachmentScene, at places: Set<Int>, _ counts: CallCounts) -> FaultyStore {
        FaultyStore(scene.store) { call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            return places.contains(counts.counts["append"] ?? 0) ? .refusing(.store(.full)) : nil
        }
    }

    /// Twelve contents that take most of a pack, and no attachment.
    private func putMany(_ records: Records, _ count: Int = 12, named first: String = "a") async throws {
        try await records.change((0..<count).map { .put("\(first)\($0)", AttachmentScene.content(60_000)) })
    }

    /// An upload that was interrupted does not stand for the smaller changes behind it.
    @Test(arguments: [true, false]) func aSmallChangeIsTriedBehindAnInterruptedUpload(isAgain: Bool) async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("scan", AttachmentScene.content(600_000))
        let breaking = scene.device(scene.home, over: scene.refusing("append"))
        #expect(try await breaking.sync().held == .store(.unreachable))
        try await scene.records.put("tiny", "one".utf8)
        let counts = CallCounts()
        let report = try await scene.device(scene.home, over: full(scene, at: [1, 3], counts)).sync(again: isAgain)
        #expect(report.held == .store(.full) && report.sentCount == 1 && report.unsent == ["scan"])
        #expect(counts.counts == ["append": isAgain ? 3 : 2])
    }

    /// A large set without an attachment is tried first each time, and holds up nothing.
    @Test func aLargeSetHoldsUpNoSmallerOne() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("gone", "one".utf8)
        #expect(try await scene.records.sync().unsent == [])
        try await putMany(scene.records)
        try await putMany(scene.records, 6, named: "b")
        try await scene.records.delete(["gone"])
        let counts = CallCounts()
        let device = scene.device(scene.home, over: full(scene, at: [1, 3], counts))
        let report = try await device.sync(again: false)
        #expect(report.held == .store(.full) && report.sentCount == 1 && report.unsent.count == 18)
        #expect(!report.unsent.contains("gone") && counts.counts == ["append": 3])
        #expect(try await scene.records.sync(again: false).unsent == [])
    }

    /// Nor one that had no room before, if it is to be sent again.
    @Test func aLargeSetLetsASmallerOneBeSentAgain() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("scan", AttachmentScene.content(70_000))
        let none = scene.device(scene.home, over: scene.refusing("append", .store(.full)))
        #expect(try await none.sync().held == .store(.full))
        let mark = try #require(try await scene.records.outbox.present().refusedByteCount)
        try await putMany(scene.records)
        let puts = scene.calls("putBlob")
        #expect(try await none.sync(again: false).held == .store(.full))
        // The larger set does not say that there is room for this one.
        #expect(try await scene.records.outbox.present().refusedByteCount == mark)
        #expect(scene.calls("putBlob") == puts)
        let device = scene.device(scene.home, over: full(scene, at: [1, 3], CallCounts()))
        let report = try await device.sync()
        #expect(report.held == .store(.full) && report.sentCount == 1 && report.unsent.count == 12)
        #expect(!report.unsent.contains("scan"))
    }

    /// Nor is what was sent before frozen, and it may have been on its way.
    @Test func whatWasSentAndHasNoRoomCanBeGivenUp() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("plan", "three".utf8)
        #expect(try await scene.device(scene.home, over: scene.refusing("append", .busy)).sync().held == .busy)
        let again = scene.device(scene.home, over: scene.refusing("append", .store(.full)))
        #expect(await failure { _ = try await again.dropUnsent() } == .busy)
        let report = try await again.sync()
        #expect(report.held == .store(.full) && report.unsent == ["plan"])
        // Somebody adds one while the person is asked.
        try await scene.records.put("note", "four".utf8)
        #expect(await failure { _ = try await again.dropUnsent(as: report.outbox) } == .busy)
        #expect(try await again.unsent() == ["note", "plan"])
        #expect(try await again.dropUnsent() == ["note", "plan"])
        #expect(try await scene.records.sync().held == nil)
    }

    /// An upload that was interrupted takes no room once there is none for its commit.
    @Test func anInterruptedUploadGivesItsRoomBack() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("scan", AttachmentScene.content(600_000))
        let breaking = scene.refusing("append")
        #expect(try await scene.device(scene.home, over: breaking).sync().held == .store(.unreachable))
        let sent = try #require(try await scene.records.outbox.present().sent)
        let scan = try sent.entry.body.blobs[1]
        let blobs = BlobReader(scene.store, scene.tresor)
        #expect(try await blobs.has(scan))
        let full = scene.refusing("append", .store(.full))
        #expect(try await scene.device(scene.home, over: full).sync().held == .store(.full))
        #expect(try await !blobs.has(scan))
        #expect(try await scene.records.outbox.present().sent == nil)
        // Nothing of it is put again beside a small change.
        try await scene.records.put("note", "one".utf8)
        let puts = scene.calls("putBlob")
        #expect(try await scene.records.sync(again: false).unsent == ["scan"])
        #expect(scene.calls("putBlob") == puts)
        #expect(try await scene.records.sync().unsent == [])
    }

    /// Another program puts a small change after the sync ended, and before the person says yes.
    @Test func whatNoSyncTriedIsNotThrownAway() async throws {
        let scene = try await AttachmentScene()
        let records = scene.records
        try await records.put("scan", AttachmentScene.content(70_000))
        let full = FaultyStore(scene.store) { call in
            switch call.name {
            case "append": return .refusing(.store(.full))
            case "deleteBlobs":
                let error = await failure { try await records.put("tiny", "one".utf8) }
                #expect(error == nil)
                return nil
            default: return nil
            }
        }
        let report = try await scene.device(scene.home, over: full).sync()
        #expect(report.held == .store(.full) && report.unsent == ["scan"])
        #expect("\(report)".contains("1 unsent") && !"\(report)".contains("scan"))
        #expect(await failure { _ = try await records.dropUnsent(as: report.outbox) } == .busy)
        #expect(try await records.unsent() == ["scan", "tiny"])
    }

    /// Another program of the home brings the commit into the log, so that a service deletes nothing, whoever asks.
    @Test(arguments: [TresorError.noAccess, .altered, .store(.other)])
    func A145_whatIsInTheLogByThenIsNotSentAgain(_ refusal: TresorError) async throws {
        let scene = try await AttachmentScene()
        let content = AttachmentScene.content(70_000)
        try await scene.records.put("scan", content)
        let before = try await scene.state().entryCount
        let truth = scene.store
        let late = LateStore(truth) { (change) async throws(TresorError) in
            _ = try await truth.append(change)
            throw refusal
        }
        let report = try await scene.device(scene.home, over: late).sync()
        #expect(report.held == nil && report.sentCount == 1 && report.unsent == [])
        #expect(try await scene.state().entryCount == before + 1)
        #expect(scene.isClean())
        #expect(try await scene.records.get("scan").content == content)
    }

    /// The commit was still on its way when the log was read, and is there when its room is to be given back.
    @Test func A145_whatTheLogNamesByThenIsNotSentAgain() async throws {
        let scene = try await AttachmentScene()
        let content = AttachmentScene.content(70_000)
        try await scene.records.put("scan", content)
        let before = try await scene.state().entryCount
        let counts = CallCounts()
        let late = FaultyStore(scene.store) { [evil = scene.evil] call in
            guard call.name == "append" else { return nil }
            counts.count("append")
            guard counts.counts["append"] == 1 else { return nil }
            // The next reading does not show it.
            evil.older(Int(before))
            return .losingAnswer(.store(.full))
        }
        let report = try await scene.device(scene.home, over: late).sync()
        #expect(report.held == nil && report.sentCount == 1 && report.unsent == [])
        #expect(try await scene.records.sync().unsent == [])
        #expect(try await scene.state().entryCount == before + 1)
        #expect(scene.isClean())
        #expect(try await scene.records.get("scan").content == content)
    }

    /// Where the store deletes what the other program has just named, the home still has the content.
    @Test func A145_aContentThatTheStoreDeletesIsStillInTheHome() async throws {
        let scene = try await AttachmentScene()
        let content = AttachmentScene.content(70_000)
        try await scene.records.put("scan", content)
        let (truth, other) = (scene.store, scene.device(scene.home))
        let late = LateStore(truth) { (change) async throws(TresorError) in
            _ = try await truth.append(change)
            _ = try await other.pull()
        }
        let report = try await scene.device(scene.home, over: late).sync()
        #expect(report.held == .store(.full) && report.unsent == ["scan"])
        #expect(try await scene.records.sync().unsent == [])
        #expect(try await scene.records.get("scan").content == content)
    }

    /// Another program makes a commit anew and brings it into the log, between the reading of the log and the deletion. It
    /// lets go of the content, so what is deleted is not what that commit names.
    @Test func A145_noCommitNamesWhatIsBeingDeleted() async throws {
        let scene = try await AttachmentScene()
        let content = AttachmentScene.content(70_000)
        try await scene.records.put("scan", content)
        let other = scene.device(scene.home)
        let late = LateStore(scene.store) { (_) async throws(TresorError) in
            let report = try await other.sync()
            #expect(report.sentCount == 1 && report.held == nil)
        }
        _ = try await scene.device(scene.home, over: late).sync()
        #expect(try await scene.records.sync().unsent == [])
        #expect(scene.isClean())
        #expect(try await scene.records.get("scan").content == content)
    }

    /// Nobody can ask whether the commit is in the log: it stays the sent one, with its attachment, and is not sent twice.
    @Test(arguments: [true, false])
    func A145_aCommitWhosePlaceNobodyCanReadIsTheSentOneAgain(isTaken: Bool) async throws {
        let scene = try await AttachmentScene()
        let content = AttachmentScene.content(70_000)
        try await scene.records.put("scan", content)
        let before = try await scene.state().entryCount
        let (truth, counts) = (scene.store, CallCounts())
        let late = LateStore(truth) { (change) async throws(TresorError) in
            if isTaken { _ = try await truth.append(change) }
            counts.count("deleteBlobs")
            throw .store(.inputOutput)
        }
        let away = FaultyStore(late) { call in
            call.name == "entries" && counts.counts["deleteBlobs"] != nil ? .refusing(.store(.unreachable)) : nil
        }
        #expect(try await scene.device(scene.home, over: away).sync().held == .store(.unreachable))
        let box = try await scene.records.outbox.present()
        #expect(box.sent != nil && box.pending.isEmpty && box.lostAttachments == [])
        #expect(try await scene.records.sync().unsent == [])
        #expect(try await scene.state().entryCount == before + 1)
        #expect(scene.isClean())
        #expect(try await scene.records.get("scan").content == content)
    }

    /// A withdrawn attachment gives way to none that another program has made since, and takes nobody's number.
    @Test func A145_aCommitThatIsSentAgainHasEachAttachmentOnce() async throws {
        let scene = try await AttachmentScene()
        try await scene.records.put("scan", AttachmentScene.content(70_000))
        #expect(try await scene.device(scene.home, over: scene.refusing("append")).sync().held != nil)
        let frozen = try await scene.records.outbox.present()
        let sent = try #require(frozen.sent)
        let made = try #require(frozen.attachments.first)
        var box = frozen
        let rows = box.withdrawSent(at: 0)
        let most = box.refuse(as: [sent.items], again: true)
        #expect(most == nil && box.attachments.isEmpty && box.sent == nil)
        // Another one is made of the content, or the number is given up.
        var (twice, gone) = (box, box)
        let number = try twice.reserve(isContent: false, at: 0, mark: 7)
        twice[number] = .attachment(made.attachment)
        twice.resume(sent, with: rows)
        #expect(twice.sent == sent && twice.attachments.map(\.number) == [made.number])
        #expect(try Outbox(twice.bytes) == twice)
        gone.forget(made.number)
        let next = try gone.reserve(isContent: false, at: 0, mark: 8)
        #expect(next.value == made.number.value)
        gone.resume(sent, with: rows)
        #expect(gone.sent == sent && gone.attachments.isEmpty && gone.isReserved(next))
        #expect(try Outbox(gone.bytes) == gone)
    }
}

/// A store that has no room for the first append. Something happens to that before blobs are deleted.
private final class LateStore: FrontStore {
    let truth: any Store
    private let first = Mutex<LogChange?>(nil)
    private let meanwhile: @Sendable (LogChange) async throws(TresorError) -> Void

    init(_ truth: any Store, _ meanwhile: @escaping @Sendable (LogChange) async throws(TresorError) -> Void) {
        (self.truth, self.meanwhile) = (truth, meanwhile)
    }

    func append(_ change: LogChange) async throws(TresorError) -> StoreOutcome {
        let isFirst = first.withLock { first in
            guard first == nil else { return false }
            first = change
            return true
        }
        guard !isFirst else { throw .store(.full) }
        return try await truth.append(change)
    }

    func deleteBlobs(_ hashes: [Hash256], in tresor: TresorID) async throws(TresorError) {
        if let change = first.withLock({ $0 }) { try await meanwhile(change) }
        try await truth.deleteBlobs(hashes, in: tresor)
    }
}

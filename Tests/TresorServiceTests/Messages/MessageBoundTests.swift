// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorCore

/// The bounds of the messages: what is at a bound is read, what is beyond it is `altered`.
@Suite struct MessageBoundTests {
    private static let digest = MessageSpecimen.digest

    private static func isRead(_ message: some ServiceMessage) -> Bool {
        do {
            return try type(of: message).init(message.bytes) == message
        } catch {
            #expect(error == .altered, "\(type(of: message))")
            return false
        }
    }

    private static func users(_ count: Int) -> [UserID] {
        (0..<count).map { number in
            UserID(Hash256(bigEndianBytes(UInt64(number)) + [UInt8](repeating: 1, count: 24)) ?? .zero)
        }
    }

    @Test func pagesHaveTheirLongestCounts() {
        #expect(Self.isRead(UsersAnswer(users: Self.users(64))))
        #expect(!Self.isRead(UsersAnswer(users: Self.users(65))))
        let tresors = Self.users(4097).map { TresorID($0.digest) }
        #expect(Self.isRead(TresorsAnswer(tresors: Array(tresors[1...]), more: true)))
        #expect(!Self.isRead(TresorsAnswer(tresors: tresors, more: true)))
        #expect(Self.isRead(NewsAnswer(tresors: Array(tresors[1...]), cursor: [], more: false)))
        #expect(!Self.isRead(NewsAnswer(tresors: tresors, cursor: [], more: false)))
        let tresor = TresorID(Self.digest(1))
        #expect(Self.isRead(WrapsRequest(tresor: tresor, epoch: 1, users: Self.users(2000))))
        #expect(!Self.isRead(WrapsRequest(tresor: tresor, epoch: 1, users: Self.users(2001))))
        #expect(!Self.isRead(WrapsRequest(tresor: tresor, epoch: 1, users: [])))
        #expect(!Self.isRead(WrapsAnswer(wraps: [])))
    }

    @Test func aTresorOfTenThousandMembersHasItsWraps() {
        func append(_ wraps: Int, _ removing: Int) -> AppendRequest {
            AppendRequest(
                tresor: TresorID(Self.digest(1)), sequence: 0, previous: .zero, entry: [1],
                wraps: .init(repeating: [1], count: wraps), removing: Self.users(removing))
        }
        #expect(Self.isRead(append(10_000, 10_000)))
        #expect(!Self.isRead(append(10_001, 0)))
        #expect(!Self.isRead(append(0, 10_001)))
        let tresor = TresorID(Self.digest(1))
        #expect(Self.isRead(PutWrapsRequest(tresor: tresor, wraps: .init(repeating: [1], count: 10_000))))
        #expect(!Self.isRead(PutWrapsRequest(tresor: tresor, wraps: .init(repeating: [1], count: 10_001))))
    }

    @Test func blobsHaveTheirBounds() {
        let tresor = TresorID(Self.digest(1))
        func bytes(_ count: Int) -> [UInt8] { .init(repeating: 1, count: count) }
        for (count, isRead) in [(0, false), (1, true), (262_144, true), (262_145, false)] {
            let request = PutBlobRequest(tresor: tresor, hash: .zero, part: 1, bytes: bytes(count))
            #expect(Self.isRead(request) == isRead, "\(count)")
        }
        #expect(Self.isRead(BlobAnswer(bytes: bytes(262_144))) && !Self.isRead(BlobAnswer(bytes: bytes(262_145))))
        for (count, isRead) in [(0, false), (1, true), (1024, true), (1025, false)] {
            let hashes = [Hash256](repeating: .zero, count: count)
            #expect(Self.isRead(BlobsRequest(tresor: tresor, hashes: hashes)) == isRead, "\(count)")
            #expect(Self.isRead(DeleteBlobsRequest(tresor: tresor, hashes: hashes)) == isRead, "\(count)")
            #expect(Self.isRead(BlobsAnswer(blobs: .init(repeating: [], count: count))) == isRead, "\(count)")
        }
        #expect(
            Self.isRead(BlobsAnswer(blobs: [bytes(4 << 20)])) && !Self.isRead(BlobsAnswer(blobs: [bytes(4 << 20 + 1)])))
        func append(_ blobs: [StoredBlob]) -> AppendRequest {
            AppendRequest(
                tresor: tresor, sequence: 0, previous: .zero, entry: [1], wraps: [], removing: [], blobs: blobs)
        }
        let absent = StoredBlob(hash: .zero, size: 5, bytes: nil)
        #expect(Self.isRead(append(.init(repeating: absent, count: 10_000))))
        #expect(!Self.isRead(append(.init(repeating: absent, count: 10_001))))
        #expect(!Self.isRead(append([StoredBlob(hash: .zero, size: 3, bytes: [1, 2])])))
        #expect(Self.isRead(append([StoredBlob(hash: .zero, size: 1_081_762, bytes: bytes(1_081_762))])))
        #expect(!Self.isRead(append([StoredBlob(hash: .zero, size: 1_081_763, bytes: bytes(1_081_763))])))
    }

    @Test func listsRise() {
        let (one, two) = (Self.digest(1), Self.digest(2))
        for pair in [[two, one], [one, one]] {
            #expect(!Self.isRead(UsersAnswer(users: pair.map { UserID($0) })))
            #expect(!Self.isRead(TresorsAnswer(tresors: pair.map { TresorID($0) }, more: false)))
        }
        #expect(Self.isRead(UsersAnswer(users: [UserID(one), UserID(two)])))
    }

    @Test func aPageThatGoesOnHasSomething() {
        #expect(!Self.isRead(EntriesAnswer(entries: [], more: true)))
        #expect(!Self.isRead(TresorsAnswer(tresors: [], more: true)))
        #expect(!Self.isRead(NewsAnswer(tresors: [], cursor: [], more: true)))
        #expect(!Self.isRead(InboxAnswer(cases: [], more: true)))
        #expect(Self.isRead(EntriesAnswer(entries: [], more: false)))
        #expect(Self.isRead(InboxAnswer(cases: [], more: false)))
        for (state, isRead) in [(AccountState.asked, true), (.complete, true), (.active, false), (.closed, false)] {
            let waiting = InboxAnswer.Case(state: state, chain: [1], label: .empty, asked: 1)
            #expect(Self.isRead(InboxAnswer(cases: [waiting], more: false)) == isRead, "\(state)")
        }
    }

    @Test func objectsHaveTheirLongestSizes() throws {
        func bytes(_ count: Int) -> [UInt8] { .init(repeating: 1, count: count) }
        let tresor = TresorID(Self.digest(1))
        func append(_ entry: Int, _ wrap: Int) -> AppendRequest {
            AppendRequest(
                tresor: tresor, sequence: 0, previous: .zero, entry: bytes(entry), wraps: [bytes(wrap)], removing: [])
        }
        #expect(Self.isRead(append(1 << 20, 1359)))
        for (entry, wrap) in [(0, 1), (1 << 20 + 1, 1), (1, 0), (1, 1360)] {
            #expect(!Self.isRead(append(entry, wrap)), "\(entry), \(wrap)")
        }
        #expect(Self.isRead(ChainAnswer(chain: bytes(524_288))) && !Self.isRead(ChainAnswer(chain: bytes(524_289))))
        #expect(!Self.isRead(ChainsAnswer(chains: [[]])) && !Self.isRead(PutCardRequest(chain: [], replacing: [])))
        #expect(Self.isRead(KitCopyAnswer(copy: bytes(1 << 20))))
        #expect(!Self.isRead(KitCopyAnswer(copy: bytes(1 << 20 + 1))))
        #expect(!Self.isRead(PutKitCopyRequest(locator: Self.digest(1), copy: [])))
        for (count, isRead) in [(1265, false), (1266, true), (1267, false)] {
            #expect(Self.isRead(PutOfferRequest(locator: Self.digest(1), offer: bytes(count))) == isRead, "\(count)")
        }
        #expect(Self.isRead(CardsRequest(handle: bytes(256))) && !Self.isRead(CardsRequest(handle: bytes(257))))
        for (count, isRead) in [(2, false), (3, true), (32, true), (33, false)] {
            #expect(Self.isRead(UsersRequest(prefix: bytes(count))) == isRead, "\(count)")
        }
        for (count, isRead) in [(0, true), (31, false), (32, true), (33, false)] {
            #expect(Self.isRead(ServerShareAnswer(share: bytes(count))) == isRead, "\(count)")
            #expect(Self.isRead(RegisterAnswer(state: .asked, evaluated: bytes(count))) == isRead, "\(count)")
        }
        for (count, isRead) in [(0, true), (15, false), (16, true), (17, false)] {
            let request = RegisterRequest(chain: [1], invitation: bytes(count), blinded: [])
            #expect(Self.isRead(request) == isRead, "\(count)")
        }
        for (count, isRead) in [(0, false), (1, true), (1 << 20, true), (1 << 20 + 1, false)] {
            let statement = try MessageSpecimen.login(record: Self.digest(1), copy: Self.digest(2))
            #expect(Self.isRead(FinishLoginAnswer(statement: statement, copy: bytes(count))) == isRead, "\(count)")
        }
        for count in [15, 17] {
            #expect(!Self.isRead(LoginAnswer(attempt: bytes(count), message: bytes(320))), "\(count)")
            #expect(!Self.isRead(FinishLoginRequest(attempt: bytes(count), message: bytes(64))), "\(count)")
        }
        #expect(!Self.isRead(LoginAnswer(attempt: bytes(16), message: bytes(319))))
        #expect(!Self.isRead(FinishLoginRequest(attempt: bytes(16), message: bytes(65))))
        #expect(LoginAnswer(attempt: bytes(16), message: bytes(320)).bytes.count == 336)
        #expect(Self.isRead(NewsRequest(cursor: bytes(64), seconds: 55)))
        #expect(!Self.isRead(NewsRequest(cursor: bytes(65), seconds: 55)))
        #expect(!Self.isRead(NewsRequest(cursor: [], seconds: 56)))
    }

    @Test func whatBelongsTogetherIsThereTogether() throws {
        let digest = Self.digest
        func finish(_ record: Int, _ copy: Int, _ statement: LoginStatement) -> FinishRequest {
            FinishRequest(
                record: .init(repeating: 1, count: record), statement: statement,
                copy: .init(repeating: 1, count: copy))
        }
        let without = try MessageSpecimen.login(record: .zero, copy: .zero)
        let with = try MessageSpecimen.login(record: digest(1), copy: digest(2))
        #expect(Self.isRead(finish(0, 0, without)) && Self.isRead(finish(192, 5, with)))
        #expect(!Self.isRead(finish(192, 5, without)) && !Self.isRead(finish(0, 0, with)))
        #expect(!Self.isRead(finish(192, 0, with)) && !Self.isRead(finish(0, 5, without)))
        #expect(!Self.isRead(finish(191, 5, with)))
        for (record, copy) in [(digest(1), Hash256.zero), (.zero, digest(1))] {
            #expect(!Self.isRead(try MessageSpecimen.login(record: record, copy: copy)))
        }
        func account(_ statement: LoginStatement?, hasRecord: Bool) -> AccountAnswer {
            AccountAnswer(
                state: .active, statement: statement, hasRecord: hasRecord, failures: 1, failed: 2, tresors: 3,
                bytes: 4,
                maximumTresors: 5, maximumBytes: 6, maximumEntries: 7)
        }
        #expect(Self.isRead(account(with, hasRecord: true)) && Self.isRead(account(with, hasRecord: false)))
        #expect(Self.isRead(account(without, hasRecord: false)) && Self.isRead(account(nil, hasRecord: false)))
        #expect(!Self.isRead(account(without, hasRecord: true)) && !Self.isRead(account(nil, hasRecord: true)))
        let tresor = TresorID(digest(1))
        var all = WrapsRequest(tresor: tresor, epoch: nil, users: [UserID(digest(2))]).bytes
        all[40] = 1
        #expect(try WrapsRequest(all).epoch == nil && WrapsRequest(all).first == 1)
    }
}

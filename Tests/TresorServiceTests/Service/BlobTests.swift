// SPDX-License-Identifier: Apache-2.0

#if Server
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorStore
    import TresorTesting

    @testable import TresorService

    /// Blobs of a service: with an entry and before it, for members, and never lost while an entry needs them.
    @Suite(.overEveryEngine) struct BlobTests {
        /// A commit of one pack and one attachment of two parts, with the bytes of both.
        struct Commit {
            let request: AppendRequest
            let pack: StoredBlob
            let attachment: StoredBlob

            init(in house: Household, by author: Session, epoch: UInt64? = nil) async throws {
                func blob(_ count: Int) throws -> StoredBlob {
                    let bytes = try randomBytes(count)
                    return StoredBlob(
                        hash: try Blob(of: bytes).hash, size: UInt64(count), bytes: bytes)
                }
                pack = try blob(700)
                attachment = try blob(StoredBlob.partByteCount + 5)
                let named = [pack, attachment].map { Blob(hash: $0.hash, size: $0.size) }
                let now = try await house.state().epoch
                request = try await house.request(
                    .commit(CommitBody(epoch: epoch ?? now, blobs: named)), by: author
                ).with(blobs: [pack, attachment])
            }

            var parts: [[UInt8]] { StoredBlob.parts(of: attachment.bytes ?? []).map { Array($0) } }

            /// The request, with the attachment put before.
            var bare: AppendRequest { request.with(blobs: [pack, attachment.withoutBytes]) }
        }

        @Test func anEntryAndItsBlobsComeTogether() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            let commit = try await Commit(in: house, by: house.writer)
            let put = { (part: Int) async throws in
                _ = try await writer.ask(
                    PutBlobRequest(
                        tresor: house.tresor, hash: commit.attachment.hash, part: UInt32(part),
                        bytes: commit.parts[part]))
            }
            let before = try await house.bench.rows()
            #expect(try await writer.ask(commit.bare).outcome == .conflict)
            #expect(try await house.bench.rows() == before)
            try await put(0)
            #expect(try await writer.ask(commit.bare).outcome == .conflict)
            let reader = try house.signer(house.reader)
            let hashes = [commit.attachment.hash, .zero, commit.pack.hash]
            // A blob that no entry names yet is there all the same.
            #expect(
                try await reader.ask(BlobsRequest(tresor: house.tresor, hashes: hashes)).blobs
                    == [commit.parts[0], [], []])
            try await put(1)
            #expect(try await writer.ask(commit.bare).outcome == .done)
            for member in [house.owner, house.writer, house.reader, house.newcomer] {
                let answer = try await house.signer(member).ask(BlobsRequest(tresor: house.tresor, hashes: hashes))
                #expect(answer.blobs == [commit.attachment.bytes, [], commit.pack.bytes])
            }
            for (part, bytes) in [(0, commit.parts[0]), (1, commit.parts[1]), (2, [])] {
                let request = BlobRequest(tresor: house.tresor, hash: hashes[0], part: UInt32(part))
                #expect(try await reader.ask(request).bytes == bytes)
            }
            #expect(try await house.bench.service.check().isClean)
            _ = try await house.bench.engine.write([SQL("DELETE FROM blobs WHERE part = $1", [.integer(1)])])
            #expect(try await house.bench.service.check().findings.map(\.fault) == [.size, .blobs(1)])
        }

        @Test func A127_otherBlobsThanThoseOfTheEntryAreRefused() async throws {
            let house = try await Household(Bench())
            let writer = try house.signer(house.writer)
            let good = try await Commit(in: house, by: house.writer)
            let old = try await Commit(in: house, by: house.writer, epoch: 1)
            let lie = StoredBlob(hash: .zero, size: good.pack.size, bytes: good.pack.bytes)
            let plain = try await house.request(.additive(.sample), by: house.writer)
            let cases: [(String, AppendRequest)] = [
                ("one is missing", good.request.with(blobs: [good.pack])),
                ("another order", good.request.with(blobs: [good.attachment, good.pack])),
                ("one more", good.request.with(blobs: good.request.blobs + [good.pack])),
                ("another hash", good.request.with(blobs: [lie, good.attachment])),
                ("an entry that names none", plain.with(blobs: [good.pack])),
                ("a void body names none", old.request),
            ]
            let before = try await house.bench.rows()
            for (name, request) in cases {
                #expect(try await writer.reply(request) == .refused(.altered), "\(name)")
                #expect(try await house.bench.rows() == before, "\(name)")
            }
            // Nobody brings blobs for the entry of somebody else.
            #expect(try await house.signer(house.owner).reply(good.request) == .forbidden)
            #expect(try await house.bench.rows() == before)
            // But any member restores the entry itself; the blobs are missing then, and a writer puts them again.
            #expect(try await house.signer(house.reader).ask(good.request.with(blobs: [])).outcome == .done)
            #expect(try await house.bench.service.check().findings.map(\.fault) == [.blobs(2)])
            _ = try await writer.ask(
                PutBlobRequest(tresor: house.tresor, hash: good.pack.hash, part: 0, bytes: good.pack.bytes ?? []))
            try await house.bench.service.sweep()
            #expect(try await house.bench.service.check().findings.map(\.fault) == [.blobs(1)])
            #expect(try await writer.reply(old.request.with(blobs: [])).status == 200)
        }

        /// Nor does a longer name of the same blob make room for a part.
        @Test func aNamedBlobBecomesNoLonger() async throws {
            let house = try await Household(Bench())
            let commit = try await Commit(in: house, by: house.writer)
            #expect(try await house.signer(house.writer).ask(commit.request).outcome == .done)
            let longer = Blob(hash: commit.pack.hash, size: 3 * UInt64(StoredBlob.partByteCount))
            let name = try await house.request(
                .commit(CommitBody(epoch: try await house.state().epoch, blobs: [longer])), by: house.writer)
            _ = try await house.signer(house.owner).reply(name.with(blobs: []))
            let before = try await house.bench.rows()
            for (person, hash, part, count) in [
                (house.writer, commit.pack.hash, 1, 1), (house.writer, commit.pack.hash, UInt32.max, 1),
                (house.owner, commit.pack.hash, 0, 701), (house.owner, commit.pack.hash, 1, 1),
                (house.writer, commit.attachment.hash, 2, 1), (house.owner, commit.attachment.hash, 1, 6),
                (house.owner, commit.attachment.hash, 0, 5),
            ] {
                let request = PutBlobRequest(
                    tresor: house.tresor, hash: hash, part: part, bytes: [UInt8](repeating: 1, count: count))
                #expect(try await house.signer(person).reply(request) == .refused(.altered), "part \(part) of \(count)")
            }
            #expect(try await house.bench.rows() == before)
            let wanted = BlobsRequest(tresor: house.tresor, hashes: [commit.pack.hash, commit.attachment.hash])
            #expect(
                try await house.signer(house.reader).ask(wanted).blobs == [commit.pack.bytes, commit.attachment.bytes])
        }

        @Test func aWriterReplacesNothingThatAnEntryNames() async throws {
            let house = try await Household(Bench())
            let commit = try await Commit(in: house, by: house.writer)
            let writer = try house.signer(house.writer)
            #expect(try await writer.ask(commit.request).outcome == .done)
            let bytes = [UInt8](repeating: 1, count: Int(commit.pack.size))
            let spoiled = PutBlobRequest(tresor: house.tresor, hash: commit.pack.hash, part: 0, bytes: bytes)
            _ = try await writer.ask(spoiled)
            let wanted = BlobsRequest(tresor: house.tresor, hashes: [commit.pack.hash])
            #expect(try await writer.ask(wanted).blobs == [commit.pack.bytes])
            // An owner mends what the service lost or spoiled.
            _ = try await house.signer(house.owner).ask(spoiled)
            #expect(try await writer.ask(wanted).blobs == [bytes])
        }

        @Test func anOwnerDeletesWhatNoEntryAboveTheFloorNames() async throws {
            let house = try await Household(Bench())
            // Nobody reads from now on, so that a checkpoint is not void.
            let owner = try house.signer(house.owner)
            try await house.owner.tresor(house.tresor).perform(.revoke([house.newcomer.user]))
            let commit = try await Commit(in: house, by: house.owner)
            #expect(try await owner.ask(commit.request).outcome == .done)
            let delete = DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero, commit.pack.hash])
            #expect(try await owner.reply(delete) == .refused(.altered))
            #expect(try await house.signer(house.writer).reply(delete) == .forbidden)
            let volume = try randomBytes(700)
            let state = try await house.state()
            let named = try Blob(of: volume)
            let checkpoint = try await house.request(
                .checkpoint(CheckpointBody(upto: state.head.sequence, epoch: state.epoch, volumes: [named])),
                by: house.owner)
            #expect(
                try await owner.ask(
                    checkpoint.with(blobs: [StoredBlob(hash: named.hash, size: named.size, bytes: volume)])
                ).outcome == .done)
            let used = try await owner.ask(AccountRequest()).bytes
            _ = try await owner.ask(delete)
            #expect(try await owner.ask(AccountRequest()).bytes == used - commit.pack.size)
            #expect(
                try await owner.reply(DeleteBlobsRequest(tresor: house.tresor, hashes: [named.hash]))
                    == .refused(.altered))
            let found = try await owner.ask(
                BlobsRequest(tresor: house.tresor, hashes: [commit.pack.hash, commit.attachment.hash, named.hash]))
            #expect(found.blobs == [[], commit.attachment.bytes, volume])
            #expect(try await house.bench.service.check().isClean)
        }

        @Test func aBlobThatNoEntryNamesGoesAfterSevenDays() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let commit = try await Commit(in: house, by: house.owner)
            #expect(try await owner.ask(commit.request).outcome == .done)
            let used = try await owner.ask(AccountRequest()).bytes
            _ = try await owner.ask(PutBlobRequest(tresor: house.tresor, hash: .zero, part: 0, bytes: [1, 2, 3]))
            #expect(try await owner.ask(AccountRequest()).bytes == used + 512)
            let wanted = BlobsRequest(tresor: house.tresor, hashes: [.zero, commit.pack.hash])
            house.bench.clock.now += Blobs.lapse
            try await house.bench.service.sweep()
            let later = try house.signer(house.owner)
            #expect(try await later.ask(wanted).blobs == [[1, 2, 3], commit.pack.bytes])
            house.bench.clock.now += 1
            try await house.bench.service.sweep()
            #expect(try await later.ask(wanted).blobs == [[], commit.pack.bytes])
            #expect(try await later.ask(AccountRequest()).bytes == used)
        }

        @Test func blobsTakeTheRoomOfTheFounder() async throws {
            let house = try await Household(Bench())
            let used = try await house.signer(house.owner).ask(AccountRequest()).bytes
            // The tenth of the owners, and half of the rest, are not the writer's.
            let small = try await house.bench.anotherService { $0.quotas.bytes = (used + 2_000) / 9 * 10 + 10 }
            let writer = try house.signer(house.writer)
            let narrow = Signer(service: small, clock: writer.clock, identity: writer.identity, key: writer.key)
            let before = try await house.bench.rows()
            let put = PutBlobRequest(tresor: house.tresor, hash: .zero, part: 0, bytes: try randomBytes(1_010))
            #expect(try await narrow.reply(put).status == 507)
            let commit = try await Commit(in: house, by: house.writer)
            #expect(try await narrow.reply(commit.request).status == 507)
            #expect(try await house.bench.rows() == before)
            let smaller = PutBlobRequest(tresor: house.tresor, hash: .zero, part: 0, bytes: try randomBytes(900))
            #expect(try await narrow.reply(smaller).status == 200)
            // The room is given back with the blob, to the founder and to the writer.
            _ = try await house.signer(house.owner).ask(DeleteBlobsRequest(tresor: house.tresor, hashes: [.zero]))
            #expect(try await narrow.reply(smaller).status == 200)
        }

        @Test func blobsGoWithTheirTresor() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let commit = try await Commit(in: house, by: house.owner)
            #expect(try await owner.ask(commit.request).outcome == .done)
            _ = try await owner.ask(DeleteTresorRequest(tresor: house.tresor))
            try await house.bench.service.sweep()
            #expect(
                try await owner.reply(BlobsRequest(tresor: house.tresor, hashes: [commit.pack.hash])) == .forbidden)
            let rows = try await house.bench.engine.read(SQL("SELECT hash FROM blobs"))
            #expect(rows.isEmpty)
        }

        @Test func anAnswerHasFourMebibytes() async throws {
            let house = try await Household(Bench())
            let owner = try house.signer(house.owner)
            let part = [UInt8](repeating: 7, count: StoredBlob.partByteCount)
            func hash(_ number: UInt8) -> Hash256 { Hash256([UInt8](repeating: number, count: 32)) ?? .zero }
            for (number, count) in [(UInt8(1), 16), (2, 17), (3, 1)] {
                for index in 0..<count {
                    _ = try await owner.ask(
                        PutBlobRequest(tresor: house.tresor, hash: hash(number), part: UInt32(index), bytes: part))
                }
            }
            func counts(_ numbers: UInt8...) async throws -> [Int] {
                try await owner.ask(BlobsRequest(tresor: house.tresor, hashes: numbers.map(hash))).blobs.map(\.count)
            }
            #expect(try await counts(1, 3) == [4 << 20])
            #expect(try await counts(2, 9, 3, 1, 3) == [0, 0, 1 << 18])
            #expect(try await counts(3, 3, 2, 3) == [1 << 18, 1 << 18, 0, 1 << 18])
        }

        /// Blobs that are not there do not cost a statement each.
        @Test func A231_manyBlobsAreLookedUpAtOnce() async throws {
            let house = try await Household(Bench())
            let commit = try await Commit(in: house, by: house.writer)
            #expect(try await house.signer(house.writer).ask(commit.request).outcome == .done)
            let engine = CountingEngine(house.bench.engine)
            let service = try Service(engine: engine, settings: house.bench.settings)
            let reader = try house.signer(house.reader).at(service)
            let hashes = try (1..<BlobsRequest.maximumCount).map { _ in try #require(Hash256(try randomBytes(32))) }
            let request = BlobsRequest(tresor: house.tresor, hashes: hashes + [commit.pack.hash])
            let answer = try await reader.ask(request).blobs
            #expect(answer.count == BlobsRequest.maximumCount && answer.last == commit.pack.bytes)
            #expect(answer.dropLast().allSatisfy { $0.isEmpty })
            #expect(engine.statementCount < 100)
        }
    }

    extension StoredBlob {
        fileprivate var withoutBytes: StoredBlob { StoredBlob(hash: hash, size: size, bytes: nil) }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Packs and volumes: what is written, what is refused, and that any bytes are read to an end.
@Suite struct PackTests {
    private static func sample() throws -> [Item] {
        [
            try Item("a", "text", replacing: [1, 3]), try Item("b", nil),
            Item(
                record: try Name(typed: "c"), replaces: [], time: 5,
                content: .attachment(blob: 1, type: try Name(typed: "image/png"))),
        ]
    }

    @Test func aPackReadsAsItWasWritten() throws {
        let pack = try Pack(of: Self.sample().reversed())
        #expect(pack.items.map(\.record.text) == ["a", "b", "c"])
        #expect(try Pack(pack.bytes, head: 3, blobCount: 2) == pack)
        // An event of 130 bytes under a name of 29: as many bytes as the design counts.
        let event = try Item("event/ibuprofen/2026-05-03/0x", String(repeating: "x", count: 130))
        #expect(event.bytes.count == 2 + 29 + 1 + 8 + 1 + 2 + 10 + 4 + 130)
    }

    /// SPEC §19.4.
    @Test func aRevisionAboveTheHeadIsRefusedWhenAPackIsSealed() throws {
        let book = try RecordBook(try identity("anna"))
        let head = book.state.head.sequence
        #expect(error { _ = try book.pack([Item("plan", "x", replacing: [head + 1])]) } == .usage(.outOfBounds))
        _ = try book.pack([Item("plan", "x", replacing: [head])])
    }

    @Test func whatNoPackMayHoldIsRefusedWhenItIsMade() throws {
        let a = try Item("a", "text")
        func refused(_ items: [Item]) -> TresorError? { error { _ = try Pack(of: items) } }
        func changed(_ record: Name? = nil, replaces: [UInt64] = [], time: UInt64 = 5, size: Int = 1) -> Item {
            Item(
                record: record ?? a.record, replaces: replaces, time: time,
                content: .bytes([UInt8](repeating: 0, count: size), type: .empty))
        }
        #expect(refused([]) == .usage(.outOfBounds))
        #expect(refused([a, a]) == .usage(.namedTwice))
        #expect(refused([changed(.empty)]) == .usage(.nameEmpty))
        #expect(refused([changed(.reserved("face"))]) == .usage(.nameCharacters))
        #expect(refused([changed(replaces: Array(1...17))]) == .usage(.outOfBounds))
        #expect(refused([changed(replaces: [2, 1])]) == .usage(.outOfBounds))
        #expect(refused([changed(time: 253_402_300_800)]) == .usage(.time))
        #expect(refused([changed(size: 65_537)]) == .usage(.contentTooLong))
        let many = try (0..<17).map { changed(try Name(typed: "n\($0 + 10)"), size: 65_536) }
        #expect(refused(many) == .usage(.contentTooLong))
        #expect(refused([changed(replaces: Array(1...16), size: 65_536)]) == nil)
    }

    @Test func anyBytesAreReadToAnEnd() throws {
        let pack = try Pack(of: Self.sample()).bytes
        let volume = try Volume(of: Self.sample().enumerated().map { KeptItem(sequence: UInt64(5 + $0), item: $1) })
            .bytes
        var dice = Dice(seed: 1)
        for _ in 0..<2000 {
            for bytes in [pack, volume] {
                var changed = bytes
                for _ in 0..<Int.random(in: 1...3, using: &dice) {
                    changed[Int.random(in: changed.indices, using: &dice)] = UInt8.random(in: 0...255, using: &dice)
                }
                if Bool.random(using: &dice) { changed.removeLast(Int.random(in: 0...9, using: &dice)) }
                let read = [
                    (try? Pack(changed, head: 9, blobCount: 2))?.bytes, (try? Volume(changed))?.bytes,
                ].compactMap { $0 }
                #expect(read.allSatisfy { $0 == changed })
            }
        }
        // A count that nothing justifies reserves nothing.
        #expect(error { _ = try Volume([255, 255, 255, 255]) } == .altered)
        #expect(error { _ = try Pack([0, 255, 255], head: 9, blobCount: 2) } == .altered)
    }

    @Test func theLargestPackHasTheLargestSize() throws {
        let items = try (0..<16).map { number throws in
            Item(
                record: try Name(typed: "n\(number + 10)"), replaces: [], time: 5,
                content: .bytes([UInt8](repeating: 0, count: 65_000), type: .empty))
        }
        let rest = Pack.maximumByteCount - (try Pack(of: items).bytes.count)
        let last = Item(
            record: try Name(typed: "z"), replaces: [], time: 5,
            content: .bytes([UInt8](repeating: 0, count: rest - 19), type: .empty))
        #expect(try Pack(of: items + [last]).bytes.count == Pack.maximumByteCount)
        var book = try RecordBook(try identity("anna"))
        let sequence = try book.put(items + [last])
        #expect(book.packs[sequence].map { UInt64($0.count) } == Blob.greatestPackSize)
        #expect(try book.table().names.count == 17)
        #expect(try SealedFile(try #require(book.packs[sequence])).bytes.count == 1_081_762)
    }

    /// Types of this format itself are no contents: nobody is given one, and nobody makes one.
    @Test func typesOfTheFormatAreNoContents() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let refused = TresorError.usage(.nameCharacters)
        for type in [Name.pack, .volume, .reserved("later")] {
            #expect(await failure { _ = try await anna.files.seal([1], type: type, in: tresor) } == refused)
            let contents = [NamedContent([1], type: type)]
            #expect(await failure { _ = try await anna.files.seal(contents, in: tresor) } == refused)
            let state = try await anna.client.logs.state(of: tresor)
            let keys = try await anna.keyRing.keys(of: 1, in: state)
            let file = try FileSealer.sealFile(
                [1], type: type, record: .empty, keys: keys, state: state, author: anna.identity, time: 5)
            #expect(await failure { _ = try await anna.files.open(file, expecting: .anyTresor) } == refused)
            #expect(await failure { _ = try await anna.files.reseal(file, expecting: .anyTresor) } == refused)
        }
        let plain = try await anna.files.seal([1], type: Name(typed: "tresor-pack"), in: tresor)
        #expect(try await anna.files.open(plain, expecting: .anyTresor).content == [1])
    }

    /// `check` names the bodies that have no effect, and nothing else is wrong because of them.
    @Test func checkNamesVoidBodies() async throws {
        let evil = EvilStore()
        let world = World(store: evil)
        let anna = try await world.quick("anna")
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        let blob = Blob(hash: .zero, size: 674)
        let bodies: [EntryBody] = [
            .commit(CommitBody(epoch: 1, blobs: [blob])), .commit(CommitBody(epoch: 2, blobs: [blob])),
            .checkpoint(CheckpointBody(upto: 2, epoch: 1, volumes: [blob])),
            .checkpoint(CheckpointBody(upto: 2, epoch: 1, volumes: [blob])),
            .checkpoint(CheckpointBody(upto: 3, epoch: 1, volumes: [blob])),
            .additive(AdditiveBody(type: 129, [1])),
        ]
        for body in bodies { try await world.append(body, by: anna.identity, to: tresor, in: evil) }
        let remarks = try await anna.client.audit.check([tresor]).map(\.remark)
        let void: [(UInt64, Rule)] = [(2, .r39), (4, .r41), (6, .r2)]
        for (sequence, rule) in void { #expect(remarks.contains(.voidBody(sequence: sequence, rule: rule))) }
        let named = remarks.count { if case .voidBody = $0 { true } else { false } }
        #expect(named == void.count)
        #expect(try await anna.client.logs.state(of: tresor).floor == 3)
    }
}

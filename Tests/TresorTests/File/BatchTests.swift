// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// Many small files at once are what they are one by one.
@Suite struct BatchTests {
    @Test func sealedTogetherTheyOpenOneByOne() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let reader = try await world.quick("reader")
        try world.introduce(anna, reader)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [reader])
        let type = try Name(typed: "text/plain")
        let contents = try (0..<100).map { number in
            NamedContent(Array("content \(number)".utf8), record: try Name(typed: "record \(number)"), type: type)
        }
        let files = try await anna.files.seal(contents, in: tresor)
        #expect(files.count == contents.count)
        for (file, content) in zip(files, contents) {
            let opened = try await reader.files.open(file)
            #expect(opened.content == content.content)
            #expect(opened.record == content.record)
        }
        let together = await reader.files.open(files)
        #expect(try together.map { try $0.get().content } == contents.map(\.content))
        #expect(try await anna.files.seal([], in: tresor).isEmpty)
        #expect(await failure { _ = try await reader.files.seal(contents, in: tresor) } == .noAccess)
    }

    @Test func A92_eachFileIsJudgedByItself() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let stranger = try await world.quick("stranger")
        let one = try await anna.tresors.create(Name(typed: "one")).tresor
        let other = try await stranger.tresors.create(Name(typed: "other")).tresor
        let good = try await anna.seal("good", in: one)
        try await anna.tresors.perform(.rotate, on: one)
        let newer = try await anna.seal("newer", in: one, record: "wanted")
        let foreign = try await stranger.seal("foreign", in: other)
        var damaged = good.bytes
        damaged[damaged.count - 1] ^= 1
        var moved = good.bytes
        moved[60] ^= 1
        let files = try [good, newer, foreign, SealedFile(damaged), SealedFile(moved)]
        for expecting in [Expectations.anyTresor, wanting("wanted")] {
            let together = await anna.files.open(files, expecting: expecting)
            for (file, result) in zip(files, together) {
                var alone: Result<OpenedFile, TresorError>
                do throws(TresorError) {
                    alone = .success(try await anna.files.open(file, expecting: expecting))
                } catch {
                    alone = .failure(error)
                }
                #expect(result == alone)
            }
        }
    }

    @Test func A92_eachAuthorIsJudgedByThemselves() async throws {
        let world = World()
        let anna = try await world.quick("anna")
        let carl = try await world.quick("carl")
        let reader = try await world.quick("reader")
        try world.introduce(anna, carl)
        try world.introduce(anna, reader)
        // The reader knows another person by that handle.
        try reader.client.people.pinBlocking(
            try Identity.make(handle: Name(typed: "carl"), time: world.clock.now).chain)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [carl], as: .writer)
        try await anna.share(tresor, with: [reader])
        let files = [
            try await anna.seal("one", in: tresor), try await carl.seal("two", in: tresor),
            try await anna.seal("three", in: tresor), try await carl.seal("four", in: tresor),
        ]
        let opened = await reader.files.open(files)
        for index in [0, 2] { #expect((try? opened[index].get()) != nil) }
        for index in [1, 3] { #expect(opened[index] == .failure(.unverified)) }
    }

    @Test func homeIsReadAsOftenForManyAsForTwo() async throws {
        let world = World()
        let home = MemoryHome()
        let anna = try await world.quick("anna", home: home)
        let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
        var files: [SealedFile] = []
        for number in 0..<32 { files.append(try await anna.seal("\(number)", in: tresor)) }
        _ = await anna.files.open(files)
        func reads(_ count: Int) async -> Int {
            let before = home.readCount
            _ = await anna.files.open(Array(files.prefix(count)))
            return home.readCount - before
        }
        let two = await reads(2)
        #expect(two > 0)
        #expect(await reads(32) == two)
    }

    private func wanting(_ record: String) -> Expectations {
        var expecting = Expectations.anyTresor
        expecting.record = try? Name(typed: record)
        return expecting
    }
}

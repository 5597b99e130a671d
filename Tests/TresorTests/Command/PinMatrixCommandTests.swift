// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

extension CommandSuite {
    /// Every pin against every log, in every command that shows a person or rests on one (SPEC §7.5, §7.7, §10.5).
    @Suite struct PinMatrix {
        /// Whose keys change: a writer's, or the founder's.
        enum Subject: String, CaseIterable { case house, anna }

        /// The number that a home has compared: none, that of a generation, or that of another person with the handle.
        enum Pinned: CaseIterable { case none, first, second, third, replaced }

        /// The compared generation against the one that a log knows.
        enum AuthorStatus { case unknown, behind, equal, ahead, replaced }

        /// A tresor whose log knows its subject up to a generation, with a file of the first and of the newest one.
        struct Shelf {
            let generation: Int
            let id: String
            var name: String { "plans\(generation)" }
            var early: String { "@\(name).early" }
            var newest: String { "@\(name).newest" }
        }

        let stage: CommandStage
        let anna: Session
        let house: Session
        let carol: Session

        init() async throws {
            stage = try CommandStage()
            anna = try await stage.person("anna")
            house = try await stage.person("house")
            carol = try await stage.person("carol")
            try stage.world.introduce(anna, house, carol)
        }

        /// Fills the shelves. Carol reads all of them with her first pins.
        ///
        /// - Returns: the shelves, and the subject at each generation. The store has the card of the last.
        private func fill(for subject: Subject) async throws -> (shelves: [Shelf], generations: [Identity]) {
            let first = subject == .house ? house : anna
            let second = try first.identity.renewCard(time: stage.world.clock.now)
            let third = try second.identity.renewCard(time: stage.world.clock.now)
            let generations = [first.identity, second.identity, third.identity]
            var made: [(shelf: Shelf, tresor: TresorID)] = []
            for generation in 0...2 {
                let tresor = try await anna.tresors.create(Name(typed: "plans\(generation)")).tresor
                let shelf = Shelf(generation: generation, id: tresor.description)
                try await anna.share(tresor, with: [house], as: .writer)
                try await anna.share(tresor, with: [carol])
                try stage.write(try await first.seal("early", in: tresor).bytes, to: "\(shelf.name).early")
                for next in generations.dropFirst().prefix(shelf.generation) {
                    let before = next.generation - 1
                    try await stage.append(
                        .renew(RenewBody(next.chain.newest)), by: next, generation: before, to: tresor)
                }
                made.append((shelf, tresor))
            }
            let last = try await stage.settle(
                generations[2], previous: [third.previous, second.previous], at: subject.rawValue)
            let owner = subject == .anna ? last : anna
            for (shelf, tresor) in made {
                let author = generations[shelf.generation]
                let signing = subject == .anna ? stage.inLeague(author, at: "anna") : owner
                if shelf.generation > 0 { try await signing.tresors.perform(.rotate, on: tresor) }
                let state = try await stage.state(of: tresor)
                let file = try FileSealer.sealFile(
                    Array("newest".utf8), type: .empty, record: .empty,
                    keys: try await signing.keyRing.keys(of: state.epoch, in: state),
                    state: state, author: author, time: stage.world.clock.now)
                try stage.write(file.bytes, to: "\(shelf.name).newest")
            }
            for (shelf, _) in made { try await stage.expect(0, as: "carol", "decrypt", shelf.early) }
            return (made.map(\.shelf), generations)
        }

        /// Gives a home this pin of the subject beside the others'.
        private func pin(_ pinned: Pinned, of generations: [Identity], at session: Session) throws {
            try session.client.home.delete(.pins)
            let subject = generations[0]
            for other in [anna, house, carol] where other.identity.user != subject.user {
                if other.identity.user != session.identity.user {
                    try session.client.people.pinBlocking(other.identity.chain)
                }
            }
            switch pinned {
            case .none: break
            case .first: try session.client.people.pinBlocking(generations[0].chain)
            case .second: try session.client.people.pinBlocking(generations[1].chain)
            case .third: try session.client.people.pinBlocking(generations[2].chain)
            case .replaced:
                try session.client.people.pinBlocking(generations[2].chain)
                try session.client.people.pinBlocking(try identity(subject.handle.text).chain, replacing: true)
            }
        }

        private func standing(_ pinned: Pinned, on shelf: Shelf) -> AuthorStatus {
            let generation: Int
            switch pinned {
            case .none: return .unknown
            case .replaced: return .replaced
            case .first: generation = 0
            case .second: generation = 1
            case .third: generation = 2
            }
            return generation < shelf.generation ? .behind : generation == shelf.generation ? .equal : .ahead
        }

        /// Runs one command of a cell. A pin is never a fork of anything.
        @discardableResult private func run(
            _ code: Int32, as name: String = "carol", _ words: String..., cell: String
        ) async throws -> CommandStage.Ending {
            let ending = try await stage.run(as: name, words)
            #expect(ending.code == code, "\(cell) \(name) \(words): \(ending.text)\(ending.error)")
            #expect(ending.code != 15 && !(ending.text + ending.error).contains("another history"), "\(cell) \(words)")
            return ending
        }

        @Test func A204_A209_everyCommandWithEveryPinOfAMember() async throws {
            let (shelves, generations) = try await fill(for: .house)
            let number = try generations[2].chain.number().grouped
            for pinned in Pinned.allCases {
                try pin(pinned, of: generations, at: carol)
                try pin(pinned, of: generations, at: anna)
                for shelf in shelves { try await read(shelf, as: .house, pinned) }
                for shelf in shelves { try await own(shelf, pinned) }
                let cell = "\(pinned)"
                try await run(0, as: "anna", "rotate", "-n", "-t", "plans2", cell: cell)
                try await run(0, "inspect", "@plans2.newest", cell: cell)
                let list = try await run(0, "list", cell: cell)
                #expect(list.text.matches(of: /plans\d +anna +reader +3 +\d +ok/).count == 3, "\(list.text)")
                try await run(pinned == .replaced ? 16 : 0, "check", cell: cell)
                let card = try await run(0, "card", "--number", "house", cell: cell)
                #expect(card.text.contains(number) == (pinned != .replaced), "\(cell)")
                let verified = try await run(
                    pinned == .replaced ? 16 : 0, "verify", "house", "--number", number, cell: cell)
                let isChanged = pinned == .first || pinned == .second
                #expect(
                    verified.error.contains("THE SAFETY NUMBER OF house HAS CHANGED") == isChanged, "\(verified.error)")
            }
        }

        /// The commands of a reader of a shelf.
        private func read(_ shelf: Shelf, as subject: Subject, _ pinned: Pinned) async throws {
            let standing = standing(pinned, on: shelf)
            let cell = "\(subject) \(pinned) \(shelf.name)"
            // A founder whom nobody compared vouches for nothing; a log that lags behind the comparison stays readable.
            let isRefused = standing == .replaced || (subject == .anna && standing == .unknown)
            let newest: Int32 = isRefused || standing == .behind ? 16 : 0
            let opened = try await run(newest, "decrypt", shelf.newest, cell: cell)
            #expect(opened.text == (newest == 0 ? "newest" : ""), "\(cell)")
            #expect(opened.error.contains("has new keys since") == (standing == .ahead), "\(cell) \(opened.error)")
            let current = standing == .ahead ? 13 : newest
            try await run(current, "decrypt", "--current", "--from", subject.rawValue, shelf.newest, cell: cell)
            try await run(newest, "check", "--deep", "-t", shelf.id, shelf.newest, cell: cell)
            try await run(isRefused ? 16 : 0, "decrypt", shelf.early, cell: cell)
            let log = try await run(0, "log", "-t", shelf.id, cell: cell)
            #expect(log.text.matches(of: /has new keys, generation/).count == shelf.generation)
            for at in shelf.generation == 2 ? [[], ["--at", "2"]] : [[]] {
                let members = try await stage.run(as: "carol", ["members", "-t", shelf.id] + at)
                #expect(members.code == (standing == .replaced ? 16 : 0), "\(cell) \(members.error)")
                let row = members.text.split(separator: "\n").first { $0.hasPrefix(subject.rawValue) }
                let shown = row?.split(separator: " ").last.map(String.init)
                #expect(shown == verified(standing, of: subject), "\(cell) \(members.text)")
            }
        }

        /// The last word of the row of `members`.
        private func verified(_ standing: AuthorStatus, of subject: Subject) -> String {
            switch standing {
            case .unknown: subject == .house ? "anna" : "no"
            case .behind, .replaced: "no"
            case .equal: "number"
            case .ahead: subject == .house ? "number" : "no"
            }
        }

        /// Dry runs of the owner, with the same pin. Removing a person needs no trust in them.
        private func own(_ shelf: Shelf, _ pinned: Pinned) async throws {
            let standing = standing(pinned, on: shelf)
            let cell = "\(pinned) \(shelf.name)"
            let isRefused = standing == .behind || standing == .replaced
            try await run(isRefused ? 16 : 0, as: "anna", "reseal", "-n", shelf.newest, cell: cell)
            try await run(0, as: "anna", "share", "-n", "-t", shelf.name, "house", "--role", "reader", cell: cell)
            let revoked = try await run(0, as: "anna", "revoke", "-n", "-t", shelf.name, "house", cell: cell)
            #expect(revoked.error.contains("house"), "\(cell) \(revoked.error)")
        }

        @Test func A204_A209_everyCommandWithEveryPinOfTheFounder() async throws {
            let (shelves, generations) = try await fill(for: .anna)
            for pinned in Pinned.allCases {
                try pin(pinned, of: generations, at: carol)
                for shelf in shelves { try await read(shelf, as: .anna, pinned) }
                let list = try await run(16, "list", cell: "\(pinned)")
                for shelf in shelves {
                    let state = standing(pinned, on: shelf) == .equal ? "ok" : "unverified"
                    #expect(list.text.contains("\(shelf.name)") && list.text.contains(state), "\(pinned) \(list.text)")
                }
                try await run(pinned == .replaced ? 16 : 0, "check", cell: "\(pinned)")
            }
        }

        /// A store that hides every wrap, or the newer card of a compared person, makes no readable file unreadable.
        @Test(arguments: [CommandStage.Lie.withholdsAllWraps, .showsOldCards])
        func A204_A200_noLieTakesAwayWhatIsRead(lie: CommandStage.Lie) async throws {
            let (shelves, generations) = try await fill(for: .house)
            for pinned in [Pinned.none, .second, .third] {
                try pin(pinned, of: generations, at: carol)
                stage.tell(lie)
                for shelf in shelves {
                    let standing = standing(pinned, on: shelf)
                    let isRefused = standing == .behind || standing == .replaced
                    let cell = "\(lie) \(pinned) \(shelf.name)"
                    try await run(isRefused ? 16 : 0, "decrypt", shelf.newest, cell: cell)
                    try await run(standing == .replaced ? 16 : 0, "members", "-t", shelf.id, cell: cell)
                }
                try await run(0, "list", cell: "\(lie) \(pinned)")
                stage.evil.behave()
            }
            // A home that has lost its wraps too has lost the keys, and finds them again.
            try pin(.third, of: generations, at: carol)
            try carol.client.home.delete(.wraps)
            stage.tell(lie)
            for shelf in shelves {
                let code: Int32 = lie == .withholdsAllWraps ? 13 : 0
                try await run(code, "decrypt", shelf.newest, cell: "\(lie) \(shelf.name)")
            }
            stage.evil.behave()
            for shelf in shelves { try await run(0, "decrypt", shelf.newest, cell: "\(lie) \(shelf.name)") }
        }
    }
}

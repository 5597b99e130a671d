// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import NIOCore
    import TestSupport
    import Testing
    import TresorTesting

    @testable import TresorCore
    @testable import TresorCrypto
    @testable import TresorServer
    @testable import TresorService

    /// The objects that a service holds of many people, beside those that it counts for them.
    @Suite(.longRun, .serialized) struct MemoryTests {
        /// The sizes of what is filled.
        private static let (stateCount, statementCount, bodyCount, waitCount) = (60, 50_000, 8, 8_000)
        private static let removalCount = 50_000

        /// The memory of a statement that is kept, in bytes: its two hashes in an array, in a table by user id.
        private static let statementByteCount = 48 + 2 * Hash256.byteCount + 2 * 40
        /// The memory of a removal that a log lacks, in bytes: its hash of people in an array, in a table by tresor.
        private static let removalByteCount = 64 + 2 * 96
        /// The memory of a wait beside its connection, in bytes: two tasks, and the clock of one.
        private static let waitByteCount = 4 << 10

        /// States, statements, removals, rooms and waits together take at most half as much again as is counted for them.
        @Test func A239_theProcessGrowsByWhatAServiceCounts() async throws {
            let house = try await Household(Bench())
            let snapshot = try Self.snapshot(like: try await house.state())
            let feed = NewsFeed()
            let statements = Held<[Hash256]>()
            let removals = Removals(at: .zero)
            let room = SharedBudget(maximum: 1 << 30, share: 1 << 30)
            let before = try Self.residentByteCount()

            let states = try (0..<Self.stateCount).map { _ in
                var decoder = ByteDecoder(snapshot)
                return try LogState(from: &decoder)
            }
            var counted = ["states": states.reduce(0) { $0 + HeldMemory.byteCount(of: $1) }]
            var held = ["states": try Self.residentByteCount() - before]

            for _ in 0..<Self.statementCount {
                try statements.keep([Self.anyHash(), Self.anyHash()], of: UserID(Self.anyHash()))
            }
            counted["statements"] = Self.statementCount * Self.statementByteCount
            held["statements"] = try Self.residentByteCount() - before - held.values.reduce(0, +)

            for _ in 0..<Self.removalCount {
                let people = try randomBytes(Removal.hashByteCount)
                let tresor = TresorID(try Self.anyHash())
                removals.keep(Removal(tresor: tresor, sequence: 1, people: people, time: 1, isOwn: false))
            }
            counted["removals"] = Self.removalCount * Self.removalByteCount
            held["removals"] = try Self.residentByteCount() - before - held.values.reduce(0, +)

            let exchanges = try (0..<Self.bodyCount).map { _ in try Self.exchange(in: room) }
            counted["rooms"] = room.taken
            held["rooms"] = try Self.residentByteCount() - before - held.values.reduce(0, +)

            let waits = try (0..<Self.waitCount / 4).flatMap { _ in
                let user = UserID(try Self.anyHash())
                return try (0..<4).map { _ in try feed.begin(for: user) }
            }
            let tasks = waits.map { wait in Task { await wait.wait(until: .now + .seconds(600)) } }
            try await Task.sleep(for: .seconds(5))
            counted["waits"] = Self.waitCount * Self.waitByteCount
            held["waits"] = try Self.residentByteCount() - before - held.values.reduce(0, +)

            #expect(feed.count == Self.waitCount && exchanges.count == Self.bodyCount)
            let ratio = Double(held.values.reduce(0, +)) / Double(counted.values.reduce(0, +))
            #expect(ratio < 1.5 && ratio > 1 / 1.5, "held \(held), counted \(counted)")
            // The two that are limited by their bytes agree each by itself.
            for kind in ["states", "rooms"] {
                let ratio = Double(held[kind] ?? 0) / Double(counted[kind] ?? 1)
                #expect(ratio < 1.5 && ratio > 1 / 1.5, "\(kind): held \(held), counted \(counted)")
            }
            feed.close()
            for task in tasks { await task.value }
            for exchange in exchanges { exchange.giveBack() }
            #expect(room.taken == 0 && states.count == Self.stateCount && removals.count == Self.removalCount)
        }

        /// A snapshot of a log with much of everything: entries, epochs with links, people, and a long chain.
        private static func snapshot(like state: LogState) throws -> [UInt8] {
            var state = state
            for _ in 0..<20_000 { state.hashes.append(try anyHash()) }
            let link = [UInt8](repeating: 7, count: TC1.sealedByteCount(64 * Link.byteCount))
            var sequence = state.epochs.last?.sequence ?? 0
            for _ in 0..<100 {
                sequence += 1
                let epoch = Epoch(
                    number: UInt64(state.epochs.count + 1), contentCommitment: try anyHash(),
                    historyCommitment: try anyHash(), backLink: link)
                state.epochs.append(LogState.EpochRecord(epoch: epoch, sequence: sequence))
            }
            var elder = try Identity.make(handle: Name(typed: "elder"), time: 1)
            for _ in 0..<255 { elder = try elder.renewCard(time: 1).identity }
            let people = try (0..<200).map { try Identity.make(handle: Name(typed: "person \($0)"), time: 1).chain }
            let changes = state.changes[state.founder]
            for chain in people + [elder.chain] {
                state.chains[chain.user] = chain
                state.changes[chain.user] = changes
                state.lastTimes[chain.user] = 1
                state.generations[chain.user] = [
                    LogState.GenerationRecord(sequence: 0, time: 1, generation: chain.newest.generation)
                ]
                state.members[chain.user] = state.members[state.founder]
            }
            return StateSnapshots.bytes(of: state)
        }

        /// An exchange that holds the longest body.
        private static func exchange(in room: SharedBudget) throws -> HTTPExchange {
            let byteCount = ServiceOperation.append.maximumBodyByteCount
            let head = AcceptedHead(
                endpoint: .operation(.append), bodyByteCount: byteCount, authorization: nil, host: "localhost",
                ports: [],
                forwardedFor: nil, closes: false)
            let exchange = HTTPExchange(source: [127, 0, 0, 1], head: head, budget: room)
            let piece = ByteBuffer(repeating: 1, count: 16 << 10)
            while exchange.byteCount < byteCount { try #require(exchange.append(piece)) }
            return exchange
        }

        private static func anyHash() throws -> Hash256 {
            try #require(Hash256(try randomBytes(Hash256.byteCount)))
        }

        /// The resident memory, after the allocator gave back what is free.
        private static func residentByteCount() throws -> Int {
            typealias Trim = @convention(c) (Int) -> Int32
            if let symbol = dlsym(nil, "malloc_trim") { _ = unsafeBitCast(symbol, to: Trim.self)(0) }
            let fields = try String(contentsOfFile: "/proc/self/statm", encoding: .utf8).split(separator: " ")
            return try #require(Int(fields[1])) * 4_096
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorTesting

    @testable import TresorService

    /// Owners who act at the same time, four of them on each tresor, and who note what was acknowledged.
    ///
    /// Each repeats an act until it is acknowledged, as a person would.
    struct Crowd: Sendable {
        /// The number of people.
        static let count = 32
        private static let ownersOfTresor = 4

        /// The work of one owner: a guest is let in, the key changes, the guest is put out.
        struct Owner: Sendable {
            let session: Session
            let tresor: TresorID
            /// The people whom this owner alone lets in and puts out.
            let guests: [CardChain]
        }

        /// The deeds of one owner, in order.
        struct Record: Sendable {
            enum Deed: Hashable, Sendable {
                case share(UserID)
                case revoke(UserID)
            }

            let user: UserID
            let tresor: TresorID
            /// The acts that were acknowledged, without changes of the key.
            var deeds: [Deed] = []
            /// The changes of the key that were acknowledged, and those of which nobody knows.
            var rotations = 0
            var unknownRotations = 0
            /// The ends of the log that this person has seen.
            var heads: Set<Head> = []
            var failures = 0
        }

        let owners: [Owner]
        /// The number of entries with which each log began.
        let firstCounts: [TresorID: UInt64]

        static func people() throws -> [Identity] {
            try (0..<count).map { try Identity.make(handle: Name(typed: "person \($0)"), time: 1_777_730_400) }
        }

        /// Lets the people found tresors on a service of this machine.
        init(_ people: [Identity], at port: Int) async throws {
            let clock = SystemClock.read
            let sessions = try people.map { identity in
                let store = HTTPStore(
                    ServiceClient(
                        over: try SocketTransport(
                            to: ServiceAddress("http://127.0.0.1:\(port)"), authorities: Authorities(named: nil),
                            proxy: nil),
                        clock: clock
                    ) { pause in try await Task.sleep(for: min(pause, .milliseconds(150))) })
                return try Newcomer.session(of: identity, on: store, clock: clock)
            }
            var owners: [Owner] = []
            var counts: [TresorID: UInt64] = [:]
            for start in stride(from: 0, to: Self.count, by: Self.ownersOfTresor) {
                let group = Array(sessions[start..<start + Self.ownersOfTresor])
                for one in group {
                    for other in people where other.user != one.user {
                        try one.client.people.pinBlocking(other.chain)
                    }
                }
                let tresor = try await group[0].tresors.create(Name(typed: "plans")).tresor
                let others = group.dropFirst().map(\.chain)
                let state = try await group[0].tresors.perform(
                    .share(with: others, role: .owner, fromNow: false, notAfter: nil), on: tresor
                ).state
                counts[tresor] = state.head.sequence + 1
                let strangers = people.filter { person in !group.contains { $0.user == person.user } }
                let guestCount = strangers.count / group.count
                for (index, session) in group.enumerated() {
                    owners.append(
                        Owner(
                            session: session, tresor: tresor,
                            guests: strangers[(index * guestCount)..<((index + 1) * guestCount)].map(\.chain)))
                }
            }
            self.owners = owners
            firstCounts = counts
        }

        /// Has everybody act until `isOver`, and finish their act.
        func act(until isOver: Flag) async throws -> [Record] {
            try await withThrowingTaskGroup(of: Record.self) { group in
                for owner in owners { group.addTask { try await owner.act(until: isOver) } }
                var records: [Record] = []
                do {
                    for try await record in group { records.append(record) }
                } catch {
                    isOver.raise()
                    throw error
                }
                return records
            }
        }
    }

    extension Crowd.Owner {
        func act(until isOver: Flag) async throws -> Crowd.Record {
            var record = Crowd.Record(user: session.user, tresor: tresor)
            var number = 0
            while !isOver.isRaised {
                let guest = guests[number / 3 % guests.count]
                switch number % 3 {
                case 0:
                    try await perform(
                        .share(with: [guest], role: .reader, fromNow: false, notAfter: nil), &record, isOver)
                    record.deeds.append(.share(guest.user))
                case 1:
                    record.unknownRotations += try await perform(.rotate, &record, isOver)
                    record.rotations += 1
                default:
                    try await perform(.revoke([guest.user]), &record, isOver)
                    record.deeds.append(.revoke(guest.user))
                }
                number += 1
            }
            return record
        }

        /// Repeats an act until it is acknowledged.
        ///
        /// - Returns: how often it failed.
        @discardableResult private func perform(
            _ act: Act, _ record: inout Crowd.Record, _ isOver: Flag
        ) async throws -> Int {
            var failures = 0
            var end: ContinuousClock.Instant?
            while true {
                do throws(TresorError) {
                    record.heads.insert(try await session.tresors.perform(act, on: tresor).state.head)
                    record.failures += failures
                    return failures
                } catch {
                    guard Self.isOutage(error) else { throw error }
                }
                failures += 1
                if isOver.isRaised, end == nil { end = .now + .seconds(300) }
                if let end, end < .now { throw TresorError.store(.unreachable) }
                try await Task.sleep(for: .milliseconds(30))
            }
        }

        /// Whether an error says that the service was away, or that others came first. Any other is a broken promise:
        /// `forked` of a log that went back, `notStored` of an entry that was acknowledged.
        private static func isOutage(_ error: TresorError) -> Bool {
            switch error {
            case .busy, .store(.unreachable), .store(.other), .failed(.notNoted): true
            default: false
            }
        }
    }

    extension Crowd {
        /// Compares the logs with what was acknowledged.
        func judge(_ records: [Record], in engine: any SQLEngine) async throws {
            for (tresor, first) in firstCounts {
                let rows = try await engine.read(
                    SQL("SELECT entry FROM entries WHERE tresor = $1 ORDER BY sequence", [.digest(tresor.digest)]))
                let entries = try rows.map { try Entry($0.bytes(0)) }
                #expect(entries.enumerated().allSatisfy { UInt64($0.offset) == $0.element.sequence })
                for record in records where record.tresor == tresor {
                    let own = entries.dropFirst(Int(first)).filter { $0.author == record.user }
                    var deeds: [Record.Deed] = []
                    var rotations = 0
                    for entry in own {
                        switch try entry.body {
                        case .grant(let body): deeds += body.people.map { .share($0.user) }
                        case .remove(let body): deeds += body.users.map { .revoke($0) }
                        case .epoch: rotations += 1
                        default: Issue.record("an entry that nobody wrote")
                        }
                    }
                    #expect(deeds == record.deeds)
                    #expect(rotations >= record.rotations)
                    #expect(rotations <= record.rotations + record.unknownRotations)
                    for head in record.heads {
                        #expect(head.sequence < entries.count)
                        guard head.sequence < entries.count else { continue }
                        #expect(try entries[Int(head.sequence)].hash() == head.hash)
                    }
                }
            }
        }
    }

    /// A flag that one task raises for others.
    final class Flag: Sendable {
        private let state = Atomic(false)

        var isRaised: Bool { state.load(ordering: .relaxed) }
        func raise() { state.store(true, ordering: .relaxed) }
    }

    /// The clock of this machine.
    enum SystemClock {
        static let read: @Sendable () -> UInt64 = { UInt64(max(0, time(nil))) }
    }
#endif

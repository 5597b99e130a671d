// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor
@testable import TresorCore

/// Random histories of people who wait, with real keys: with everything that a store ever had, each person opens exactly
/// the epochs that they were a member for, also one who was removed or waits again, and no approver opens any (SPEC
/// §9.11). Eight seeds, or as many as `TRESOR_HISTORIES` says.
@Suite struct ApprovalHistoryTests {
    private static let batchCount = 4

    @Test(arguments: 0..<batchCount) func nobodyReadsBeforeTheApprovalAndEveryoneAfterIt(batch: Int) async throws {
        let seeds = seeds("TRESOR_HISTORIES", else: 8, batch: batch, of: Self.batchCount)
        var events: Set<Event> = []
        for seed in seeds {
            var dice = Dice(seed: seed)
            var history = try await WaitingHistory("seed \(seed)")
            for _ in 0..<Int.random(in: 8...16, using: &dice) { try await history.step(using: &dice) }
            try await history.judge()
            events.formUnion(history.events)
        }
        #expect(seeds.count < 100 || events == Set(Event.allCases))
    }
}

/// The events of a history. One that never happens shows nothing.
private enum Event: CaseIterable {
    case asked, askedFromNow, approved, approvedInALaterEpoch, refused, removed, left
    /// A member is one no longer; somebody who was one waits again; and that in the epoch in which they left.
    case memberGone, askedAgain, askedAgainAtOnce
    /// While somebody waits.
    case rotated, replaced, waitingRenewed, approverRenewed

    /// The fate of people who wait, between two states.
    static func all(between before: LogState, and after: LogState) -> Set<Event> {
        var events: Set<Event> = []
        for (user, person) in after.waiting where before.waiting[user] == nil {
            events.insert(person.history == .all ? .asked : .askedFromNow)
        }
        func isRenewed(_ user: UserID) -> Bool { before.chain(of: user) != after.chain(of: user) }
        for (user, person) in before.waiting {
            if after.members[user] != nil {
                events.insert(before.epoch(at: person.since) < before.epoch ? .approvedInALaterEpoch : .approved)
            } else if isRenewed(user) {
                events.insert(.waitingRenewed)
            }
            switch after.departure(of: user)?.change {
            case .refused: events.insert(.refused)
            case .removed: events.insert(.removed)
            case .left: events.insert(.left)
            default: break
            }
        }
        if before.members.keys.contains(where: { after.members[$0] == nil }) { events.insert(.memberGone) }
        guard !before.waiting.isEmpty else { return events }
        if before.epoch < after.epoch { events.insert(.rotated) }
        if before.approvers != after.approvers {
            events.insert(.replaced)
        } else if before.approvers.contains(where: isRenewed) {
            events.insert(.approverRenewed)
        }
        return events
    }
}

/// One tresor with approvers, doctors who come and go, and files of each epoch.
private struct WaitingHistory {
    private let evil = EvilStore()
    private let world: World
    private let seed: Comment
    private let tresor: TresorID
    private var anna: Session
    private var doctors: [Session] = []
    private var clinics: [Session] = []
    /// Those whom these people were before they had new keys.
    private var earlier: [Identity] = []
    /// Files of some epochs: sealing would change each key at once that has to change.
    private var files: [SealedFile] = []
    /// The people who were ever members.
    private var admitted: Set<UserID> = []
    private(set) var events: Set<Event> = []

    init(_ seed: Comment) async throws {
        self.seed = seed
        world = World(store: evil)
        anna = try await world.quick("anna")
        for index in 0..<3 { doctors.append(try await world.quick("doctor-\(index)")) }
        for index in 0..<2 { clinics.append(try await world.quick("clinic-\(index)")) }
        for person in doctors + clinics { try world.introduce(anna, person) }
        tresor = try await anna.tresors.create(Name(typed: "plans"), approvers: [clinics[0].chain]).tresor
        try await seal()
    }

    private func state() async throws -> LogState { try await anna.client.logs.state(of: tresor) }

    private mutating func seal() async throws { files.append(try await anna.seal("file \(files.count)", in: tresor)) }

    mutating func step(using dice: inout Dice) async throws {
        world.clock.advance(by: 60)
        let state = try await state()
        let doctor = doctors[Int.random(in: doctors.indices, using: &dice)]
        switch Int.random(in: 0..<15, using: &dice) {
        case 0..<4 where !state.isIn(doctor.user):
            let fromNow = Bool.random(using: &dice)
            try await anna.share(tresor, with: [doctor], as: fromNow ? .reader : .writer, fromNow: fromNow)
        case 0..<7: try await decide(state, using: &dice)
        case 7: try await anna.tresors.perform(.rotate, on: tresor)
        case 8 where state.isIn(doctor.user): try await anna.tresors.perform(.revoke([doctor.user]), on: tresor)
        case 9 where state.isIn(doctor.user): try await doctor.tresors.perform(.leave, on: tresor)
        case 10: try await replaceApprovers(using: &dice)
        case 11: doctors = try await renewed(doctors, using: &dice)
        case 12: clinics = try await renewed(clinics, using: &dice)
        case 13 where state.members[doctor.user] != nil: try await askAgainAtOnce(doctor)
        default: break
        }
        if Bool.random(using: &dice) { try await seal() }
        let after = try await self.state()
        events.formUnion(Event.all(between: state, and: after))
        if after.waiting.keys.contains(where: { state.waiting[$0] == nil && admitted.contains($0) }) {
            events.insert(.askedAgain)
        }
        admitted.formUnion(after.members.keys)
        if Int.random(in: 0..<4, using: &dice) == 0 { try await judge() }
    }

    /// A member leaves, and is asked again before anything else happens, for the whole history.
    private mutating func askAgainAtOnce(_ doctor: Session) async throws {
        try await doctor.tresors.perform(.leave, on: tresor)
        let left = try await state()
        try await anna.share(tresor, with: [doctor], as: .writer)
        let after = try await state()
        guard after.waiting[doctor.user] != nil else { return }
        events.insert(.askedAgainAtOnce)
        #expect(left.isRekeyPending && left.epoch < after.epoch, seed)
    }

    /// An approver decides about one grant.
    private func decide(_ state: LogState, using dice: inout Dice) async throws {
        guard let pending = PendingGrant.all(in: state).randomElement(using: &dice),
            let approver = clinics.first(where: { state.approvers.contains($0.user) })
        else { return }
        let refuses = Int.random(in: 0..<5, using: &dice) == 0
        try await Decisions(session: approver).decide([refuses ? .refuse(pending) : .approve(pending)], on: tresor)
    }

    private func replaceApprovers(using dice: inout Dice) async throws {
        let chosen = clinics.filter { _ in Bool.random(using: &dice) }.map(\.chain)
        try await anna.tresors.perform(.setApprovers(chosen), on: tresor)
        try await anna.tresors.perform(.rotate, on: tresor)
    }

    /// New keys for one of these people, which the owner compares again.
    private mutating func renewed(_ people: [Session], using dice: inout Dice) async throws -> [Session] {
        var people = people
        let index = Int.random(in: people.indices, using: &dice)
        let person = people[index]
        let (next, sealed) = try person.identity.renewCard(time: world.clock.now)
        let file = try person.client.identityFileBlocking()
        let home = try #require(person.client.home as? MemoryHome)
        earlier.append(person.identity)
        people[index] = try await world.settle(next, previous: [sealed] + file.previous, home: home)
        for renewal in try await people[index].renewal.finishInEachTresor() { #expect(renewal.error == nil, seed) }
        try anna.client.people.pinBlocking(next.chain)
        return people
    }

    func judge() async throws {
        let state = try await state()
        let entries = try await log(tresor, in: evil.truth)
        let wraps = evil.everyWrap.map(\.bytes)
        let told = try retold(entries)
        for doctor in doctors {
            try await judge(doctor, state)
            let found = try Plunder(of: identities(of: [doctor]), wraps: wraps, log: entries)
            let (epochs, withHistory) = entitled(doctor.user, by: told)
            #expect(Set(found.keys.keys) == epochs, seed)
            #expect(Set(found.keys.filter { $0.value.contains(where: \.opensHistory) }.keys) == withHistory, seed)
            for file in files { #expect(found.opens(file) == epochs.contains(file.header.epoch), seed) }
        }
        let found = try Plunder(of: identities(of: clinics), wraps: wraps, log: entries)
        #expect(found.keys.isEmpty && !files.contains { found.opens($0) }, seed)
    }

    /// The epochs whose keys the naive model ever gave a person, and those that it gave with their history.
    private func entitled(
        _ user: UserID, by told: Retelling
    ) -> (epochs: Set<UInt64>, withHistory: Set<UInt64>) {
        var (epochs, withHistory): (Set<UInt64>, Set<UInt64>) = ([], [])
        guard let number = told.people.firstIndex(of: user) else { return (epochs, withHistory) }
        for model in told.models {
            guard let person = model.people[number] else { continue }
            let given = UInt64(person.from ?? 1)...UInt64(model.epoch)
            epochs.formUnion(given)
            if person.from == nil { withHistory.formUnion(given) }
        }
        return (epochs, withHistory)
    }

    /// All that these people have and had.
    private func identities(of people: [Session]) -> [Identity] {
        people.map(\.identity) + earlier.filter { identity in people.contains { $0.user == identity.user } }
    }

    private func judge(_ doctor: Session, _ state: LogState) async throws {
        let session = world.session(of: doctor)
        for file in files {
            let opened = await failure { _ = try await session.files.open(file) }
            let expected: TresorError? =
                if let member = state.members[doctor.user] {
                    file.header.epoch >= member.history.firstEpoch ? nil : .noAccess
                } else {
                    state.waiting[doctor.user] == nil ? .noAccess : .waiting
                }
            #expect(opened == expected, seed)
        }
    }

    /// The log as the naive model tells it, which agrees with fold about each entry.
    private func retold(_ entries: Log) throws -> Retelling {
        let people = ([anna] + doctors + clinics).map(\.user).sorted()
        var told = try Retelling(genesis: entries[0], people: people)
        for entry in entries.dropFirst() { try told.tell(Entry(entry)) }
        try told.review()
        #expect(told.disputes.isEmpty, seed)
        return told
    }

    private typealias Log = [[UInt8]]
}

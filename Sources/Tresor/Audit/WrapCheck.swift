// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto

/// Compares the wraps that a store shows with those that the log calls for. Only the receiver of a wrap can judge its
/// content.
struct WrapCheck: Sendable {
    let client: Client

    private var store: any Store { client.store }

    /// The most cards of a store that are searched for people who have a wrap without being members.
    private static let strangerCount = 1024
    /// The number of people whose wraps are read at once.
    private static let groupCount = 256

    func findings(in state: LogState) async throws(TresorError) -> [Finding] {
        var people = Set(state.everybody)
        // Pins that do not decode are a finding of their own.
        if let pinned = try? client.people.pinnedBlocking() { people.formUnion(pinned.map(\.chain.user)) }
        people.formUnion(try await store.users(prefix: [], limit: Self.strangerCount))
        // An identity file that does not decode is one too.
        if let mine = (try? client.people.ownChain())?.user { people.insert(mine) }
        // A service shows wraps to members alone.
        if client.isRemote, client.identity.map({ state.members[$0.user] == nil }) ?? true { return [] }
        var findings: [Finding] = []
        var reached = 0
        for (user, stored) in try await wraps(of: people.sorted(), in: state.tresor) {
            if state.isIn(user), stored.contains(where: { Self.fits($0, user, state.epoch, in: state) }) {
                reached += 1
            }
            findings += Self.remarks(on: stored, of: user, in: state).map {
                Finding(subject: .member(user, of: state.tresor), remark: $0)
            }
        }
        let count = state.members.count + state.waiting.count
        if reached < count, let author = await author(of: state.epoch, in: state) {
            let remark = Finding.Remark.withheldEpoch(
                state.epoch, by: author, reaching: reached, of: count)
            findings.append(Finding(subject: .tresor(state.tresor), remark: remark))
        }
        return findings
    }

    /// Reads the wraps of many people, a group at a time.
    private func wraps(
        of people: [UserID], in tresor: TresorID
    ) async throws(TresorError) -> [(user: UserID, wraps: [[UInt8]])] {
        var found: [(user: UserID, wraps: [[UInt8]])] = []
        for start in stride(from: 0, to: people.count, by: Self.groupCount) {
            try Cancellation.check()
            let group = Array(people[start..<min(start + Self.groupCount, people.count)])
            let wraps = try await store.wraps(of: group, in: tresor, epoch: nil)
            guard wraps.count == group.count else { throw .store(.other) }
            found += zip(group, wraps).map { (user: $0, wraps: $1) }
        }
        return found
    }

    /// Returns the author of an epoch, if it is another person. Also returns `nil` where the store has lost the entry,
    /// and where the identity file does not tell who this person is. Both are findings of their own.
    private func author(of epoch: UInt64, in state: LogState) async -> UserID? {
        guard epoch >= 1, epoch <= state.epoch else { return nil }
        let sequence = state.epochs[Int(epoch - 1)].sequence
        guard let entry = try? await client.logs.entries(sequence..<(sequence + 1), of: state).first,
            let author = try? Entry(entry).author
        else { return nil }
        do throws(TresorError) {
            return author == (try client.people.ownChain()?.user) ? nil : author
        } catch {
            return nil
        }
    }

    /// Whether these bytes are a wrap as the log calls for it.
    private static func fits(_ bytes: [UInt8], _ user: UserID, _ epoch: UInt64, in state: LogState) -> Bool {
        guard let wrap = try? UnverifiedWrap(bytes) else { return false }
        return wrap.user == user && wrap.epoch == epoch && wrap.firstEntry(in: state) != nil
    }

    private static func remarks(on stored: [[UInt8]], of user: UserID, in state: LogState) -> [Finding.Remark] {
        guard state.needsWraps(user), let chain = state.chain(of: user) else {
            return stored.isEmpty ? [] : [.surplusWrap]
        }
        let history = (state.members[user] ?? state.waiting[user])?.history
        let needed = history?.epochsToRelease(at: state.epoch) ?? state.approvalEpochs() ?? state.epoch...state.epoch
        let first = history?.firstEpoch ?? 1
        let wraps = stored.compactMap { try? UnverifiedWrap($0) }.filter { wrap in
            wrap.tresor == state.tresor && wrap.user == user && chain.card(generation: wrap.generation) != nil
                && wrap.isOfKind(of: user, in: state)
        }
        let epochs = Set(wraps.map(\.epoch))
        var remarks: [Finding.Remark] = []
        if wraps.count < stored.count { remarks.append(.failed(.altered)) }
        if !needed.allSatisfy(epochs.contains) { remarks.append(.missingWrap) }
        let counts = Dictionary(grouping: wraps, by: \.epoch).values.map(\.count)
        if counts.contains(where: { $0 > Wrap.maximumCount })
            || epochs.contains(where: { !(first...state.epoch).contains($0) })
        {
            remarks.append(.surplusWrap)
        }
        return remarks
    }
}

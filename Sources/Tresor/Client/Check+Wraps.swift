// SPDX-License-Identifier: Apache-2.0

/// The wraps that a store shows, against those that the log calls for. What is inside a wrap is judged by whoever it is for.
extension Client {
    /// The most cards of a store that are looked through for people who have a wrap without being in.
    private static let strangerCount = 1024

    func checkWraps(in state: State) async throws(TresorError) -> [Finding] {
        var people = Set(state.everybody)
        // Pins that do not read are named by themselves.
        if let pinned = try? pinnedPeople() { people.formUnion(pinned.map(\.chain.user)) }
        people.formUnion(try await store.users(prefix: [], limit: Self.strangerCount))
        if let mine = try? identityFile().chain.user { people.insert(mine) }
        var findings: [Finding] = []
        for user in people.sorted() {
            let stored = try await store.wraps(of: user, in: state.tresor, epoch: nil)
            findings += Self.remarks(on: stored, of: user, in: state).map {
                Finding(subject: .member(user, of: state.tresor), remark: $0)
            }
        }
        return findings
    }

    private static func remarks(on stored: [[UInt8]], of user: UserID, in state: State) -> [Finding.Remark] {
        guard let member = state.members[user], let chain = state.chain(of: user) else {
            return stored.isEmpty ? [] : [.surplusWrap]
        }
        let (first, needed) =
            switch member.history {
            case .all: (UInt64(1), state.epoch...state.epoch)
            case .from(let epoch): (epoch, epoch...state.epoch)
            }
        let wraps = stored.compactMap { try? Wrap($0) }.filter { wrap in
            wrap.tresor == state.tresor && wrap.user == user && chain.card(generation: wrap.generation) != nil
                && wrap.opensHistory == (member.history == .all)
        }
        let epochs = Set(wraps.map(\.epoch))
        var remarks: [Finding.Remark] = []
        if wraps.count < stored.count { remarks.append(.failed(.altered)) }
        if !Defence.neededWraps.holds(needed.allSatisfy(epochs.contains)) { remarks.append(.missingWrap) }
        if epochs.count < wraps.count || epochs.contains(where: { !(first...state.epoch).contains($0) }) {
            remarks.append(.surplusWrap)
        }
        return remarks
    }
}

// SPDX-License-Identifier: Apache-2.0

/// The log once more, as simply as possible: people are numbers, 0 is the founder, and everything is computed from plain lists.
struct NaiveLog {
    enum Deed {
        case grant([Int], String, end: Int?, fromNow: Bool)
        case remove([Int])
        case leave
        case renew
        case epoch(ahead: Int)
        case role(Int, String, end: Int?)
        case rename

        var isLeave: Bool { if case .leave = self { true } else { false } }
    }

    struct Person: Equatable {
        var role: String
        var full: Bool
        var end: Int?
    }

    var people = [0: Person(role: "owner", full: true, end: nil)]
    /// Who ever was in, and the newest generation the log knows of them.
    var generations = [0: 0]
    var epoch = 1
    var mustRotate = false

    /// Whether somebody else owns it for good.
    private func staysOwned(without user: Int) -> Bool {
        people.contains { $0.key != user && $0.value.role == "owner" && $0.value.end == nil }
    }

    /// What becomes of a deed: `nil` when it is done, else the name of the error.
    ///
    /// - Parameters:
    ///   - generation: what the author signs with.
    ///   - cards: the newest generation that each granted person shows.
    mutating func apply(_ deed: Deed, by author: Int, generation: Int, time: Int, cards: [Int: Int]) -> String? {
        guard let known = generations[author], generation <= known, let me = people[author], generation == known,
            isAllowed(deed, me)
        else { return "no_access" }
        if let end = me.end, time > end, !deed.isLeave { return "no_access" }
        switch deed {
        case .grant(let users, let role, let end, let fromNow):
            if users.isEmpty || users != users.sorted() || Set(users).count != users.count { return "altered" }
            if users.contains(where: { people[$0] != nil }) { return "altered" }
            if users.contains(where: { (generations[$0] ?? 0) > (cards[$0] ?? 0) }) { return "altered" }
            if role == "owner" && fromNow { return "altered" }
            if users.contains(0) && (role != "owner" || end != nil) { return "altered" }
            for user in users {
                people[user] = Person(role: role, full: !fromNow, end: end)
                generations[user] = cards[user]
            }
            if fromNow { turn() }
        case .remove(let users):
            if users.isEmpty || users != users.sorted() || Set(users).count != users.count { return "altered" }
            if users.contains(where: { people[$0] == nil || $0 == 0 || $0 == author }) { return "altered" }
            for user in users { people[user] = nil }
            turn()
        case .leave:
            if me.role == "owner" && !staysOwned(without: author) { return "altered" }
            people[author] = nil
            mustRotate = true
        case .renew:
            generations[author] = known + 1
            mustRotate = true
        case .epoch(let ahead):
            if ahead != 1 { return "altered" }
            turn()
        case .role(let user, let role, let end):
            guard let present = people[user], user != 0 else { return "altered" }
            if present.role == role && present.end == end { return "altered" }
            if role == "owner" && !present.full { return "altered" }
            if (role != "owner" || end != nil) && !staysOwned(without: user) { return "altered" }
            people[user] = Person(role: role, full: present.full, end: end)
        case .rename: break
        }
        return nil
    }

    private mutating func turn() {
        epoch += 1
        mustRotate = false
    }

    private func isAllowed(_ deed: Deed, _ me: Person) -> Bool {
        switch deed {
        case .leave, .renew: return true
        case .epoch: return me.role == "owner" || (me.role == "writer" && mustRotate && me.full)
        default: return me.role == "owner"
        }
    }
}

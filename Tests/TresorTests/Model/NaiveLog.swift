// SPDX-License-Identifier: Apache-2.0

/// The log once more, as simply as possible: people are numbers, and everything is computed from plain lists.
struct NaiveLog {
    enum Deed: Equatable {
        /// With the number of the epoch that begins, for those who read from now on.
        case grant([Int], String, end: Int?, epoch: Int?)
        /// The number of the grant's entry, if there is one; how many keys each person gets.
        case approve(Int?, epoch: Int, [Int], keys: [Int], generations: [Int])
        case refuse(Int?)
        case approvers([Int])
        case remove([Int], epoch: Int)
        case leave
        /// Whose card, and to which generation; nobody's for a card of generation 0, which names none.
        case renew(Int?, Int)
        case epoch(Int)
        case role(Int, String, end: Int?)
        case rename
        /// With the epoch and the sizes of the blobs that it names.
        case commit(epoch: Int, sizes: [Int])
        case checkpoint(upto: Int, epoch: Int, sizes: [Int])
        /// Another body from 128 on, whatever is in it.
        case additive(Int)

        var name: String { String("\(self)".prefix { $0 != "(" }) }
    }

    /// An entry, but for its place.
    struct Line: Equatable {
        let author: Int
        /// The signing generation of the author.
        let generation: Int
        let time: Int
        /// The newest generation that each granted person, and each approver, shows.
        let cards: [Int: Int]
        let deed: Deed
    }

    struct Person: Equatable {
        var role: String
        /// The first epoch they may read, if it is not all.
        var from: Int?
        var end: Int?
        /// The sequence number of the entry that added them, and its author.
        var since: Int
        var by: Int
        /// The entry of the grant, and who approved it.
        var grant: Int
        var approver: Int?
    }

    /// A line that was done.
    struct Written: Equatable {
        /// No other entry's.
        let name: Int
        let author: Int
        let time: Int
    }

    let founder: Int
    private(set) var people: [Int: Person]
    /// Those whom a grant names and nobody approved.
    private(set) var waiting: [Int: Person] = [:]
    private(set) var approvers: [Int] = []
    /// All present and former members, and the newest generation of each in the log.
    private(set) var generations: [Int: Int]
    private(set) var epoch = 1
    private(set) var mustRotate = false
    /// The entry that carries the newest name, and the epoch under which that is sealed.
    private(set) var named = (entry: 0, epoch: 1)
    private(set) var written: [Written]
    /// The time of the newest line by an owner without an end.
    private(set) var ownerTime: Int
    /// The signing generation of the founder's newest line.
    private(set) var founderGeneration: Int
    /// The line up to which the newest checkpoint stands for packs, and the checkpoint; none at first.
    private(set) var floor = (upto: 0, entry: 0)
    /// Whether the newest line was accepted and has no effect.
    private(set) var isVoid = false

    /// - Parameter approvers: the generation of each approver.
    init(founder: Int, generation: Int, time: Int, name: Int, approvers: [Int: Int] = [:]) {
        self.founder = founder
        people = [founder: Person(role: "owner", from: nil, end: nil, since: 0, by: founder, grant: 0)]
        generations = approvers.merging([founder: generation]) { $1 }
        self.approvers = approvers.keys.sorted()
        written = [Written(name: name, author: founder, time: time)]
        ownerTime = time
        founderGeneration = generation
    }

    /// The outcome of a line that its author wrote after the entry named `previous`: `nil` if it is accepted, otherwise
    /// the name of the error.
    mutating func apply(_ line: Line, name: Int, after previous: Int) -> String? {
        guard written.last?.name == previous else { return "altered" }
        guard generations[line.author] == line.generation, isAllowed(line, people[line.author]) else {
            return "no_access"
        }
        let end = (people[line.author] ?? waiting[line.author])?.end
        if let end, line.time > end, line.deed != .leave { return "no_access" }
        guard isSound(line) else { return "altered" }
        if people[line.author]?.role == "owner", people[line.author]?.end == nil { ownerTime = line.time }
        if line.author == founder { founderGeneration = line.generation }
        enact(line, as: written.count)
        written.append(Written(name: name, author: line.author, time: line.time))
        return nil
    }

    /// - Parameter me: the author as a member who does not wait.
    private func isAllowed(_ line: Line, _ me: Person?) -> Bool {
        let isApprover = approvers.contains(line.author)
        let isKnown = me != nil || waiting[line.author] != nil
        return switch line.deed {
        case .approve, .refuse: isApprover
        case .leave: isKnown
        case .renew(let user, _): me?.role == "owner" || (user == line.author && (isKnown || isApprover))
        case .commit, .checkpoint, .additive: me != nil && me?.role != "reader"
        case .epoch: me?.role == "owner" || (me?.role == "writer" && mustRotate && me?.from == nil)
        default: me?.role == "owner"
        }
    }

    private func waiting(by grant: Int?) -> [Int] {
        waiting.filter { $0.value.grant == grant }.keys.sorted()
    }

    /// Whether another owner has no date.
    private func staysOwned(without users: [Int]) -> Bool {
        people.contains { !users.contains($0.key) && $0.value.role == "owner" && $0.value.end == nil }
    }

    private func isList(_ users: [Int]) -> Bool { !users.isEmpty && users == Set(users).sorted() }

    private func isSound(_ line: Line) -> Bool {
        switch line.deed {
        case .grant(let users, let role, let end, let next):
            let areStrangers = users.allSatisfy {
                people[$0] == nil && waiting[$0] == nil && !approvers.contains($0)
                    && generations[$0] ?? 0 <= line.cards[$0] ?? 0
            }
            let mayBeFounder = role == "owner" && end == nil
            return isList(users) && areStrangers && (role != "owner" || next == nil)
                && (mayBeFounder || !users.contains(founder)) && (next ?? epoch + 1) == epoch + 1
        case .remove(let users, let next):
            let mayGo = users.allSatisfy {
                (people[$0] != nil || waiting[$0] != nil) && $0 != founder && $0 != line.author
            }
            return isList(users) && mayGo && next == epoch + 1 && staysOwned(without: users)
        case .leave: return people[line.author]?.role != "owner" || staysOwned(without: [line.author])
        case .approve(let grant, let epoch, let users, let keys, let shown):
            let wanted = users.map { user in waiting[user].map { self.epoch - ($0.from ?? self.epoch) + 1 } }
            return !users.isEmpty && waiting(by: grant) == users && epoch == self.epoch && wanted == keys
                && users.map { generations[$0] } == shown
        case .refuse(let grant): return !waiting(by: grant).isEmpty
        case .approvers(let users):
            return users == Set(users).sorted()
                && users.allSatisfy {
                    people[$0] == nil && waiting[$0] == nil && generations[$0] ?? 0 <= line.cards[$0] ?? 0
                }
        case .renew(let user, let generation):
            return user.flatMap { generations[$0] }.map { generation == $0 + 1 } ?? false
        case .epoch(let next): return next == epoch + 1
        case .role(let user, let role, let end):
            guard let present = people[user], user != founder else { return false }
            let isOther = present.role != role || present.end != end
            let lasts = role == "owner" && end == nil
            return isOther && (role != "owner" || present.from == nil) && (lasts || staysOwned(without: [user]))
        case .rename, .commit, .checkpoint, .additive: return true
        }
    }

    /// Whether packs and attachments, or volumes, of these sizes may be named.
    private func areSized(_ sizes: [Int], atMost count: Int, isEachSmall: Bool) -> Bool {
        let small = isEachSmall ? sizes : Array(sizes.prefix(1))
        return !sizes.isEmpty && sizes.count <= count && sizes.allSatisfy { $0 >= 674 && $0 <= 1 << 40 }
            && small.allSatisfy { $0 <= 1_081_762 }
    }

    private func hasEffect(_ line: Line, as number: Int) -> Bool {
        switch line.deed {
        case .commit(let epoch, let sizes):
            return areSized(sizes, atMost: 1024, isEachSmall: false) && epoch == self.epoch && !mustRotate
        case .checkpoint(let upto, let epoch, let sizes):
            let all = Array(people.values) + waiting.values
            let newest = all.filter { $0.from != nil }.map(\.grant).min() ?? .max
            return people[line.author]?.role == "owner" && areSized(sizes, atMost: 10_000, isEachSmall: true)
                && epoch == self.epoch && !mustRotate && upto > floor.upto && upto < number && upto < newest
        case .additive(128), .additive(129): return false
        default: return true
        }
    }

    private mutating func enact(_ line: Line, as number: Int) {
        isVoid = !hasEffect(line, as: number)
        if isVoid { return }
        switch line.deed {
        case .grant(let users, let role, let end, let next):
            for user in users {
                let person = Person(
                    role: role, from: next, end: end, since: number, by: line.author, grant: number)
                if approvers.isEmpty { people[user] = person } else { waiting[user] = person }
                generations[user] = line.cards[user]
            }
            if next != nil {
                turn()
                named = (number, epoch)
            }
        case .remove(let users, _):
            for user in users { (people[user], waiting[user]) = (nil, nil) }
            turn()
        case .leave:
            (people[line.author], waiting[line.author]) = (nil, nil)
            mustRotate = true
        case .approve(let grant, _, _, _, _):
            for user in waiting(by: grant) {
                people[user] = waiting[user]
                waiting[user] = nil
                people[user]?.since = number
                people[user]?.approver = line.author
            }
        case .refuse(let grant):
            for user in waiting(by: grant) { waiting[user] = nil }
            mustRotate = true
        case .approvers(let users):
            approvers = users
            for user in users { generations[user] = line.cards[user] }
            mustRotate = true
        case .renew(let user, let generation):
            guard let user else { break }
            generations[user] = generation
            if people[user] != nil || waiting[user] != nil { mustRotate = true }
        case .epoch: turn()
        case .role(let user, let role, let end):
            people[user]?.role = role
            people[user]?.end = end
        case .rename: named = (number, epoch)
        case .checkpoint(let upto, _, _): floor = (upto, number)
        case .commit, .additive: break
        }
    }

    private mutating func turn() {
        epoch += 1
        mustRotate = false
    }
}

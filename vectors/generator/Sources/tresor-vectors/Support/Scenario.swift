// SPDX-License-Identifier: Apache-2.0

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// A history, step by step, with the view of each person after every step.
///
/// The views follow from the entries that the store shows and the highest head that each person has verified. The
/// author of the history gives the exceptions.
final class Scenario {
    let name: String
    let purpose: String
    let tresor: Bytes
    private(set) var steps: [JSONText] = []
    private(set) var negativeCount = 0
    private var people: [(name: String, person: Person)]
    private let pins: [String: [Person]]
    /// Older than the pins, and marked replaced.
    private let replaced: [String: [Person]]
    private var shown: [Bytes] = []
    /// The longest log shown so far.
    private var longest: [Bytes] = []
    private var wraps: Set<[Bytes]> = []
    private var verified: [String: (UInt64, Bytes)] = [:]
    private let draw: Draw

    /// The parts of a view that do not follow from the entries.
    struct Exception {
        var keys: String?
        var founder: String?
    }

    init(
        _ name: String, _ purpose: String, tresor: Bytes, people: [(String, Person)], pins: [String: [Person]]? = nil,
        replaced: [String: [Person]] = [:]
    ) {
        self.name = name
        self.purpose = purpose
        self.tresor = tresor
        self.people = people
        self.pins = pins ?? Dictionary(uniqueKeysWithValues: people.map { ($0.0, people.map(\.1)) })
        self.replaced = replaced
        draw = Draw(file: "scenario/\(name)", id: 0)
        start = people
    }

    private let start: [(name: String, person: Person)]

    private func identityFile(_ person: Person) -> Bytes {
        var writer = IdentityFileWriter(person, draw)
        writer.slots = [writer.kitSlot(draw("K", 32))]
        return writer.bytes
    }

    private func identity(_ name: String, _ person: Person) -> [(String, JSONText)] {
        [
            ("name", .string(name)), ("chain", .hex(person.chain)), ("S", .hex(person.newest.seed)),
            ("previous", .array(person.previous.map { .hex($0) })), ("identity file", .hex(identityFile(person))),
        ]
    }

    /// The store appends if its log ends as the entry expects.
    ///
    /// - Parameters:
    ///   - wraps: the wraps to make, for members.
    ///   - others: the wraps that are made already.
    func append(
        _ comment: String, _ entry: Bytes, wraps: [(Person, EpochSecret, history: Bool)] = [],
        others: [(Person, EpochSecret, Bytes)] = [], removing: [Person] = [], except: [String: Exception] = [:]
    ) {
        let previous = entry.at(50, 32)
        let fits = (shown.last.map { hash("tresor/v1/entry-hash", $0) } ?? zeros(32)) == previous
        var made = wraps.map { person, epoch, history in
            (
                person.user, epoch.number,
                Wrapping(
                    epoch, tresor: tresor, for: person, history: history,
                    eseed: draw("eseed \(steps.count) \(hexText(person.user)) \(epoch.number)", 64)
                ).bytes
            )
        }
        made += others.map { person, epoch, bytes in (person.user, epoch.number, bytes) }
        if fits {
            shown.append(entry)
            for person in removing { self.wraps = self.wraps.filter { $0[0] != person.user } }
            for wrap in made { self.wraps.insert([wrap.0, u64(wrap.1)]) }
        }
        add(
            "append", comment,
            [
                ("entry", .hex(entry)),
                (
                    "wraps",
                    .array(
                        made.map { .object([("user", .hex($0.0)), ("epoch", .hex(u64($0.1))), ("wrap", .hex($0.2))]) })
                ),
                ("removes", .array(removing.map { .hex($0.user) })),
                ("expect", .object([("outcome", .string(fits ? "done" : "conflict"))])),
            ], except: except, isNegative: !fits)
    }

    /// The store shows another log.
    func show(_ comment: String, _ entries: [Bytes], except: [String: Exception] = [:]) {
        shown = entries
        add("show", comment, [("log", .array(entries.map { .hex($0) }))], except: except)
    }

    /// Stores a wrap under the name of a person.
    func putWrap(_ comment: String, user: Person, epoch: UInt64, _ wrap: Bytes, except: [String: Exception] = [:]) {
        wraps.insert([user.user, u64(epoch)])
        add(
            "wrap", comment, [("user", .hex(user.user)), ("epoch", .hex(u64(epoch))), ("wrap", .hex(wrap))],
            except: except)
    }

    func deleteWrap(_ comment: String, user: Person, epoch: UInt64, except: [String: Exception] = [:]) {
        wraps.remove([user.user, u64(epoch)])
        add("wrap", comment, [("user", .hex(user.user)), ("epoch", .hex(u64(epoch)))], except: except)
    }

    /// A person opens a file.
    func open(
        _ comment: String, by name: String, _ file: FileSealing, content: Bytes? = nil, error: String? = nil,
        current: Bool = false,
        except: [String: Exception] = [:]
    ) {
        var expect: [(String, JSONText)] = []
        if let content { expect.append(("content hash", .hex(blake2b(32, content)))) }
        if let error { expect.append(("error", .string(error))) }
        add(
            "open", comment,
            [
                ("by", .string(name)), ("file", .hex(file.bytes)), ("current author", .bool(current)),
                ("expect", .object(expect)),
            ], except: except,
            isNegative: error != nil)
    }

    /// A person has new keys in their home.
    func renewIdentity(_ comment: String, _ name: String, _ person: Person, except: [String: Exception] = [:]) {
        people = people.map { $0.name == name ? (name, person) : $0 }
        add("identity", comment, identity(name, person), except: except)
    }

    /// A person compares a safety number.
    func pin(_ comment: String, by name: String, _ person: Person, except: [String: Exception] = [:]) {
        add("pin", comment, [("by", .string(name)), ("chain", .hex(person.chain))], except: except)
    }

    private func add(
        _ action: String, _ comment: String, _ members: [(String, JSONText)], except: [String: Exception] = [:],
        isNegative: Bool = false
    ) {
        var isNegative = isNegative
        let views = people.map { name, person -> (String, JSONText) in
            let view = view(name, person, except[name] ?? Exception())
            if view.contains(where: isRefused) { isNegative = true }
            return (name, .object(view))
        }
        if isNegative { negativeCount += 1 }
        if shown.count > longest.count { longest = shown }
        steps.append(
            .object(
                [
                    ("do", .string(action)), ("comment", .string(comment)),
                    ("flags", .array(flags(views, isNegative: isNegative).map { .string($0) })),
                ] + members + [("views", .object(views))]))
    }

    /// The fault that the views show: an older history than a verified one, or another one.
    private func flags(_ views: [(String, JSONText)], isNegative: Bool) -> [String] {
        let forked = JSONText.object([("error", .string("forked"))]).text()
        guard views.contains(where: { $0.1.text() == forked }) else { return isNegative ? [] : ["Normal"] }
        return longest.starts(with: shown) ? ["RolledBack"] : ["Forked"]
    }

    /// Whether something is refused other than keys to somebody who has no right to them.
    private func isRefused(_ member: (String, JSONText)) -> Bool {
        let usual = ["ok", "no_access"].map { JSONText.string($0).text() }
        return member.0 == "error" || member.0 == "keys" && !usual.contains(member.1.text())
    }

    private func view(_ name: String, _ person: Person, _ exception: Exception) -> [(String, JSONText)] {
        guard !shown.isEmpty || verified[name] != nil else { return [("error", .string("not_found"))] }
        var fold = Fold(tresor: TresorID(must(try required(Hash256(tresor)))))
        do throws(TresorError) {
            for entry in shown { try fold.apply(entry) }
        } catch {
            return [("error", .string(error.name))]
        }
        if let seen = verified[name] {
            let hashes = shown.map { hash("tresor/v1/entry-hash", $0) }
            guard Int(seen.0) < hashes.count, hashes[Int(seen.0)] == seen.1 else {
                return [("error", .string("forked"))]
            }
        }
        guard let state = fold.state else { return [("error", .string("not_found"))] }
        verified[name] = (state.head.sequence, state.head.hash.bytes)
        let user = UserID(must(try required(Hash256(person.user))))
        let member = state.members[user]
        let hasWrap = wraps.contains([person.user, u64(state.epoch)])
        let waits = state.waiting[user] != nil
        let keys = waits ? "waiting" : member == nil || !hasWrap ? "no_access" : exception.keys ?? "ok"
        let founder = state.founder.digest.bytes == person.user ? "me" : "verified"
        return [
            ("head", .hex(u64(state.head.sequence) + state.head.hash.bytes)), ("epoch", .hex(u64(state.epoch))),
            ("rekey pending", .bool(state.isRekeyPending)), ("role", .string(member?.role.description ?? "none")),
            ("members", .number(state.members.count)), ("keys", .string(keys)),
            ("founder", .string(exception.founder ?? founder)),
        ]
    }

    var json: JSONText {
        let list = start.map { name, person in
            let pinned = (pins[name] ?? []).filter { $0.user != person.user }
            let object = PinWriter.object(
                pinned.map { PinWriter($0) } + (replaced[name] ?? []).map { PinWriter($0, replaced: true) })
            return JSONText.object(identity(name, person) + [("pins", .hex(object))])
        }
        return .object([
            ("file", .string("scenario/\(name)")), ("version", .number(1)), ("spec", .string("9.8")),
            ("schema", .string("schema/scenario.schema.json")), ("numberOfTests", .number(steps.count)),
            ("purpose", .string(purpose)),
            ("tresor", .hex(tresor)), ("people", .array(list)), ("steps", .array(steps)),
        ])
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// A history of vectors/scenario, run with the library's own client.
final class ScenarioRun {
    private struct Player {
        let name: String
        let home: SelftestHome
        var identity: Identity
    }

    private let tresor: TresorID
    private let store: ScriptedStore
    private var players: [Player] = []
    private let steps: [VectorValue]

    init(_ bytes: [UInt8]) throws {
        guard let root = try? JSONReader.read(bytes), let members = root.members, let people = root["people"]?.list,
            let steps = root["steps"]?.list
        else { throw VectorProblem("not a scenario") }
        tresor = try VectorFields(members).tresor()
        store = ScriptedStore(tresor: tresor)
        self.steps = steps
        for person in people {
            let fields = VectorFields(person.members ?? [:])
            let home = SelftestHome([.identity: try fields.bytes("identity file"), .pins: try fields.bytes("pins")])
            let player = Player(name: person["name"]?.text ?? "", home: home, identity: try Self.identity(fields))
            // Only the founder's home made the tresor; to all others the mark means nothing.
            try Conformance.confirmMine(tresor, for: session(player))
            players.append(player)
        }
    }

    private static func identity(_ fields: VectorFields) throws -> Identity {
        try Conformance.identity(
            chain: fields.bytes("chain"), seed: fields.bytes("S"), previous: fields.list("previous"))
    }

    /// Returns for each step `nil` or the fault.
    func results() async -> [String?] {
        var results: [String?] = []
        for (index, step) in steps.enumerated() {
            do {
                try await play(step)
                try await look(step)
                results.append(nil)
            } catch let problem as VectorProblem {
                results.append("step \(index): \(problem.text)")
            } catch {
                results.append("step \(index) failed")
            }
        }
        return results
    }

    private func play(_ step: VectorValue) async throws {
        let fields = VectorFields(step.members ?? [:])
        switch step["do"]?.text {
        case "append": try await append(step, fields)
        case "show": await store.show(try fields.list("log"))
        case "wrap":
            await store.put(
                try fields.optional("wrap"), user: UserID(try fields.digest("user")), epoch: try fields.integer("epoch")
            )
        case "open": try await open(step, fields)
        case "identity":
            let index = try player(step["name"])
            players[index].identity = try Self.identity(fields)
            players[index].home.replace(.identity, with: try fields.bytes("identity file"))
        case "pin": try client(players[player(step["by"])]).people.pinBlocking(CardChain(fields.bytes("chain")))
        default: throw VectorProblem("an unknown step")
        }
    }

    private func player(_ name: VectorValue?) throws -> Int {
        guard let name = name?.text, let index = players.firstIndex(where: { $0.name == name }) else {
            throw VectorProblem("an unknown person")
        }
        return index
    }

    private func client(_ player: Player) -> Client {
        Client(home: player.home, store: store, clock: { 1_767_900_000 })
    }

    private func session(_ player: Player) -> Session {
        Conformance.session(client(player), identity: player.identity)
    }

    private func append(_ step: VectorValue, _ fields: VectorFields) async throws {
        let entry = try fields.bytes("entry")
        guard entry.count > 82, let previous = Hash256(entry[50..<82]) else {
            throw VectorProblem("an entry that is too short")
        }
        let sequence = entry[42..<50].reduce(UInt64(0)) { $0 << 8 | UInt64($1) }
        let wraps = try (step["wraps"]?.list ?? []).map { wrap in
            let fields = VectorFields(wrap.members ?? [:])
            return StoredWrap(
                user: UserID(try fields.digest("user")), epoch: try fields.integer("epoch"),
                bytes: try fields.bytes("wrap"))
        }
        let removing = try fields.list("removes").compactMap { Hash256($0).map { UserID($0) } }
        let outcome = try await store.append(
            entry, sequence: sequence, previous: previous, putting: wraps, removing: removing)
        guard (outcome == .done ? "done" : "conflict") == step["expect"]?["outcome"]?.text else {
            throw VectorProblem("another outcome")
        }
    }

    private func open(_ step: VectorValue, _ fields: VectorFields) async throws {
        let player = players[try player(step["by"])]
        let session = session(player)
        var expectations = Expectations.anyTresor
        expectations.currentAuthor = step["current author"] == .bool(true)
        let expected = step["expect"]
        do throws(TresorError) {
            let file: SealedFile
            do {
                file = try SealedFile(try fields.bytes("file"))
            } catch {
                throw (error as? TresorError) ?? .failed(.other)
            }
            let opened = try await session.files.open(file, expecting: expectations)
            var hash = try BLAKE2b(outputCount: 32)
            try hash.update(opened.content.span)
            let digest = Hex.text(try hash.finalize())
            guard digest == expected?["content hash"]?.text else { throw TresorError.failed(.other) }
        } catch {
            guard error.name == expected?["error"]?.text else { throw VectorProblem("opening ends with \(error.name)") }
            return
        }
        guard expected?["error"] == nil else { throw VectorProblem("the file was opened") }
    }

    private func look(_ step: VectorValue) async throws {
        guard let views = step["views"]?.members, views.count == players.count else {
            throw VectorProblem("views are missing")
        }
        for player in players {
            let found = await view(player)
            guard let expected = views[player.name]?.members else { throw VectorProblem("a view is missing") }
            for (name, value) in expected where found[name] != value {
                throw VectorProblem("\(player.name) sees another \(name)")
            }
            guard found.count == expected.count else { throw VectorProblem("\(player.name) sees something else") }
        }
    }

    private func view(_ player: Player) async -> [String: VectorValue] {
        let session = session(player)
        do throws(TresorError) {
            let state = try await session.client.logs.state(of: tresor)
            var keys = "ok"
            do throws(TresorError) {
                try await Conformance.checkKeys(of: state.epoch, in: state, for: session)
            } catch {
                keys = error.name
            }
            return [
                "head": .text(Hex.text(bigEndianBytes(state.head.sequence) + state.head.hash.bytes)),
                "epoch": .text(Hex.text(bigEndianBytes(state.epoch))), "rekey pending": .bool(state.isRekeyPending),
                "role": .text(state.members[player.identity.user]?.role.description ?? "none"),
                "members": .number(state.members.count), "keys": .text(keys),
                "founder": .text(Self.word(for: try session.client.trust.founderTrust(in: state))),
            ]
        } catch {
            return ["error": .text(error.name)]
        }
    }

    private static func word(for trust: Person.Trust) -> String {
        switch trust {
        case .me: "me"
        case .verified: "verified"
        case .renewed: "renewed"
        case .changed: "changed"
        case .unverified: "unverified"
        }
    }
}

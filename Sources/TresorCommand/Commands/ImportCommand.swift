// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct ImportCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "import", group: .tresors, abstract: "Bring what an exported tresor continues to your store.",
            usage: "tresor import [INPUT…]",
            discussion: """
                Judges the file like a store that may lie, then adds the entries, the wrapped keys, the cards and the \
                records that your store lacks. A file that is older than your store changes nothing. After an interruption, run it \
                again. A service takes a tresor that it does not have from its founder alone, and other entries from \
                their members; --store FILE takes them into a store of your own, which is made if it is missing.
                """,
            classes: [.local, .write], further: [.noAccess], examples: ["tresor import interventions.export"])
    }

    @Argument(help: ArgumentHelp("Files; standard input if none or -.", valueName: "INPUT"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let context = try await CommandContext.open(options, creating: options.store != nil)
        let own = context.invocation.ownFiles
        var outcomes = Outcomes()
        for path in inputs.isEmpty ? [nil] : inputs.map(Optional.some) {
            do {
                if let path { try context.invocation.refuseStore(path, own) }
                let input = try InputFile(path, standardInput: context.invocation.standardInput)
                try await take(input, context)
                outcomes.succeeded()
            } catch {
                guard inputs.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: context.output.report)
            }
        }
        try outcomes.finish()
    }

    private func take(_ input: InputFile, _ context: CommandContext) async throws {
        let export = try ExportFile.read(input)
        let arrival: Arrival
        do throws(TresorError) {
            arrival = try await Interrupts.atomically { () async throws(TresorError) in
                try await context.client.exchange.take(export)
            }
        } catch {
            throw await failure(error, export, input, context)
        }
        try await report(arrival, input, context)
    }

    private func failure(
        _ error: TresorError, _ export: TresorExport, _ input: InputFile, _ context: CommandContext
    ) async -> CommandFailure {
        let id = export.tresor.description.prefix(10)
        switch error {
        case .notFound:
            return CommandFailure(
                of: error,
                "the store does not take \(id) back, which was deleted from it; take it into another store",
                hints: ["tresor … {--store} --store FILE"], file: input.path)
        case .noAccess where context.service != nil && Surroundings.current.keys.refusal == nil:
            return CommandFailure(
                of: error,
                "the service does not take \(id) from you: a new tresor comes from its founder, a deleted one from nobody, "
                    + "and an entry from its author or a member of that time; take it into a store of your own",
                hints: ["tresor … {--store} --store FILE"], file: input.path)
        case .altered:
            return CommandFailure(
                of: error, "the log of \(id) in \(input.shownName), or the one in the store, is damaged or forged",
                file: input.path)
        case .forked:
            if let fork = await fork(export, input, context) { return fork }
            return CommandFailure(
                of: error,
                "\(input.shownName) shows an older or a different history of \(id) than the store, or than this home "
                    + "has verified", hints: ["tresor check"], file: input.path)
        case .unsupported: return CommandFailure(error, file: input.path)
        default: return CommandFailure(error)
        }
    }

    /// The failure for an export that goes on otherwise than the store's log: which entries stand against each other.
    /// `nil` where neither has entries that the other lacks.
    private func fork(
        _ export: TresorExport, _ input: InputFile, _ context: CommandContext
    ) async -> CommandFailure? {
        guard let (held, records) = try? await context.client.logs.records(of: export.tresor),
            let shown = try? Fold.state(of: export.entries, tresor: export.tresor)
        else { return nil }
        let common = zip(held.hashes, shown.hashes).prefix { $0 == $1 }.count
        let others = export.entries.dropFirst(common).compactMap { try? LogRecord(Entry($0)) }
        guard common < held.hashes.count, !others.isEmpty else { return nil }
        func words(_ records: some Collection<LogRecord>, _ state: LogState) -> String {
            let numbers = records.count == 1 ? "entry \(common)" : "entries \(common) to \(common + records.count - 1)"
            let authors = Set(records.map(\.author)).sorted().map { context.tresors.handle(of: $0, in: state) }
            return "\(numbers) by \(authors.joined(separator: ", "))"
        }
        let id = ShortID.text(of: export.tresor)
        return CommandFailure(
            .forked,
            "\(input.shownName) has another history of \(id) than this store: against \(words(records[common...], held)) "
                + "here, it has \(words(others, shown)); neither continues the other, and docs/TROUBLE.md has the way out",
            hints: ["tresor log -t \(id)", "tresor help exit-codes"], file: input.path)
    }

    private func report(_ arrival: Arrival, _ input: InputFile, _ context: CommandContext) async throws {
        let state = arrival.state
        let founder = state.founder
        let owner = context.tresors.handle(of: founder, in: state)
        let title = "\(state.tresor.description.prefix(10)) (made by \(owner))"
        if arrival.isNothing {
            context.output.say("nothing new for \(title) in \(input.shownName)")
        } else {
            let counts = [
                Self.count(arrival.entryCount, "entry", "entries"),
                Self.count(arrival.wrapCount, "wrapped key", "wrapped keys"),
                Self.count(arrival.cardCount, "card", "cards"),
            ]
            let packs = Self.count(arrival.blobCount, "sealed object of records", "sealed objects of records")
            context.output.say(
                arrival.blobCount == 0
                    ? "\(counts[0]), \(counts[1]) and \(counts[2]) for \(title)"
                    : "\(counts[0]), \(counts[1]), \(counts[2]) and \(packs) for \(title)")
        }
        try await reportTrust(in: state, context)
        if state.isRekeyPending, context.service == nil, let me = try context.client.people.ownChain()?.user,
            state.members[me]?.role == .owner
        {
            let id = ShortID.text(of: state.tresor)
            context.output.say(
                "a member left \(id) or has new keys: change its key, and send the others an export, before anybody writes"
            )
            context.output.hint("tresor rotate -t \(id)")
        }
        guard options.json else { return }
        var object: JSONObject = ["type": "imported"]
        if let path = input.path { object["input"] = .string(path) }
        object["tresor"] = .string(state.tresor.description)
        object["head"] = .unsigned(state.head.sequence)
        object["entries"] = .unsigned(UInt64(arrival.entryCount))
        object["cards"] = .unsigned(UInt64(arrival.cardCount))
        object["wraps"] = .unsigned(UInt64(arrival.wrapCount))
        object["packs"] = .unsigned(UInt64(arrival.blobCount))
        try context.output.object(object)
    }

    /// Says what a founder who is not verified needs before the tresor is believed.
    private func reportTrust(in state: LogState, _ context: CommandContext) async throws {
        let (founder, id) = (state.founder, ShortID.text(of: state.tresor))
        let trust = try context.client.trust.founderTrust(in: state)
        guard !trust.isVerified, let chain = state.chain(of: founder) else { return }
        let owner = context.tresors.handle(of: founder, in: state)
        if let failure = try context.verifier.outdated(state, title: id) {
            context.output.say(failure.message)
        } else if try context.client.people.ownChain()?.user == founder {
            // Of newer keys than this home has, every command tells.
            // So does every command of a tresor that this home has verified before.
            guard trust == .unverified, !context.tresors.isKnown(state.tresor) else { return }
            let command = HintCompletion.command("verify --mine \(id)")
            context.output.say("\(id) bears your old keys; confirm that you made it: \(command)")
        } else {
            let isNamesake = try context.client.people.pinnedBlocking().contains {
                !$0.isReplaced && $0.chain.handle == chain.handle && $0.chain.user != founder
            }
            let word = isNamesake ? ShortID.text(of: founder) : Shell.word(chain.handle, or: founder)
            // A store takes one card under a handle.
            let hasCard = try await context.client.store.card(of: founder) != nil
            let command = HintCompletion.command("verify \(word)\(hasCard ? "" : " --card FILE")")
            let who =
                isNamesake ? "\(owner), who made \(id), is another person than the one whom you verified, and" : owner
            let way = hasCard ? "compare safety numbers" : "ask for their card, and compare safety numbers"
            context.output.say("\(who) is not verified; \(way): \(command)")
        }
    }

    private static func count(_ count: Int, _ one: String, _ several: String) -> String {
        "\(count) \(count == 1 ? one : several)"
    }
}

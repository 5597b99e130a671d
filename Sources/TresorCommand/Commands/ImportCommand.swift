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
        let workplace = try await CommandContext.open(options, creating: options.store != nil)
        let own = workplace.invocation.ownFiles
        var outcomes = Outcomes()
        for path in inputs.isEmpty ? [nil] : inputs.map(Optional.some) {
            do {
                if let path { try workplace.invocation.refuseStore(path, own) }
                let input = try InputFile(path, standardInput: workplace.invocation.standardInput)
                try await take(input, workplace)
                outcomes.succeeded()
            } catch {
                guard inputs.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: workplace.output.report)
            }
        }
        try outcomes.finish()
    }

    private func take(_ input: InputFile, _ workplace: CommandContext) async throws {
        let export = try ExportFile.read(input)
        let arrival: Arrival
        do throws(TresorError) {
            arrival = try await Interrupts.atomically { () async throws(TresorError) in
                try await workplace.client.exchange.take(export)
            }
        } catch {
            throw failure(error, export, input, workplace)
        }
        try report(arrival, input, workplace)
    }

    private func failure(
        _ error: TresorError, _ export: TresorExport, _ input: InputFile, _ workplace: CommandContext
    ) -> CommandFailure {
        let id = export.tresor.description.prefix(10)
        switch error {
        case .notFound:
            return CommandFailure(
                of: error,
                "the store does not take \(id) back, which was deleted from it; take it into another store",
                hints: ["tresor … {--store} --store FILE"], file: input.path)
        case .noAccess where workplace.service != nil && Surroundings.current.keys.refusal == nil:
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
            return CommandFailure(
                of: error,
                "\(input.shownName) shows an older or a different history of \(id) than the store, or than this home "
                    + "has verified", hints: ["tresor check"], file: input.path)
        case .unsupported: return CommandFailure(error, file: input.path)
        default: return CommandFailure(error)
        }
    }

    private func report(_ arrival: Arrival, _ input: InputFile, _ workplace: CommandContext) throws {
        let state = arrival.state
        let founder = state.founder
        let owner = workplace.tresors.handle(of: founder, in: state)
        let title = "\(state.tresor.description.prefix(10)) (made by \(owner))"
        if arrival.isNothing {
            workplace.output.say("nothing new for \(title) in \(input.shownName)")
        } else {
            let counts = [
                Self.count(arrival.entryCount, "entry", "entries"),
                Self.count(arrival.wrapCount, "wrapped key", "wrapped keys"),
                Self.count(arrival.cardCount, "card", "cards"),
            ]
            let packs = Self.count(arrival.blobCount, "sealed object of records", "sealed objects of records")
            workplace.output.say(
                arrival.blobCount == 0
                    ? "\(counts[0]), \(counts[1]) and \(counts[2]) for \(title)"
                    : "\(counts[0]), \(counts[1]), \(counts[2]) and \(packs) for \(title)")
        }
        try reportTrust(in: state, workplace)
        guard options.json else { return }
        var object: JSONObject = ["type": "imported"]
        if let path = input.path { object["input"] = .string(path) }
        object["tresor"] = .string(state.tresor.description)
        object["head"] = .unsigned(state.head.sequence)
        object["entries"] = .unsigned(UInt64(arrival.entryCount))
        object["cards"] = .unsigned(UInt64(arrival.cardCount))
        object["wraps"] = .unsigned(UInt64(arrival.wrapCount))
        object["packs"] = .unsigned(UInt64(arrival.blobCount))
        try workplace.output.object(object)
    }

    /// Says what a founder who is not verified needs before the tresor is believed.
    private func reportTrust(in state: LogState, _ workplace: CommandContext) throws {
        let (founder, id) = (state.founder, ShortID.text(of: state.tresor))
        let trust = try workplace.client.trust.founderTrust(in: state)
        guard !trust.isVerified, let chain = state.chain(of: founder) else { return }
        let owner = workplace.tresors.handle(of: founder, in: state)
        if let failure = try workplace.verifier.outdated(state, title: id) {
            workplace.output.say(failure.message)
        } else if try workplace.client.people.ownChain()?.user == founder {
            // Of newer keys than this home has, every command tells.
            guard trust == .unverified else { return }
            let command = HintCompletion.command("verify --mine \(id)")
            workplace.output.say("\(id) bears your old keys; confirm that you made it: \(command)")
        } else {
            let word = Shell.word(chain.handle, or: founder)
            let command = HintCompletion.command("verify \(word)")
            workplace.output.say("\(owner) is not verified; compare safety numbers: \(command)")
        }
    }

    private static func count(_ count: Int, _ one: String, _ several: String) -> String {
        "\(count) \(count == 1 ? one : several)"
    }
}

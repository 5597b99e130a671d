// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Synchronization
import Tresor
import TresorCore
import TresorCrypto

struct ApproveCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "approve", group: .you,
            abstract: "Approve people who wait for you, or refuse them.",
            usage: """
                tresor approve
                tresor approve ID… [--refuse] [--yes]
                """,
            discussion: """
                Without ID, lists the people who wait for you: shares of tresors whose approver you are, and people who \
                ask for an account at a service that you operate. To approve a share lets these people open the tresor; \
                you cannot open it yourself, and do not see its name. Compare the safety numbers that are shown. To \
                admit somebody to a service says that they may use it. A refusal of an account frees its handle. \
                Somebody who has asked, and has not sent everything, can only be refused.
                """,
            classes: [.identity, .store, .write], further: [.noAccess],
            examples: ["tresor approve", "tresor approve k3m9xq", "tresor approve k3m9xq --refuse --yes"])
    }

    @Argument(help: ArgumentHelp("An id from the list, of at least 6 characters.", valueName: "ID"))
    var people: [String] = []

    @Flag(help: "Refuse them.")
    var refuse = false

    @OptionGroup var consent: ConsentOption
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !people.isEmpty || !refuse && !consent.yes else {
            throw CommandFailure.usage("name the people by their ids")
        }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "ask who waits")
        let waiting = try await Petition.all(session, context)
        guard !people.isEmpty else { return try list(waiting, context) }
        var chosen: [Petition] = []
        for text in people {
            let petition = try find(text, among: waiting)
            if !chosen.contains(where: { $0.hash == petition.hash }) { chosen.append(petition) }
        }
        if !consent.yes || !options.quiet {
            for line in try chosen.flatMap({ try $0.lines(context) }) { context.output.explain(line) }
        }
        try sayLookalikes(of: chosen, among: waiting, context)
        if !refuse { for petition in chosen { try petition.checkComplete() } }
        let object = chosen.count == 1 ? "this" : "these \(chosen.count)"
        try context.confirm("\(refuse ? "refuse" : "approve") \(object)?", yes: consent.yes)
        while let petition = chosen.first {
            let together = chosen.prefix { $0.tresor != nil && $0.tresor == petition.tresor }
            if let tresor = petition.tresor {
                try await decide(Array(together), of: tresor, session, context)
            } else {
                try await decide(petition, context)
            }
            chosen.removeFirst(max(together.count, 1))
        }
    }

    private func list(_ waiting: [Petition], _ context: CommandContext) throws {
        let output = context.output
        guard !options.json else {
            let people = try context.client.people.lookalikes(beside: waiting.flatMap(\.people))
            for petition in waiting {
                var object = try petition.object(state: petition.state, context)
                let alike = petition.applicant.map { people.others(like: $0.handle, of: $0.user) } ?? []
                if let disguise = petition.applicant.flatMap({ Skeleton.disguise(in: $0.handle) }) {
                    object["spelled_with"] = .string(disguise.code)
                }
                if !alike.isEmpty { object["looks_like"] = .array(alike.map { .text($0.handle.bytes) }) }
                try output.object(object)
            }
            return
        }
        var table = Table("ID", "KIND", "WHO", "ROLE", "HISTORY", "UNTIL", "OF", "SINCE")
        for petition in waiting { table.add(petition.cells) }
        try output.table(table)
        if waiting.isEmpty { output.say("nobody waits for you") }
        try sayLookalikes(of: waiting, among: waiting, context)
    }

    /// Names those who wait under a handle that is not spelled as it looks, or that looks like that of somebody whom this home
    /// knows, or of somebody else who waits.
    private func sayLookalikes(
        of petitions: [Petition], among waiting: [Petition], _ context: CommandContext
    ) throws {
        let people = try context.client.people.lookalikes(beside: waiting.flatMap(\.people))
        var said: Set<UserID> = []
        for chain in petitions.flatMap(\.people) where said.insert(chain.user).inserted {
            if let spelling = ShownPeople.spelling(of: chain) { context.output.say(spelling) }
            for other in people.others(like: chain.handle, of: chain.user) {
                let names = [chain, other].map { ShownPeople.marked($0.handle, of: $0.user) }
                context.output.say("\(names[0]) is called almost the same as \(names[1])")
            }
        }
    }

    private func find(_ text: String, among waiting: [Petition]) throws(CommandFailure) -> Petition {
        let found = waiting.filter { Base32.namedBy(text, $0.hash.bytes) }
        guard let first = found.first else {
            guard !waiting.contains(where: { Base32.text($0.hash.bytes).hasPrefix(text.lowercased()) }) else {
                throw .usage("\(DisplayText.quoted(text)) is too short: name at least 6 characters of the id")
            }
            throw CommandFailure(
                .notFound, "nobody who waits has an id that begins with \(DisplayText.quoted(text))",
                hints: ["tresor approve"])
        }
        guard found.count == 1 else {
            throw .usage(
                "\(DisplayText.quoted(text)) can mean several people",
                hints: found.map { HintCompletion.replacing(text, with: Base32.text($0.hash.bytes)) })
        }
        return first
    }

    /// The failure of a decision about somebody who changed, or whom somebody else decided about, since they were shown.
    ///
    /// - Parameter user: who asks for an account; `nil` for a share.
    static func failure(of error: TresorError, for who: String, user: UserID?) -> CommandFailure {
        let message: String
        var hints = ["tresor approve"]
        switch error {
        case .unverified: message = "\(who) has another card by now; look again"
        case .busy: message = "the share of \(who) is not what was shown any more; look again"
        case .noAccess where Surroundings.current.keys.refusal == nil:
            guard let user else {
                message = "\(who) does not wait any more, or the service takes the approval of others alone"
                break
            }
            message =
                "\(who) does not wait any more, or asks for an account or a handle that was closed, and can only be refused"
            hints.append("tresor approve \(user) --refuse")
        default: return CommandFailure(error)
        }
        return CommandFailure(of: error, message, hints: hints)
    }

    private func decide(_ petition: Petition, _ context: CommandContext) async throws {
        guard case .account(let applicant, let service) = petition else { return }
        do throws(TresorError) {
            let card = applicant.chain.newest.hash
            _ = try await service.call(AdmitRequest(user: applicant.chain.user, card: card, isAdmitted: !refuse))
        } catch {
            throw Self.failure(of: error, for: petition.who, user: applicant.chain.user)
        }
        try Self.say(petition, refuse, options.json, context)
    }

    /// The petitions that were decided about, and said to be.
    private struct Told {
        var count = 0
        /// How many behind these may have happened.
        var unprovedCount = 0
        /// The first failure of standard output.
        var failure: (any Error)?
    }

    /// Decides about shares of one tresor, and says of each that it has happened before the first that fails.
    private func decide(
        _ petitions: [Petition], of tresor: TresorID, _ session: Session, _ context: CommandContext
    ) async throws {
        let decisions = petitions.compactMap(\.pending).map { refuse ? Decision.refuse($0) : .approve($0) }
        let (isRefused, isJSON) = (refuse, options.json)
        let told = Mutex(Told())
        do throws(TresorError) {
            try await Decisions(session: session).decide(decisions, on: tresor) { count, unprovedCount in
                told.withLock { told in
                    for petition in petitions[told.count..<count] {
                        do {
                            try Self.say(petition, isRefused, isJSON, context)
                        } catch {
                            told.failure = told.failure ?? error
                        }
                    }
                    (told.count, told.unprovedCount) = (count, unprovedCount)
                }
            }
        } catch {
            let (count, unprovedCount) = told.withLock { ($0.count, $0.unprovedCount) }
            guard unprovedCount > 0 else { throw Self.failure(of: error, for: petitions[count].who, user: nil) }
            throw Self.failure(of: error, behind: unprovedCount, refuse ? "refusal" : "approval")
        }
        if let failure = told.withLock({ $0.failure }) { throw failure }
    }

    /// The failure of the reading behind decisions that may have happened.
    private static func failure(of error: TresorError, behind count: Int, _ noun: String) -> CommandFailure {
        let sent = count == 1 ? "1 \(noun)" : "up to \(count) \(noun)s"
        let failure = CommandFailure(error)
        return CommandFailure(
            failure.error, "\(sent) may have happened, and the log could not be read again: \(failure.message)",
            hints: failure.hints + ["tresor approve"])
    }

    private static func say(
        _ petition: Petition, _ isRefused: Bool, _ isJSON: Bool, _ context: CommandContext
    ) throws {
        let state = isRefused ? "refused" : petition.approvedState
        context.output.say("\(petition.who) \(petition.isPlural ? "are" : "is") \(state)")
        if isJSON { try context.output.object(petition.object(state: state, context)) }
    }
}

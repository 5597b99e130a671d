// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct ApproveCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "approve", group: .you, abstract: "Admit people to a service that you operate, or refuse them.",
            usage: """
                tresor approve
                tresor approve ID… [--refuse] [--yes]
                """,
            discussion: """
                Without ID, lists the people who wait for you. A refusal frees the handle. To admit somebody says that \
                they may use the service; it replaces no comparing of safety numbers.
                """,
            classes: [.identity, .store, .write],
            examples: ["tresor approve", "tresor approve k3m9xq", "tresor approve k3m9xq --refuse --yes"])
    }

    @Argument(help: ArgumentHelp("A user id of at least 6 characters.", valueName: "ID"))
    var people: [String] = []

    @Flag(help: "Refuse them.")
    var refuse = false

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !people.isEmpty || !refuse && !yes else { throw CommandFailure.usage("name the people by their ids") }
        let service = try await AskedService.open(options, to: "ask who waits")
        let waiting = try await Applicant.all(at: service)
        guard !people.isEmpty else { return try list(waiting, service.workplace.output) }
        var chosen: [Applicant] = []
        for text in people {
            let applicant = try find(text, among: waiting)
            if !chosen.contains(where: { $0.chain.user == applicant.chain.user }) { chosen.append(applicant) }
        }
        if !yes || !options.quiet {
            for applicant in chosen { service.workplace.output.explain(try applicant.row) }
        }
        try service.workplace.confirm(question(chosen.count), yes: yes)
        for applicant in chosen { try await decide(applicant, service) }
    }

    private func list(_ waiting: [Applicant], _ output: Output) throws {
        guard !options.json else {
            for applicant in waiting { try output.object(applicant.object(state: "waiting")) }
            return
        }
        var table = Table("ID", "HANDLE", "NUMBER", "ASKED", "LABEL")
        for applicant in waiting {
            table.add(
                applicant.id, applicant.handle, try applicant.chain.number().grouped, applicant.date,
                applicant.label.isEmpty ? "-" : DisplayText.name(applicant.label.bytes))
        }
        try output.table(table)
        if waiting.isEmpty { output.say("nobody waits for you") }
    }

    private func find(_ text: String, among waiting: [Applicant]) throws(CommandFailure) -> Applicant {
        let found = waiting.filter { Base32.namedBy(text, $0.chain.user.digest.bytes) }
        guard let first = found.first else {
            throw CommandFailure(
                .notFound, "nobody who waits has an id that begins with \(DisplayText.quoted(text))",
                hints: ["tresor approve"])
        }
        guard found.count == 1 else {
            throw .usage(
                "\(DisplayText.quoted(text)) can mean several people",
                hints: found.map { HintCompletion.replacing(text, with: ShortID.text(of: $0.chain.user, unlike: text)) }
            )
        }
        return first
    }

    private func question(_ count: Int) -> String {
        "\(refuse ? "refuse" : "admit") \(count == 1 ? "this person" : "these \(count) people")?"
    }

    private func decide(_ applicant: Applicant, _ service: AskedService) async throws {
        do throws(TresorError) {
            let card = applicant.chain.newest.hash
            _ = try await service.call(AdmitRequest(user: applicant.chain.user, card: card, isAdmitted: !refuse))
        } catch {
            switch error {
            case .unverified:
                throw CommandFailure(
                    of: error, "\(applicant.handle) has another card by now; look again", hints: ["tresor approve"])
            case .noAccess:
                throw CommandFailure(of: error, "\(applicant.handle) does not wait any more", hints: ["tresor approve"])
            default: throw CommandFailure(error)
            }
        }
        let output = service.workplace.output
        output.say(refuse ? "\(applicant.handle) is refused" : "\(applicant.handle) is admitted")
        if options.json { try output.object(applicant.object(state: refuse ? "refused" : "admitted")) }
    }
}

/// A person who waits for the operator.
private struct Applicant: Sendable {
    let chain: CardChain
    /// The label of their invitation; empty for none.
    let label: Name
    /// The time of asking by the service's account, in seconds since 1970.
    let asked: UInt64

    /// The most people who are believed to wait.
    private static let most = 1 << 16

    /// Reads all pages.
    ///
    /// - Throws: 13 for everybody but the operator; 14 for what is no card; 18 for pages that do not go on.
    static func all(at service: AskedService) async throws -> [Applicant] {
        do throws(TresorError) {
            var all: [Applicant] = []
            while true {
                let page = try await service.call(InboxRequest(after: all.last?.chain.user.digest ?? .zero))
                for waiting in page.cases {
                    let chain = try CardChain(waiting.chain)
                    guard all.last.map({ $0.chain.user < chain.user }) ?? true, all.count < most else {
                        throw .store(.foreign)
                    }
                    all.append(Applicant(chain: chain, label: waiting.label, asked: waiting.asked))
                }
                if !page.more { return all }
            }
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "only the operator of \(service.place) admits people")
        }
    }

    var id: String { ShortID.text(of: chain.user) }
    var handle: String { DisplayText.name(chain.handle.bytes) }
    var date: String { Timestamp(seconds: asked).date }

    /// One line for a question.
    var row: String {
        get throws(TresorError) {
            let words = label.isEmpty ? "" : "  \(DisplayText.name(label.bytes))"
            return "  \(id)  \(handle)  \(try chain.number().grouped)  asked \(date)\(words)"
        }
    }

    func object(state: String) throws(TresorError) -> JSONObject {
        [
            "type": "applicant", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "number": .string(try chain.number().grouped), "label": .text(label.bytes), "asked": .time(asked),
            "state": .string(state),
        ]
    }
}

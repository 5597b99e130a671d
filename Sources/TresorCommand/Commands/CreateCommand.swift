// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct CreateCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "create", group: .tresors, abstract: "Create a tresor.",
            usage: "tresor create NAME [--kind TEXT] [--approver PERSON…]",
            discussion: """
                Prints its id. You become its owner. Only members can read the name and the kind. With --approver, \
                everybody you share with waits until one of these people approves. Approvers read nothing.
                """,
            classes: [.identity, .write],
            examples: ["tresor create interventions", "tresor create interventions --approver clinic"])
    }

    @Argument(help: ArgumentHelp("The tresor's name, which the store does not learn.", valueName: "NAME"))
    var name: String

    @Option(help: ArgumentHelp("What the tresor is for, in your own words.", valueName: "TEXT"))
    var kind: String?

    @Option(
        parsing: .upToNextOption,
        help: ArgumentHelp("A person who approves each share; their safety number is compared.", valueName: "PERSON"))
    var approver: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let tresorName = try CommandContext.name(name, of: "a tresor's name")
        let tresorKind = try kind.map { text throws(CommandFailure) in try CommandContext.name(text, of: "a kind") }
        guard !tresorName.isReserved, tresorKind?.isReserved != true else {
            throw CommandFailure.usage("names and kinds that begin with tresor/ are reserved")
        }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "create a tresor")
        try await context.refuseReplacedKeys(session)
        try context.proveMarks(session)
        let approvers = try await context.people.approvers(approver, context.verifier)
        let state: LogState
        do throws(TresorError) {
            state = try await session.tresors.create(tresorName, kind: tresorKind ?? .empty, approvers: approvers)
        } catch {
            if error == .store(.full) { throw await context.noRoomForAnother(session) }
            guard error == .usage(.tresorExists) else { throw CommandFailure(error) }
            throw CommandFailure.usage(
                "you already have a tresor named \(DisplayText.name(name))", hints: ["tresor list"])
        }
        await ServiceApprovers.sayAbsent(approvers, of: Shell.word(name), session, context)
        guard options.json else {
            try context.output.line(state.tresor.description)
            context.output.say("created \(DisplayText.name(name))")
            return
        }
        var object: JSONObject = [
            "type": "tresor", "tresor": .string(state.tresor.description), "name": .text(tresorName.bytes),
            "owner": .text(session.identity.handle.bytes), "role": "owner", "people": 1, "key": 1, "state": "ok",
        ]
        if !approvers.isEmpty { object["approvers"] = .array(approvers.map { .string($0.user.description) }) }
        if let tresorKind { object["kind"] = .text(tresorKind.bytes) }
        try context.output.object(object)
    }
}

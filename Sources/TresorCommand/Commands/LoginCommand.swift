// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct LoginCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "login", group: .you, abstract: "Bring your identity to this machine with your name and password.",
            usage: "tresor login NAME [--argon2id MIB,PASSES]",
            discussion: """
                In an empty home, the identity comes from the service at which you registered with a password: name it \
                with --store. The service does not learn the password. That home starts with no verified people and no \
                pinned heads, and opens with the same password. In a home that has your identity, it brings the password, \
                and the keys, that you set on another machine. After three wrong passwords nothing is sent for 15 minutes.
                """,
            further: [
                .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .store(.other), .unsupported,
            ],
            examples: ["tresor login anna", "tresor login anna --store https://tresor.clinic.example:8443"])
    }

    @Argument(help: ArgumentHelp("The name under which you registered.", valueName: "NAME"))
    var name: String

    @Option(help: ArgumentHelp("The cost of one guess of the password in this home.", valueName: "MIB,PASSES"))
    var argon2id: Argon2idArgument?

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let handle = try CommandContext.name(name, of: "a handle")
        let given = try argon2id?.cost()
        guard try CommandContext.local(options).invocation.places.service() != nil else { throw Self.needsService }
        let context = try await CommandContext.open(options, identifying: false)
        guard let service = try ServiceLogin(nil, context) else { throw Self.needsService }
        let former = try formerChain(context)
        if let former, former.handle != handle { throw notYours(former.handle) }
        let cost = try given ?? (former == nil ? nil : context.identityFile().passwordCost) ?? .standard
        let isNew = former == nil && context.knowsNobody
        let session = try await session(as: handle, cost, service, context)
        try context.invocation.noteNamedStore()
        try? session.client.archive.noteStore(ofAccount: session.user)
        if former == nil { context.tellDamage() }
        try report(session, former, isNew: isNew, service, context)
    }

    private static var needsService: CommandFailure {
        .usage(
            "the store is a file, and nobody logs in there: name the service at which you registered",
            hints: ["tresor … {--store} --store https://HOST"])
    }

    /// The card chain of this home; `nil` for an empty one.
    private func formerChain(_ context: CommandContext) throws -> CardChain? {
        guard try context.client.home.read(.identity) != nil else { return nil }
        return try context.identityFile().chain
    }

    private func notYours(_ owner: Name?) -> CommandFailure {
        .usage(
            "this home has the identity of "
                + (owner.map { DisplayText.name($0.bytes) } ?? "another person of this name"),
            hints: ["tresor … {--home} --home DIR {store}"])
    }

    /// Logs in, asking again after a wrong password, and writes the home.
    private func session(
        as handle: Name, _ cost: Argon2id.Cost, _ service: ServiceLogin, _ context: CommandContext
    ) async throws -> Session {
        let prompt = "password for \(DisplayText.name(handle.bytes)) (to log in at \(service.place)): "
        do {
            return try await context.invocation.passwords.unlock(prompt: prompt) { typed in
                let password = try PasswordSource.prepared(typed)
                let opened = try await service.login.open(handle, password: password)
                return try await install(opened, password, cost, service, context)
            }
        } catch let error as TresorError {
            throw await failure(of: error, handle, service)
        }
    }

    private func install(
        _ opened: LoggedIn, _ password: borrowing Password, _ cost: Argon2id.Cost, _ service: ServiceLogin,
        _ context: CommandContext
    ) async throws -> Session {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        do throws(TresorError) {
            return try await service.login.install(opened, password: password, cost: cost) {
                // A home that is killed here knows its store; one that cannot note it says so below.
                let isNoted = (try? context.invocation.noteNamedStore()) ?? false
                return { if isNoted { context.invocation.places.forgetStore() } }
            }
        } catch {
            guard error == .failed(.memory) else { throw context.failure(of: error, file: "identity") }
            throw MemoryNeed.failure(for: cost, isNew: true)
        }
    }

    private func failure(of error: TresorError, _ handle: Name, _ service: ServiceLogin) async -> CommandFailure {
        switch error {
        case .wrongPassword:
            CommandFailure(
                of: error,
                "the log-in at \(service.place) failed: the name or the password is wrong, or this name has no log-in by "
                    + "password", hints: ["tresor recover"])
        case .noAccess:
            CommandFailure(
                of: error,
                "the service at \(service.place) ended the log-in: it took longer than a minute, an answer was lost, or "
                    + "the password was changed just then; run the command again")
        case .usage(.identityExists): notYours(nil)
        default: await service.failure(of: error, as: handle)
        }
    }

    /// Names the tresors of this home that anyone with the older keys of its person can have made. The person alone knows
    /// that they made them.
    private func tellOwnTresors(of session: Session, _ context: CommandContext) {
        let (client, output) = (session.client, context.output)
        for tresor in (try? client.logs.knownBlocking()) ?? [] {
            guard session.tresors.knownNameBlocking(of: tresor) != .own,
                let state = try? client.archive.verifiedState(of: tresor), state.founder == session.identity.user,
                (try? client.trust.founderTrust(in: state)) == .unverified
            else { continue }
            let failure = TresorResolver.madeWithOldKeys(tresor, hint: "")
            output.say(failure.message)
            let store = client.archive.otherStore(of: tresor).map { String(decoding: $0.bytes, as: UTF8.self) }
            let options = store.map { " " + context.invocation.places.options(to: $0) } ?? ""
            for hint in failure.hints { output.hint(hint + options) }
        }
    }

    private func report(
        _ session: Session, _ former: CardChain?, isNew: Bool, _ service: ServiceLogin, _ context: CommandContext
    ) throws {
        let (chain, output) = (session.identity.chain, context.output)
        let changed = former == nil ? "identity" : former == chain ? "password" : "keys"
        if isNew {
            output.say("this home starts with no verified people and no pinned heads: compare safety numbers again")
        } else if changed == "keys" {
            output.say(
                "this home has your newer keys; trusted devices and the kit of the older ones no longer open it; if you made "
                    + "no newer ones, \(OldKeys.theft)")
        }
        output.say(
            "\(DisplayText.name(chain.handle.bytes)) is logged in at \(service.place), generation "
                + "\(chain.newest.generation); this password opens the home")
        if changed == "keys" { tellOwnTresors(of: session, context) }
        guard options.json else { return try output.line(try chain.number().grouped) }
        try output.object([
            "type": "login", "service": .string(try context.invocation.places.store()),
            "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
            "changed": .string(changed),
        ])
    }
}

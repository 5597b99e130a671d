// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

struct KeygenCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "keygen", group: .you, abstract: "Make your identity, its card and a recovery kit.",
            usage: "tresor keygen NAME [--kit FILE | --no-kit] [--argon2id MIB,PASSES] [--force]",
            discussion: """
                Prints your safety number, which others compare with you once. The kit's 24 words, shown once or \
                written to FILE, restore your identity from a copy in the store when this machine is lost: keep the \
                store, or a copy of its file, elsewhere too. An empty password generates one of ten words.
                """,
            classes: [.write], further: [.wrongPassword],
            examples: ["tresor keygen anna", "tresor keygen anna --batch --kit kit.txt --password-file FILE"])
    }

    @Argument(help: ArgumentHelp("The handle under which others find your card.", valueName: "NAME"))
    var name: String

    @OptionGroup var kit: KitOptions

    @Option(help: ArgumentHelp("The cost of one password guess; 256,3 if omitted.", valueName: "MIB,PASSES"))
    var argon2id: Argon2idArgument?

    @Flag(help: "Move an existing identity aside, with everything it kept.")
    var force = false

    @OptionGroup var new: NewPasswordOptions
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let handle = try CommandContext.name(name, of: "a handle")
        try kit.check(batch: options.batch)
        let local = try CommandContext.local(options)
        let places = local.invocation.places
        let isBegun = !force && Self.isBegun(handle, local.client)
        guard try force || isBegun || local.client.home.read(.identity) == nil else {
            throw isThere(in: places)
        }
        try OpenFolder.refuse(places.data, hints: ["tresor … {--home} --home DIR"])
        try kit.checkPlace(local.invocation, goingOnFor: isBegun ? local.client : nil)
        let service = try places.service()
        let context = try await CommandContext.open(options, creating: true, identifying: false)
        if service == nil { try StoreFault.refuseUnwritable(try places.store()) }
        let session = try await isBegun ? goOn(context) : make(handle, context)
        // Without a note, the next run would look for the store in the home.
        if places.givenStore != nil || service != nil { try places.noteStore() }
        if service == nil {
            try await publish(session, context)
        } else {
            // The service takes the copy that the kit opens with the registration.
            try await kit.give(to: session, context, isSent: false)
            context.output.say(
                "the service was not asked; register with it next, with a log-in by password or without one")
            context.output.hint("tresor register")
            context.output.hint("tresor register --no-login")
        }
        try report(session, context)
    }

    private func make(_ handle: Name, _ context: CommandContext) async throws -> Session {
        if try context.invocation.places.service() == nil { try await checkFree(handle, in: context) }
        let typed = try context.invocation.passwords.new(
            for: name, from: new, isFirst: true, made: Self.makePassword)
        let password = try PasswordSource.prepared(typed)
        let cost = try argon2id?.cost() ?? .standard
        let places = context.invocation.places
        let moved = try await moveAside(places, context)
        func makeIdentity() async throws -> Session {
            do {
                return try await context.client.makeIdentity(handle: handle, password: password, cost: cost)
            } catch {
                if error == .failed(.memory) { throw MemoryNeed.failure(for: cost, isNew: true) }
                guard error == .usage(.identityExists) else { throw error }
                throw isThere(in: places)
            }
        }
        guard let moved else { return try await makeIdentity() }
        do {
            let session = try await makeIdentity()
            moved.stays()
            return session
        } catch {
            moved.putBack()
            context.output.say("nothing was made; everything was restored to \(DisplayText.quoted(places.data))")
            throw error
        }
    }

    /// Moves the earlier identity aside for a new one, after saying where to.
    private func moveAside(_ places: Paths, _ context: CommandContext) async throws -> IdentityBackup? {
        guard let moved = IdentityBackup(in: places) else { return nil }
        let what =
            moved.hasIdentity
            ? "the earlier identity, with its pins and logs, moves to"
            : "the files of an earlier identity move to"
        context.output.say("\(what) \(DisplayText.quoted(moved.path))")
        if moved.hasIdentity {
            let there = "tresor --home \(Shell.path(moved.path))"
            context.output.say("it goes on there: \(there) list")
            if !places.unsentTresors().isEmpty {
                context.output.say("it has changes that are not sent: \(there) sync")
            }
        }
        let isMoved = try await Interrupts.atomically { () async throws(CommandFailure) in
            let client = context.client
            return try await moved.move(includingIdentity: force, in: client.home, after: client.hooks.slotWait)
        }
        guard isMoved else { throw isThere(in: places) }
        return moved
    }

    /// The failure for an existing identity. Its card keeps its handle in the store, so another identity beside it needs
    /// another handle. Moving it aside comes last.
    private func isThere(in places: Paths) -> CommandFailure {
        let present = try? DirectoryHome(data: places.data, state: places.state).read(.identity)
        let handle = present.flatMap { try? IdentityFile($0) }?.chain.handle
        let isSame = handle != nil && handle == (try? Name(typed: name))
        // Without a given store, another home has a store of its own, where the handle is free.
        let here = isSame ? "{NAME} NAME " : ""
        let there = places.givenStore == nil ? "" : here
        let reason = isSame ? ", and another one in its store needs another NAME" : ""
        return .usage(
            "there is an identity\(handle.map { " of \(DisplayText.name($0.bytes))" } ?? "") in "
                + DisplayText.quoted(places.data) + reason,
            hints: ["tresor … {--home} \(there)--home DIR", "tresor … \(here)--force"])
    }

    /// Whether an earlier run made the identity and was interrupted before its card was published.
    private static func isBegun(_ handle: Name, _ client: Client) -> Bool {
        guard let chain = try? client.identityFileBlocking().chain, chain.handle == handle, chain.newest.generation == 0
        else {
            return false
        }
        return (try? client.cleanup.isIntroducingBlocking()) ?? false
    }

    private func goOn(_ context: CommandContext) async throws -> Session {
        context.output.say("resuming an identity that was not finished")
        do {
            return try await context.invocation.passwords.again(
                prompt: "password for \(DisplayText.name(name)) (to resume making the identity): ", from: new
            ) { typed in
                let password = try PasswordSource.prepared(typed)
                return try await context.client.unlock(password: password)
            }
        } catch let error as TresorError {
            throw context.failure(of: error, file: "identity")
        }
    }

    /// A handle proves nothing, but a second card under it would only confuse.
    private func checkFree(_ handle: Name, in context: CommandContext) async throws {
        guard try await !context.client.store.cards(handle: handle.bytes).isEmpty else { return }
        throw CommandFailure(
            .usage,
            "there is a card of \(DisplayText.name(name)) in this store already: choose another handle, or restore your "
                + "identity from another home with its kit", hints: ["tresor recover"])
    }

    private func publish(_ session: Session, _ context: CommandContext) async throws {
        do {
            try await kit.give(to: session, context)
            try await context.client.people.publishCard()
        } catch let error as TresorError {
            guard error == .unverified else {
                throw CommandFailure(
                    of: error,
                    "the identity is made, but the store did not accept its card: \(CommandFailure(error).message)",
                    hints: [kit.noKit ? "tresor card --publish" : "tresor … {--force}"])
            }
            throw CommandFailure.usage(
                "the identity is made, but somebody else published a card of \(DisplayText.name(name)) first",
                hints: ["tresor keygen NAME --force"])
        }
    }

    private func report(_ session: Session, _ context: CommandContext) throws {
        let number = try session.identity.chain.number().grouped
        let place = context.invocation.places.data
        guard options.json else {
            try context.output.line(number)
            context.output.say("the identity of \(DisplayText.name(name)) is in \(DisplayText.quoted(place))")
            return
        }
        try context.output.object([
            "type": "identity", "handle": .text(session.identity.handle.bytes),
            "user": .string(session.identity.user.description), "number": .string(number), "home": .string(place),
        ])
    }

    static func makePassword(_ terminal: Terminal) throws(CommandFailure) -> SecretBytes {
        do {
            let password = try GeneratedPassword.make()
            let rows = try WordSheet.rows(password)
            try terminal.show(
                "tresor: the password, ten words with one blank between two; write it down, it is not shown again:\n",
                secret: rows, "\n")
            return password
        } catch {
            throw CommandFailure(error)
        }
    }
}

/// `MIB,PASSES`.
struct Argon2idArgument: ExpressibleByArgument, Sendable {
    private let memoryMiB: UInt32
    private let passes: UInt32

    init?(argument: String) {
        let parts = argument.split(separator: ",", omittingEmptySubsequences: false).map { UInt32($0) }
        guard parts.count == 2, let memoryMiB = parts[0], let passes = parts[1] else { return nil }
        self.memoryMiB = memoryMiB
        self.passes = passes
    }

    func cost() throws(CommandFailure) -> Argon2id.Cost {
        let (memoryKiB, overflow) = memoryMiB.multipliedReportingOverflow(by: 1024)
        do {
            guard !overflow else { throw TresorError.altered }
            return try Argon2id.Cost(memoryKiB: memoryKiB, passes: passes)
        } catch {
            throw .usage("--argon2id takes 64 to 4096 MiB and 3 to 16 passes, for example 256,3")
        }
    }
}

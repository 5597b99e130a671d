// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

struct RecoverCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "recover", group: .you,
            abstract: "Restore your identity from the 24 words or another machine, or make a new kit.",
            usage: """
                tresor recover [--from FILE] [--kit FILE] [--argon2id MIB,PASSES]
                tresor recover --from-device [--argon2id MIB,PASSES]
                tresor recover --new-kit [--kit FILE]
                """,
            discussion: """
                In an empty home, for example of a second machine, the identity comes from the store, which has a copy \
                that only the kit opens: name it, or a copy of its file, with --store. That ends the trust in all \
                your machines in that store, of which one may be lost; beside a copy of its file, the trust at the store \
                itself stays. --from takes that copy from a file \
                of export --recovery instead, and a store that is missing is made. That home starts with no \
                verified people and no pinned heads. A log-in by password at a service gets the new password. --from-device \
                takes the identity from a machine that has it, with verified people and pinned heads: run tresor device \
                add there, and type the code that it shows. --new-kit makes new words; the old ones that this \
                home knows become invalid.
                """,
            classes: [.identity, .store, .write], further: [.waiting],
            examples: [
                "tresor recover", "tresor recover --kit kit.txt", "tresor recover --from-device",
                "tresor recover --new-kit",
            ])
    }

    @Option(
        help: ArgumentHelp("Read the words from FILE, or with --new-kit write them to it.", valueName: "FILE"),
        completion: .file())
    var kit: String?

    @Option(
        help: ArgumentHelp("Take the identity from a file of export --recovery.", valueName: "FILE"),
        completion: .file())
    var from: String?

    @Flag(help: "Take the identity from a machine that runs tresor device add.")
    var fromDevice = false

    @Flag(help: "Make a new kit.")
    var newKit = false

    @Option(help: ArgumentHelp("The cost of one guess of the new password.", valueName: "MIB,PASSES"))
    var argon2id: Argon2idArgument?

    @OptionGroup var new: NewPasswordOptions
    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !fromDevice || (kit == nil && from == nil && !newKit) else {
            throw CommandFailure.usage("--from-device goes with none of --from, --kit and --new-kit")
        }
        if let from { return try await recover(from: KitCopyFile(path: from)) }
        let context = try await CommandContext.open(options, identifying: newKit)
        if fromDevice { return try await takeFromDevice(context) }
        if newKit { return try await makeKit(context) }
        let cost = try argon2id?.cost() ?? .standard
        let recoveryKit = try recoveryKit(context)
        let name = (try? context.client.identityFileBlocking().chain.handle.text) ?? "the recovered identity"
        _ = try await recover(recoveryKit, try newPassword(of: name, context), cost, context)
    }

    /// Restores the identity from a copy in a file. Its words and the new password come before a missing store is made.
    private func recover(from file: KitCopyFile) async throws {
        guard !newKit else { throw CommandFailure.usage("--from restores an identity, and --new-kit changes its kit") }
        let local = try CommandContext.local(options)
        let isEmpty = try local.client.home.read(.identity) == nil
        let copy = try file.read(local.invocation)
        guard isEmpty || file.isBegun(copy, local.client) else { throw Self.needsEmptyHome }
        let cost = try argon2id?.cost() ?? .standard
        let recoveryKit = try recoveryKit(local)
        try file.check(copy, opensWith: recoveryKit)
        let password = try newPassword(of: copy.chain.handle.text, local)
        let context = try await CommandContext.open(options, creating: true, identifying: false)
        let isStoreNew = try await file.checkNewest(copy, in: context)
        guard isEmpty || isStoreNew else { throw Self.needsEmptyHome }
        let recovered = try await recover(recoveryKit, from: copy, password, cost, context)
        try await file.introduce(
            recovered.session, context, isStoreNew: isStoreNew, refusal: recovered.refusal)
    }

    private static var needsEmptyHome: CommandFailure {
        .usage(
            "--from restores into an empty home, and this one has an identity",
            hints: ["tresor … {--home} --home DIR"])
    }

    private func newPassword(of name: String, _ context: CommandContext) throws -> Password {
        try PasswordSource.prepared(
            try context.invocation.passwords.new(
                for: name, from: new, isFirst: false, made: KeygenCommand.makePassword))
    }

    private func makeKit(_ context: CommandContext) async throws {
        guard argon2id == nil else { throw CommandFailure.usage("--argon2id goes with a new password") }
        var place = KitOptions()
        place.kit = kit
        place.noKit = false
        guard !options.batch || kit != nil else {
            throw CommandFailure.usage(
                "--batch forbids showing the words of the new kit", hints: ["tresor … --kit FILE"])
        }
        try place.checkPlace(context.invocation, goingOnFor: context.client, isOptional: false)
        let session = try await context.unlock(to: "make a new recovery kit")
        try await context.refuseOldKeys(session)
        let former = try context.identityFile().kitLocator
        try await place.make(context) { recoveryKit in
            try await Interrupts.atomically { try await session.unlocking.setKit(recoveryKit) }
        }
        let before = former == nil ? "" : "; the one before opens nothing here or in the store"
        context.output.say("the new kit is valid\(before); a home of yours on another device keeps its own")
        // The copies there cannot be deleted from here.
        let (services, renewal) = (OtherServices(context), HintCompletion.command("rotate --identity"))
        var behind: [JSON] = []
        for other in former.map(context.client.archive.otherStores(ofKit:)) ?? [] {
            let path = String(decoding: other.bytes, as: UTF8.self)
            let next = services.command(forKeysAt: other).map { ", then \(HintCompletion.complete($0))" } ?? ""
            context.output.explain(
                "tresor: the kit before still opens the copy in \(DisplayText.quoted(path)); if others may know its words, "
                    + "make new keys: \(renewal)\(next)")
            behind.append(.object(["store": .string(path), "run": .string(renewal)]))
        }
        try report(session, "kit", context, behind: behind.isEmpty ? nil : .array(behind))
    }

    private func recover(
        _ recoveryKit: borrowing RecoveryKit, from copy: IdentityFile? = nil, _ password: borrowing Password,
        _ cost: Argon2id.Cost, _ context: CommandContext
    ) async throws -> RecoveredSession {
        let isNew = context.knowsNobody
        let isOfHome = await !OtherServices(context).isNew(password, for: context.client)
        let recovered: RecoveredSession
        do {
            recovered = try await context.client.recovery.recover(
                kit: recoveryKit, from: copy, newPassword: password, cost: cost
            ) {
                // A home that is killed here knows its store; one that cannot note it says so below.
                let isNoted = (try? context.invocation.noteNamedStore()) ?? false
                return { if isNoted { context.invocation.places.forgetStore() } }
            }
        } catch {
            if error == .failed(.memory) { throw MemoryNeed.failure(for: cost, isNew: true) }
            if error == .store(.readOnly), let path = try? context.invocation.places.store() {
                throw StoreFault.needsCopy(path, for: "recover")
            }
            guard error == .wrongPassword else { throw context.failure(of: error, file: "identity") }
            throw Self.opensNothing(isHomeEmpty: (try? context.client.identityFileBlocking()) == nil)
        }
        try context.invocation.noteNamedStore()
        if recovered.isFromStore {
            if isNew {
                context.output.say(
                    "this home starts with no verified people and no pinned heads: compare safety numbers again")
            }
            context.tellDamage()
            // Those of a store that is lost stay as they are.
            if copy == nil {
                context.output.say(
                    "this ended the trust in all your machines in this store: each asks for its password, until tresor remember "
                        + "runs there again")
            }
        }
        await ServiceLogin.renew(recovered.session, password, isRecovery: true, in: context)
        let others = OtherServices(context)
        if !isOfHome { others.tell(.password) }
        try announce(recovered.session, context, behind: isOfHome ? nil : others.json(.password))
        return recovered
    }

    private func takeFromDevice(_ context: CommandContext) async throws {
        let cost = try argon2id?.cost() ?? .standard
        let session = try await RecoveryFromDevice(context: context, new: new, cost: cost) {
            try context.invocation.noteNamedStore()
        }.run()
        try announce(session, context, behind: nil)
    }

    private func announce(_ session: Session, _ context: CommandContext, behind: JSON?) throws {
        let chain = session.identity.chain
        context.output.say(
            "\(DisplayText.name(chain.handle.bytes)) is restored, generation \(chain.newest.generation)")
        if !options.json { try context.output.line(try chain.number().grouped) }
        try report(session, "password", context, behind: behind)
    }

    /// Says what a kit needs, and tells an older kit from one without its store.
    private static func opensNothing(isHomeEmpty: Bool) -> CommandFailure {
        guard isHomeEmpty else {
            return CommandFailure(
                .wrongPassword,
                "the kit does not open the identity of this home: it is an older kit, or that of somebody else, or a newer one, "
                    + "which opens your newest keys in an empty home",
                hints: ["tresor … {--home} --home DIR {store}"])
        }
        return CommandFailure(
            .wrongPassword,
            "the kit opens nothing in this store: a kit needs the store in which it was made, a copy of that file, or a file of "
                + "export --recovery; only the newest kit opens",
            hints: ["tresor … {--store} --store FILE", "tresor … {--home} --home DIR", "tresor … --from FILE"])
    }

    /// - Parameter behind: the services that have what was before; `nil` for none.
    private func report(
        _ session: Session, _ changed: String, _ context: CommandContext, behind: JSON?
    ) throws {
        guard options.json else { return }
        let chain = session.identity.chain
        var object: JSONObject = [
            "type": "identity", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
            "changed": .string(changed),
        ]
        object["behind"] = behind
        try context.output.object(object)
    }

    /// Reads the words from the file, or asks for them, at most three times as for a password.
    private func recoveryKit(_ context: CommandContext) throws -> RecoveryKit {
        if let kit {
            let (given, copy) = (Shell.path(kit), Shell.path(InputFile.lastComponent(of: kit)))
            try context.invocation.standardInput.claim(path: kit, for: "the kit")
            let file = try SecretFile(
                path: kit,
                otherwise: given == copy ? [] : ["install -m 600 \(given) \(copy)", "tresor … {--kit} --kit \(copy)"])
            let typed = try Self.words { () throws(CommandFailure) in
                try file.read(limit: RecoveryKit.maximumByteCount)
            }
            try SecretInput.refuseUTF16(typed, path: kit)
            return try Self.kit(typed, showingAt: try? context.invocation.person(or: Self.noKit))
        }
        let terminal = try context.invocation.person(
            or: .usage("the kit's words are needed", hints: ["tresor recover --kit FILE"]))
        var attempt = 1
        while true {
            do {
                return try Self.kit(
                    try Self.words { () throws(CommandFailure) in
                        try Self.typedWords(terminal)
                    }, showingAt: terminal)
            } catch let failure as CommandFailure
                where failure.error == .wrongPassword && attempt < PasswordSource.tries
            {
                try terminal.show("tresor: \(failure.message)\n")
                attempt += 1
            }
        }
    }

    /// Reads the words from one line, or row by row as on paper; an empty line ends them.
    private static func typedWords(_ terminal: Terminal) throws(CommandFailure) -> SecretBytes {
        try terminal.secret("the 24 words of the kit: ") { words in
            guard let count = RecoveryKit.wordCount(in: words), (1..<RecoveryKit.wordCount).contains(count) else {
                return nil
            }
            return "the kit, from word \(count + 1): "
        }
    }

    /// Refuses input longer than any kit (SPEC §8.2).
    private static func words(_ read: () throws(CommandFailure) -> SecretBytes) throws(CommandFailure) -> SecretBytes {
        do throws(CommandFailure) {
            return try read()
        } catch {
            guard error.error == .usage else { throw error }
            throw noKit
        }
    }

    private static let noKit = CommandFailure(.wrongPassword, "these are not the 24 words of a kit")

    /// Names a bad word by its position and never repeats it. Words of the list that are near it are shown to the person
    /// alone: a message may go to a log.
    private static func kit(_ typed: borrowing SecretBytes, showingAt terminal: Terminal?) throws -> RecoveryKit {
        do {
            return try RecoveryKit(typed: typed)
        } catch {
            guard error == .wrongPassword else { throw CommandFailure(error) }
            if let position = RecoveryKit.firstUnknownWord(in: typed) {
                guard !RecoveryKit.hasSign(wordAt: position, in: typed) else {
                    throw CommandFailure(
                        of: error,
                        "a sign stands at word \(position), such as a comma, a hyphen or a bracket: put blanks alone between "
                            + "the words, and leave their numbers out")
                }
                if let terminal, let near = try RecoveryKit.nearWords(to: position, in: typed) {
                    try terminal.show("tresor: the list has these near word \(position): ", secret: near, "\n")
                }
                throw CommandFailure(of: error, "word \(position) is not a word of the list")
            }
            if let count = RecoveryKit.wordCount(in: typed) {
                throw CommandFailure(
                    of: error,
                    count == RecoveryKit.wordCount
                        ? "all \(count) words are of the list, but their checksum is wrong: one is mistyped for another word of "
                            + "the list, or their order is wrong"
                        : "a kit has \(RecoveryKit.wordCount) words, and these are \(count)")
            }
            throw noKit
        }
    }
}

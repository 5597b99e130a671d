// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// Where the 24 words of a new kit go.
struct KitOptions: ParsableArguments, Sendable {
    @Option(
        help: ArgumentHelp("Write the kit's 24 words to FILE, which nobody else may read.", valueName: "FILE"),
        completion: .file())
    var kit: String?

    @Flag(help: "Make no kit.")
    var noKit = false

    /// - Throws: 64 when the two contradict each other, or nobody can be shown a kit.
    func check(batch: Bool) throws(CommandFailure) {
        guard kit == nil || !noKit else { throw .usage("--kit and --no-kit cannot both be given") }
        guard !batch || kit != nil || noKit else {
            throw .usage("--batch forbids showing the words of the new kit", hints: Self.hints)
        }
    }

    /// Makes sure, before anything is made, that the words can be written or shown.
    ///
    /// - Parameters:
    ///   - client: whose interrupted run may have written the file already.
    ///   - isOptional: whether the command can do without a kit.
    func checkPlace(
        _ invocation: Invocation, goingOnFor client: Client? = nil, isOptional: Bool = true
    ) throws(CommandFailure) {
        let hints = isOptional ? Self.hints : [Self.hints[0]]
        guard !noKit else { return }
        guard let kit else {
            _ = try invocation.person(or: Self.noTerminal(hints))
            return
        }
        guard kit != "-", !kit.isEmpty else {
            throw .usage("a kit goes to a file of its own or to the terminal", hints: hints)
        }
        if let client, Self.begun(kit, client) != nil { return }
        try Self.refuseKit(kit, client)
        try Self.file(kit).check()
        let directory = AtomicFile.split(kit).directory
        guard access(directory, W_OK | X_OK) == 0 else {
            throw CommandFailure(
                errno == ENOENT || errno == ENOTDIR ? .notFound : .failed(.readOnly),
                "a kit cannot be written into \(DisplayText.quoted(directory))", file: kit)
        }
        try OpenFolder.refuse(directory, hints: hints)
    }

    private static func file(_ path: String) -> OutputFile {
        OutputFile(path: path, access: .owner, replaces: false) { $0 == "-" ? nil : "tresor … {--kit} --kit \($0)" }
    }

    private static let hints = ["tresor … --kit FILE", "tresor … --no-kit"]

    private static func noTerminal(_ hints: [String]) -> CommandFailure {
        .usage("there is no terminal to show the kit on", hints: hints)
    }

    /// Makes a kit, writes or shows its words, and only then makes it valid. If that fails, the file is removed.
    ///
    /// - Parameter isSent: whether the store takes the copy that the kit opens now.
    func give(to session: Session, _ context: CommandContext, isSent: Bool = true) async throws {
        guard !noKit else {
            context.output.say("no recovery kit: a lost password cannot be replaced")
            return
        }
        try await make(context) { recoveryKit in
            guard isSent else { return try await session.unlocking.setUnsentKit(recoveryKit) }
            try await session.unlocking.setKit(recoveryKit)
        }
    }

    /// Makes a kit for an act that makes it valid. If the act fails before that, the file is removed.
    func make<Result>(
        _ context: CommandContext, for act: (consuming RecoveryKit) async throws -> Result
    ) async throws -> Result {
        let recoveryKit = try kept(context)
        let locator = try recoveryKit.locator()
        let words = try recoveryKit.words()
        let result: Result
        do {
            result = try await act(recoveryKit)
        } catch {
            await takeBack(words, of: locator, context)
            throw error
        }
        if let kit {
            try Self.restore(words, of: locator, to: kit)
            context.output.say(
                "the recovery kit is in \(DisplayText.quoted(kit)); print it and keep it apart from this machine")
        }
        tellOfStore(context)
        return result
    }

    /// Says of a store that is lost together with this machine that the kit needs it.
    private func tellOfStore(_ context: CommandContext) {
        let places = context.invocation.places
        guard places.isStoreOnThisDisk, let store = try? places.store() else { return }
        context.output.say(
            "the kit needs the store \(DisplayText.quoted(store)), which is on this disk: keep a copy of that file elsewhere, "
                + "or what \(HintCompletion.command("export --recovery -o FILE")) writes")
    }

    /// Removes the file of a kit that did not become valid, while no other command can make it valid. Its copy may be in
    /// the store by then. The cleanup deletes that, now or with a later command: these words may never become valid. If the
    /// act failed behind the moment from which they are valid, their file has to be there.
    private func takeBack(
        _ words: borrowing SecretBytes, of locator: Hash256, _ context: CommandContext
    ) async {
        let (client, output) = (context.client, context.output)
        let shown = kit.map { "the recovery kit in \(DisplayText.quoted($0))" } ?? "the recovery kit that was shown"
        let stays = "\(shown) stays; it may not be valid: run the command again with it, or destroy it"
        let lock: SlotLock
        do throws(TresorError) {
            guard let free = try client.home.slotLock() else {
                return output.say("another command changes the kit of this home: \(shown) stays")
            }
            lock = free
        } catch { return output.say(stays) }
        try? await client.uninterrupted { () async throws(TresorError) in try await client.cleanup.finishLocked() }
        guard let file = try? client.identityFileBlocking() else { return output.say(stays) }
        if file.kitLocator == locator {
            do throws(CommandFailure) {
                if let kit { try Self.restore(words, of: locator, to: kit) }
            } catch { output.say(error.message) }
        } else {
            let isDead = (try? client.recovery.isPreparedBlocking(at: locator)) == false
            let isRemoved = kit.map { (try? Self.read($0).locator()) == locator && unlink($0) == 0 } ?? false
            output.say(
                "\(shown) \(isRemoved ? "was removed" : "must be destroyed"): "
                    + (isDead ? "it opens nothing" : "it is not valid, but its copy may still be in the store"))
        }
        _ = consume lock
    }

    /// Writes again the words of a kit that has become valid, if their file is not there any more. A run with the same
    /// words may have failed before that, and removed it: it has the slot lock then, and removes no valid kit later.
    private static func restore(
        _ words: borrowing SecretBytes, of locator: Hash256, to path: String
    ) throws(CommandFailure) {
        guard (try? read(path).locator()) != locator else { return }
        do throws(CommandFailure) {
            try write(words, to: path)
        } catch {
            throw CommandFailure(
                error.error,
                "the recovery kit is valid, but its words are not in \(DisplayText.quoted(path)) any more: make another one",
                file: path)
        }
    }

    /// Makes a kit and writes or shows its words. Reuses a kit that an interrupted run has written to the file.
    private func kept(_ context: CommandContext) throws -> RecoveryKit {
        if let kit, FileIdentity(path: kit) != nil {
            if let begun = Self.begun(kit, context.client) {
                context.output.say("reusing the recovery kit in \(DisplayText.quoted(kit))")
                return begun
            }
            try OutputFile(path: kit, access: .owner, replaces: false).check()
        }
        let recoveryKit = try RecoveryKit()
        try context.client.recovery.prepareBlocking(recoveryKit)
        try keep(recoveryKit, context)
        return recoveryKit
    }

    /// Says of a kit that is in the way whether it is in force in this home.
    private static func refuseKit(_ path: String, _ client: Client?) throws(CommandFailure) {
        guard let there = (try? read(path).locator()) else { return }
        let file = try? client?.identityFileBlocking()
        let isInForce = file?.kitLocator == there
        let elsewhere = file == nil ? "a recovery kit" : "a recovery kit that is not in force here"
        let words = isInForce ? "the recovery kit that is in force" : elsewhere
        throw .usage(
            "\(DisplayText.quoted(path)) holds \(words)",
            hints: ["tresor … {--kit} --kit FILE"])
    }

    private static func begun(_ path: String, _ client: Client) -> RecoveryKit? {
        guard let kit = try? read(path), (try? client.recovery.isPreparedBlocking(kit)) == true else { return nil }
        return kit
    }

    private static func read(_ path: String) throws -> RecoveryKit {
        try RecoveryKit(typed: try SecretFile(path: path).read(limit: RecoveryKit.maximumByteCount))
    }

    /// Writes the words to the file, or shows them once.
    private func keep(_ recoveryKit: borrowing RecoveryKit, _ context: CommandContext) throws {
        let words = try recoveryKit.words()
        guard let kit else {
            let terminal = try context.invocation.person(or: Self.noTerminal([Self.hints[0]]))
            let sheet = try WordSheet.numbered(words)
            let handle = DisplayText.name(try context.identityFile().chain.handle.bytes)
            let store = try context.invocation.places.storeOptions().map { Shell.word($0) }.joined(separator: " ")
            let date = Timestamp(seconds: context.now).date
            try terminal.show(
                "tresor: recovery kit of \(handle), \(date), for paper:\n", secret: sheet,
                "tresor: write beside it what uses it: tresor recover \(store)\n")
            return
        }
        try Self.write(words, to: kit)
    }

    private static func write(_ words: borrowing SecretBytes, to path: String) throws(CommandFailure) {
        let file = Self.file(path)
        try file.write(words.span)
        let end = Array("\n".utf8)
        try file.write(end.span)
        try file.commit()
    }
}

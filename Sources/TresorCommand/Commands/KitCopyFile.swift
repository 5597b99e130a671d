// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The copy of the identity that the kit opens, in a file of its own: with the words, it needs no store (SPEC §8.2).
struct KitCopyFile {
    let path: String

    /// Writes the copy of this home's identity. A file that is there is not replaced: it may be the copy of another kit.
    ///
    /// - Throws: 10 for an identity without a kit, 15 for keys that are not the newest ones.
    func write(_ session: Session, _ context: CommandContext) async throws {
        try await context.refuseOldKeys(session)
        guard let copy = try session.unlocking.kitCopyBlocking()?.copy else {
            throw CommandFailure(.notFound, "this identity has no recovery kit", hints: ["tresor recover --new-kit"])
        }
        let file = OutputFile(path: path, access: .owner, replaces: false)
        try file.write(copy.bytes.span)
        try file.commit()
        context.output.say(
            "\(DisplayText.quoted(path)) and the words of the recovery kit restore your identity without a store: "
                + "keep them apart, and make another file after each new kit and after new keys")
    }

    /// Reads the copy, from which nothing but a kit opens the identity.
    ///
    /// - Throws: 14 for any other file, 19 for one of a newer version.
    func read(_ invocation: Invocation) throws(CommandFailure) -> IdentityFile {
        let input = try InputFile(path, standardInput: invocation.standardInput)
        let words = "\(input.shownName) is no file of export --recovery, or is damaged"
        let bytes = try input.readAll(
            limit: IdentityFile.maximumByteCount, tooLarge: CommandFailure(.altered, words, file: input.path))
        do throws(TresorError) {
            let copy = try IdentityFile(bytes)
            guard copy.isKitCopy else { throw .altered }
            return copy
        } catch {
            // A reader takes every other object of this project for one of a newer version.
            guard error == .unsupported, bytes.starts(with: Array("tresorI".utf8)) else {
                throw CommandFailure(.altered, words, file: input.path)
            }
            throw CommandFailure(of: error, "\(input.shownName) was made by a newer version", file: input.path)
        }
    }

    /// Opens the copy, so that nothing is made for words that do not fit.
    ///
    /// - Throws: 12 for the words of another kit.
    func check(_ copy: IdentityFile, opensWith kit: borrowing RecoveryKit) throws(CommandFailure) {
        do throws(TresorError) {
            _ = try copy.open(withKit: kit)
        } catch {
            guard error == .wrongPassword else { throw CommandFailure(error, file: path) }
            throw CommandFailure(
                of: error, "the words are not those of the kit of which \(DisplayText.quoted(path)) is the copy",
                hints: ["tresor … {--kit} --kit FILE"])
        }
    }

    /// Whether an earlier run restored this copy into the home and was stopped before it gave a new store what it needs.
    func isBegun(_ copy: IdentityFile, _ client: Client) -> Bool {
        guard let file = try? client.identityFileBlocking(), file.chain == copy.chain,
            file.kitLocator == copy.kitLocator
        else { return false }
        return (try? client.people.pinnedBlocking().isEmpty && client.logs.knownBlocking().isEmpty) ?? false
    }

    /// Looks at the store before anything is written. A service shows nobody's card before the identity is open, and says
    /// afterwards whether it knows these keys.
    ///
    /// - Returns: whether the store is a new one, in which nobody has a card.
    /// - Throws: 15 for a copy from before a renewal that the store shows, 14 for another card in the person's place, 16
    ///   where the handle is somebody else's and the person has no card.
    func checkNewest(_ copy: IdentityFile, in context: CommandContext) async throws -> Bool {
        guard context.service == nil else { return false }
        let (store, user) = (context.client.store, copy.chain.user)
        let elsewhere = "tresor … {--store} --store FILE"
        do throws(TresorError) {
            guard try await !store.users(prefix: [], limit: 1).isEmpty else { return true }
            if let shown = try await store.shownChain(of: user) {
                let shown = try shown.chain(of: user)
                guard copy.chain.extends(shown) else { throw .forked }
                return false
            }
            for bytes in try await store.cards(handle: copy.chain.handle.bytes) {
                guard try CardChain(bytes).user == user else { throw .unverified }
            }
            return false
        } catch {
            switch error {
            case .altered, .unsupported:
                throw CommandFailure(
                    of: error, "the store shows another card for you, or a damaged one", hints: [elsewhere])
            case .forked:
                throw CommandFailure(
                    of: error,
                    "\(DisplayText.quoted(path)) has older keys of yours than the store shows: restore the newest ones "
                        + "with the newest kit", hints: ["tresor recover"])
            case .unverified:
                let handle = DisplayText.name(copy.chain.handle.bytes)
                throw CommandFailure(
                    of: error, "the store has the card of another \(handle)", hints: [elsewhere])
            default: throw CommandFailure(error)
            }
        }
    }

    /// Gives a store that may know nothing of the person what it needs. The copy goes only to a new store, and before the
    /// card: from another one, a later kit may have deleted it.
    ///
    /// - Parameter refusal: that of a service, which takes all of it with the registration.
    func introduce(
        _ session: Session, _ context: CommandContext, isStoreNew: Bool, refusal: TresorError?
    ) async throws {
        guard context.service == nil else { return Self.tell(refusal, context.output) }
        do throws(TresorError) {
            if isStoreNew { try await session.unlocking.restoreKitCopy() }
            try await session.client.people.publishCard()
        } catch {
            guard error == .forked else { throw CommandFailure(error) }
            throw await context.otherKeys(than: session.identity.chain)
        }
        guard isStoreNew else { return }
        context.output.say("the store is a new one: it has none of your tresors; import an export of each")
    }

    /// Says what a service that deleted no server share has told of the person.
    private static func tell(_ refusal: TresorError?, _ output: Output) {
        guard let refusal else { return }
        output.say(
            refusal == .waiting
                ? "you wait for the operator of the service to admit you; then register once more"
                : "the service does not know these keys: it has not met you, or it has newer keys of yours, and then your "
                    + "newest kit restores those; register with it next, which tells")
        output.hint("tresor register")
        output.hint("tresor register --no-login")
    }
}

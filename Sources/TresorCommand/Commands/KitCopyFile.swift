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
    func write(_ session: Session, _ workplace: CommandContext) async throws {
        try await workplace.refuseOldKeys(session)
        guard let copy = try session.unlocking.kitCopyBlocking()?.copy else {
            throw CommandFailure(.notFound, "this identity has no recovery kit", hints: ["tresor recover --new-kit"])
        }
        let file = OutputFile(path: path, access: .owner, replaces: false)
        try file.write(copy.bytes.span)
        try file.commit()
        workplace.output.say(
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
            let text = error == .unsupported ? "\(input.shownName) was made by a newer version" : words
            throw CommandFailure(of: error, text, file: input.path)
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

    /// Refuses a copy from before a renewal that the store shows. A service shows nobody's card before the identity is
    /// open.
    ///
    /// - Throws: 15.
    func checkNewest(_ copy: IdentityFile, in workplace: CommandContext) async throws {
        guard workplace.service == nil, let bytes = try await workplace.client.store.card(of: copy.chain.user) else {
            return
        }
        let shown = try CardChain(bytes)
        guard shown.user == copy.chain.user else {
            throw CommandFailure(.altered, "the store shows another card for you")
        }
        guard !copy.chain.extends(shown) else { return }
        throw CommandFailure(
            of: .forked,
            "\(DisplayText.quoted(path)) has older keys of yours than the store shows: restore the newest ones with "
                + "the newest kit", hints: ["tresor recover"])
    }

    /// Gives a store that may know nothing of the person what it needs. A service takes it with the registration. The
    /// copy goes only to a store that was just made: from another one, a later kit may have deleted it.
    func introduce(_ session: Session, _ workplace: CommandContext, isStoreNew: Bool) async throws {
        guard workplace.service == nil else {
            workplace.output.say("the service may not know you yet: register with it next")
            return workplace.output.hint("tresor register --no-login")
        }
        do throws(TresorError) {
            try await session.client.people.publishCard()
        } catch {
            switch error {
            case .forked: throw await workplace.otherKeys(than: session.identity.chain)
            case .unverified:
                let handle = DisplayText.name(session.identity.handle.bytes)
                throw CommandFailure(
                    of: error, "your identity is restored, but the store has the card of another \(handle)")
            default: throw CommandFailure(error)
            }
        }
        guard isStoreNew else { return }
        try await session.unlocking.restoreKitCopy()
        workplace.output.say("the store is a new one: it has none of your tresors; import an export of each")
    }
}

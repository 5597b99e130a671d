// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Explains why a sealed file is refused, as far as that can be told.
struct FileRefusal {
    let context: CommandContext
    let session: Session
    let input: InputFile
    /// Whether the opened content is sealed again.
    let isResealing: Bool
    /// Whether the author must still be allowed to write.
    let requiresCurrent: Bool

    func failure(_ error: TresorError, _ header: FileHeader) async -> CommandFailure {
        guard error == .noAccess else {
            if error == .unverified,
                let state = try? await context.client.logs.state(of: header.tresor, remembering: .no)
            {
                let people = context.people.peopleToCompare(in: state)
                return CommandFailure(
                    of: error, "\(input.shownName) was sealed by someone whose safety number must be compared again",
                    hints: people.prefix(3).map { "tresor verify \(Shell.word($0.handle, or: $0.user))" },
                    file: input.path)
            }
            if error == .store(.behind) { return await behind(header) }
            if error == .usage(.newcomers), let failure = await newcomers(error, header) { return failure }
            if error == .forked {
                return CommandFailure(
                    of: error, "\(input.shownName) or the store belongs to another history than this home has verified",
                    hints: context.tresors.forkHints(of: header.tresor), file: input.path)
            }
            let failure = Self.failure(error, input)
            guard error == .altered, input.change == nil,
                let state = try? await context.client.logs.state(of: header.tresor, remembering: .no)
            else { return failure }
            return addingHistory(to: failure, of: header, in: state)
        }
        let id = header.tresor.description.prefix(10)
        let state: LogState?
        do throws(TresorError) {
            state = try await context.client.logs.state(of: header.tresor, remembering: .no)
        } catch {
            // The store never had the log: it may be another machine's.
            if error == .notFound { return missing(header.tresor) }
            state = nil
        }
        guard let state, context.tresors.isKnown(header.tresor), let owner = state.chain(of: state.founder) else {
            return CommandFailure(
                of: error, "\(input.shownName) is in the tresor \(id), which you cannot read",
                hints: ["ask its owner to run: tresor share -t \(id) \(me)"], file: input.path)
        }
        let handle = context.tresors.name(owner.handle, of: owner.user, in: state)
        if state.members[session.identity.user] == nil {
            let name = session.tresors.knownNameBlocking(of: header.tresor)
            let title = name.map { DisplayText.name($0.bytes) } ?? String(id)
            let word = name.map { Shell.word($0, or: header.tresor) } ?? String(id)
            let isFormer = state.wasEverIn(session.user)
            return CommandFailure(
                of: error,
                "\(input.shownName) is in \(title) (owned by \(handle)), which you \(isFormer ? "can no longer" : "cannot") read",
                hints: context.tresors.waysBack(to: state, session, word: word), file: input.path)
        }
        return await failure(error, header, in: state)
    }

    /// Adds to a refusal that a file names an entry which the log does not have: it may have been sealed in a store where
    /// the tresor went on by itself. Nothing proves the header of a file that is not open, so the refusal stays what it is.
    private func addingHistory(
        to failure: CommandFailure, of header: FileHeader, in state: LogState
    ) -> CommandFailure {
        guard state.members[session.user] != nil, header.head.sequence <= state.head.sequence,
            !state.contains(header.head)
        else { return failure }
        let name = session.tresors.knownNameBlocking(of: header.tresor).map { DisplayText.name($0.bytes) }
        let title = name ?? String(header.tresor.description.prefix(10))
        return CommandFailure(
            failure.error, "\(failure.message); or it is of another history of \(title): nothing proves which",
            hints: failure.hints + ["tresor log -t \(ShortID.text(of: header.tresor))"], file: failure.file)
    }

    /// Explains a store that shows less of the log than the file names: an old copy, or a forged file.
    private func behind(_ header: FileHeader) async -> CommandFailure {
        let state = try? await context.client.logs.state(of: header.tresor, remembering: .no)
        let name = session.tresors.knownNameBlocking(of: header.tresor).map { DisplayText.name($0.bytes) }
        let title = name ?? String(header.tresor.description.prefix(10))
        let shown = state.map { "entry \($0.head.sequence)" } ?? "no entry"
        let owner = state.map(context.tresors.owner)
        var hints: [String] = []
        if let state, let owner, context.service == nil {
            // Nothing proves yet who sealed the file: the owner of the tresor has to ask.
            let name = owner == session.user ? "its author" : context.tresors.handle(of: owner, in: state)
            hints = ["ask \(name) to run: tresor export -t \(ShortID.text(of: header.tresor))"]
        }
        return CommandFailure(
            .store(.behind),
            "the store has \(shown) of \(title), \(input.shownName) needs entry \(header.head.sequence): "
                + "the store is behind, or the file is damaged or not genuine",
            hints: hints, file: input.path)
    }

    /// Names the members who would gain access to a resealed file.
    private func newcomers(_ error: TresorError, _ header: FileHeader) async -> CommandFailure? {
        guard let state = try? await context.client.logs.state(of: header.tresor, remembering: .no) else {
            return nil
        }
        let newcomers = state.newcomers(after: header.epoch)
        let names = newcomers.prefix(3).map { context.tresors.handle(of: $0, in: state) }
        let others = newcomers.count > 3 ? " and \(newcomers.count - 3) others" : ""
        return CommandFailure(
            of: error,
            "\(input.shownName) is older than the access of \(names.joined(separator: ", "))\(others), "
                + "who could open it afterwards",
            hints: ["tresor … --accept-newcomers"], file: input.path)
    }

    private func missing(_ tresor: TresorID) -> CommandFailure {
        let path = (try? context.invocation.places.store()) ?? "store.db"
        let id = ShortID.text(of: tresor)
        let words =
            "\(input.shownName) is in the tresor \(id), which the store at \(DisplayText.quoted(path)) does not have, "
            + "or the file is damaged"
        if let other = context.client.archive.otherStore(of: tresor) {
            let place = DisplayText.quoted(String(decoding: other.bytes, as: UTF8.self))
            return CommandFailure(
                .notFound, "\(words); you first saw it in \(place)",
                hints: [context.tresors.hint(to: other)].compactMap { $0 }, file: input.path)
        }
        let other = "tresor … {--store} --store FILE"
        return CommandFailure(
            .notFound, words,
            hints: context.service == nil
                ? ["ask its author to run: tresor export -t \(id) -o EXPORT", "tresor import EXPORT", other] : [other],
            file: input.path)
    }

    /// Why a member cannot have a file, as far as it can be told.
    private func failure(_ error: TresorError, _ header: FileHeader, in state: LogState) async -> CommandFailure {
        let user = session.identity.user
        let name = session.tresors.knownNameBlocking(of: state.tresor)
        let title = name.map { DisplayText.name($0.bytes) } ?? String(state.tresor.description.prefix(10))
        let owner = context.tresors.handle(of: state.founder, in: state)
        if state.chain(of: user)?.isNewer(than: session.identity.chain) == true {
            let reason = OldKeys.reason
            return CommandFailure(
                of: error, "\(input.shownName): \(reason.message)", hints: reason.hints, file: input.path)
        }
        if isResealing, state.members[user]?.role == .reader {
            return CommandFailure(
                of: error, "you can read \(title) (owned by \(owner)) but not write to it", file: input.path)
        }
        if isResealing, var failure = context.tresors.copyRefusal(of: state.tresor, session) {
            failure.file = input.path
            return failure
        }
        if let wraps = try? await context.client.store.wraps(of: user, in: state.tresor, epoch: state.epoch),
            wraps.isEmpty
        {
            let word = name.map { Shell.word($0, or: state.tresor) } ?? String(state.tresor.description.prefix(10))
            if state.members[user]?.role == .owner {
                return CommandFailure(
                    of: error,
                    "you have no key \(state.epoch) of \(title): nobody gave you one, or the store has lost it",
                    hints: ["tresor check", "tresor rotate -t \(word)"], file: input.path)
            }
            return CommandFailure(
                of: error, "the store has lost your key to \(title); another member can restore it",
                hints: ["ask \(owner) to run: tresor check --repair -t \(word)"], file: input.path)
        }
        let reason: String
        if !(1...state.epoch).contains(header.epoch) {
            reason = "names key \(header.epoch) of \(title), which there is not: it is damaged, or not genuine"
        } else if let member = state.members[user], case .from(let first) = member.history, header.epoch < first {
            reason = "was sealed before you were added, or is damaged"
        } else {
            reason =
                requiresCurrent
                ? "is by somebody who may no longer write in \(title)"
                : "is by somebody who was not allowed to write it, or under a key that you do not have"
        }
        let failure = CommandFailure(of: error, "\(input.shownName) \(reason)", file: input.path)
        return header.epoch > state.epoch ? addingHistory(to: failure, of: header, in: state) : failure
    }

    /// The messages that need no identity.
    ///
    /// - Parameter text: what was read, if that may be armour that was changed on its way, or another kind of file.
    static func failure(_ error: TresorError, _ input: InputFile, _ text: [UInt8] = []) -> CommandFailure {
        if let mistake = FileKind.mistake(in: text, of: input, wanted: .sealedFile) { return mistake }
        if error == .altered, let failure = input.change ?? TransportDamage(of: text)?.failure(input) { return failure }
        return switch error {
        case .altered:
            CommandFailure(
                of: error, "\(input.shownName) is damaged, forged, or not the file that was asked for", file: input.path
            )
        case .unsupported:
            CommandFailure(
                of: error,
                "\(input.shownName) was made by a newer version, was changed on its way, or is no sealed file",
                file: input.path)
        default: CommandFailure(of: error, "\(input.shownName): \(CommandFailure(error).message)", file: input.path)
        }
    }

    private var me: String {
        (try? context.client.identityFileBlocking().chain).map { Shell.word($0.handle, or: $0.user) } ?? "YOU"
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCrypto
import TresorRemote
import TresorStore

/// The surroundings of a command, made once from its options and the environment.
struct Invocation: Sendable {
    let options: GlobalOptions
    let environment: Environment
    let output: Output
    let places: Paths
    let standardInput: StandardInput
    let passwords: PasswordSource
    let shownPeople = ShownPeople()

    /// - Throws: 1 when the cryptographic library is not fit, before anything is opened (SPEC §5.1).
    init(_ options: GlobalOptions) throws(CommandFailure) {
        do throws(TresorError) { try Sodium.start() } catch { throw CommandFailure(error) }
        let environment = try Environment.current()
        let standardInput = StandardInput()
        let isBatch = options.batch
        self.options = options
        self.environment = environment
        self.standardInput = standardInput
        output = Output(options: options, environment: environment)
        places = try Paths(options: options, environment: environment)
        HintCompletion.remember(store: { [places] in (try? places.storeOptions()) ?? [] })
        passwords = PasswordSource(
            options: options, environment: environment, standardInput: standardInput,
            terminal: { isBatch ? nil : Terminal() })
    }

    /// Notes the store that was named on the command line, for the commands after this one.
    ///
    /// - Returns: `false` if none was named, or if the home notes one.
    @discardableResult func noteNamedStore() throws(CommandFailure) -> Bool {
        guard options.store != nil, FileIdentity(path: places.storeNote) == nil else { return false }
        try places.noteStore()
        return true
    }

    /// The person at the terminal, for a question.
    ///
    /// - Parameter failure: the error when nobody may or can be asked; it names the option that gives the answer.
    func person(or failure: @autoclosure () -> CommandFailure) throws(CommandFailure) -> Terminal {
        guard !options.batch, let terminal = Terminal() else { throw failure() }
        return terminal
    }

    /// Whether a person could be asked.
    var hasTerminal: Bool { !options.batch && Terminal() != nil }

    func progress(_ label: String) -> Progress {
        Progress(label, options: options, environment: environment)
    }

    /// Takes what the client of a service says: an obstacle for the message of a failure, a transfer for the terminal.
    ///
    /// - Parameter place: the address of the service, fit to be shown.
    func serviceReport(of place: String) -> ServiceReport {
        let (obstacle, notices, keys) =
            (Surroundings.current.obstacle, Surroundings.current.notices, Surroundings.current.keys)
        keys.note(
            place, hasLogin: { [places] in ServiceLogin.mayBeLost(in: places) },
            hasAccount: { [places] in ServiceLogin.hasAccount(in: places) })
        let transfers = TransferProgress { [options, environment] label in
            Progress(label, options: options, environment: environment)
        }
        return ServiceReport(
            obstacle: { [turns = Surroundings.current.turns] noted in
                if noted != nil { turns.end() }
                transfers.finish()
                obstacle.note(noted)
            }, transfer: { transfers.update($0) }, mayBeDone: { obstacle.note(mayBeDone: $0) },
            areKeysTaken: { keys.note(areTaken: $0) },
            notice: { [output, places] notice in
                notices.take(
                    notice, from: place, damage: ServiceLogin.damage(in: places), say: { output.say($0) },
                    hint: { output.hint($0) })
            })
    }

    /// The files of the home, the store and the password, as they are now.
    var ownFiles: OwnFiles {
        OwnFiles(places, passwords: [options.passwordFile, environment.passwordFile].compactMap(\.self))
    }

    /// Refuses outputs that would replace what cannot be made again: files of this home, the store, a recovery kit.
    func refuseOwnFiles(_ plan: OutputPlan) throws(CommandFailure) {
        let own = ownFiles
        for step in plan.steps {
            if let path = step.input { try refuseStore(path, own) }
            guard case .file(let path) = step.target else { continue }
            try refuseReplacing(path, own)
        }
    }

    /// Refuses one such output, and a card or an identity in another place.
    func refuseReplacing(_ path: String) throws(CommandFailure) { try refuseReplacing(path, ownFiles) }

    private func refuseReplacing(_ path: String, _ own: OwnFiles) throws(CommandFailure) {
        let kind = own.contains(path) ? nil : ProtectedFile(at: path)
        guard let reason = reasonToKeep(path, kind, own) ?? kind.map({ "is \($0.rawValue)" }) else { return }
        throw CommandFailure(.usage, "\(DisplayText.quoted(path)) \(reason), and is not replaced", file: path)
    }

    /// Refuses one such output, which may replace a card.
    func refuseOwnFile(_ path: String) throws(CommandFailure) {
        let own = ownFiles
        let kind = own.contains(path) ? nil : ProtectedFile(at: path)
        guard let reason = reasonToKeep(path, kind, own) else { return }
        throw CommandFailure(.usage, "\(DisplayText.quoted(path)) \(reason), and is not replaced", file: path)
    }

    /// Refuses INPUTs that others should not have, although they may read the tresor.
    func refuseSealing(_ paths: [String], _ own: OwnFiles) throws(CommandFailure) {
        for path in paths {
            try refuseStore(path, own)
            let kind = ProtectedFile(at: path)
            try refuseSealing(path, kind == .identity ? "is an identity" : reasonToKeep(path, kind, own))
        }
    }

    /// Refuses an INPUT whose path led to another file when it was looked at.
    func refuseSealing(_ input: InputFile, _ own: OwnFiles) throws(CommandFailure) {
        guard let path = input.path, let file = input.opened else { return }
        try refuseSealing(path, own.contains(file) ? Self.isOwn : own.isPassword(file) ? Self.isPassword : nil)
    }

    private func refuseSealing(_ path: String, _ reason: String?) throws(CommandFailure) {
        guard let reason else { return }
        throw CommandFailure(.usage, "\(DisplayText.quoted(path)) \(reason), and is not sealed", file: path)
    }

    /// Refuses the store as an INPUT: to close it would drop the locks that SQLite holds on it.
    func refuseStore(_ path: String, _ own: OwnFiles) throws(CommandFailure) {
        guard own.isStore(path) else { return }
        throw CommandFailure(
            .usage, "\(DisplayText.quoted(path)) is the store in use, and cannot be an INPUT", file: path)
    }

    /// The reason to keep a file that nobody can make again; `nil` for any other.
    private func reasonToKeep(_ path: String, _ kind: ProtectedFile?, _ own: OwnFiles) -> String? {
        if own.contains(path) { return Self.isOwn }
        if kind == .kit { return "is \(ProtectedFile.kit.rawValue)" }
        return own.isPassword(path) ? Self.isPassword : nil
    }

    private static let isOwn = "belongs to the home or is the store"
    private static let isPassword = "holds the password"
}

// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRemote

struct RegisterCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "register", group: .you, abstract: "Get an account with a service, or invite somebody to get one.",
            usage: """
                tresor register [--no-login] [--invitation FILE] [--replace] [--yes]
                tresor register --invite LABEL
                """,
            discussion: """
                Sends your card to the service. The operator of the service admits you, before or after: an \
                invitation can do so at once. Until then the exit code is 17; run the command again later. It asks for the \
                password of this home, which then also logs in on another machine: tresor login. The service keeps a \
                record and a copy of the identity, which the password alone opens, and never learns it. --no-login leaves \
                neither. Run it again where the service has lost the log-in; one that another machine set keeps its \
                password. This home knows a service again by its key: --replace takes another one at the same address, \
                if its operator says that they made a new one, or restored it from a backup. \
                With --store, a service that has moved is registered with at its new address: if it says that it is the one \
                that this home uses, the home notes the address, after a yes. A service cannot prove that: the address has \
                to come from its operator. --invite is for the operator, and \
                prints an invitation: 26 characters, good once within 14 days. Anyone who has them can use them.
                """,
            classes: [.identity, .store, .write], further: [.waiting],
            examples: [
                "tresor register", "tresor register --no-login --invitation invitation.txt",
                "tresor register --no-login",
                "tresor register --invite \"ward 3\"",
            ])
    }

    @Option(
        help: ArgumentHelp("An invitation that you got from the operator.", valueName: "FILE"), completion: .file())
    var invitation: String?

    @Flag(help: "Leave no log-in by password with the service.")
    var noLogin = false

    @Flag(help: "Take the service as it is now, though this home has met another one at the address.")
    var replace = false

    @Option(
        help: ArgumentHelp(
            "Make an invitation, and note LABEL with it, which the operator alone is shown.", valueName: "LABEL"))
    var invite: String?

    @Flag(help: "Do not ask before the home notes the new address of a service.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        if let invite { return try await makeInvitation(for: invite) }
        if replace { try forgetService() }
        if noLogin {
            let service = try await AskedService.open(options, to: "register")
            let (code, move) = try await prepare(service)
            return try await finish(try await register(code, with: service), move, service)
        }
        let context = try await AskedService.context(options)
        let unlocked = try await UnlockedIdentity.open(context, to: "register")
        try unlocked.checkLength()
        guard let service = AskedService(unlocked.session, context) else { throw AskedService.needed }
        let (code, move) = try await prepare(service)
        let registered = try await register(code, unlocked.password, with: service)
        try await finish(registered.state, move, service)
        try tell(registered, service)
    }

    private func prepare(_ service: AskedService) async throws -> (invitation: Invitation?, move: Move?) {
        Surroundings.current.keys.note(service.session.identity, isUnseen: false)
        let code = try invitation.map { try readInvitation($0, service) }
        return (code, try await move(to: service))
    }

    private func finish(_ state: AccountState, _ move: Move?, _ service: AskedService) async throws {
        guard state == .active else { throw Self.waiting(state, move, service) }
        // The notes of the former address hold here, also that a kit's copy is due.
        if case .same(let former?) = move, let name = StoreName(Array(former.description.utf8)) {
            try service.session.client.archive.renameStore(name)
        }
        // The home notes that its card is published, once the service shows it.
        try await service.session.client.people.publishCard()
        try? service.session.client.archive.noteStore(ofAccount: service.session.user)
        let slots = service.session.unlocking
        if try slots.isKitCopyDue() { try await slots.restoreKitCopy() }
        try await report(service)
        try tell(move, service)
    }

    /// The meaning of an address that was given for the service that the home notes.
    private enum Move {
        /// The service that this home uses has answered there, by its own word; from its former address, if it has moved.
        case same(from: ServiceAddress?)
        /// Another service has, and the home goes on to use the store that it used.
        case another
    }

    /// Finds out whether the service that this home uses answers at an address that was given, or one whose log-in the home
    /// keeps there until it notes the address. It says so itself, and nothing proves it: a person has to have the address
    /// from its operator.
    ///
    /// - Throws: 64 without a person and `--yes`, 1 when they say anything but yes.
    private func move(to service: AskedService) async throws -> Move? {
        let (context, places) = (service.context, service.context.invocation.places)
        // The noted address with other certificates is such a way too: a clinic that is its own authority renews them.
        let noted = try places.notedService()
        guard let given = try places.service(), noted != given,
            options.store != nil || noted?.address == given.address
        else { return nil }
        // The same address by another way, such as a proxy, is nothing to ask about. The home may not know who is there.
        guard noted?.address != given.address else { return .same(from: nil) }
        let server = try await service.serverID()
        let claim: String
        var former: ServiceAddress?
        if let noted, try KnownServices.server(at: noted.address.audience.hash(), in: context.client.home) == server {
            claim = "\(DisplayText.quoted(noted.address.description)), which this home uses"
            former = noted.address
        } else if try ServiceLogin.isKept(from: server, in: places) {
            claim = "a service with a log-in of yours, which this home then uses"
        } else {
            return .another
        }
        try context.confirm(
            "\(service.place) says that it is \(claim). did its operator give you this address?", yes: yes)
        return .same(from: former)
    }

    /// Notes the address of a service that has moved. A tresor in another store has to be taken along first.
    private func tell(_ move: Move?, _ service: AskedService) throws {
        let output = service.context.output
        switch move {
        case .same:
            try service.context.invocation.places.noteStore()
            output.say("this home uses \(service.place) from now on")
        case .another:
            let places = service.context.invocation.places
            let store = DisplayText.quoted(try places.ownStore())
            output.say(
                try places.notedService() == nil
                    ? "this home goes on to use \(store) without --store"
                    : "\(service.place) is another service than \(store), which this home goes on to use without --store"
            )
            let authority = try places.service()?.certificates.map { ", with --store-ca \(Shell.word($0)) there" } ?? ""
            output.say(
                "to use \(service.place) in each command\(authority), set it in your shell: export "
                    + "TRESOR_STORE=\(Shell.word(try places.store()))")
        case nil: break
        }
    }

    /// Forgets the service that the home has met at the address, and what it showed of a log-in. At an address that only says
    /// that it is that service, the log-in stays known.
    private func forgetService() throws {
        let context = try CommandContext.local(options)
        _ = try context.identityFile()
        let home = context.client.home
        guard let service = try context.invocation.places.service() else {
            // Log-ins that do not read keep a home from being given to another machine, also beside a file.
            return try KnownLogins.forget(at: nil, in: home)
        }
        let audience = try service.address.audience.hash()
        try KnownLogins.forget(at: try? ServiceLogin.believed(in: context.invocation.places), in: home)
        try KnownServices.forget(audience, in: home)
    }

    /// Takes each step that is left. A service that has taken a step before says so. One that did not know the person is
    /// to have the copy that the kit opens; any other may have deleted it for a later kit.
    ///
    /// - Parameter renewing: whether an older card of this person there gives way to the newest one.
    private func register(
        _ code: Invitation?, with service: AskedService, renewing: Bool = true
    ) async throws -> AccountState {
        do throws(TresorError) {
            let request = RegisterRequest(
                chain: service.session.chain.bytes, invitation: code?.code ?? [], blinded: [])
            let state = try await service.call(request).state
            if state == .asked || state == .complete { try service.session.unlocking.awaitKitCopy() }
            guard state == .asked else { return state }
            let statement = try LoginStatement(
                by: service.session.identity, server: try await service.serverID(), revision: 1, record: .zero,
                copy: .zero, time: service.context.now)
            return try await service.call(FinishRequest(record: [], statement: statement, copy: [])).state
        } catch {
            guard renewing, try await renewsCard(after: error, service) else { throw failure(of: error, service) }
            return try await register(code, with: service, renewing: false)
        }
    }

    /// Brings the newest keys to a service that has this person by older ones: they were made beside another store. It has
    /// no copy then that the kit of the newest keys opens.
    ///
    /// - Returns: `false` for any other refusal, and for the card of somebody else.
    private func renewsCard(after refusal: TresorError, _ service: AskedService) async throws -> Bool {
        guard refusal == .unverified, service.session.identity.generation > 0 else { return false }
        do throws(TresorError) {
            try await service.session.client.people.publishCard()
        } catch {
            guard [.noAccess, .unverified, .forked, .busy].contains(error) else { throw CommandFailure(error) }
            return false
        }
        try service.session.unlocking.awaitKitCopy()
        service.context.output.say(
            "\(service.place) had your card from before, and has the one of your newest keys now")
        return true
    }

    /// Registers with the password of the home.
    private func register(
        _ code: Invitation?, _ password: borrowing Password, with service: AskedService, renewing: Bool = true
    ) async throws -> Login.Registered {
        guard let login = try ServiceLogin(service.session, service.context) else { throw AskedService.needed }
        do throws(TresorError) {
            return try await login.login.register(password, invitation: code?.code ?? []) {
                login.tellFailures(of: $0)
            }
        } catch {
            if renewing, try await renewsCard(after: error, service) {
                return try await register(code, password, with: service, renewing: false)
            }
            switch error {
            case .unsupported:
                throw CommandFailure(
                    of: error, "the service at \(service.place) has no log-in by password, or one of another release",
                    hints: ["tresor … --no-login"])
            case .altered, .forked: throw await login.failure(of: error)
            default: throw failure(of: error, service)
            }
        }
    }

    private func failure(of error: TresorError, _ service: AskedService) -> CommandFailure {
        switch error {
        case .unverified:
            CommandFailure(
                of: error,
                "the service at \(service.place) has another card under the handle "
                    + DisplayText.name(service.session.handle.bytes)
                    + (invitation == nil ? "; an invitation of the operator comes before somebody who only waits" : "")
                    + "; the handle of a closed account stays taken; if it is yours, from another machine, log in there; another "
                    + "handle is another identity, in a home of its own, and tresors stay with this one",
                hints: hints(wayOutOf: service))
        case .noAccess where invitation != nil && Surroundings.current.keys.refusal == nil:
            CommandFailure(
                of: error,
                "the invitation is not good at \(service.place): it was used or mistyped, or its time is over",
                hints: ["tresor … {--invitation}"])
        case .noAccess:
            CommandFailure(
                of: error,
                "the service at \(service.place) does not let you register: your account was deleted or closed, or has "
                    + "newer keys than this home, or the service does not go by this address",
                hints: ["tresor login \(Shell.word(service.session.handle.text))", OldKeys.wayOut])
        case .busy:
            CommandFailure(
                of: error,
                "too many people or commands register at \(service.place) just now, or "
                    + (invitation == nil
                        ? "another home or command of yours sets the log-in at the same time"
                        : "the invitation is not good, since one that is has room of its own: it was used or mistyped, or its "
                            + "time is over")
                    + "; run the command again in \(Self.minutesToWait) min")
        default: CommandFailure(error)
        }
    }

    /// The minutes after which the service hears this network again, as it says.
    private static var minutesToWait: UInt32 {
        if case .tooOften(let minutes)? = Surroundings.current.obstacle.value { minutes } else { 1 }
    }

    /// Without an invitation, one may help. Another handle is another identity, which takes no place of this one: a person may
    /// have tresors and a kit here.
    private func hints(wayOutOf service: AskedService) -> [String] {
        (invitation == nil ? ["tresor … --invitation FILE"] : [])
            + ["tresor login \(Shell.word(service.session.handle.text)) --home DIR", "tresor keygen NAME --home DIR"]
    }

    private static func waiting(_ state: AccountState, _ move: Move?, _ service: AskedService) -> CommandFailure {
        guard state != .closed else {
            return CommandFailure(of: .noAccess, "your account at \(service.place) was deleted or closed")
        }
        var words = "the operator of \(service.place) has to admit you; then run the same command again"
        let places = service.context.invocation.places
        if case .another = move, let former = try? places.notedService() {
            words +=
                "; it is another service than \(DisplayText.quoted(former.address.description)), which this home uses"
        }
        return CommandFailure(of: .waiting, words)
    }

    /// Says what became of the log-in.
    private func tell(_ registered: Login.Registered, _ service: AskedService) throws {
        let output = service.context.output
        let handle = Shell.word(service.session.handle.text)
        guard !registered.isSetElsewhere else {
            output.say(
                "another machine set the log-in by password since this home last saw it, and its password may be another one "
                    + "than that of this home: take the one from there, or set one for both")
            output.hint("tresor login \(handle)")
            return output.hint("tresor passwd")
        }
        if !registered.isSet {
            output.say(
                "the log-in by password is as before: where it was set on another machine, its password may be another one "
                    + "than that of this home")
            output.hint("tresor passwd")
        }
        // It may have been set while its person waited, or by another machine with another password.
        let password = registered.isSet ? "this password" : "the password that was set last"
        output.say(
            "another machine gets your identity with \(password): tresor login \(handle) --store "
                + "\(try service.context.invocation.places.store())")
    }

    /// Whether the service shows the very log-in that the home knows. One that was restored may show a former one.
    private func showsLogin(_ service: AskedService) async -> Bool {
        guard let account = try? await service.call(AccountRequest()), let statement = account.statement else {
            return false
        }
        let known = try? KnownLogins.login(at: statement.server, in: service.context.client.home).statement
        return account.hasRecord && known == statement
    }

    private func report(_ service: AskedService) async throws {
        let context = service.context
        let hasLogin = try ServiceLogin.isKnown(in: context.invocation.places)
        guard !options.json else {
            return try context.output.object([
                "type": "registration", "service": .string(try context.invocation.places.store()),
                "handle": .text(service.session.handle.bytes), "user": .string(service.session.user.description),
                "state": "active", "login": .bool(hasLogin),
            ])
        }
        context.output.say("you are registered at \(service.place)")
        if noLogin, hasLogin, await showsLogin(service) {
            context.output.say("the log-in by password that you set before stays")
        }
        guard try context.identityFile().kitLocator == nil else { return }
        context.output.say(
            "this home knows of no kit; a kit that you made on another machine stays valid: "
                + "\(HintCompletion.command("rotate --identity")) ends it")
        context.output.hint("tresor recover --new-kit")
    }
}

/// Invitations.
extension RegisterCommand {
    /// More than 26 characters with blanks and line ends need.
    private static let invitationByteCount = 1024

    private func readInvitation(_ path: String, _ service: AskedService) throws(CommandFailure) -> Invitation {
        let input = try InputFile(path, standardInput: service.context.invocation.standardInput)
        let failure = CommandFailure(
            .altered, "\(input.shownName) is no invitation, which has 26 characters", file: input.path)
        let typed = try input.readSecret(limit: Self.invitationByteCount, tooLarge: failure)
        do throws(TresorError) {
            return try Invitation(typed: typed)
        } catch {
            guard let position = Invitation.wrongCharacter(in: typed) else { throw failure }
            throw CommandFailure(
                of: error,
                "character \(position) of the invitation in \(input.shownName), without blanks and hyphens, is mistyped",
                file: input.path)
        }
    }

    private func makeInvitation(for text: String) async throws {
        guard invitation == nil, !noLogin, !replace, !yes else {
            throw CommandFailure.usage("--invite LABEL stands alone")
        }
        let label = try CommandContext.name(text, of: "a label")
        let service = try await AskedService.open(options, to: "invite somebody")
        let code = try Invitation()
        let until = min(service.context.now + Invitation.duration, Format.latestTime)
        do throws(TresorError) {
            _ = try await service.call(InviteRequest(hash: try code.hash(), label: label, until: until))
        } catch {
            guard error == .noAccess else { throw CommandFailure(error) }
            throw CommandFailure(of: error, "only the operator of \(service.place) invites people")
        }
        let output = service.context.output
        guard !options.json else {
            return try output.object([
                "type": "invitation", "invitation": .string(code.text), "label": .text(label.bytes),
                "until": .time(until),
            ])
        }
        try output.line(code.text)
        output.say(
            "an invitation for \(DisplayText.name(label.bytes)), good once until \(Timestamp(seconds: until).date)")
    }
}

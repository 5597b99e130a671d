// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

/// The log-in by password at the service of a command, and what is said about it (SPEC §20.5).
struct ServiceLogin: Sendable {
    let login: Login
    /// The address, fit to be shown.
    let place: String
    private let context: CommandContext
    private let client: ServiceClient
    private let audience: Hash256

    /// - Parameter session: whose log-in is set; `nil` for somebody who logs in.
    /// - Returns: `nil` if the store is a file.
    init?(_ session: Session?, _ context: CommandContext) throws {
        guard let client = context.service, let service = try context.invocation.places.service() else {
            return nil
        }
        try Self.checkHome(in: context.invocation.places)
        self.context = context
        self.client = client
        place = DisplayText.quoted(service.address.description)
        audience = try service.address.audience.hash()
        login = Login(session?.client ?? context.client, at: client, audience: audience)
    }

    /// Whether a home knows of a log-in by a password of its person at the service in use.
    ///
    /// - Parameter orElsewhere: whether any log-in counts at an address that the home has not met: the service may have moved
    ///   there.
    static func isKnown(in places: Paths, orElsewhere: Bool = false) throws -> Bool {
        guard let service = try places.service() else { return false }
        try checkHome(in: places)
        let home = DirectoryHome(data: places.data, state: places.state)
        let servers = try servers(in: home)
        guard let server = try KnownServices.server(at: service.address.audience.hash(), in: home) else {
            return orElsewhere && !servers.isEmpty
        }
        return servers.contains(server)
    }

    /// Whether a registration without a log-in by password could lose one: the home knows of one, or does not read.
    static func mayBeLost(in places: Paths) -> Bool { (try? isKnown(in: places, orElsewhere: true)) ?? true }

    /// The service whose log-in the home forgets at the address in use, if its person says so; `nil` for none.
    static func believed(in places: Paths) throws -> Hash256? {
        guard let address = try places.service()?.address else { return nil }
        let noted = try places.notedService()?.address.audience.hash()
        let home = DirectoryHome(data: places.data, state: places.state)
        return try KnownServices.believed(at: address.audience.hash(), noted: noted, in: home)
    }

    /// Whether the home knows of such a log-in at a service, and forgets it for nobody who answers at the address in use.
    static func isKept(from server: Hash256, in places: Paths) throws -> Bool {
        try checkHome(in: places)
        let home = DirectoryHome(data: places.data, state: places.state)
        return try servers(in: home).contains(server) && believed(in: places) != server
    }

    /// Whether a home has registered with the service in use, as far as it knows: it notes the address, or it has seen a
    /// statement about a log-in there.
    static func hasAccount(in places: Paths) -> Bool {
        guard let address = try? places.service()?.address else { return false }
        if (try? places.notedService())?.address == address { return true }
        let home = DirectoryHome(data: places.data, state: places.state)
        let noted = (try? home.read(.notedStores)).flatMap { try? NotedStores($0) }
        if noted?.all.contains(where: { $0.bytes.elementsEqual(address.description.utf8) }) == true { return true }
        guard let server = try? KnownServices.server(at: address.audience.hash(), in: home) else { return false }
        return (try? KnownLogins.login(at: server, in: home).statement) != nil
    }

    /// The services at which the home knows of such a log-in.
    static func servers(in home: any Home) throws -> Set<Hash256> {
        guard let bytes = try home.read(.identity) else { return [] }
        return try KnownLogins.servers(of: IdentityFile(bytes).chain.user, in: home)
    }

    /// Asks a service at an address that the home has not met which one it is.
    ///
    /// - Returns: `nil` if the home knows of no log-in there.
    func ifKnown() async throws -> ServiceLogin? {
        guard try KnownServices.server(at: audience, in: context.client.home) == nil else { return self }
        let server: Hash256
        do throws(TresorError) { server = try await client.server().id() } catch { throw await failure(of: error) }
        return try Self.servers(in: context.client.home).contains(server) ? self : nil
    }

    /// Names what the home knows of services and log-ins, if it does not read: the service is not to blame.
    private static func checkHome(in places: Paths) throws(CommandFailure) {
        for object in [HomeObject.knownServices, .knownLogins] {
            if let damage = damage(of: object, in: places) { throw damage }
        }
    }

    /// The failure of a home that cannot tell which services it has met; `nil` for one that can.
    static func damage(in places: Paths) -> CommandFailure? {
        let home = DirectoryHome(data: places.data, state: places.state)
        guard var failure = damage(of: .knownServices, in: places), failure.error == CommandError(.altered) else {
            return nil
        }
        let identity = (try? home.read(.identity)).flatMap { try? IdentityFile($0) }
        if identity == nil {
            // Nobody registers without one.
            failure.hints = [HomeFault.wayOut(at: home.path(of: .knownServices))]
        } else if (try? servers(in: home).isEmpty) == true {
            // Nobody needs a log-in to mend it.
            failure.hints = ["tresor register --no-login --replace"]
        }
        return failure
    }

    private static func damage(of object: HomeObject, in places: Paths) -> CommandFailure? {
        let home = DirectoryHome(data: places.data, state: places.state)
        do throws(TresorError) {
            guard let bytes = try home.read(object) else { return nil }
            if object == .knownServices { _ = try KnownServices(bytes) } else { _ = try KnownLogins(bytes) }
            return nil
        } catch {
            let path = home.path(of: object)
            guard error == .altered else { return CommandFailure(error, file: path) }
            var failure = HomeFault.damaged(object, error, at: path)
            failure.hints = [wayOut(of: home)]
            return failure
        }
    }

    /// Says how often somebody tried to log in and did not have the password.
    func tellFailures(of account: AccountAnswer?) {
        guard let account, let statement = account.statement, account.failures > 0 else { return }
        let count = account.failures
        context.output.say(
            "\(count) \(count == 1 ? "log-in" : "log-ins") under your handle since "
                + "\(Timestamp(seconds: statement.time).date) failed, the last at "
                + "\(Timestamp(seconds: account.failed).dateAndMinute); if they were not yours, somebody guesses your "
                + "password: a long one keeps them out")
    }

    /// Gives the log-in another password.
    ///
    /// - Returns: whether the service has it; an account that was closed has no log-in.
    func change(to password: borrowing Password, of handle: Name) async throws -> Bool {
        do throws(TresorError) {
            return try await login.register(password, replaces: true) { tellFailures(of: $0) }.isSet
        } catch {
            var failure = await failure(of: error)
            guard error == .noAccess || error == .unsupported else { throw failure }
            // The service refuses for good: the password of this home is changed without it.
            let others = error == .noAccess ? ["tresor login \(Shell.word(handle.text))"] : []
            failure.hints = others + ["tresor passwd --store none.db"]
            throw failure
        }
    }

    /// Sets the log-in at the service of a command anew, as ``renew(_:isRecovery:)`` does. Nothing is left to do for a file.
    static func renew(
        _ session: Session, _ password: borrowing Password, isRecovery: Bool, in context: CommandContext
    ) async {
        do {
            try await ServiceLogin(session, context)?.renew(password, isRecovery: isRecovery)
        } catch {
            let failure = CommandFailure(error)
            context.output.say("a log-in by password at the service was not set anew: \(failure.message)")
            for hint in failure.hints { context.output.hint(hint) }
        }
    }

    /// Sets the log-in anew if the service has one: with a password that was just set, or with new keys. The rest of the
    /// command stays done if this fails.
    ///
    /// - Parameter isRecovery: whether the password is another one, and the keys may be the same.
    private func renew(_ password: borrowing Password, isRecovery: Bool) async throws {
        var isKnown = try Self.isKnown(in: context.invocation.places)
        do throws(TresorError) {
            let account = try await login.account()
            guard account.statement?.hasPassword == true else { return }
            isKnown = true
            tellFailures(of: account)
            guard try await login.register(password, replaces: true).isSet else { return }
            context.output.say("the log-in at \(place) is set anew: this password opens your newest keys there")
        } catch {
            // Somebody whom the service does not know has no log-in there.
            guard isKnown || ![.noAccess, .waiting, .unsupported].contains(error) else { return }
            let (failure, condition) = (await failure(of: error), isKnown ? "" : "if there is one, ")
            let reason = error == .busy ? Self.busyReason : failure.message
            context.output.say("\(condition)the log-in at \(place) was not set anew: \(reason)")
            // A log-in that the home knows and that opens the newest keys is left as it is by the last.
            let next = isRecovery && isKnown ? "tresor passwd" : "tresor register"
            context.output.hint(error == .forked || error == .altered ? failure.hints.first ?? next : next)
        }
    }

    /// The failure to set the log-in, or to log in.
    ///
    /// - Parameter handle: the name that was given; `nil` where the log-in is set.
    func failure(of error: TresorError, as handle: Name? = nil) async -> CommandFailure {
        switch error {
        case .unsupported:
            CommandFailure(
                of: error, "the service at \(place) has no log-in by password, or one of another release",
                hints: handle == nil ? [] : ["tresor recover"])
        case .unverified where handle == nil:
            CommandFailure(
                of: error,
                "the service at \(place) has another card under your handle: if you made new keys beside another store, it is "
                    + "yours from before", hints: ["tresor register"])
        case .altered: await alteredFailure(as: handle)
        case .forked: forkedFailure
        case .busy: busyFailure(as: handle)
        case .failed(.memory) where handle != nil: await memoryFailure
        default: CommandFailure(error)
        }
    }

    /// Says why the service is not believed.
    private func alteredFailure(as handle: Name?) async -> CommandFailure {
        let home = context.client.home
        let words: String
        if let server = try? await client.server() {
            let known = try? KnownServices.server(at: audience, in: home)
            if let known, (try? server.id()) != known {
                return otherService
            }
            let isFair = (try? Argon2id.Cost(memoryKiB: server.memoryKiB, passes: server.passes)) != nil
            words =
                isFair
                ? "the log-in that the service at \(place) shows is not the one that its owner left there: it is damaged or forged"
                : "the service at \(place) asks for a cost of passwords that no service may choose; nothing that depends "
                    + "on the password was sent"
        } else {
            words = "the service at \(place) is not the one that answered before: somebody may stand in between"
        }
        return CommandFailure(of: .altered, "\(words); ask its operator")
    }

    /// The service at the address has another key. Somebody in between gets no record of a password by the hint.
    private var otherService: CommandFailure {
        CommandFailure(
            of: .altered,
            "the service at \(place) is not the one that this home has met there, and nothing that depends on the password "
                + "was sent; ask its operator whether they made a new one: if they did not, somebody stands in between",
            hints: [Self.wayOut(of: context.client.home, "tresor register --no-login --replace")])
    }

    private var forkedFailure: CommandFailure {
        let places = context.invocation.places
        let isBelieved = (try? Self.believed(in: places)) != nil
        let home = context.client.home
        let options = places.options(to: (try? places.store()) ?? "ADDRESS")
        return CommandFailure(
            of: .forked,
            "the service at \(place) shows an older log-in of yours than this home knows, or none: it was restored from a "
                + "backup, it ended your registration, it does not have your newest keys yet, or it tries to bring back a "
                + "former password; ask its operator; "
                + (isBelieved
                    ? "if it was restored, tell each home that says this to take it as it is"
                    : "this home does not note this address: if its operator gave it to you, note it first"),
            hints: [
                isBelieved
                    ? Self.wayOut(of: home) : Self.wayOut(of: home, "tresor register --no-login \(options)")
            ])
    }

    /// The password takes the memory that the service says.
    private var memoryFailure: CommandFailure {
        get async {
            guard let server = try? await client.server(),
                let cost = try? Argon2id.Cost(memoryKiB: server.memoryKiB, passes: server.passes)
            else { return CommandFailure(.failed(.memory)) }
            return MemoryNeed.failure(for: cost, isNew: false)
        }
    }

    /// The person with the identity may take the service as it is; an empty home has met it in vain.
    private static func wayOut(of home: any Home, _ command: String = "tresor register --replace") -> String {
        let isEmpty = (try? home.read(.identity)) == nil
        return isEmpty ? "tresor … {--home} --home DIR" : command
    }

    private static let busyReason =
        "another home or command sets it, or changes the identity, at the same time; or it was set too often, 20 times at most and "
        + "then once in five minutes; run the command again, at once or in five minutes"

    /// Says whether this home sends nothing, or the service takes nothing.
    private func busyFailure(as handle: Name?) -> CommandFailure {
        guard handle != nil else {
            return CommandFailure(
                of: .busy, "the log-in at \(place) was not set: \(Self.busyReason)")
        }
        let otherWays = "a machine with your identity, a trusted device and the kit need no log-in"
        guard let until = try? login.blockedUntil() else {
            return CommandFailure(
                of: .busy,
                "the service at \(place) takes no log-in now: there were too many under this name or from this network, "
                    + "or another command works with this home; try again in ten minutes; \(otherWays)")
        }
        return CommandFailure(
            of: .busy,
            "\(KnownLogins.mostFailures) log-ins at \(place) failed in a row: with each, anyone who answers there may test "
                + "one guess of your password, so nothing was sent, and nothing will be until "
                + "\(Timestamp(seconds: until).dateAndMinute); \(otherWays)")
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

/// The home, store and clock of one run, and what all commands do with them.
struct CommandContext: Sendable {
    let invocation: Invocation
    let client: Client
    /// The session in whose name a service is asked, and whether this device opened it; `nil` before a file.
    private let speaking: (session: Session, isByDevice: Bool)?
    /// The service that is the store; `nil` before a file.
    let service: ServiceClient?

    var output: Output { invocation.output }
    /// The session in whose name a service is asked; `nil` before a file.
    var session: Session? { speaking?.session }

    /// Opens the home and the store.
    ///
    /// - Parameters:
    ///   - creating: whether a missing file is made.
    ///   - identifying: whether a service is asked in the name of this home's identity, which is opened for it.
    ///   - acceptingDevice: whether a trusted device is enough to open it.
    /// - Throws: 10 when there is no store, and for a service without an identity here.
    static func open(
        _ options: GlobalOptions, creating: Bool = false, identifying: Bool = true, acceptingDevice: Bool = true
    ) async throws -> CommandContext {
        let invocation = try Invocation(options)
        let path = try invocation.places.store()
        CommandFailure.storeIs(at: path)
        if let service = try invocation.places.service() {
            let store = try Surroundings.current.openService(
                service, invocation.serviceReport(of: DisplayText.quoted(path)), Surroundings.current.now)
            let context = CommandContext(
                invocation: invocation, store: store, named: StoreName(Array(path.utf8)), service: store.service)
            return identifying ? try await context.identified(acceptingDevice: acceptingDevice) : context
        }
        if creating { try makeDirectory(of: path, in: invocation.places) }
        do throws(TresorError) {
            // A file that is being made has another name until it is complete.
            let store = try await Interrupts.atomically { () async throws(TresorError) in
                try await Surroundings.current.openStore(path, creating)
            }
            let context = CommandContext(
                invocation: invocation, store: store, named: StoreName(Array(Paths.absolute(path).utf8)))
            let output = invocation.output
            let say: @Sendable (String, String) -> Void = { words, wayOut in
                output.say(words)
                output.hint(wayOut)
            }
            Surroundings.current.storeDoubt.note(saying: say) { await context.storeDoubt() }
            return context
        } catch {
            if case .store = error { throw StoreFault.failure(for: error, at: path) }
            guard error == .notFound else { throw CommandFailure(error, file: path) }
            throw missingStore(at: path, for: invocation.places)
        }
    }

    /// Opens the home and the store. One that is missing is made if the command line names it, once the password is known.
    static func openingOrMaking(_ options: GlobalOptions) async throws -> CommandContext {
        let local = try CommandContext.local(options)
        let places = local.invocation.places
        let path = try places.store()
        guard options.store != nil, try places.service() == nil, FileIdentity(path: path) == nil else {
            return try await open(options)
        }
        let identity = try await local.unlock(to: "make a store", acceptingDevice: false).identity
        let context = try await open(options, creating: true)
        context.output.say("there was no store at \(DisplayText.quoted(path)): a new one is made")
        let session = Session(client: context.client, identity: identity)
        return CommandContext(invocation: context.invocation, speaking: (session, false), service: nil)
    }

    private static func missingStore(at path: String, for places: Paths) -> CommandFailure {
        let missing = "there is no store at \(DisplayText.quoted(path))"
        guard FileIdentity(path: Paths.join(places.data, "identity")) == nil else {
            return CommandFailure(.notFound, missing, hints: ["tresor … {--store} --store FILE"], file: path)
        }
        return CommandFailure(
            .notFound, "\(missing), and no identity in \(DisplayText.quoted(places.data)): \(firstSteps)",
            hints: ["tresor keygen NAME", "tresor recover --store FILE", "tresor … {--store} --store FILE"], file: path)
    }

    /// The ways to an identity in an empty home. A second one, made where one was to be restored, opens nothing.
    private static let firstSteps =
        "keygen makes your first one, and recover restores the one that you have elsewhere"

    /// Makes a context without a store, for commands that need the home alone.
    static func local(_ options: GlobalOptions) throws -> CommandContext {
        CommandContext(invocation: try Invocation(options), store: MemoryStore(), named: nil)
    }

    /// The same run without its store, for what the home has.
    var withoutStore: CommandContext { CommandContext(invocation: invocation, store: MemoryStore(), named: nil) }

    private init(
        invocation: Invocation, store: any Store, named name: StoreName?, service: ServiceClient? = nil
    ) {
        self.invocation = invocation
        self.service = service
        speaking = nil
        let home = DirectoryHome(data: invocation.places.data, state: invocation.places.state)
        var client = Client(
            home: UninterruptedHome(home: home), store: store, named: name, turns: Surroundings.current.turns,
            clock: Surroundings.current.now)
        client.hooks.slotWait = Self.slotWait(telling: invocation.output)
        let ways = OldKeys.ways(isService: service != nil)
        client.hooks.showsNewerKeys = { [output = invocation.output, keys = Surroundings.current.keys] in
            keys.noteOld {
                output.say(OldKeys.reason.message)
                ways.forEach(output.hint)
            }
        }
        client.hooks.leavesBehind = {
            [output = invocation.output, told = Surroundings.current.leftBehind] tresor, name in
            told.note(tresor) {
                let title = name.map { DisplayText.name($0.bytes) } ?? ShortID.text(of: tresor)
                let word = name.map { Shell.word($0, or: tresor) } ?? ShortID.text(of: tresor)
                output.say(
                    "\(title) has changed in this store alone: people with a store of their own need an export before they "
                        + "write")
                output.hint("tresor export -t \(word) -o FILE")
            }
        }
        client.hooks.meetsUnverified = { [client, person = Surroundings.current.unverified] chain in
            person.note(PersonResolver.refusal(of: chain, for: client))
        }
        client.hooks.meetsDamaged = { [fault = Surroundings.current.homeFault] object, error in
            fault.note(error, HomeFault.damaged(object, error, at: home.path(of: object)))
        }
        self.client = client
    }

    /// Waits where an interrupt ends the program at once: the change has not begun.
    private static func slotWait(telling output: Output) -> SlotWait {
        var wait = Surroundings.current.slotWait
        wait.pause = { [pause = wait.pause] time in await Interrupts.aside { await pause(time) } }
        wait.begins = { [turns = Surroundings.current.turns] in
            turns.end()
            output.say("another command changes the password, the kit or the devices of this home; waiting for it")
        }
        return wait
    }

    private init(
        invocation: Invocation, speaking: (session: Session, isByDevice: Bool), service: ServiceClient?
    ) {
        self.invocation = invocation
        self.speaking = speaking
        self.service = service
        client = speaking.session.client
    }

    /// Opens the identity, in whose name a service is asked from now on. What an earlier command could not delete
    /// without it is deleted first.
    private func identified(acceptingDevice: Bool) async throws -> CommandContext {
        let place = try invocation.places.store()
        let opened = try await open(
            to: "ask the service at \(DisplayText.quoted(place))", acceptingDevice: acceptingDevice)
        let cleanup = opened.session.client.cleanup
        let isUnseen = (try? cleanup.isIntroducingBlocking()) ?? false
        Surroundings.current.keys.note(opened.session.identity, isUnseen: isUnseen)
        try? await opened.session.client.cleanup.finish()
        // Nobody asked for that.
        Surroundings.current.obstacle.note(mayBeDone: false)
        return CommandContext(invocation: invocation, speaking: opened, service: service)
    }

    /// The default store is in the home, which the first command makes.
    private static func makeDirectory(of path: String, in places: Paths) throws {
        guard path == places.defaultStore else { return }
        let home = UninterruptedHome(home: DirectoryHome(data: places.data, state: places.state))
        try home.exclusively { () throws(TresorError) in }
    }

    var now: UInt64 { client.clock() }

    /// Whether the home has no verified people and no pinned heads. One that cannot be read is no such home.
    var knowsNobody: Bool {
        (try? client.people.pinnedBlocking().isEmpty) == true && (try? client.logs.knownBlocking().isEmpty) == true
    }

    /// Says which of the two a home that goes on cannot read, and the way out.
    func tellDamage() {
        Surroundings.current.homeFault.forget()
        _ = try? client.people.pinnedBlocking()
        _ = try? client.logs.knownBlocking()
        guard let damage = Surroundings.current.homeFault.failure(for: .altered) else { return }
        output.say(damage.message)
        damage.hints.forEach(output.hint)
    }

    /// A person as they are shown beside the people whom this home knows.
    func name(of chain: CardChain) -> String {
        invocation.shownPeople.name(chain.handle, of: chain.user, for: client)
    }

    /// Finds people by what was typed.
    var people: PersonResolver { PersonResolver(invocation: invocation, client: client) }
    /// Compares and pins their numbers.
    var verifier: PersonVerifier { PersonVerifier(invocation: invocation, client: client) }
    /// Finds tresors by what was typed.
    var tresors: TresorResolver { TresorResolver(invocation: invocation, client: client) }

    /// This home's identity file.
    ///
    /// - Throws: 10 when there is none.
    func identityFile() throws -> IdentityFile {
        do throws(TresorError) {
            return try client.identityFileBlocking()
        } catch {
            throw failure(of: error, file: "identity")
        }
    }

    /// The messages for failures of a file of the home.
    func failure(of error: TresorError, file name: String) -> CommandFailure {
        failure(of: error, at: Paths.join(invocation.places.data, name))
    }

    private func failure(of error: TresorError, at path: String) -> CommandFailure {
        if let named = Surroundings.current.homeFault.failure(for: error) { return named }
        switch error {
        case .notFound: return missingIdentity
        case .failed(.memory):
            let cost = try? client.identityFileBlocking().passwordCost
            return cost.map { MemoryNeed.failure(for: $0, isNew: false) } ?? CommandFailure(error, file: path)
        // A kit restores the identity into a home that has none.
        case .altered: return HomeFault.damaged(.identity, error, at: path)
        default: return CommandFailure(error, file: path)
        }
    }

    /// The failure of a command that needs an identity. Beside a service, a person may have one there.
    private var missingIdentity: CommandFailure {
        let missing = "there is no identity in \(DisplayText.quoted(invocation.places.data))"
        guard (try? invocation.places.service()) != nil else {
            return CommandFailure(
                .notFound, "\(missing): \(Self.firstSteps)",
                hints: ["tresor keygen NAME", "tresor recover", "tresor … {--home} --home DIR"])
        }
        return CommandFailure(
            .notFound,
            "\(missing): login brings the one that you registered with a password, recover restores one by its kit, and keygen "
                + "makes your first one",
            hints: ["tresor login NAME", "tresor recover", "tresor … {--home} --home DIR"])
    }

    /// Makes sure, before anything is done, that marks can be set. Marks that do not open are not replaced.
    func proveMarks(_ session: Session) throws {
        do throws(TresorError) {
            try session.tresors.proveMarksBlocking()
        } catch {
            let home = DirectoryHome(data: invocation.places.data, state: invocation.places.state)
            let path = home.path(of: .marks)
            guard error == .altered || error == .unsupported else { throw failure(of: error, at: path) }
            throw CommandFailure(
                of: error,
                "\(DisplayText.quoted(path)), which records the tresors you made or hid, "
                    + "does not open and is not replaced",
                hints: ["tresor check --deep", HomeFault.wayOut(at: path)], file: path)
        }
    }

    /// Opens the identity: with a given password, with this device, or by asking.
    ///
    /// - Parameters:
    ///   - reason: completes "password for anna (…)".
    ///   - acceptingDevice: whether a trusted device is enough.
    func unlock(to reason: String, acceptingDevice: Bool = true) async throws -> Session {
        if let speaking, acceptingDevice || !speaking.isByDevice { return speaking.session }
        return try await open(to: reason, acceptingDevice: acceptingDevice).session
    }

    private func open(
        to reason: String, acceptingDevice: Bool
    ) async throws -> (session: Session, isByDevice: Bool) {
        let file = try identityFile()
        let prompt = "password for \(DisplayText.name(file.chain.handle.bytes)) (to \(reason)): "
        do {
            let (session, isByDevice) = try await invocation.passwords.unlock(
                prompt: prompt,
                device: { acceptingDevice ? try await unlockWithDevice().map { ($0, true) } : nil },
                open: { typed in
                    let password = try PasswordSource.prepared(typed)
                    return (try await client.unlock(password: password), false)
                })
            // A journal that does not decode stops no command: check reports it.
            if (try? session.renewal.isUnfinishedBlocking()) == true {
                output.say("your new keys are not in all your tresors yet")
                output.hint("tresor rotate --identity")
            }
            return (session, isByDevice)
        } catch let error as TresorError where error == .wrongPassword {
            throw await wrongPassword()
        } catch let error as TresorError {
            throw failure(of: error, file: "identity")
        }
    }

    /// `nil` when this device is not trusted, or a password can open the identity instead.
    private func unlockWithDevice() async throws -> Session? {
        do throws(TresorError) {
            return try await client.device.unlock()
        } catch {
            if error == .notFound { return nil }
            let notices = Surroundings.current.notices
            // A damaged file of the home says nothing about the device.
            let isOfHome = Surroundings.current.homeFault.failure(for: error) != nil
            guard let fault = DeviceFault(error, of: client), !notices.isOther, !isOfHome else { throw error }
            let isGiven = invocation.environment.hasPassword
            guard isGiven || invocation.hasTerminal else {
                throw CommandFailure(
                    of: error, fault.words,
                    hints: (fault.isOver ? [DeviceFault.wayOut] : []) + ["tresor … --password-file FILE"])
            }
            guard notices.tellsDevice() else { return nil }
            output.say("\(fault.words); \(isGiven ? "using" : "asking for") the password")
            if fault.isOver { output.hint(DeviceFault.wayOut) }
            return nil
        }
    }

    /// Checks a typed name for something new; `what` says in the message what it names. Blanks alone name nothing that
    /// people could find again.
    static func name(_ text: String, of what: String) throws(CommandFailure) -> Name {
        guard let name = try? Name(typed: text), !text.unicodeScalars.allSatisfy(\.properties.isWhitespace) else {
            throw .usage(
                "\(what) has 1 to \(Name.maximumByteCount) bytes, no control characters, more than blanks, and does "
                    + "not begin with -")
        }
        return name
    }

    /// Asks once for the word yes before a dangerous act.
    ///
    /// - Throws: 64 without a person, 1 when they say anything else.
    func confirm(_ question: String, yes: Bool) throws {
        guard !yes else { return }
        let terminal = try invocation.person(or: .usage("this needs a yes", hints: ["tresor … --yes"]))
        guard try terminal.confirms(question) else { throw CommandFailure(.failed(.other), "nothing was changed") }
    }
}

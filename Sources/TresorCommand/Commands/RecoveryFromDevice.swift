// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRemote
import TresorStore

/// Taking the identity from a machine that shows a code (SPEC §8.6).
struct RecoveryFromDevice {
    let context: CommandContext
    let new: NewPasswordOptions
    let cost: Argon2id.Cost
    /// Notes the store for the commands after this one, as soon as there is an identity.
    let noteStore: () throws -> Void

    /// - Returns: the session of the new home.
    func run() async throws -> Session {
        let terminal = try context.invocation.person(
            or: .usage("the code of the other machine is typed at a terminal: this needs one, and no --batch"))
        // All that can be refused here is refused before a code is asked for.
        guard try context.client.home.read(.identity) == nil else { throw notEmpty }
        do throws(TresorError) { try DeviceArrival.checkEmpty(context.client) } catch { throw failureOfHome(error) }
        let given = try context.invocation.passwords.newGiven(from: new)
        let arrival = try await begin(at: terminal)
        try terminal.show(
            "tresor: the number of this machine is \(arrival.number)\n"
                + "tresor: say yes on the other machine if it shows this number\n")
        let received: ReceivedIdentity
        do throws(TresorError) { received = try await arrival.answer() } catch { throw failure(of: error) }
        try confirm(received, at: terminal)
        let password = try self.password(given, of: received)
        let session = try await install(received, arrival, password)
        await arrival.acknowledge(received, as: session)
        let people = received.personCount
        context.output.say(
            people == 1 ? "one verified person came with it" : "\(people) verified people came with it")
        return session
    }

    private func install(
        _ received: ReceivedIdentity, _ arrival: DeviceArrival, _ password: borrowing Password
    ) async throws -> Session {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        let session: Session
        do throws(TresorError) {
            session = try await arrival.install(received, newPassword: password, cost: cost)
        } catch {
            if error == .failed(.memory) { throw MemoryNeed.failure(for: cost, isNew: true) }
            guard error != .altered else { throw servicesDiffer(from: received) }
            throw failureOfHome(error)
        }
        try noteStore()
        return session
    }

    /// The new password: the given one, or one that is typed now that the name of the identity is known.
    private func password(
        _ given: consuming SecretBytes?, of received: ReceivedIdentity
    ) throws(CommandFailure) -> Password {
        if let given { return try PasswordSource.prepared(given) }
        let name = DisplayText.name(received.chain.handle.bytes)
        return try PasswordSource.prepared(
            try context.invocation.passwords.new(
                for: name, from: new, isFirst: false, made: KeygenCommand.makePassword))
    }

    /// Puts the offer of this machine into the mailbox of the typed code.
    private func begin(at terminal: Terminal) async throws -> DeviceArrival {
        let code = try Self.typedCode(at: terminal)
        do throws(TresorError) {
            return try await DeviceArrival.begin(
                context.client, code: code, waiting: DeviceWait.telling(context.output))
        } catch {
            guard error == .notFound else { throw failure(of: error) }
            throw CommandFailure(
                of: error,
                "no machine waits under this code: it is mistyped, its ten minutes are over, the other machine uses "
                    + "another store, or the clock of one machine is wrong")
        }
    }

    /// Asks for the code until it has the form of one, at most three times as for a password.
    private static func typedCode(at terminal: Terminal) throws -> DeviceCode {
        var attempt = 1
        while true {
            let typed = try terminal.secret("the code that the other machine shows: ")
            do throws(TresorError) {
                return try DeviceCode(typed: typed)
            } catch {
                guard error == .notFound else { throw CommandFailure(error) }
                let words = "a code has 16 letters and digits"
                guard attempt < PasswordSource.tries else { throw CommandFailure(of: error, words) }
                try terminal.show("tresor: \(words)\n")
                attempt += 1
            }
        }
    }

    /// Shows whose identity came, before anything is written.
    private func confirm(_ received: ReceivedIdentity, at terminal: Terminal) throws {
        let chain = received.chain
        let number = try chain.number().grouped
        try terminal.show("tresor: \(DisplayText.name(chain.handle.bytes)), number \(number)\n")
        guard try terminal.confirms("is this you?") else {
            throw CommandFailure(.failed(.other), "nothing was written")
        }
    }

    private var notEmpty: CommandFailure {
        .usage(
            "this home has an identity: --from-device is for an empty home",
            hints: ["tresor … {--home} --home DIR {store}"])
    }

    private func failure(of error: TresorError) -> CommandFailure {
        switch error {
        case .waiting:
            CommandFailure(of: error, "the other machine has not answered within ten minutes, and nothing was written")
        case .notFound:
            CommandFailure(of: error, "the other machine has ended this, and nothing was written; begin again there")
        case .altered:
            CommandFailure(
                of: error,
                "what the store shows in the place of the other machine's words does not read: somebody may be between "
                    + "the two machines; nothing was written")
        case .unsupported:
            CommandFailure(
                of: error, "a newer release runs on the other machine: install it here too; nothing was written")
        case .unverified:
            CommandFailure(
                of: error,
                "this code was typed before, here or on another machine, or somebody is between the two machines: nothing was "
                    + "written. End it on the other machine, and begin again")
        default: failureOfHome(error)
        }
    }

    /// The failure in this home, which says nothing about the other machine.
    private func failureOfHome(_ error: TresorError) -> CommandFailure {
        guard error == .usage(.identityExists) else { return CommandFailure(error) }
        return .usage("this home knows people or tresors already: --from-device is for an empty home")
    }

    private func servicesDiffer(from received: ReceivedIdentity) -> CommandFailure {
        let places = context.invocation.places
        let note = DirectoryHome(data: places.data, state: places.state).path(of: .knownServices)
        let address = differingAddress(from: received) ?? "an address"
        return CommandFailure(
            of: .altered,
            "at \(address) this home has met another service than the other machine, or its note of services is damaged: "
                + "somebody may be between a machine and the service; there is no identity here. If the operator made a new "
                + "service, remove \(DisplayText.quoted(note)) here, and run on the other machine the command that it hints, "
                + "if it still refuses the service. If not, one of the two met somebody else: find out with "
                + "the operator which one before you remove either. Then begin again", file: note)
    }

    /// The address of this home's service, if the two homes have met different ones there.
    private func differingAddress(from received: ReceivedIdentity) -> String? {
        guard let address = try? context.invocation.places.service()?.address,
            let audience = try? address.audience.hash(), let theirs = received.server(at: audience),
            let met = try? KnownServices.server(at: audience, in: context.client.home), met != theirs
        else { return nil }
        return DisplayText.quoted(address.description)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Taking the identity from a machine that shows a code (SPEC §8.6).
struct RecoveryFromDevice {
    let workplace: CommandContext
    let new: NewPasswordOptions
    let cost: Argon2id.Cost

    /// - Returns: the session of the new home.
    func run() async throws -> Session {
        let terminal = try workplace.invocation.person(
            or: .usage("the code of the other machine is typed at a terminal: this needs one, and no --batch"))
        guard try workplace.client.home.read(.identity) == nil else { throw notEmpty }
        let arrival = try await begin(at: terminal)
        try terminal.show("tresor: say yes on the other machine\n")
        let received: ReceivedIdentity
        do throws(TresorError) { received = try await arrival.answer() } catch { throw failure(of: error) }
        try confirm(received, at: terminal)
        let password = try PasswordSource.prepared(
            try workplace.invocation.passwords.new(
                for: DisplayText.name(received.chain.handle.bytes), from: new, isFirst: false,
                made: KeygenCommand.makePassword))
        let session: Session
        do throws(TresorError) {
            session = try await install(received, arrival, password)
        } catch {
            if error == .failed(.memory) { throw MemoryNeed.failure(for: cost, isNew: true) }
            throw failure(of: error)
        }
        await arrival.acknowledge(as: session)
        let people = received.personCount
        workplace.output.say(
            people == 1 ? "one verified person came with it" : "\(people) verified people came with it")
        return session
    }

    private func install(
        _ received: ReceivedIdentity, _ arrival: DeviceArrival, _ password: borrowing Password
    ) async throws(TresorError) -> Session {
        // A closure cannot borrow what it is given.
        Interrupts.begin()
        defer { Interrupts.end() }
        return try await arrival.install(received, newPassword: password, cost: cost)
    }

    /// Puts the offer of this machine into the mailbox of the typed code.
    private func begin(at terminal: Terminal) async throws -> DeviceArrival {
        let code = try Self.typedCode(at: terminal)
        do throws(TresorError) {
            return try await DeviceArrival.begin(
                workplace.client, code: code, waiting: Surroundings.current.deviceWait)
        } catch {
            guard error == .notFound else { throw failure(of: error) }
            throw CommandFailure(
                of: error,
                "no machine waits under this code: it is mistyped, its ten minutes are over, or the other machine uses "
                    + "another store")
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
        .usage("this home has an identity: --from-device is for an empty home")
    }

    private func failure(of error: TresorError) -> CommandFailure {
        switch error {
        case .waiting:
            CommandFailure(of: error, "the other machine has not answered within ten minutes, and nothing was written")
        case .notFound:
            CommandFailure(of: error, "the other machine has ended this, and nothing was written; begin again there")
        case .unverified, .altered:
            CommandFailure(
                of: .unverified,
                "another machine has typed this code, or somebody is between the two machines: nothing was written. End it "
                    + "on the other machine, and begin again")
        case .usage(.identityExists):
            .usage("this home knows people or tresors already: --from-device is for an empty home")
        default: CommandFailure(error)
        }
    }
}

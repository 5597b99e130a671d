// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Giving the identity of this home to another machine, on which its person types a code (SPEC §8.6).
struct DeviceAddition {
    let options: GlobalOptions

    /// The longest wait for the store after an interrupt, in seconds.
    private static let farewell = 5

    func run() async throws {
        // The code is for one pair of eyes: it goes to the terminal, and to no file.
        let terminal = try Invocation(options).person(
            or: .usage("device add shows a code at the terminal, and asks there: it needs one, and no --batch"))
        let workplace = try await CommandContext.open(options, acceptingDevice: false)
        let session = try await workplace.unlock(to: "add a machine", acceptingDevice: false)
        try await workplace.refuseOldKeys(session)
        let handover: DeviceHandover
        do throws(TresorError) {
            handover = try await DeviceHandover.open(session, waiting: Surroundings.current.deviceWait)
        } catch {
            // No machine has come yet: the home or the store is what fails.
            throw error == .store(.notStored) ? Self.failure(of: error) : CommandFailure(error)
        }
        let token = Interrupts.onInterrupt { [places = workplace.invocation.places] in
            Self.abandon(handover, DirectoryHome(data: places.data, state: places.state))
        }
        let outcome: Result<Bool, any Error>
        do { outcome = .success(try await give(handover, at: terminal, workplace)) } catch { outcome = .failure(error) }
        Interrupts.cancel(token)
        await Interrupts.atomically { await handover.close() }
        try report(try outcome.get(), session, workplace)
    }

    /// Shows the code, and answers the machine on which it was typed, after a yes.
    ///
    /// - Returns: whether the other machine took the answer in time.
    private func give(
        _ handover: DeviceHandover, at terminal: Terminal, _ workplace: CommandContext
    ) async throws -> Bool {
        let store = try workplace.invocation.places.storeOptions().map { Shell.word($0) }.joined(separator: " ")
        try terminal.show(
            "tresor: on the new machine, run: tresor recover --from-device \(store)\n"
                + "tresor: and type there, within ten minutes: ", secret: handover.code, "\n")
        do {
            let offer = try await handover.offer()
            // The machine that comes second shows a failure in the place of these words.
            try terminal.show("tresor: say yes only if the new machine shows: say yes on the other machine\n")
            let question =
                "a machine has typed the code; give it your identity, and the people and tresors that this home knows?"
            guard try terminal.confirms(question) else {
                throw CommandFailure(.failed(.other), "nothing was given to the other machine")
            }
            try await handover.answer(offer)
            workplace.output.say("answered; the other machine goes on by itself")
            return try await handover.isTaken()
        } catch let error as TresorError {
            throw Self.failure(of: error)
        }
    }

    private func report(_ isTaken: Bool, _ session: Session, _ workplace: CommandContext) throws {
        let chain = session.identity.chain
        guard isTaken else {
            throw CommandFailure(
                .waiting,
                "the other machine has not taken the answer in time; look whether it has the identity, or begin again")
        }
        workplace.output.say("\(DisplayText.name(chain.handle.bytes)) is on the other machine too, with the same keys")
        guard options.json else { return }
        try workplace.output.object([
            "type": "identity", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
            "changed": "machine",
        ])
    }

    private static func failure(of error: TresorError) -> CommandFailure {
        switch error {
        case .waiting:
            CommandFailure(of: error, "the ten minutes of the code are over, and nothing was given; begin again")
        case .unverified, .altered, .unsupported:
            CommandFailure(
                of: error == .unsupported ? error : .unverified,
                "what came was not made with this code, or that machine's clock is wrong: somebody may be between the two "
                    + "machines; nothing was given")
        case .usage(.contentTooLong):
            CommandFailure(
                of: error,
                "this home knows more people and tresors than one answer holds: restore the identity there with the kit"
            )
        case .store(.notStored):
            CommandFailure(of: error, "the store has lost what the two machines say to each other; begin again")
        default: CommandFailure(error)
        }
    }

    /// Deletes the mailbox while the process leaves. What the store does not do in time, the next command does.
    private static func abandon(_ handover: DeviceHandover, _ home: DirectoryHome) {
        let done = DispatchSemaphore(value: 0)
        Task.detached {
            await handover.abandon(in: home)
            done.signal()
        }
        _ = done.wait(timeout: .now() + .seconds(farewell))
    }
}

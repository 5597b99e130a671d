// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

extension DeviceWait {
    /// The wait of a command. It says once that the store fails and is asked again.
    static func telling(_ output: Output) -> DeviceWait {
        let isSaid = Mutex(false)
        var wait = Surroundings.current.deviceWait
        wait.away = { error in
            let isNews = isSaid.withLock { isSaid in
                defer { isSaid = true }
                return !isSaid
            }
            guard isNews else { return }
            output.say("\(CommandFailure(error).message); it is asked again as long as the code is good")
        }
        return wait
    }
}

/// Giving the identity of this home to another machine, on which its person types a code (SPEC §8.6).
struct DeviceAddition {
    let options: GlobalOptions

    /// The longest wait for the store after an interrupt, in seconds.
    private static let farewell = 5

    func run() async throws {
        // The code is for one pair of eyes: it goes to the terminal, and to no file.
        let invocation = try Invocation(options)
        let terminal = try invocation.person(
            or: .usage("device add shows a code at the terminal, and asks there: it needs one, and no --batch"))
        guard try invocation.places.directoryOfStore() == nil else {
            throw CommandFailure(
                .usage,
                "the store is in the home: put it elsewhere with --store, or restore the identity there with this file, which "
                    + "needs no store, and with the words of the kit",
                hints: ["tresor export --recovery -o FILE"])
        }
        let context = try await CommandContext.open(options, acceptingDevice: false)
        let session = try await context.unlock(to: "add a machine", acceptingDevice: false)
        try await context.refuseOldKeys(session)
        let handover: DeviceHandover
        // An interrupt does not wait for a store that cannot be reached.
        var wait = DeviceWait.telling(context.output)
        wait.pause = { [pause = wait.pause] time in await Interrupts.aside { await pause(time) } }
        do throws(TresorError) {
            handover = try await DeviceHandover.open(session, waiting: wait)
        } catch {
            // No machine has come yet: the home or the store is what fails.
            throw Self.failureOfHome(error)
        }
        let token = Interrupts.onInterrupt { [places = context.invocation.places] in
            Self.abandon(handover, DirectoryHome(data: places.data, state: places.state))
        }
        Interrupts.explaining { [weak handover] in
            let words = handover?.mayHaveGiven == true ? "; the answer was sent, and \(Self.mayBeTaken)" : ""
            return CommandFailure.interrupted + words
        }
        let outcome: Result<DeviceHandover.Ending, any Error>
        do { outcome = .success(try await give(handover, at: terminal, context)) } catch { outcome = .failure(error) }
        Interrupts.cancel(token)
        if case .success(.taken) = outcome { Interrupts.explaining(nil) }
        await Interrupts.atomically { await handover.close() }
        try report(try outcome.get(), session, context)
    }

    /// Shows the code, and answers the machine on which it was typed, after a yes.
    ///
    /// The slot lock of the home is held to the end, so the question waits no longer than the code is good.
    private func give(
        _ handover: DeviceHandover, at terminal: Terminal, _ context: CommandContext
    ) async throws -> DeviceHandover.Ending {
        let store = try context.invocation.places.storeOptions().map { Shell.word($0) }.joined(separator: " ")
        try terminal.show(
            "tresor: on the new machine, run: tresor recover --from-device \(store)\n"
                + "tresor: and type there, within ten minutes: ", secret: handover.code, "\n")
        do {
            let offer = try await handover.offer()
            // A store that helps somebody can show their offer here, and another one to the new machine.
            try terminal.show("tresor: say yes only if the new machine shows this number: \(offer.number)\n")
            let question =
                "a machine has typed the code; give it your identity, and the people and tresors that this home knows?"
            guard let isYes = try terminal.confirms(question, until: handover.until) else {
                throw TresorError.waiting
            }
            guard isYes else { throw CommandFailure(.failed(.other), "nothing was given to the other machine") }
            // An interrupt between the put and its end would leave the answer in the store.
            do throws(TresorError) {
                try await Interrupts.atomically { () async throws(TresorError) in try await handover.answer(offer) }
            } catch {
                throw handover.mayHaveGiven ? Self.failureAfterAnswer(of: error) : Self.failureOfHome(error)
            }
            context.output.say("answered; the other machine goes on by itself")
            return try await handover.ending()
        } catch let error as TresorError {
            throw handover.mayHaveGiven ? Self.failureAfterAnswer(of: error) : Self.failure(of: error)
        }
    }

    private func report(
        _ ending: DeviceHandover.Ending, _ session: Session, _ context: CommandContext
    ) throws {
        let chain = session.identity.chain
        switch ending {
        case .taken: break
        case .gone:
            throw CommandFailure(
                of: .store(.withheld), "the answer is gone from the store, and no receipt came; \(Self.lookThere)")
        case .late:
            throw CommandFailure(of: .waiting, "no receipt of the answer came in time; \(Self.lookThere)")
        }
        context.output.say("\(DisplayText.name(chain.handle.bytes)) is on the other machine too, with the same keys")
        guard options.json else { return }
        try context.output.object([
            "type": "identity", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(chain.newest.generation)), "number": .string(try chain.number().grouped),
            "changed": "machine",
        ])
    }

    /// The way out once the answer was in the store.
    private static var lookThere: String {
        "look whether the other machine has the identity, and begin again if not. If a machine that is not yours may have "
            + "it: \(HintCompletion.command("rotate --identity"))"
    }

    private static var mayBeTaken: String { "it may have been taken; \(lookThere)" }

    /// The failure once the answer was sent: somebody may have it. Words of another machine prove that; a store that fails
    /// proves nothing.
    private static func failureAfterAnswer(of error: TresorError) -> CommandFailure {
        switch error {
        case .unverified, .altered, .unsupported:
            CommandFailure(
                of: error,
                "the answer was sent, and what the store shows in its place is not of the machine that has this code: "
                    + "\(mayBeTaken)")
        default: CommandFailure(of: error, "\(CommandFailure(error).message); the answer was sent, and \(mayBeTaken)")
        }
    }

    /// The failure in this home or its store: its own errors are none of the other machine.
    private static func failureOfHome(_ error: TresorError) -> CommandFailure {
        switch error {
        case .unverified, .altered, .unsupported: CommandFailure(error)
        default: failure(of: error)
        }
    }

    /// The failure before anything was given.
    private static func failure(of error: TresorError) -> CommandFailure {
        switch error {
        case .waiting:
            CommandFailure(of: error, "the ten minutes of the code are over, and nothing was given; begin again")
        case .unverified:
            CommandFailure(
                of: error,
                "what came was not made with this code, or the clocks of the two machines differ by more than 15 minutes: "
                    + "somebody may be between the two machines; nothing was given")
        case .altered:
            CommandFailure(
                of: error,
                "what the store shows in the place of the other machine's words does not read: somebody may be between "
                    + "the two machines; nothing was given")
        case .unsupported:
            CommandFailure(
                of: error, "a newer release runs on the other machine: install it here too; nothing was given")
        case .usage(.contentTooLong):
            CommandFailure(
                of: error,
                "this home knows more people and tresors than one answer holds, and nothing was given: restore the identity "
                    + "there with the 24 words of the kit; \(HintCompletion.command("recover --new-kit")) makes one")
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

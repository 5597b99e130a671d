// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto

struct LogoutCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "logout", group: .you,
            abstract: "End your sessions and the trust in this device, or erase this home.",
            usage: "tresor logout [--erase [--force] [--yes]]",
            discussion: """
                For a machine that you share or give back. Afterwards this home opens nothing without the password: it \
                forgets this device, as tresor forget does. With a service, it opens the identity first and ends all your \
                sessions, on every machine; commands that run elsewhere begin new ones by themselves.
                --erase also deletes this home: the identity, the people you verified, pinned heads, logs, records and \
                unsent changes. A store file, and identities that keygen --force moved aside, stay. So do files \
                that you wrote elsewhere. It is refused while changes are unsent, and where neither the copy of a kit nor a \
                log-in by password, which is tried, opens the identity elsewhere. Where that cannot be shown, as from a \
                service that is away or takes no log-in, --force erases; nothing is then deleted from a store that is away. \
                If it was interrupted, run it again.
                """,
            classes: [.identity], further: [.busy, .forked, .store(.other)],
            examples: ["tresor logout", "tresor logout --erase"])
    }

    @Flag(help: "Delete this home too.")
    var erase = false

    @Flag(help: "Erase unsent changes, and an identity not shown to open elsewhere.")
    var force = false

    @Flag(help: "Do not ask.")
    var yes = false

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard erase || !(force || yes) else { throw CommandFailure.usage("--force and --yes go with --erase") }
        let local = try CommandContext.local(options)
        // A refusal here leaves the sessions, the device and all that the home has of tresors and people.
        let erasure = erase ? try await HomeErasure.plan(options, losing: force) : nil
        try erasure?.confirm(yes: yes, losing: force)
        let hasEnded = try await leave(local, erasure)
        try await erasure?.perform(losing: force)
        guard options.json else { return }
        try local.output.object([
            "type": "logout", "remembered": false, "sessions_ended": .bool(hasEnded), "erased": .bool(erase),
        ])
    }

    /// Ends the sessions at a service, and then the trust in this device, whether or not the sessions could be ended.
    ///
    /// - Returns: whether sessions were ended.
    private func leave(_ local: CommandContext, _ erasure: HomeErasure?) async throws -> Bool {
        var failure: CommandFailure?
        var hasEnded = false
        do {
            if let service = try await service(for: erasure, local) { hasEnded = try await endSessions(at: service) }
        } catch {
            failure = unended(CommandFailure(error))
        }
        do {
            // A store that is away was asked once. The device share goes with the rest of the home.
            if erasure?.asksStore != false { try await ForgetCommand.forget(options) }
        } catch {
            // The share here is destroyed. What it belongs to in the store opens nothing without it.
            guard let erasure, force || !erasure.hasIdentity else { throw failure ?? CommandFailure(error) }
            local.output.say("the store may keep what belonged to this device")
        }
        guard let failure else { return hasEnded }
        guard erasure != nil, force else { throw failure }
        local.output.say(failure.message)
        return hasEnded
    }

    private func unended(_ failure: CommandFailure) -> CommandFailure {
        let isShort = failure.error.isOfTheStore || failure.error == .busy
        let words = (erase ? " and nothing was erased" : "") + (isShort ? ", run this again later" : "")
        return CommandFailure(
            failure.error, "your sessions did not end\(erase && force ? "" : words): \(failure.message)",
            hints: failure.hints, file: failure.file)
    }

    /// The service whose sessions end; `nil` for a file, and for a home that has no identity to speak for. An identity that
    /// is open is not opened again.
    private func service(for erasure: HomeErasure?, _ local: CommandContext) async throws -> AskedService? {
        if let erasure { return erasure.service }
        guard try local.invocation.places.service() != nil, try local.client.home.read(.identity) != nil else {
            return nil
        }
        return try await AskedService.open(options, to: "end your sessions")
    }

    /// Ends all sessions of the person at the service; `false` where it knows no account of these keys.
    private func endSessions(at service: AskedService) async throws -> Bool {
        do throws(TresorError) {
            _ = try await service.call(EndSessionsRequest())
        } catch {
            guard error == .noAccess || error == .waiting else { throw error }
            service.context.output.say(
                "the service at \(service.place) has no account of yours with these keys, so no session ended")
            return false
        }
        service.context.output.say("your sessions at \(service.place) ended")
        return true
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Runs `tresor rotate --identity`: makes new keys for this identity, or completes an interrupted renewal.
struct IdentityRotation {
    let kit: KitOptions
    let cost: Argon2id.Cost?
    let dryRun: Bool
    let yes: Bool
    let context: CommandContext

    func perform() async throws {
        let unlocked = try await UnlockedIdentity.open(context, to: "make new keys")
        let session = unlocked.session
        if try session.renewal.isUnfinishedBlocking() {
            guard !dryRun else {
                context.output.say("would resume an interrupted renewal")
                return try report(session.identity.chain, generation: session.identity.generation)
            }
            context.output.say("resuming an interrupted renewal")
            return try await finish(session, unlocked.password)
        }
        try await context.refuseOldKeys(session)
        try unlocked.checkLength()
        try kit.check(batch: context.invocation.options.batch)
        if !dryRun { try kit.checkPlace(context.invocation, goingOnFor: context.client) }
        explain()
        guard !dryRun else {
            return try report(session.identity.chain, generation: session.identity.generation + 1)
        }
        try context.confirm("make new keys for \(DisplayText.name(session.identity.handle.bytes))?", yes: yes)
        let cost = try cost ?? context.identityFile().passwordCost ?? .standard
        try await finish(try await renew(session, unlocked.password, cost), unlocked.password)
    }

    private func explain() {
        context.output.explain("everyone who verified you must compare your new safety number before relying on it")
        context.output.explain("trusted devices and the old recovery kit no longer open anything")
        context.output.explain(
            "every tresor you own gets a new key; the owners of other tresors have to rotate theirs")
    }

    private func renew(
        _ session: Session, _ password: borrowing Password, _ cost: Argon2id.Cost
    ) async throws -> Session {
        guard !kit.noKit else {
            context.output.say("no recovery kit: a lost password cannot be replaced")
            return try await session.renewal.renew(password: password, cost: cost, kit: nil)
        }
        return try await kit.make(context) { recoveryKit in
            try await session.renewal.renew(password: password, cost: cost, kit: recoveryKit)
        }
    }

    private func finish(_ session: Session, _ password: borrowing Password) async throws {
        try await session.renewal.introduce()
        // The service has the new keys by now. A command that is killed here is resumed, and sets the log-in.
        await ServiceLogin.renew(session, password, isRecovery: false, in: context)
        let renewals = try await session.renewal.finishInEachTresor(isIntroduced: true)
        // If nothing is left to resume, running the command again would make new keys once more.
        let goesOn = try session.renewal.isUnfinishedBlocking()
        let chain = session.identity.chain
        context.output.say(
            "\(DisplayText.name(chain.handle.bytes)) has new keys, generation \(chain.newest.generation)")
        // A tresor there takes the new keys once the service does.
        OtherServices(context).tell(.keys)
        for renewal in renewals { await say(renewal, session, goesOn: goesOn) }
        let errors = renewals.filter { !$0.isElsewhere }.compactMap(\.error).map(CommandError.init)
        if let worst = Severity.worst(errors) {
            context.output.say("your new safety number is \(try chain.number().grouped)")
            let look = renewals.contains(where: \.isMadeWithOldKeys) ? "tresor list" : "tresor check"
            throw CommandFailure(
                worst, "not every tresor was renewed", hints: [goesOn ? "tresor rotate --identity" : look])
        }
        if !context.output.isJSON { try context.output.line(try chain.number().grouped) }
        try report(chain, generation: chain.newest.generation)
    }

    /// Reports the result for one tresor, by its name.
    private func say(_ renewal: IdentityRenewal.Outcome, _ session: Session, goesOn: Bool) async {
        let name = session.tresors.knownNameBlocking(of: renewal.tresor)
        let id = String(renewal.tresor.description.prefix(10))
        let title = name.map { DisplayText.name($0.bytes) } ?? id
        if renewal.isElsewhere, let other = session.client.archive.otherStore(of: renewal.tresor) {
            let path = String(decoding: other.bytes, as: UTF8.self)
            let word = name.map { Shell.word($0, or: renewal.tresor) } ?? id
            context.output.say("\(title): lies in \(DisplayText.quoted(path)), where its log still has your old keys")
            context.output.hint("tresor check --repair -t \(word) \(context.invocation.places.options(to: path))")
        } else if renewal.isMadeWithOldKeys {
            context.output.say("\(title): \(TresorResolver.oldKeysWords)")
            context.output.hint("tresor verify --mine \(id)")
        } else if let error = renewal.error {
            let next = goesOn ? "run this again" : "its log still has your old keys"
            context.output.say("\(title): \(CommandFailure(error).message); \(next)")
        } else if renewal.isLeftToOwner, let state = try? session.client.archive.verifiedState(of: renewal.tresor) {
            context.tresors.tellWayOfNewKeys(into: state, session)
        } else if renewal.isRotated {
            // The log calls for no other key after new keys of an approver.
            let isIn = (try? await session.client.logs.state(of: renewal.tresor))?.isIn(session.user) ?? true
            context.output.say("\(title): your new keys are in use\(isIn ? ", and its key is changed" : "")")
        } else {
            let state = try? await session.client.logs.state(of: renewal.tresor)
            let owner =
                state.map { context.tresors.handle(of: context.tresors.owner(of: $0), in: $0) } ?? "its owner"
            let word = name.map { Shell.word($0, or: renewal.tresor) } ?? id
            context.output.say("\(title): your new keys are in use; ask \(owner) to run: tresor rotate -t \(word)")
        }
    }

    private func report(_ chain: CardChain, generation: UInt32) throws {
        guard context.output.isJSON else { return }
        var object: JSONObject = [
            "type": "identity", "handle": .text(chain.handle.bytes), "user": .string(chain.user.description),
            "generation": .unsigned(UInt64(generation)), "dry_run": .bool(dryRun),
        ]
        if !dryRun {
            object["number"] = .string(try chain.number().grouped)
            object["behind"] = OtherServices(context).json(.keys)
        }
        try context.output.object(object)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords
import TresorRemote
import TresorStore

/// `check --repair`.
extension CheckCommand {
    func repair(_ ids: [TresorID], _ session: Session?, _ context: CommandContext) async throws {
        guard ids.count <= 1, head == nil, inputs.isEmpty, let session else {
            throw CommandFailure.usage("--repair takes at most one -t T, and nothing else")
        }
        try await repairCard(session, context)
        try await finishCleanup(session, context)
        if let id = ids.first { return try await repair(id, "", session, context) }
        var outcomes = Outcomes()
        for id in try await damaged(session, context) {
            let name = session.tresors.knownNameBlocking(of: id)
            let title = name.map { DisplayText.name($0.bytes) } ?? String(id.description.prefix(10))
            do {
                try await repair(id, "\(title): ", session, context)
                outcomes.succeeded()
            } catch let exit as Exit {
                throw exit
            } catch {
                let failure = CommandFailure(error)
                if failure.error == .interrupted { throw failure }
                outcomes.failed(
                    CommandFailure(failure.error, "\(title): \(failure.message)", hints: failure.hints),
                    report: context.output.report)
            }
        }
        try outcomes.finish()
    }

    /// The tresors of which the store has lost something, as far as a check tells, and those that could not be checked. What
    /// another store keeps stays there; where that file is gone, this store takes its place.
    private func damaged(_ session: Session, _ context: CommandContext) async throws -> [TresorID] {
        var found: Set<TresorID> = []
        var keptCount = 0
        for finding in try await session.client.audit.check() {
            switch (finding.subject, finding.remark) {
            case (.tresor(let id), .forked), (.tresor(let id), .lostEntries), (.member(_, let id), .missingWrap):
                found.insert(id)
            default: break
            }
        }
        for id in try session.client.logs.knownBlocking() where !found.contains(id) {
            if (try? await session.client.archive.isElsewhere(id)) == true {
                if isKept(id, session) { keptCount += 1 } else { found.insert(id) }
                continue
            }
            do throws(TresorError) {
                let records = try await session.records(in: id).check()
                let lacksVolumes = if case .store? = records.checkpointError { true } else { false }
                if lacksVolumes || !records.lost.isEmpty || !records.lostContents.isEmpty { found.insert(id) }
            } catch {
                guard error != .cancelled else { throw error }
                // The check behind the repair says what is wrong.
                let state = try? session.client.archive.verifiedState(of: id)
                if state.map({ isReader(of: $0, session) }) ?? true { found.insert(id) }
            }
        }
        if keptCount > 0 {
            let (tresors, verb) = keptCount == 1 ? ("1 tresor", "stays") : ("\(keptCount) tresors", "stay")
            context.output.say("\(tresors) of this home \(verb) in another store")
        }
        return found.sorted()
    }

    /// Whether another store that has shown a tresor is still there: a service, or a file.
    private func isKept(_ tresor: TresorID, _ session: Session) -> Bool {
        session.client.archive.otherStores(of: tresor).contains { store in
            let path = String(decoding: store.bytes, as: UTF8.self)
            return ServiceAddress.isMeant(by: path) || FileIdentity(path: path) != nil
        }
    }

    /// Whether somebody reads a tresor, by its verified log. A store may say anything.
    private func isReader(of state: LogState, _ session: Session) -> Bool {
        state.members[session.user] != nil && state.waiting[session.user] == nil
    }

    private func repair(
        _ id: TresorID, _ title: String, _ session: Session, _ context: CommandContext
    ) async throws {
        let count: Int
        let packCount: Int
        let state: LogState
        do throws(TresorError) {
            (count, packCount) = try await session.records(in: id).restore()
            state = try await session.client.logs.state(of: id)
        } catch {
            throw await failure(error, of: id, session, context)
        }
        let packs = packCount == 0 ? "" : " and \(packCount) \(packCount == 1 ? "pack" : "packs") of records"
        context.output.say("\(title)restored \(FindingReport.entries(UInt64(count)))\(packs)")
        if state.members[session.identity.user] != nil {
            try await repairKeys(of: state, session, context)
            try await context.addNewestCard(of: session, to: state)
        }
        let flaw = try await flaw(of: state, session)
        if options.json {
            var object: JSONObject = [
                "type": "finding", "level": flaw == nil ? "ok" : "bad", "subject": .string(id.description),
                "restored": .unsigned(UInt64(count)), "packs": .unsigned(UInt64(packCount)),
            ]
            if let flaw { object["text"] = .string(flaw.message) }
            try context.output.object(object)
        }
        if let flaw { throw flaw }
    }

    /// The failure of records that are not whole after a restoration, or that could not be checked; `nil` for those that
    /// are, and for somebody who reads none of them. The verified log says who that is: a store may say anything.
    private func flaw(of state: LogState, _ session: Session) async throws -> CommandFailure? {
        guard isReader(of: state, session) else { return nil }
        do throws(TresorError) {
            return try await session.records(in: state.tresor).check().flaw(of: state.tresor)
        } catch {
            guard error != .cancelled else { throw error }
            let failure = CommandFailure(error)
            return CommandFailure(failure.error, "its records: \(failure.message)", hints: failure.hints)
        }
    }

    /// The failure of a restoration. What a store has nothing of, and does not take back, was deleted from it.
    private func failure(
        _ error: TresorError, of id: TresorID, _ session: Session, _ context: CommandContext
    ) async -> CommandFailure {
        let client = session.client
        guard error == .notFound || error == .noAccess, let state = try? client.archive.verifiedState(of: id),
            (try? client.archive.entries(of: state, from: 0)) != nil,
            (try? await client.store.entries(of: id, from: 0, limit: 1).isEmpty) == true
        else { return context.tresors.logFailure(error, id) }
        let short = id.description.prefix(10)
        let founder = context.tresors.handle(of: state.founder, in: state)
        let isMine = state.founder == session.user
        // The command is no hint: nobody else may have the tresor any more.
        let forget = "tresor delete forgets it here too, for good" + (await unsentWords(of: id, session))
        guard error == .noAccess else {
            return CommandFailure(
                of: error,
                "the store says that \(short) was deleted\(isMine ? "" : ": ask \(founder), who made it"); \(forget)")
        }
        let reason =
            isMine
            ? "does not take it back, as if it was deleted"
            : "takes it back from \(founder) alone, and not if it was deleted"
        return CommandFailure(
            of: error, "the service shows you nothing of \(short), and \(reason); \(forget)",
            hints: isMine ? [] : ["ask \(founder) to run: tresor check --repair -t \(short)"])
    }

    /// How to read the changes that nobody else has. Where the store shows another log, no command shows records.
    private func unsentWords(of id: TresorID, _ session: Session) async -> String {
        guard let unsent = try? await session.records(in: id).unsent(), !unsent.isEmpty else { return "" }
        let count = unsent.count == 1 ? "1 record has" : "\(unsent.count) records have"
        return "; \(count) changes that were never sent: get reads them with --store and the name of no file"
    }

    /// Restores a card that the store has lost; a newer or different one stays and is reported.
    private func repairCard(_ session: Session, _ context: CommandContext) async throws {
        let chain = session.identity.chain
        do throws(TresorError) {
            guard try await session.client.store.card(of: chain.user) != chain.bytes else { return }
        } catch {
            // A service lets nobody read by keys that it has not seen.
            guard error == .noAccess, session.identity.generation > 0 else { throw error }
        }
        try await session.client.people.publishCard()
        context.output.say("restored the card of \(DisplayText.name(chain.handle.bytes))")
    }

    /// Deletes what an interrupted change of the key slots has left in the store.
    private func finishCleanup(_ session: Session, _ context: CommandContext) async throws {
        let cleanup = session.client.cleanup
        guard try cleanup.isPendingBlocking() else { return }
        try await cleanup.finish()
        guard try !cleanup.isPendingBlocking() else { return }
        context.output.say("deleted what an interrupted change of password, kit, devices or keys had left")
    }

    private func repairKeys(of state: LogState, _ session: Session, _ context: CommandContext) async throws {
        do throws(TresorError) {
            try await session.audit.restoreWraps(of: state.tresor)
        } catch {
            guard error == .noAccess else { throw context.tresors.logFailure(error, state.tresor) }
            let id = state.tresor.description.prefix(10)
            throw CommandFailure(
                of: error, "this home does not have all keys of \(id); a member who has them can restore them",
                hints: state.founder == session.identity.user
                    ? []
                    : [
                        "ask \(context.tresors.handle(of: state.founder, in: state)) to run: "
                            + "tresor check --repair -t \(id)"
                    ])
        }
    }
}

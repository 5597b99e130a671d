// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorRecords
import TresorStore

struct CheckCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "check", group: .proof, abstract: "Check this home, the logs and files.",
            usage: """
                tresor check [-t T]… [--head SEQ:HASH] [FILE…] [--deep]
                tresor check --repair [-t T]
                """,
            discussion: """
                Names the store and the home. Prints one finding per line: ok, warn or bad. With -t it also names who \
                approved a member. --head compares a head that somebody read to you. --deep opens the identity, the \
                keys and the files, and compares the records with the store. --repair restores your card in the store, \
                and the entries, keys and records that the store has lost: those of T, or of every tresor. It deletes \
                there what an interrupted change of password, kit, devices or keys has left.
                """,
            classes: [.store], further: [.wrongPassword, .noAccess, .busy],
            examples: ["tresor check", "tresor check --deep plan.tresor"])
    }

    @Option(name: [.customShort("t"), .customLong("tresor")], help: ArgumentHelp("Only this tresor.", valueName: "T"))
    var tresors: [String] = []

    @Option(help: ArgumentHelp("A head that somebody read to you.", valueName: "SEQ:HASH"))
    var head: String?

    @Flag(help: "Open the identity, its tresors' keys and the FILEs.")
    var deep = false

    @Flag(help: "Restore what the store has lost.")
    var repair = false

    @Argument(help: ArgumentHelp("Sealed files.", valueName: "FILE"), completion: .file())
    var inputs: [String] = []

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        let head = try head.map { text throws(CommandFailure) in try Self.head(text) }
        var modes = FindingReport(workplace: try CommandContext.local(options))
        if !repair {
            try addModes(to: &modes)
            try addMemory(to: &modes)
            try addCopies(to: &modes)
        }
        let places = modes.workplace.invocation.places
        if !repair, try places.service() != nil, let damage = ServiceLogin.damage(in: places) {
            // No log tells of these.
            guard inputs.isEmpty, head == nil else { throw damage }
            let asked = (tresors.isEmpty ? [] : ["-t"]) + (deep ? ["--deep"] : [])
            try await modes.addUnknownServices(damage, leavingOut: asked)
            return try modes.finish()
        }
        let workplace: CommandContext
        do {
            workplace = try await CommandContext.open(options)
        } catch {
            let failure = CommandFailure(error)
            guard !repair else { throw failure }
            try modes.add("bad", "store", failure.message, failure.error)
            return try modes.finish()
        }
        var report = modes.continued(in: workplace)
        let session = deep || repair ? try await workplace.unlock(to: "check this home") : nil
        var ids: [TresorID] = []
        for text in tresors { ids.append(try await id(text, session, workplace)) }
        guard !repair else { return try await repair(ids, session, workplace) }
        try await report.addStore()
        let client = session?.client ?? workplace.client
        report.session = session ?? workplace.session
        for finding in try await client.audit.check(ids.isEmpty ? nil : ids) { try report.add(finding) }
        for id in ids { try await addApprovals(of: id, workplace, &report) }
        if let session {
            for finding in try await session.audit.check(ids.isEmpty ? nil : ids) { try report.add(finding) }
            for id in try ids.isEmpty ? client.logs.knownBlocking() : ids {
                if ids.isEmpty, (try? await client.archive.isElsewhere(id)) == true { continue }
                try await report.addRecords(of: id, session)
            }
            if ids.isEmpty { try await report.addMadeWithOldKeys(session) }
        }
        if let head { try await check(head, ids, workplace, &report) }
        let own = workplace.invocation.ownFiles
        for path in inputs { try await check(file: path, own, session, workplace, &report) }
        try report.finish()
    }

    /// The approver of each member who waited, as `members` shows them. That is no flaw.
    private func addApprovals(
        of id: TresorID, _ workplace: CommandContext, _ report: inout FindingReport
    ) async throws {
        // A log that cannot be verified is a finding already.
        guard let state = try? await workplace.client.logs.state(of: id) else { return }
        func name(_ user: UserID) -> String {
            workplace.output.isJSON ? user.description : workplace.tresors.handle(of: user, in: state)
        }
        for (user, approver, time) in state.approvedInOrder {
            let text = "approved by \(name(approver)) on \(Timestamp(seconds: time).date)"
            try report.add("ok", "member \(name(user)) of \(report.shown(id))", text, nil)
        }
    }

    private func addModes(to report: inout FindingReport) throws {
        let places = report.workplace.invocation.places
        for exposure in try DirectoryHome(data: places.data, state: places.state).exposures() {
            let chmod = "chmod \(String(exposure.mode, radix: 8)) \(Shell.path(exposure.path))"
            let name = DisplayText.quoted(exposure.path)
            switch exposure.flaw {
            case .open: try report.add("bad", name, "is open to others: \(chmod)", .failed(.permissions))
            case .readable: try report.add("warn", name, "others can read it: \(chmod)", nil)
            case .foreign:
                try report.add("bad", name, "is not this user's own file or directory", .failed(.permissions))
            }
        }
    }

    /// Files that a cloud's program has put beside those of the home and the store. Nothing reads them.
    private func addCopies(to report: inout FindingReport) throws {
        let places = report.workplace.invocation.places
        for copy in try DirectoryHome(data: places.data, state: places.state).cloudCopies() {
            try add(copy, "look into it, then delete it", to: &report)
        }
        guard try places.service() == nil else { return }
        for copy in CloudCopy.all(ofStore: try places.store()) {
            let look = HintCompletion.command("check --store \(Shell.path(copy.path))")
            try add(copy, "see what is in it with \(look), then delete it", to: &report)
        }
    }

    private func add(_ copy: CloudCopy, _ way: String, to report: inout FindingReport) throws {
        let age = copy.isNewer.map { $0 ? ", and newer than it" : ", and not newer than it" } ?? ", which is missing"
        try report.add(
            "warn", DisplayText.quoted(copy.path),
            "looks like a copy that a cloud or a synchronized folder made of \(DisplayText.quoted(copy.original))\(age); nothing "
                + "reads it: move the files out of that folder, \(way)", nil)
    }

    /// Secrets that the system would write to a swap area.
    private func addMemory(to report: inout FindingReport) throws {
        guard try !SecretBytes.isLocked() else { return }
        let text = "the system does not lock it, and secrets may be written to swap: raise ulimit -l, or encrypt swap"
        try report.add("warn", "memory", text, nil)
    }

    private func id(_ text: String, _ session: Session?, _ workplace: CommandContext) async throws -> TresorID {
        if let id = try workplace.tresors.find(id: text) { return id }
        let opened = if let session { session } else { try await workplace.unlock(to: "find a tresor") }
        return try await workplace.tresors.find(text, for: opened, isReadable: false).tresor
    }

    private func repair(_ ids: [TresorID], _ session: Session?, _ workplace: CommandContext) async throws {
        guard ids.count <= 1, head == nil, inputs.isEmpty, let session else {
            throw CommandFailure.usage("--repair takes at most one -t T, and nothing else")
        }
        try await repairCard(session, workplace)
        try await finishCleanup(session, workplace)
        if let id = ids.first { return try await repair(id, "", session, workplace) }
        var outcomes = Outcomes()
        for id in try await damaged(session) {
            let name = session.tresors.knownNameBlocking(of: id)
            let title = name.map { DisplayText.name($0.bytes) } ?? String(id.description.prefix(10))
            do {
                try await repair(id, "\(title): ", session, workplace)
                outcomes.succeeded()
            } catch let exit as Exit {
                throw exit
            } catch {
                let failure = CommandFailure(error)
                if failure.error == .interrupted { throw failure }
                outcomes.failed(
                    CommandFailure(failure.error, "\(title): \(failure.message)", hints: failure.hints),
                    report: workplace.output.report)
            }
        }
        try outcomes.finish()
    }

    /// The tresors of which the store has lost something, as far as a check tells.
    private func damaged(_ session: Session) async throws -> [TresorID] {
        var found: Set<TresorID> = []
        for finding in try await session.client.audit.check() {
            switch (finding.subject, finding.remark) {
            case (.tresor(let id), .forked), (.tresor(let id), .lostEntries), (.member(_, let id), .missingWrap):
                found.insert(id)
            default: break
            }
        }
        for id in try session.client.logs.knownBlocking() where !found.contains(id) {
            guard let records = try? await session.records(in: id).check() else { continue }
            let lacksVolumes = if case .store? = records.checkpointError { true } else { false }
            if lacksVolumes || !records.lost.isEmpty || !records.lostContents.isEmpty { found.insert(id) }
        }
        return found.sorted()
    }

    private func repair(
        _ id: TresorID, _ title: String, _ session: Session, _ workplace: CommandContext
    ) async throws {
        let count: Int
        let packCount: Int
        let state: LogState
        do throws(TresorError) {
            (count, packCount) = try await session.records(in: id).restore()
            state = try await session.client.logs.state(of: id)
        } catch {
            throw await failure(error, of: id, session, workplace)
        }
        let packs = packCount == 0 ? "" : " and \(packCount) \(packCount == 1 ? "pack" : "packs") of records"
        workplace.output.say("\(title)restored \(FindingReport.entries(UInt64(count)))\(packs)")
        if state.members[session.identity.user] != nil {
            try await repairKeys(of: state, session, workplace)
            try await workplace.addNewestCard(of: session, to: state)
        }
        let flaw = try await flaw(of: state, session)
        if options.json {
            var object: JSONObject = [
                "type": "finding", "level": flaw == nil ? "ok" : "bad", "subject": .string(id.description),
                "restored": .unsigned(UInt64(count)), "packs": .unsigned(UInt64(packCount)),
            ]
            if let flaw { object["text"] = .string(flaw.message) }
            try workplace.output.object(object)
        }
        if let flaw { throw flaw }
    }

    /// The failure of records that are not whole after a restoration, or that could not be checked; `nil` for those that
    /// are, and for somebody who reads none of them. The verified log says who that is: a store may say anything.
    private func flaw(of state: LogState, _ session: Session) async throws -> CommandFailure? {
        guard state.members[session.user] != nil, state.waiting[session.user] == nil else { return nil }
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
        _ error: TresorError, of id: TresorID, _ session: Session, _ workplace: CommandContext
    ) async -> CommandFailure {
        let client = session.client
        guard error == .notFound || error == .noAccess, let state = try? client.archive.verifiedState(of: id),
            (try? client.archive.entries(of: state, from: 0)) != nil,
            (try? await client.store.entries(of: id, from: 0, limit: 1).isEmpty) == true
        else { return workplace.tresors.logFailure(error, id) }
        let short = id.description.prefix(10)
        let founder = workplace.tresors.handle(of: state.founder, in: state)
        let isMine = state.founder == session.user
        // The command is no hint: nobody else may have the tresor any more.
        let forget = "tresor delete forgets it here too, for good"
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

    /// Restores a card that the store has lost; a newer or different one stays and is reported.
    private func repairCard(_ session: Session, _ workplace: CommandContext) async throws {
        let chain = session.identity.chain
        do throws(TresorError) {
            guard try await session.client.store.card(of: chain.user) != chain.bytes else { return }
        } catch {
            // A service lets nobody read by keys that it has not seen.
            guard error == .noAccess, session.identity.generation > 0 else { throw error }
        }
        try await session.client.people.publishCard()
        workplace.output.say("restored the card of \(DisplayText.name(chain.handle.bytes))")
    }

    /// Deletes what an interrupted change of the key slots has left in the store.
    private func finishCleanup(_ session: Session, _ workplace: CommandContext) async throws {
        let cleanup = session.client.cleanup
        guard try cleanup.isPendingBlocking() else { return }
        try await cleanup.finish()
        guard try !cleanup.isPendingBlocking() else { return }
        workplace.output.say("deleted what an interrupted change of password, kit, devices or keys had left")
    }

    private func repairKeys(of state: LogState, _ session: Session, _ workplace: CommandContext) async throws {
        do throws(TresorError) {
            try await session.audit.restoreWraps(of: state.tresor)
        } catch {
            guard error == .noAccess else { throw workplace.tresors.logFailure(error, state.tresor) }
            let id = state.tresor.description.prefix(10)
            throw CommandFailure(
                of: error, "this home does not have all keys of \(id); a member who has them can restore them",
                hints: state.founder == session.identity.user
                    ? []
                    : [
                        "ask \(workplace.tresors.handle(of: state.founder, in: state)) to run: "
                            + "tresor check --repair -t \(id)"
                    ])
        }
    }

    private static func head(_ text: String) throws(CommandFailure) -> Head {
        let parts = text.split(separator: ":", omittingEmptySubsequences: false).map(String.init)
        guard parts.count == 2, let sequence = UInt64(parts[0]), String(sequence).utf8.elementsEqual(parts[0].utf8),
            parts[1].utf8.count == 52, let bytes = Base32.prefixBytes(parts[1]), let hash = Hash256(bytes),
            Base32.namedBy(parts[1], bytes)
        else { throw .usage("--head takes SEQ:HASH, as tresor log --head prints it") }
        return Head(sequence: sequence, hash: hash)
    }

    /// Reports whether a head that somebody else has seen is on the log verified here.
    private func check(
        _ head: Head, _ ids: [TresorID], _ workplace: CommandContext, _ report: inout FindingReport
    ) async throws {
        let known = try workplace.client.logs.knownBlocking()
        let sequence = head.sequence
        for id in ids.isEmpty ? known : ids {
            guard let state = try? await workplace.client.logs.state(of: id) else { continue }
            if state.contains(head) {
                return try report.add(
                    "ok", report.shown(id), "head \(sequence) is on this log", nil)
            }
            if !ids.isEmpty {
                let isNewer = sequence > state.head.sequence
                return try report.add(
                    "bad", report.shown(id),
                    isNewer
                        ? "head \(sequence) is newer than the store's log"
                        : "head \(sequence) belongs to another history",
                    .forked)
            }
        }
        try report.add("bad", "head", "no log known here has this head", .forked)
    }

    private func check(
        file path: String, _ own: OwnFiles, _ session: Session?, _ workplace: CommandContext,
        _ report: inout FindingReport
    ) async throws {
        let subject = DisplayText.quoted(path)
        do {
            try workplace.invocation.refuseStore(path, own)
            let input = try InputFile(path, standardInput: workplace.invocation.standardInput)
            let opener = FileOpener(workplace: workplace, acceptUnverified: false)
            let start = try input.start(FileOpener.smallByteCount)
            if let stored = try await opener.storedFile(input, startingWith: start) {
                try await check(stored.header, subject, session, workplace, &report) { (session) throws(TresorError) in
                    try await session.files.verify(stored, expecting: .anyTresor).proof
                }
            } else {
                let file = try opener.sealedFile(input, startingWith: start)
                try await check(file.header, subject, session, workplace, &report) { (session) throws(TresorError) in
                    try await session.files.open(file, expecting: .anyTresor).proof
                }
            }
        } catch {
            let failure = CommandFailure(error)
            try report.add("bad", subject, failure.message, failure.error)
        }
    }

    private func check(
        _ header: FileHeader, _ subject: String, _ session: Session?, _ workplace: CommandContext,
        _ report: inout FindingReport, _ open: (Session) async throws(TresorError) -> FileProof
    ) async throws {
        guard let session else {
            let state = try await workplace.tresors.state(of: header.tresor)
            let isOn = state.contains(header.head)
            return try report.add(
                isOn ? "ok" : "bad", subject,
                isOn ? "its head is on the log; --deep opens it" : "its head is not on the log",
                isOn ? nil : .forked)
        }
        let proof = try await open(session)
        var text = "opens; from \(DisplayText.name(proof.author.handle.bytes))"
        if let standing = FileReporter.words(proof.author.status) { text += " (\(standing))" }
        text += FileReporter.resealing(of: proof)
        try report.add(proof.author.status == .current ? "ok" : "warn", subject, text, nil)
    }
}

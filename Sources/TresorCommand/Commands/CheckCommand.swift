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
                there what an interrupted change of password, kit, devices or keys has left. It makes a store that is missing \
                if --store names it.
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
        var modes = FindingReport(context: try CommandContext.local(options))
        if !repair {
            try addModes(to: &modes)
            try addMemory(to: &modes)
            try addCopies(to: &modes)
        }
        let places = modes.context.invocation.places
        if !repair, try places.service() != nil, let damage = ServiceLogin.damage(in: places) {
            // No log tells of these.
            guard inputs.isEmpty, head == nil else { throw damage }
            let asked = (tresors.isEmpty ? [] : ["-t"]) + (deep ? ["--deep"] : [])
            try await modes.addUnknownServices(damage, leavingOut: asked)
            return try modes.finish()
        }
        let context: CommandContext
        do {
            context =
                repair ? try await CommandContext.openingOrMaking(options) : try await CommandContext.open(options)
        } catch {
            let failure = CommandFailure(error)
            guard !repair else { throw failure }
            try modes.add("bad", "store", failure.message, failure.error)
            return try modes.finish()
        }
        var report = modes.continued(in: context)
        let session = deep || repair ? try await context.unlock(to: "check this home") : nil
        var ids: [TresorID] = []
        for text in tresors { ids.append(try await id(text, session, context)) }
        guard !repair else { return try await repair(ids, session, context) }
        try await report.addStore()
        let client = session?.client ?? context.client
        report.session = session ?? context.session
        for finding in try await client.audit.check(ids.isEmpty ? nil : ids) { try report.add(finding) }
        for id in ids { try await addApprovals(of: id, context, &report) }
        if let session {
            for finding in try await session.audit.check(ids.isEmpty ? nil : ids) { try report.add(finding) }
            for id in try ids.isEmpty ? client.logs.knownBlocking() : ids {
                if ids.isEmpty, (try? await client.archive.isElsewhere(id)) == true { continue }
                try await report.addRecords(of: id, session)
            }
            if ids.isEmpty { try await report.addMadeWithOldKeys(session) }
        } else {
            try report.addOutboxes(among: ids)
        }
        if let head { try await check(head, ids, context, &report) }
        let own = context.invocation.ownFiles
        for path in inputs { try await check(file: path, own, session, context, &report) }
        try report.finish()
    }

    /// The approver of each member who waited, as `members` shows them. That is no flaw.
    private func addApprovals(
        of id: TresorID, _ context: CommandContext, _ report: inout FindingReport
    ) async throws {
        // A log that cannot be verified is a finding already.
        guard let state = try? await context.client.logs.state(of: id) else { return }
        func name(_ user: UserID) -> String {
            context.output.isJSON ? user.description : context.tresors.handle(of: user, in: state)
        }
        for (user, approver, time) in state.approvedInOrder {
            let text = "approved by \(name(approver)) on \(Timestamp(seconds: time).date)"
            try report.add("ok", "member \(name(user)) of \(report.shown(id))", text, nil)
        }
    }

    private func addModes(to report: inout FindingReport) throws {
        let places = report.context.invocation.places
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
        let places = report.context.invocation.places
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

    private func id(_ text: String, _ session: Session?, _ context: CommandContext) async throws -> TresorID {
        if let id = try context.tresors.find(id: text) { return id }
        let opened = if let session { session } else { try await context.unlock(to: "find a tresor") }
        return try await context.tresors.find(text, for: opened, isReadable: false).tresor
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
        _ head: Head, _ ids: [TresorID], _ context: CommandContext, _ report: inout FindingReport
    ) async throws {
        let known = try context.client.logs.knownBlocking()
        let sequence = head.sequence
        for id in ids.isEmpty ? known : ids {
            guard let state = try? await context.client.logs.state(of: id) else { continue }
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
        file path: String, _ own: OwnFiles, _ session: Session?, _ context: CommandContext,
        _ report: inout FindingReport
    ) async throws {
        let subject = DisplayText.quoted(path)
        do {
            try context.invocation.refuseStore(path, own)
            let input = try InputFile(path, standardInput: context.invocation.standardInput)
            defer { Surroundings.current.turns.count(file: input.byteCount ?? 0) }
            let opener = SealedFileReader(context: context, acceptUnverified: false)
            let start = try input.start(SealedFileReader.smallByteCount)
            if let stored = try await opener.storedFile(input, startingWith: start) {
                try await check(stored.header, subject, session, context, &report) { (session) throws(TresorError) in
                    try await session.files.verify(stored, expecting: .anyTresor).proof
                }
            } else {
                let file = try opener.sealedFile(input, startingWith: start)
                try await check(file.header, subject, session, context, &report) { (session) throws(TresorError) in
                    try await session.files.open(file, expecting: .anyTresor).proof
                }
            }
        } catch {
            let failure = CommandFailure(error)
            try report.add("bad", subject, failure.message, failure.error)
        }
    }

    private func check(
        _ header: FileHeader, _ subject: String, _ session: Session?, _ context: CommandContext,
        _ report: inout FindingReport, _ open: (Session) async throws(TresorError) -> FileProof
    ) async throws {
        guard let session else {
            let state = try await context.tresors.state(of: header.tresor)
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

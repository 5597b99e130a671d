// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor
import TresorCore
import TresorCrypto
import TresorStore

struct ResealCommand: InputsCommand {
    static var page: CommandPage {
        CommandPage(
            name: "reseal", group: .data, abstract: "Seal files again under their tresor's current key, in place.",
            usage: "tresor reseal [-n] [--accept-newcomers] FILE…",
            discussion: """
                Skips files under the current key, so you can repeat an interrupted run. The first author and their \
                signature stay provable. Copies made earlier keep the old key. A file sealed before a member was \
                added with --from-now is refused, because that member could open it afterwards.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy, .waiting], examples: ["tresor reseal *.tresor"])
    }

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Show which files would be sealed again.")
    var dryRun = false

    @Flag(help: "Continue although members added with --from-now could open the files afterwards.")
    var acceptNewcomers = false

    @Argument(help: ArgumentHelp("Sealed files.", valueName: "FILE"), completion: .file())
    var inputs: [String]

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !inputs.contains("-") else { throw CommandFailure.usage("reseal works on files in place") }
        let context = try await CommandContext.open(options)
        let session = try await context.unlock(to: "seal files again")
        let opener = SealedFileReader(context: context, acceptUnverified: false, isResealing: true)
        let progress = context.invocation.progress("resealing")
        let own = context.invocation.ownFiles
        var outcomes = Outcomes()
        var count = 0
        for (index, path) in inputs.enumerated() {
            do {
                if try await reseal(path, own, session, opener) { count += 1 }
                outcomes.succeeded()
            } catch {
                await context.tresors.tell(session)
                guard inputs.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: context.output.report)
            }
            progress.update(WorkDone(UInt64(index + 1), of: UInt64(inputs.count)))
        }
        progress.finish()
        await context.tresors.tell(session)
        if count > 0, !dryRun { context.output.say("copies made before keep the old key") }
        try outcomes.finish()
    }

    /// - Returns: whether the file was, or would be, sealed again.
    private func reseal(
        _ path: String, _ own: OwnFiles, _ session: Session, _ opener: SealedFileReader
    ) async throws -> Bool {
        let context = opener.context
        try context.invocation.refuseStore(path, own)
        let input = try InputFile(path, standardInput: context.invocation.standardInput)
        defer { Surroundings.current.turns.count(file: input.byteCount ?? 0) }
        let output = OutputFile(path: path, access: .asBefore(input))
        try output.check()
        let start = try input.start(SealedFileReader.smallByteCount)
        if let stored = try await opener.storedFile(input, startingWith: start) {
            return try await reseal(stored, input, output, startingWith: start, session, opener)
        }
        let file = try opener.sealedFile(input, startingWith: start)
        guard !dryRun else {
            return try await foresee(file.header, input, session, opener) { () throws(TresorError) in
                try await session.files.resealingEpoch(
                    of: file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        try await rehearse(output, for: file.header, session, context)
        let resealed = try await asking(file.header, input, session, opener) {
            try await opener.explaining(file.header, as: session, from: input) { () throws(TresorError) in
                try await session.files.reseal(file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        guard let resealed else {
            try report(input, file.header, key: file.header.epoch, isChanged: false, context)
            return false
        }
        let text = PastedArmour.parts(of: start)
        let bytes = text.map { $0.before + resealed.armoured + $0.after } ?? resealed.bytes
        try output.write(bytes.span)
        try output.commit()
        try report(input, resealed.header, key: resealed.header.epoch, isChanged: true, context)
        return true
    }

    /// A large file, which does not pass through memory as a whole.
    private func reseal(
        _ file: StoredFile<SealedFileSource>, _ input: InputFile, _ output: OutputFile, startingWith start: [UInt8],
        _ session: Session, _ opener: SealedFileReader
    ) async throws -> Bool {
        guard !dryRun else {
            return try await foresee(file.header, input, session, opener) { () throws(TresorError) in
                try await session.files.resealingEpoch(
                    of: file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        try await rehearse(output, for: file.header, session, opener.context)
        let note = FailureNote()
        let progress = opener.context.invocation.progress("resealing \(input.shownName)")
        defer { progress.finish() }
        let source = FileBytes(input.descriptor, owner: input, byteCount: input.byteCount ?? 0)
        let text = try await SealedFileReader.textAround(source, startingWith: start)
        if !text.before.isEmpty { try output.write(text.before.span) }
        let isArmoured = PastedArmour.begin(in: start) != nil
        var sink = OutputSink(output, note, progress, total: file.source.byteCount, isArmoured: isArmoured)
        let resealed: SealedStream?
        do {
            resealed = try await asking(file.header, input, session, opener) {
                try await opener.explaining(file.header, as: session, from: input) { () throws(TresorError) in
                    let resealed = try await session.files.resealHere(
                        file, to: &sink, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
                    if resealed != nil { try await sink.finish() }
                    return resealed
                }
            }
        } catch let failure as CommandFailure {
            throw note.words(for: failure.error, or: failure)
        }
        if resealed != nil {
            if !text.after.isEmpty { try output.write(text.after.span) }
            try output.commit()
        }
        let header = resealed?.header ?? file.header
        try report(input, header, key: header.epoch, isChanged: resealed != nil, opener.context)
        return resealed != nil
    }

    /// Makes sure that the file can be replaced, before a key changes for it.
    private func rehearse(
        _ output: OutputFile, for header: FileHeader, _ session: Session, _ context: CommandContext
    ) async throws {
        if await context.tresors.changesLog(of: header.tresor, session) { try output.rehearse() }
    }

    /// Repeats the work if the person agrees to continue under a clock far from the log's.
    private func asking<Result>(
        _ header: FileHeader, _ input: InputFile, _ session: Session, _ opener: SealedFileReader,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let failure as CommandFailure where failure.error == .failed(.clock) {
            let name = session.tresors.knownNameBlocking(of: header.tresor).map { DisplayText.name($0.bytes) }
            let title = name ?? String(header.tresor.description.prefix(10))
            try await opener.context.tresors.acceptClock(in: header.tresor, title, session)
            return try await body()
        }
    }

    /// Reports the change without making it: opens the file as a real run would, and writes nothing.
    private func foresee(
        _ header: FileHeader, _ input: InputFile, _ session: Session, _ opener: SealedFileReader,
        _ resealingEpoch: () async throws(TresorError) -> UInt64?
    ) async throws -> Bool {
        let epoch = try await opener.attempt(header, as: session, from: input, resealingEpoch)
        try report(input, header, key: epoch ?? header.epoch, isChanged: epoch != nil, opener.context)
        return epoch != nil
    }

    private func report(
        _ input: InputFile, _ header: FileHeader, key: UInt64, isChanged: Bool, _ context: CommandContext
    ) throws {
        guard options.json else {
            guard isChanged else { return }
            context.output.say("\(input.shownName) \(dryRun ? "would use" : "now uses") key \(key)")
            let others = input.otherNameCount
            guard others > 0 else { return }
            let names = others == 1 ? "another name of it keeps" : "\(others) other names of it keep"
            return context.output.say("\(names) the old key (hard links)")
        }
        try context.output.object([
            "type": "sealed", "file": .string(input.path ?? "-"), "tresor": .string(header.tresor.description),
            "key": .unsigned(key), "changed": .bool(isChanged), "dry_run": .bool(dryRun),
        ])
    }
}

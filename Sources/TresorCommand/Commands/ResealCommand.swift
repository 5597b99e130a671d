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
        let workplace = try await CommandContext.open(options)
        let session = try await workplace.unlock(to: "seal files again")
        let opener = FileOpener(workplace: workplace, acceptUnverified: false, isResealing: true)
        let progress = workplace.invocation.progress("resealing")
        var outcomes = Outcomes()
        var count = 0
        for (index, path) in inputs.enumerated() {
            do {
                if try await reseal(path, session, opener) { count += 1 }
                outcomes.succeeded()
            } catch {
                guard inputs.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: workplace.output.report)
            }
            progress.update(WorkDone(UInt64(index + 1), of: UInt64(inputs.count)))
        }
        progress.finish()
        await workplace.tresors.tell(session)
        if count > 0, !dryRun { workplace.output.say("copies made before keep the old key") }
        try outcomes.finish()
    }

    /// - Returns: whether the file was, or would be, sealed again.
    private func reseal(_ path: String, _ session: Session, _ opener: FileOpener) async throws -> Bool {
        let workplace = opener.workplace
        try workplace.invocation.refuseStore(path)
        let input = try InputFile(path, standardInput: workplace.invocation.standardInput)
        let start = try input.start(FileOpener.smallByteCount)
        if let stored = try await opener.storedFile(input, startingWith: start) {
            return try await reseal(stored, path, input, isArmoured: Armour.isArmoured(start), session, opener)
        }
        let file = try opener.sealedFile(input, startingWith: start)
        guard !dryRun else {
            return try await foresee(path, file.header, input, session, opener) { () throws(TresorError) in
                try await session.files.resealingEpoch(
                    of: file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        let resealed = try await asking(file.header, input, session, opener) {
            try await opener.explaining(file.header, as: session, from: input) { () throws(TresorError) in
                try await session.files.reseal(file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        guard let resealed else {
            try report(path, file.header, key: file.header.epoch, isChanged: false, workplace)
            return false
        }
        let output = OutputFile(path: path, access: .asBefore(input.mode))
        let bytes = Armour.isArmoured(start) ? resealed.armoured : resealed.bytes
        try output.write(bytes.span)
        try output.commit()
        try report(path, resealed.header, key: resealed.header.epoch, isChanged: true, workplace)
        return true
    }

    /// A large file, which does not pass through memory as a whole.
    private func reseal(
        _ file: StoredFile<SealedFileSource>, _ path: String, _ input: InputFile, isArmoured: Bool, _ session: Session,
        _ opener: FileOpener
    ) async throws -> Bool {
        guard !dryRun else {
            return try await foresee(path, file.header, input, session, opener) { () throws(TresorError) in
                try await session.files.resealingEpoch(
                    of: file, expecting: .anyTresor, acceptingNewcomers: acceptNewcomers)
            }
        }
        let note = FailureNote()
        let progress = opener.workplace.invocation.progress("resealing \(DisplayText.quoted(path))")
        defer { progress.finish() }
        let output = OutputFile(path: path, access: .asBefore(input.mode))
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
        if resealed != nil { try output.commit() }
        let header = resealed?.header ?? file.header
        try report(path, header, key: header.epoch, isChanged: resealed != nil, opener.workplace)
        return resealed != nil
    }

    /// Repeats the work if the person agrees to continue under a clock far from the log's.
    private func asking<Result>(
        _ header: FileHeader, _ input: InputFile, _ session: Session, _ opener: FileOpener,
        _ body: () async throws -> Result
    ) async throws -> Result {
        do {
            return try await body()
        } catch let failure as CommandFailure where failure.error == .failed(.clock) {
            let name = session.tresors.knownNameBlocking(of: header.tresor).map { DisplayText.name($0.bytes) }
            let title = name ?? String(header.tresor.description.prefix(10))
            try await opener.workplace.tresors.acceptClock(in: header.tresor, title, session)
            return try await body()
        }
    }

    /// Reports the change without making it: opens the file as a real run would, and writes nothing.
    private func foresee(
        _ path: String, _ header: FileHeader, _ input: InputFile, _ session: Session, _ opener: FileOpener,
        _ resealingEpoch: () async throws(TresorError) -> UInt64?
    ) async throws -> Bool {
        let epoch = try await opener.attempt(header, as: session, from: input, resealingEpoch)
        try report(path, header, key: epoch ?? header.epoch, isChanged: epoch != nil, opener.workplace)
        return epoch != nil
    }

    private func report(
        _ path: String, _ header: FileHeader, key: UInt64, isChanged: Bool, _ workplace: CommandContext
    ) throws {
        guard options.json else {
            if isChanged {
                workplace.output.say("\(DisplayText.quoted(path)) \(dryRun ? "would use" : "now uses") key \(key)")
            }
            return
        }
        try workplace.output.object([
            "type": "sealed", "file": .string(path), "tresor": .string(header.tresor.description),
            "key": .unsigned(key), "changed": .bool(isChanged), "dry_run": .bool(dryRun),
        ])
    }
}

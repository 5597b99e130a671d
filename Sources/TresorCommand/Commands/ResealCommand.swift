// SPDX-License-Identifier: Apache-2.0

import ArgumentParser
import Tresor

struct ResealCommand: SurfaceCommand {
    static var page: CommandPage {
        CommandPage(
            name: "reseal", group: .data, abstract: "Seal files again under their tresor's current key, in place.",
            usage: "tresor reseal [-n] FILE…",
            discussion: """
                A file that is current is left alone, so an interrupted run is simply repeated. The first author and their signature stay \
                provable. Copies made before keep the old key.
                """,
            classes: [.identity, .store], further: [.noAccess, .busy], examples: ["tresor reseal *.tresor"])
    }

    @Flag(name: [.customShort("n"), .customLong("dry-run")], help: "Say which files would be sealed again.")
    var dryRun = false

    @Argument(help: ArgumentHelp("Sealed files.", valueName: "FILE"))
    var files: [String]

    @OptionGroup var options: GlobalOptions

    func perform() async throws {
        guard !files.contains("-") else { throw CommandFailure.usage("reseal works on files in place") }
        let workplace = try await Workplace.open(options)
        let session = try await workplace.unlock(to: "seal files again")
        let opener = FileOpener(workplace: workplace, acceptUnverified: false)
        let progress = workplace.invocation.progress("resealing")
        var outcomes = Outcomes()
        var count = 0
        for (index, path) in files.enumerated() {
            do {
                if try await reseal(path, session, opener) { count += 1 }
                outcomes.succeeded()
            } catch {
                guard files.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: path), report: workplace.output.report)
            }
            progress.update(UInt64(index + 1), of: UInt64(files.count))
        }
        progress.finish()
        if count > 0, !dryRun { workplace.output.say("copies made before keep the old key") }
        try outcomes.finish()
    }

    /// - Returns: whether the file was, or would be, sealed again.
    private func reseal(_ path: String, _ session: Session, _ opener: FileOpener) async throws -> Bool {
        let workplace = opener.workplace
        let input = try InputFile(path, standardInput: workplace.invocation.standardInput)
        let head = try input.readAll(
            limit: FileOpener.limit, tooLarge: CommandFailure(.usage, "\(input.shownName) is too large for one piece"))
        let file = try opener.sealedFile(head, input)
        guard !dryRun else { return try await foresee(path, file, input, session, opener) }
        guard let resealed = try await opener.reseal(file, as: session, from: input) else {
            try report(path, file, key: file.header.epoch, isChanged: false, workplace)
            return false
        }
        let output = OutputFile(path: path, access: .asBefore(input.mode))
        let bytes = Armour.isArmoured(head) ? resealed.armoured : resealed.bytes
        try output.write(bytes.span)
        try output.commit()
        try report(path, resealed, key: resealed.header.epoch, isChanged: true, workplace)
        return true
    }

    /// What would become of the file. Opens it as the real thing would, and writes nothing.
    private func foresee(
        _ path: String, _ file: SealedFile, _ input: InputFile, _ session: Session, _ opener: FileOpener
    ) async throws -> Bool {
        _ = try await opener.open(file, as: session, Expectations(), from: input)
        let epoch: UInt64?
        do throws(TresorError) {
            epoch = try await session.resealingEpoch(of: file)
        } catch {
            throw CommandFailure(error, file: path)
        }
        try report(path, file, key: epoch ?? file.header.epoch, isChanged: epoch != nil, opener.workplace)
        return epoch != nil
    }

    private func report(
        _ path: String, _ file: SealedFile, key: UInt64, isChanged: Bool, _ workplace: Workplace
    ) throws {
        guard options.json else {
            if isChanged {
                workplace.output.say("\(Shown.quoted(path)) \(dryRun ? "would use" : "now uses") key \(key)")
            }
            return
        }
        try workplace.output.object([
            "type": "sealed", "file": .string(path), "tresor": .string(file.header.tresor.description),
            "key": .unsigned(key), "changed": .bool(isChanged), "dry_run": .bool(dryRun),
        ])
    }
}

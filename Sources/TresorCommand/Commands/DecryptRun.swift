// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Opens the INPUTs of `decrypt`: small ones together on all cores, a large one into its output as it is read.
struct DecryptRun {
    let command: DecryptCommand
    let expectations: Expectations
    let session: Session
    let opener: SealedFileReader

    /// More small INPUTs than this, or bytes in them, are not held at once.
    private static let batchCount = 128
    private static let batchByteCount = 4 << 20

    private var context: CommandContext { opener.context }

    /// An INPUT that is in memory.
    private struct Item {
        let step: OutputPlan.Step
        let input: InputFile
        let output: OutputFile?
        let file: SealedFile
    }

    /// Tries and reports each step; the only one's failure is the command's.
    func open(_ steps: [OutputPlan.Step]) async throws {
        let isOne = steps.count == 1
        var outcomes = Outcomes()
        var items: [Item] = []
        var byteCount = 0
        let progress = context.invocation.progress("decrypting")
        defer { progress.finish() }
        for (index, step) in steps.enumerated() {
            do {
                if let item = try await begin(step, isOne: isOne) {
                    items.append(item)
                    byteCount += item.file.bytes.count
                } else {
                    outcomes.succeeded()
                }
            } catch {
                guard !isOne else { throw error }
                outcomes.failed(CommandFailure(error, file: step.input), report: context.output.report)
            }
            guard index == steps.count - 1 || items.count == Self.batchCount || byteCount >= Self.batchByteCount else {
                continue
            }
            try await finish(items, isOne: isOne, &outcomes)
            (items, byteCount) = ([], 0)
            if !isOne { progress.update(WorkDone(UInt64(index + 1), of: UInt64(steps.count))) }
        }
        try outcomes.finish()
    }

    /// - Returns: the INPUT if it is to be opened in memory; `nil` when it was large and is done.
    private func begin(_ step: OutputPlan.Step, isOne: Bool) async throws -> Item? {
        let input = try InputFile(step.input, standardInput: context.invocation.standardInput)
        let output = try command.place.file(
            for: step, access: .owner, input: input, replaces: command.force, alone: isOne ? nil : command.alone)
        let start = try input.start(SealedFileReader.smallByteCount)
        if let output, let file = try await opener.storedFile(input, startingWith: start, beside: output) {
            let proof = try await write(file, to: output, from: input)
            var reporters: [TresorID: FileReporter] = [:]
            try await finish(proof, step, input, output, content: nil, isOne: isOne, &reporters)
            return nil
        }
        if output == nil, let count = input.byteCount, count > SealedFileReader.limit {
            throw Self.tooLarge
        }
        let file = try opener.sealedFile(input, startingWith: start)
        return Item(step: step, input: input, output: output, file: file)
    }

    private func finish(_ items: [Item], isOne: Bool, _ outcomes: inout Outcomes) async throws {
        let files = isOne ? [] : await session.files.open(items.map { ExpectedFile($0.file, expecting: expectations) })
        var reporters: [TresorID: FileReporter] = [:]
        for (index, item) in items.enumerated() {
            do {
                let opened: OpenedFile
                if !isOne, case .success(let file) = files[index] {
                    opened = file
                } else {
                    // A question may be asked here, and its answer may change the status of other people.
                    reporters = [:]
                    opened = try await opener.open(item.file, as: session, expectations, from: item.input)
                }
                try await finish(
                    opened.proof, item.step, item.input, item.output, content: opened.content, isOne: isOne,
                    &reporters)
                outcomes.succeeded()
            } catch {
                guard !isOne else { throw error }
                outcomes.failed(CommandFailure(error, file: item.step.input), report: context.output.report)
            }
        }
    }

    /// Opens a large file into its output, which has no name until everything is checked.
    private func write(
        _ file: StoredFile<SealedFileSource>, to output: OutputFile, from input: InputFile
    ) async throws -> FileProof {
        let note = FailureNote()
        let progress = context.invocation.progress("decrypting")
        defer { progress.finish() }
        do {
            return try await opener.attempt(file.header, as: session, from: input) { () throws(TresorError) in
                // A second attempt, after somebody was asked, must not follow what the first one wrote.
                output.restart()
                var sink = OutputSink(output, note, progress, total: file.source.byteCount)
                return try await session.files.open(file, to: &sink, expecting: expectations).proof
            }
        } catch let failure as CommandFailure {
            throw note.words(for: failure.error, or: failure)
        }
    }

    /// Makes the last checks, then releases the content.
    ///
    /// - Parameters:
    ///   - content: `nil` when it is in the output already.
    ///   - reporters: of the tresors that files of the same batch were in.
    private func finish(
        _ proof: FileProof, _ step: OutputPlan.Step, _ input: InputFile, _ output: OutputFile?, content: [UInt8]?,
        isOne: Bool, _ reporters: inout [TresorID: FileReporter]
    ) async throws {
        defer { Surroundings.current.turns.count(file: input.byteCount ?? 0) }
        if expectations.author == nil { try await command.checkAuthor(proof, input, opener) }
        if !isOne, command.record == nil, !command.anyRecord { try command.checkName(proof, input) }
        var reporter: FileReporter
        if let known = reporters[proof.tresor] {
            reporter = known
        } else {
            reporter = await opener.reporter(of: proof.tresor, as: session)
        }
        let report = try reporter.report(proof, input: input, output: output, json: command.options.json)
        if reporter.state != nil { reporters[proof.tresor] = reporter }
        if let output {
            if let content { try output.write(content.span) }
            try output.commit()
        } else if let content {
            return try writeToStandardOutput(content, step, report)
        }
        try report.print(context.output)
    }

    /// On a terminal the author's line comes first: content that came before it could look like one, or leave it at the
    /// end of its own last line.
    private func writeToStandardOutput(
        _ content: [UInt8], _ step: OutputPlan.Step, _ report: FileReport
    ) throws {
        guard content.count <= SealedFileReader.standardOutputLimit else { throw Self.tooLarge }
        let isForced = step.target == .standardOutput(isForced: true)
        try context.output.refuseForTerminal(
            content.span, isForced: isForced, hints: ["tresor … -o FILE", "tresor … -o -"])
        guard Channel.output.isTerminal else {
            try context.output.data(content.span)
            return try report.print(context.output)
        }
        try report.print(context.output, beforeContent: true)
        try context.output.data(content.span)
        if let last = content.last, last != UInt8(ascii: "\n") { try context.output.line("") }
    }

    private static let tooLarge = CommandFailure.usage(
        "the content is too large for standard output", hints: ["tresor … {-o} -o FILE"])
}

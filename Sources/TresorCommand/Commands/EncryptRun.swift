// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorStore

/// Seals the INPUTs of `encrypt`: small ones together on all cores, a large one as it comes.
struct EncryptRun {
    let command: EncryptCommand
    let summary: TresorSummary
    let session: Session
    let context: CommandContext
    /// The files that are not sealed.
    let own: OwnFiles

    private var tresor: TresorID { summary.tresor }

    /// More small INPUTs than this, or bytes in them, are not held at once.
    private static let batchCount = 256
    private static let batchByteCount = 4 << 20

    /// An INPUT that is in memory.
    private struct Item {
        let step: OutputPlan.Step
        let output: OutputFile?
        let content: NamedContent
    }

    /// Tries and reports each step; the only one's failure is the command's.
    func seal(_ steps: [OutputPlan.Step]) async throws {
        var outcomes = Outcomes()
        var items: [Item] = []
        var byteCount = 0
        let progress = context.invocation.progress("encrypting")
        defer { progress.finish() }
        for (index, step) in steps.enumerated() {
            do {
                if let item = try await begin(step, isOne: steps.count == 1) {
                    items.append(item)
                    byteCount += item.content.content.count
                } else {
                    outcomes.succeeded()
                }
            } catch {
                guard steps.count > 1 else { throw error }
                outcomes.failed(CommandFailure(error, file: step.input), report: context.output.report)
            }
            guard index == steps.count - 1 || items.count == Self.batchCount || byteCount >= Self.batchByteCount else {
                continue
            }
            try await finish(items, isOne: steps.count == 1, &outcomes)
            (items, byteCount) = ([], 0)
            if steps.count > 1 { progress.update(WorkDone(UInt64(index + 1), of: UInt64(steps.count))) }
        }
        try outcomes.finish()
    }

    /// - Returns: the INPUT if it is small; `nil` when it was large and is done.
    private func begin(_ step: OutputPlan.Step, isOne: Bool) async throws -> Item? {
        let input = try InputFile(step.input, standardInput: context.invocation.standardInput)
        try context.invocation.refuseSealing(input, own)
        let output = try command.place.file(
            for: step, access: .everybody, input: input, alone: isOne ? nil : command.alone)
        let record = try command.recordName(input)
        let type = try command.typeName(input)
        let start = try input.start(EncryptCommand.smallByteCount + 1)
        guard start.count <= EncryptCommand.smallByteCount else {
            try await seal(input, startingWith: start, record, type, step, output)
            return nil
        }
        try input.refuseNothing(start, allowed: command.allowEmpty)
        if start.isEmpty, !command.allowEmpty, let output { try await refuseEmptied(output, for: input) }
        if try input.hasGrown() { context.output.say(input.growth(after: start.count)) }
        return Item(step: step, output: output, content: NamedContent(start, record: record, type: type))
    }

    /// Refuses to replace a file with content by a sealed one without: the INPUT was cut off, or is the placeholder of a
    /// folder that is kept elsewhere.
    private func refuseEmptied(_ output: OutputFile, for input: InputFile) async throws {
        guard FileIdentity.isFile(path: output.path), await !hasNothing(output.path) else { return }
        throw CommandFailure(
            .usage, "\(input.shownName) is empty, and \(DisplayText.quoted(output.path)) would lose its content",
            hints: ["tresor … --allow-empty"], file: input.path)
    }

    /// Whether a file is empty, or sealed of nothing.
    private func hasNothing(_ path: String) async -> Bool {
        guard let former = try? InputFile(path, standardInput: StandardInput()), let count = former.byteCount,
            count <= SealedFileReader.smallByteCount
        else { return false }
        guard count > 0 else { return true }
        let opener = SealedFileReader(context: context, acceptUnverified: false)
        guard let file = try? opener.sealedFile(former),
            let opened = try? await session.files.open(file, expecting: .anyTresor)
        else { return false }
        return opened.content.isEmpty
    }

    private func finish(_ items: [Item], isOne: Bool, _ outcomes: inout Outcomes) async throws {
        var items = items
        if await context.tresors.changesLog(of: tresor, session) {
            items = try writable(items, isOne: isOne, &outcomes)
        }
        guard !items.isEmpty else { return }
        try await settle()
        let files: Result<[SealedFile], TresorError>
        do throws(TresorError) {
            files = .success(try await session.files.seal(items.map(\.content), in: tresor))
        } catch {
            files = .failure(error)
        }
        for (index, item) in items.enumerated() {
            do {
                try finish(item, try files.get()[index])
                outcomes.succeeded()
            } catch {
                guard !isOne else { throw error }
                outcomes.failed(CommandFailure(error, file: item.step.input), report: context.output.report)
            }
        }
    }

    /// The items whose output can be written, for which alone a key may change. The others have failed.
    private func writable(_ items: [Item], isOne: Bool, _ outcomes: inout Outcomes) throws -> [Item] {
        var writable: [Item] = []
        for item in items {
            do throws(CommandFailure) {
                try item.output?.rehearse()
                writable.append(item)
            } catch {
                guard !isOne else { throw error }
                outcomes.failed(CommandFailure(error, file: item.step.input), report: context.output.report)
            }
        }
        return writable
    }

    /// Brings the log up to date for what is sealed next, and says that the key is changed for it.
    private func settle() async throws {
        guard summary.state != nil else { return }
        let settled = try await context.tresors.settle(summary, session)
        if let failure = context.tresors.copyRefusal(of: settled.tresor, session) { throw failure }
        guard settled.isRekeyPending else { return }
        context.output.say(
            "a member left \(context.tresors.title(of: summary)) or has new keys: its key is changed first")
    }

    private func finish(_ item: Item, _ file: SealedFile) throws {
        let bytes = command.a ? file.armoured : file.bytes
        if let output = item.output {
            try output.write(bytes.span)
            try output.commit()
        } else {
            try context.output.data(bytes.span)
        }
        Surroundings.current.turns.count(file: bytes.count)
        try report(item.step, item.output, file.header, count: bytes.count)
    }

    /// Seals a large INPUT as it is read. Output written before an error is not a sealed file and does not open.
    private func seal(
        _ input: InputFile, startingWith start: [UInt8], _ record: Name, _ type: Name, _ step: OutputPlan.Step,
        _ output: OutputFile?
    ) async throws {
        if await context.tresors.changesLog(of: tresor, session) { try output?.rehearse() }
        try await settle()
        let progress = context.invocation.progress("encrypting")
        defer { progress.finish() }
        let note = FailureNote()
        var sink = OutputSink(output, note, isArmoured: command.a)
        var content = InputContent(input, startingWith: start, note, progress)
        let stream: SealedStream
        do throws(TresorError) {
            stream = try await session.files.sealHere(&content, to: &sink, record: record, type: type, in: tresor)
            try await sink.finish()
        } catch {
            throw note.words(for: CommandError(error), or: CommandFailure(error, file: input.path))
        }
        try output?.commit()
        if content.hasGrown { context.output.say(input.growth(after: content.count)) }
        Surroundings.current.turns.count(file: sink.count)
        try report(step, output, stream.header, count: sink.count)
    }

    private func report(
        _ step: OutputPlan.Step, _ output: OutputFile?, _ header: FileHeader, count: Int
    ) throws(CommandFailure) {
        guard command.options.json else { return }
        var object: JSONObject = [
            "type": "sealed", "tresor": .string(tresor.description), "key": .unsigned(header.epoch),
            "head": .unsigned(header.head.sequence), "size": .unsigned(UInt64(count)),
        ]
        if let path = step.input { object["input"] = .string(path) }
        if let output { object["file"] = .string(output.path) }
        try context.output.object(object)
    }
}

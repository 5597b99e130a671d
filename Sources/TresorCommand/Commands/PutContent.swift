// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto
import TresorRecords

/// An INPUT of put: the whole of a small one, and of a large one the beginning.
struct PutContent {
    private enum Place {
        /// All of it was read.
        case memory([UInt8])
        /// A file, which is opened again when it is read: a command may have more INPUTs than it may have files open.
        case file(InputFile.Look)
        /// A pipe or standard input, of which the beginning was read.
        case stream(InputFile, start: [UInt8])
    }

    /// Up to here a content is a part of the commit.
    private static let smallByteCount = 65_536

    /// The name of the record.
    let name: String
    /// The content type.
    let type: String
    private let place: Place

    /// Whether it becomes an attachment.
    var isLarge: Bool { if case .memory = place { false } else { true } }

    /// The change that it makes; of a large one without the content.
    var planned: RecordChange {
        guard case .memory(let bytes) = place else { return .put(name, [], type: type) }
        return .put(name, bytes, type: type)
    }

    /// Refuses an INPUT without content for a record that has some: its file was cut off, or is the placeholder of a folder
    /// that is kept elsewhere.
    ///
    /// - Throws: 64, naming the first of them and the number of the others; the failure to read the records.
    static func refuseEmptied(_ contents: [PutContent], of records: Records, _ title: String) async throws {
        let emptied = contents.filter { if case .memory(let bytes) = $0.place { bytes.isEmpty } else { false } }
        guard !emptied.isEmpty else { return }
        let names = try await HomeRecords(of: records).withContent(among: emptied.map(\.name))
        guard let first = names.first else { return }
        let name = DisplayText.quoted(first)
        throw CommandFailure.usage(
            names.count == 1
                ? "the INPUT for \(name) is empty, and the record in \(title) has content"
                : "the INPUTs for \(name) and \(names.count - 1) more are empty, and the records in \(title) have content",
            hints: ["tresor … --allow-empty"])
    }

    /// Opens a large one, to be read from its beginning.
    ///
    /// - Returns: the INPUT, and what was read of it before.
    /// - Throws: 11 for a file that is another one by now; the failure to open it.
    func opened() throws(CommandFailure) -> (input: InputFile, start: [UInt8]) {
        switch place {
        case .memory: throw CommandFailure(.failed(.other))
        case .file(let look): return (try InputFile(look), [])
        case .stream(let input, let start): return (input, start)
        }
    }

    /// Looks at each INPUT, and reads the small ones. At most one file of them is open afterwards for each pipe.
    ///
    /// - Throws: 64 for INPUTs that are too large, or too many large ones, for one commit, and for nothing from a pipe.
    static func read(
        _ paths: [String], _ command: PutCommand, _ context: CommandContext
    ) throws -> [PutContent] {
        let own = context.invocation.ownFiles
        try context.invocation.refuseSealing(paths.filter { $0 != "-" }, own)
        var (contents, sizes, byteCount): ([PutContent], [UInt64], Int) = ([], [], 0)
        for path in paths.isEmpty ? [nil] : paths.map({ Optional($0) }) {
            let input = try InputFile(path, standardInput: context.invocation.standardInput)
            try context.invocation.refuseSealing(input, own)
            let start = try input.start(smallByteCount + 1)
            try input.refuseNothing(start, allowed: command.allowEmpty)
            guard let name = command.name ?? input.lastComponent else {
                throw CommandFailure.usage("standard input has no name", hints: ["tresor … --as NAME"])
            }
            let place: Place
            if start.count > smallByteCount {
                sizes.append(UInt64(input.byteCount ?? 0))
                place = input.look.map { .file($0) } ?? .stream(input, start: start)
            } else {
                byteCount += start.count
                if try input.hasGrown() { context.output.say(input.growth(after: start.count)) }
                place = .memory(start)
            }
            try check(sizes, byteCount)
            let isJSON = name.hasSuffix(".json")
            contents.append(
                PutContent(
                    name: name, type: command.type ?? (isJSON ? "application/json" : "application/octet-stream"),
                    place: place))
        }
        return contents
    }

    /// Refuses what no commit takes, before more is read.
    private static func check(_ sizes: [UInt64], _ byteCount: Int) throws(CommandFailure) {
        do throws(TresorError) {
            guard byteCount <= Pack.maximumByteCount else { throw .usage(.contentTooLong) }
            try Attachments.checkHeld(sizes)
        } catch {
            throw CommandFailure(
                of: error,
                error == .usage(.tooManyContents)
                    ? "one commit takes at most 1023 INPUTs of more than 64 KiB"
                    : "the INPUTs are too large for one commit")
        }
    }
}

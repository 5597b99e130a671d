// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// The expectations besides the error.
extension Stage {
    /// Stands in every content, and in no output but one.
    static let marker = "MARKED-4711-CONTENT"

    /// A care plan of at least this size, marked throughout.
    static func plan(_ count: Int = 200) -> [UInt8] {
        let start = Array("{\"title\": \"\(marker)\", \"pad\": \"".utf8)
        let repeats = max(0, count - start.count) / marker.utf8.count + 1
        return start + repeatElement(Array(marker.utf8), count: repeats).joined() + Array("\"}".utf8)
    }

    /// The compared attributes of a file: its bytes; for a large one that it is the same and was not written to.
    enum KeptFile: Equatable {
        case bytes([UInt8])
        case untouched(inode: UInt64, size: Int, time: Date)
    }

    /// Every file of the stage but evidence, locks and what SQLite keeps beside the store, and what the store holds. A home
    /// notes each place of a store that shows a tresor, and the store of a copied stage has another place.
    func kept() throws -> [String: KeptFile] {
        var kept: [String: KeptFile] = [:]
        for name in try FileManager.default.subpathsOfDirectory(atPath: scratch.path) {
            let parts = name.split(separator: "/")
            let isOwn =
                parts.contains { $0.hasPrefix("evidence") || $0.hasSuffix("lock") || $0 == "stores" }
                || name.hasPrefix("store.db")
            let attributes = try FileManager.default.attributesOfItem(atPath: scratch[name])
            guard !isOwn, isKept(name), attributes[.type] as? FileAttributeType == .typeRegular else { continue }
            let size = attributes[.size] as? Int ?? 0
            kept[name] =
                size < 1 << 20
                ? .bytes(self[name])
                : .untouched(
                    inode: (attributes[.systemFileNumber] as? NSNumber)?.uint64Value ?? 0, size: size,
                    time: attributes[.modificationDate] as? Date ?? .distantPast)
        }
        kept["store"] = .bytes(try storeText())
        return kept
    }

    /// The rows of the store as text; nothing where `sqlite3` is absent.
    private func storeText() throws -> [UInt8] {
        guard has("sqlite3"), FileManager.default.fileExists(atPath: store) else { return [] }
        return Array(try tool("/usr/bin/sqlite3", ["-readonly", store, ".dump"]).utf8)
    }

    /// Runs what must be refused and looks at everything else: the homes, the store and all files are as before,
    /// nothing is on standard output, and no message holds a byte of a password or of the content.
    @discardableResult func refuse(
        _ code: Int32, as person: String, _ arguments: [String], input: String = "/dev/null", terminal: Terminal? = nil,
        source: SourceLocation = #_sourceLocation
    ) throws -> Program.Ending {
        var program = program
        program.terminal = terminal
        let before = try kept()
        let ending = try program.run(
            words(as: person).filter { terminal == nil || $0 != "--batch" } + arguments, input: input)
        #expect(ending.code == code, "\(arguments): \(ending.errorText)", sourceLocation: source)
        #expect(ending.output == [], "\(arguments)", sourceLocation: source)
        let after = try kept()
        let changed = Set(before.keys).union(after.keys).filter { before[$0] != after[$0] }
        #expect(changed == [], "\(arguments)", sourceLocation: source)
        expectSilence(ending.errorText + (terminal?.transcript ?? ""), source: source)
        return ending
    }

    /// That a text holds no byte of a password or of the content.
    func expectSilence(_ text: String, source: SourceLocation = #_sourceLocation) {
        #expect(Self.secrets(in: text) == [], "\(text)", sourceLocation: source)
    }

    /// Parts of the marks. Each has letters that neither an id, a digit nor a temporary's name has: a bare number may
    /// stand in any of them.
    static func secrets(in text: String) -> [String] {
        ["WORD-0815", "word 0815", "MARKED", "4711-CONTENT"].filter(text.contains)
    }
}

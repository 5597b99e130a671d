// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

/// The corpora: valid objects made at start, and every byte string of the committed vectors.
enum Seeds {
    static func write(for target: Target, into directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        let published = target == .arguments ? [] : published()
        for (index, seed) in (made(for: target) + published).enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: directory).appendingPathComponent("seed-\(index)"))
        }
    }

    private static func made(for target: Target) -> [[UInt8]] {
        let samples = Samples.shared
        switch target {
        case .arguments: return CommandLineRun.seeds
        case .card: return [samples.anna.chain.bytes, samples.renewed.chain.bytes]
        case .identity: return samples.identityFiles
        case .entry: return samples.entries
        case .wrap: return samples.wraps
        case .file: return samples.files
        case .payload: return [samples.payload]
        case .armour: return [samples.anna.chain.armoured, samples.file.armoured]
        case .number: return [Array("80031 26649 91275 04418 65520 37792".utf8), Array("k3m9xq".utf8)]
        case .kit: return [samples.kit, samples.kit.map { $0 == 0x20 ? 0x0a : $0 }]
        case .name: return ["interventions", "Zoe\u{308}", "дом", "-x", "a\u{202e}b"].map { Array($0.utf8) }
        case .password:
            return ["correct horse", "Zoe\u{308} \u{3000}", "\u{1100}\u{1161}\u{11a8}", "a\u{323}\u{307}"].map {
                Array($0.utf8)
            }
        case .home:
            var heads = ByteEncoder()
            heads.preamble(.heads)
            heads.integer(UInt64(7))
            var state = ByteEncoder()
            samples.state.encode(into: &state)
            return [
                LogCopy(entries: samples.entries).bytes, heads.bytes, state.bytes, samples.keptWraps,
                samples.marks, samples.cleanupJournal, samples.export, samples.notedStores, samples.knownServices,
            ]
        case .fold:
            return (1...samples.entries.count).map { count in
                var encoder = ByteEncoder()
                for entry in samples.entries.prefix(count) { encoder.vector32(entry) }
                return encoder.bytes
            }
        }
    }

    /// The limit for each folder, so that the first leaves room for the second.
    private static let limit = 6000

    /// Every string of the vectors in the repository and beside it: decoded hexadecimal, and armoured texts and words
    /// as they are. Also the small files.
    private static func published() -> [[UInt8]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        return ["vectors", "../shared/vectors"].flatMap { name in
            let folder = root.appending(path: name).standardizedFileURL
            let found = published(in: folder)
            guard !found.isEmpty || !FileManager.default.fileExists(atPath: folder.path(percentEncoded: false)) else {
                fatalError("\(name): no seed")
            }
            return found
        }
    }

    /// A share of each file, so that every file has a turn.
    private static func published(in folder: URL) -> [[UInt8]] {
        let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
        let files = names.sorted().filter { !$0.hasSuffix(".py") }.map { strings(of: folder.appending(path: $0)) }
            .filter { !$0.isEmpty }
        var found: Set<[UInt8]> = []
        for file in files {
            let share = max(1, limit / files.count)
            let step = max(1, file.count / share)
            for index in stride(from: 0, to: file.count, by: step) { found.insert(file[index]) }
        }
        return found.sorted { $0.lexicographicallyPrecedes($1) }
    }

    private static func strings(of file: URL) -> [[UInt8]] {
        guard let content = try? Data(contentsOf: file) else { return [] }
        var found: [[UInt8]] = content.count <= 4096 ? [Array(content)] : []
        guard file.pathExtension == "json" else { return found }
        for word in String(decoding: content, as: UTF8.self).split(separator: "\"") where word.utf8.count >= 16 {
            if let bytes = Hex.bytes(word) {
                if bytes.count <= 1 << 16 { found.append(bytes) }
            } else if word.utf8.count <= 1 << 14, !word.contains(": ") {
                found.append(Array(word.replacing("\\n", with: "\n").utf8))
            }
        }
        return found
    }
}

// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import Tresor
@testable import TresorCrypto

/// The corpora: true objects made at start, and every byte string of the committed vectors.
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
            var state = ByteEncoder()
            samples.state.encode(into: &state)
            return [CachedLog(entries: samples.entries).bytes, heads.bytes, state.bytes]
        case .fold:
            return (1...samples.entries.count).map { count in
                var encoder = ByteEncoder()
                for entry in samples.entries.prefix(count) { encoder.vector32(entry) }
                return encoder.bytes
            }
        }
    }

    private static let limit = 2000

    /// Every hexadecimal string of the vectors in the repository and of those beside it, and the small files among these.
    private static func published() -> [[UInt8]] {
        let root = URL(filePath: #filePath).deletingLastPathComponent().appending(path: "../../..").standardizedFileURL
        var found: Set<[UInt8]> = []
        for folder in ["vectors", "../shared/vectors"] {
            let folder = root.appending(path: folder).standardizedFileURL
            let names = (try? FileManager.default.subpathsOfDirectory(atPath: folder.path(percentEncoded: false))) ?? []
            for name in names.sorted() where found.count < limit {
                guard let content = try? Data(contentsOf: folder.appending(path: name)) else { continue }
                if content.count <= 4096 { found.insert(Array(content)) }
                guard name.hasSuffix(".json") else { continue }
                for word in String(decoding: content, as: UTF8.self).split(separator: "\"") where word.utf8.count >= 16
                {
                    guard let bytes = Hex.bytes(word), bytes.count <= 1 << 16 else { continue }
                    found.insert(bytes)
                }
            }
        }
        return Array(found)
    }
}

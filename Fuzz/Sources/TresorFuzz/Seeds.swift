// SPDX-License-Identifier: Apache-2.0

import Foundation

@testable import Tresor
@testable import TresorCrypto

/// The corpora: true objects made at start, and every byte string of the committed vectors.
enum Seeds {
    static func write(for target: Target, into directory: String) throws {
        try FileManager.default.createDirectory(atPath: directory, withIntermediateDirectories: true)
        for (index, seed) in (made(for: target) + published()).enumerated() {
            try Data(seed).write(to: URL(fileURLWithPath: directory).appendingPathComponent("seed-\(index)"))
        }
    }

    private static func made(for target: Target) -> [[UInt8]] {
        let samples = Samples.shared
        switch target {
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
            return [CachedLog(entries: samples.entries).bytes, heads.bytes]
        case .fold:
            return (1...samples.entries.count).map { count in
                var encoder = ByteEncoder()
                for entry in samples.entries.prefix(count) { encoder.vector32(entry) }
                return encoder.bytes
            }
        }
    }

    /// Every hexadecimal string of the vectors that lie in the repository, each once.
    private static func published() -> [[UInt8]] {
        let folder = URL(filePath: #filePath).deletingLastPathComponent()
            .appending(path: "../../../vectors").standardizedFileURL
        let names = (try? FileManager.default.contentsOfDirectory(at: folder, includingPropertiesForKeys: nil)) ?? []
        var found: Set<[UInt8]> = []
        for name in names where name.pathExtension == "json" {
            guard let text = try? String(contentsOf: name, encoding: .utf8) else { continue }
            for word in text.split(separator: "\"") where word.utf8.count >= 16 {
                guard let bytes = Hex.bytes(word), bytes.count <= 1 << 16 else { continue }
                found.insert(bytes)
            }
        }
        return Array(found)
    }
}

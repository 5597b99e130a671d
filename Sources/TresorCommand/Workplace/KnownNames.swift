// SPDX-License-Identifier: Apache-2.0

import Tresor

/// The names of tresors this home has opened, so that one which can no longer be opened is still called by its name.
///
/// A line for each: the id, a space, the name. It is a convenience, and nothing rests on it.
struct KnownNames {
    private static let limit = 1 << 20

    let path: String
    private(set) var names: [TresorID: Name]

    init(places: Places) {
        path = Places.join(places.data, "names")
        names = [:]
        guard let bytes = try? SecretFile(path: path).publicBytes(limit: Self.limit) else { return }
        for line in bytes.split(separator: UInt8(ascii: "\n")) {
            guard let space = line.firstIndex(of: UInt8(ascii: " ")),
                let id = Base32.prefixBytes(String(decoding: line[..<space], as: UTF8.self)),
                let digest = Digest(id), let name = try? Name(Array(line[(space + 1)...]))
            else { continue }
            names[TresorID(digest)] = name
        }
    }

    /// Keeps names; a home that does not take them costs nothing but the convenience.
    mutating func keep(_ opened: [TresorID: Name]) {
        let merged = names.merging(opened) { $1 }
        guard merged != names else { return }
        names = merged
        var bytes: [UInt8] = []
        for (tresor, name) in merged.sorted(by: { $0.key < $1.key }) {
            bytes += Array("\(tresor.description) ".utf8) + name.bytes + [UInt8(ascii: "\n")]
        }
        guard bytes.count <= Self.limit else { return }
        let file = OutputFile(path: path, access: .owner)
        do {
            try file.write(bytes.span)
            try file.commit()
        } catch {}
    }
}

extension Workplace {
    var knownNames: KnownNames { KnownNames(places: invocation.places) }

    func remember(_ summaries: [TresorSummary]) {
        let opened = summaries.compactMap { summary in summary.name.map { (summary.tresor, $0) } }
        var known = knownNames
        known.keep(Dictionary(opened) { $1 })
    }
}

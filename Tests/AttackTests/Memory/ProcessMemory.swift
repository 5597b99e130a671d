// SPDX-License-Identifier: Apache-2.0

import Foundation

/// The writable memory of another process.
struct ProcessMemory {
    private struct Region {
        let range: Range<Int>
        let isWritable: Bool
        let isClosed: Bool
        let name: String
    }

    /// Where bytes were found.
    struct Hit: CustomStringConvertible {
        let address: Int
        /// Whether it lies in a mapping of its own between two that nobody may touch.
        let isGuarded: Bool
        let name: String

        var description: String { "\(String(address, radix: 16)) \(name)" }
    }

    private let regions: [Region]
    private let memory: FileHandle

    init(of process: pid_t) throws {
        guard let maps = try? String(contentsOfFile: "/proc/\(process)/maps", encoding: .utf8),
            let memory = FileHandle(forReadingAtPath: "/proc/\(process)/mem")
        else { throw Unmet("the memory of a child cannot be read") }
        self.memory = memory
        regions = maps.split(separator: "\n").compactMap { line in
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
            return Region(
                range: bounds[0]..<bounds[1], isWritable: fields[1].hasPrefix("rw"),
                isClosed: fields[1].hasPrefix("---"),
                name: fields.count > 5 ? String(fields[5]) : "")
        }
    }

    func hits(of needle: [UInt8]) -> [Hit] {
        var hits: [Hit] = []
        for (index, region) in regions.enumerated() where region.isWritable && !region.name.hasPrefix("[v") {
            guard let data = read(region.range) else { continue }
            var start = data.startIndex
            while let found = data.range(of: Data(needle), in: start..<data.endIndex) {
                hits.append(
                    Hit(
                        address: region.range.lowerBound + found.lowerBound - data.startIndex,
                        isGuarded: isGuarded(index), name: region.name))
                start = found.lowerBound + 1
            }
        }
        return hits
    }

    private func read(_ range: Range<Int>) -> Data? {
        guard (try? memory.seek(toOffset: UInt64(range.lowerBound))) != nil else { return nil }
        return try? memory.read(upToCount: range.count)
    }

    private func isGuarded(_ index: Int) -> Bool {
        guard index > 0, index + 1 < regions.count else { return false }
        let (before, own, after) = (regions[index - 1], regions[index], regions[index + 1])
        return before.isClosed && after.isClosed && before.range.upperBound == own.range.lowerBound
            && after.range.lowerBound == own.range.upperBound && own.range.count <= 1 << 16
    }
}

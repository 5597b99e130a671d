// SPDX-License-Identifier: Apache-2.0

import CProbe
import Foundation

/// The writable memory of another process.
struct ProcessMemory {
    private struct Region {
        let range: Range<Int>
        let isWritable: Bool
        let isClosed: Bool
        let name: String
    }

    /// The places of found bytes.
    struct Hit: CustomStringConvertible {
        let address: Int
        /// Whether it lies in a mapping of its own between two that nobody may touch.
        let isGuarded: Bool
        let name: String

        var description: String { "\(String(address, radix: 16)) \(name)" }
    }

    private let regions: [Region]
    /// The content of the writable regions.
    private var contents: [(index: Int, bytes: Data)] = []

    init(of process: pid_t) throws {
        guard let list = FileHandle(forReadingAtPath: "/proc/\(process)/maps"),
            let memory = FileHandle(forReadingAtPath: "/proc/\(process)/mem")
        else { throw Unmet("the memory of a child cannot be read") }
        // Such a file has no size: reading it in one piece gives its first page alone.
        var bytes = Data()
        while let part = try list.read(upToCount: 1 << 16), !part.isEmpty { bytes += part }
        let maps = String(decoding: bytes, as: UTF8.self)
        let regions = maps.split(separator: "\n").compactMap { line -> Region? in
            let fields = line.split(separator: " ", omittingEmptySubsequences: true)
            let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
            guard bounds.count == 2, bounds[0] < bounds[1] else { return nil }
            return Region(
                range: bounds[0]..<bounds[1], isWritable: fields[1].hasPrefix("rw"),
                isClosed: fields[1].hasPrefix("---"),
                name: fields.count > 5 ? String(fields[5]) : "")
        }
        self.regions = regions
        for (index, region) in regions.enumerated() where region.isWritable && !region.name.hasPrefix("[v") {
            guard (try? memory.seek(toOffset: UInt64(region.range.lowerBound))) != nil,
                let bytes = try? memory.read(upToCount: region.range.count)
            else { continue }
            contents.append((index, bytes))
        }
    }

    func hits(of needle: [UInt8]) -> [Hit] {
        contents.flatMap { index, bytes in
            Self.offsets(of: needle, in: bytes).map { offset in
                Hit(
                    address: regions[index].range.lowerBound + offset, isGuarded: isGuarded(index),
                    name: regions[index].name)
            }
        }
    }

    private static func offsets(of needle: [UInt8], in bytes: Data) -> [Int] {
        bytes.withUnsafeBytes { buffer in
            var offsets: [Int] = []
            var start = buffer.baseAddress
            while let from = start, let end = buffer.baseAddress.map({ $0 + buffer.count }),
                let found = probe_find(from, end - from, needle, needle.count)
            {
                offsets.append(buffer.count - (end - found))
                start = found + 1
            }
            return offsets
        }
    }

    private func isGuarded(_ index: Int) -> Bool {
        guard index > 0, index + 1 < regions.count else { return false }
        let (before, own, after) = (regions[index - 1], regions[index], regions[index + 1])
        return before.isClosed && after.isClosed && before.range.upperBound == own.range.lowerBound
            && after.range.lowerBound == own.range.upperBound && own.range.count <= 1 << 16
    }
}

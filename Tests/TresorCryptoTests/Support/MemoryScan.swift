// SPDX-License-Identifier: Apache-2.0

#if os(Linux)
    import Glibc

    @testable import TresorCrypto

    /// Looks for the bytes of a secret in the writable memory of this process.
    enum MemoryScan {
        private static let pageByteCount = 1 << 20

        /// How often the middle of `secret`, up to 32 bytes, stands in writable memory outside its own place.
        static func strayCopies(of secret: borrowing SecretBytes) -> Int {
            let file = Glibc.open("/proc/self/mem", O_RDONLY | O_CLOEXEC)
            guard file >= 0 else { return -1 }
            defer { close(file) }
            let window = UnsafeMutableRawPointer.allocate(byteCount: pageByteCount, alignment: 4096)
            memset(window, 0, pageByteCount)
            defer { window.deallocate() }
            let ranges = writableRanges()
            let count = min(32, secret.count)
            var found = 0
            secret.span.extracting(droppingFirst: (secret.count - count) / 2).extracting(first: count)
                .withUnsafeBufferPointer { needle in
                    guard let needleBase = needle.baseAddress else { return }
                    let own = Int(bitPattern: needleBase)
                    for range in ranges {
                        var start = range.lowerBound
                        while start < range.upperBound {
                            let length = min(pageByteCount, range.upperBound - start)
                            let read = pread(file, window, length, off_t(start))
                            guard read > 0 else {
                                start += 4096
                                continue
                            }
                            var offset = 0
                            while let hit = position(of: needle, in: window, from: offset, to: read) {
                                if start + hit != own { found += 1 }
                                offset = hit + 1
                            }
                            memset(window, 0, pageByteCount)
                            start += start + read < range.upperBound ? max(1, read - count + 1) : read
                        }
                    }
                }
            return found
        }

        private static func position(
            of needle: UnsafeBufferPointer<UInt8>, in window: UnsafeMutableRawPointer, from start: Int, to end: Int
        ) -> Int? {
            guard let first = needle.first, let needleBase = needle.baseAddress else { return nil }
            var offset = start
            while offset + needle.count <= end {
                guard let hit = memchr(window + offset, Int32(first), end - offset - needle.count + 1) else {
                    return nil
                }
                let position = hit - window
                if memcmp(hit, needleBase, needle.count) == 0 { return position }
                offset = position + 1
            }
            return nil
        }

        private static func writableRanges() -> [Range<Int>] {
            guard let file = fopen("/proc/self/maps", "r") else { return [] }
            defer { fclose(file) }
            var ranges: [Range<Int>] = []
            var line = [CChar](repeating: 0, count: 4096)
            while fgets(&line, Int32(line.count), file) != nil {
                let text = String(decoding: line.prefix { $0 != 0 }.map(UInt8.init(bitPattern:)), as: UTF8.self)
                let fields = text.split(separator: " ")
                guard fields.count > 1, fields[1].hasPrefix("rw"), !text.contains("[v") else { continue }
                let bounds = fields[0].split(separator: "-").compactMap { Int($0, radix: 16) }
                if bounds.count == 2, bounds[0] < bounds[1] { ranges.append(bounds[0]..<bounds[1]) }
            }
            return ranges
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// A part of a log in the home: a cache, which counts only if all parts fold to the pinned head.
package struct LogCopy: Hashable, Sendable {
    /// The number of entries in each part but the last: 512.
    package static let partCount: UInt64 = 512

    package var entries: [[UInt8]]

    init(entries: [[UInt8]]) { self.entries = entries }

    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.log)
        entries = []
        while decoder.remaining > 0 { entries.append(try decoder.vector32(1...Entry.maximumByteCount)) }
    }

    /// Returns the sequence number after the last entry of the part in which an entry lies.
    package static func end(ofPartWith sequence: UInt64) -> UInt64 { (sequence / partCount + 1) * partCount }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.log)
        for entry in entries { encoder.vector32(entry) }
        return encoder.bytes
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Checks a sealed file that comes through a pipe before more of it is read (SPEC §4.2). Text is checked line by
/// line, and nothing may be larger than a sealed file can be.
struct StreamJudge {
    private var lines: Armour.Lines?
    private var room = SealedFile.maximumByteCount
    /// The text that stands before the block, in the first part.
    private var skipped = 0
    private var hasBegun = false
    /// Whether it is text, of which nothing is proved by the form of its lines.
    private(set) var isOfText = false
    private static let end = Array("-----END TRESOR FILE-----".utf8)

    /// - Parameter start: its beginning, which is the first part.
    init(_ start: [UInt8]) {
        guard let begin = PastedArmour.begin(in: start) else { return }
        (skipped, isOfText) = (begin, true)
        lines = Armour.Lines(.file)
        // A text takes more than its bytes, and less than twice as much.
        room *= 2
    }

    /// - Throws: ``TresorError/altered`` if a sealed file cannot continue so.
    mutating func append(_ part: [UInt8]) throws(TresorError) {
        guard part.count <= room else { throw .altered }
        room -= part.count
        guard lines != nil else { return }
        let part = part[skipped...]
        skipped = 0
        // The first line has the sign that begins the last one, and no other has.
        let body = hasBegun ? part.startIndex : part.firstIndex(of: 0x0a) ?? part.endIndex
        hasBegun = true
        guard let end = part[body...].firstIndex(of: UInt8(ascii: "-")) else {
            _ = try lines?.append(Array(part))
            return
        }
        let count = min(Self.end.count, part.endIndex - end)
        guard part[end..<(end + count)].elementsEqual(Self.end.prefix(count)) else { throw .altered }
        _ = try lines?.append(Array(part[..<end]))
        lines = nil
        room = min(room, PastedArmour.greatestRest)
    }
}

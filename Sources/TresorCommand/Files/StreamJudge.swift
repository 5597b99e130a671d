// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Checks a sealed file that comes through a pipe before more of it is read (SPEC §4.2). Text is checked line by
/// line, and nothing may be larger than a sealed file can be.
struct StreamJudge {
    private var lines: Armour.Lines?
    private var room = SealedFile.maximumByteCount

    /// - Parameter start: its beginning.
    init(_ start: [UInt8]) {
        lines = Armour.isArmoured(start) ? Armour.Lines(.file) : nil
        // A text takes more than its bytes, and less than twice as much.
        if lines != nil { room *= 2 }
    }

    /// - Throws: ``TresorError/altered`` if a sealed file cannot continue so.
    mutating func append(_ part: [UInt8]) throws(TresorError) {
        guard part.count <= room else { throw .altered }
        room -= part.count
        _ = try lines?.append(part)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore

/// Armour as it was before a mail or a paste put blanks around it, or a shell took its last line end: the one form of
/// SPEC §4.2 is then asked of it. Blanks and lines inside are not touched.
enum PastedArmour {
    /// - Returns: `nil` for input that is not armour.
    static func text(of bytes: [UInt8]) -> [UInt8]? {
        func isBlank(_ byte: UInt8) -> Bool { [0x20, 0x09, 0x0a, 0x0d].contains(byte) }
        let text = Array(bytes.drop(while: isBlank))
        guard Armour.isArmoured(text), let end = text.lastIndex(where: { !isBlank($0) }) else { return nil }
        let first = text.firstIndex(of: 0x0a) ?? 0
        return text[...end] + (first > 0 && text[first - 1] == 0x0d ? [0x0d, 0x0a] : [0x0a])
    }
}

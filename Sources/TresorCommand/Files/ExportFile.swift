// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Reads exports, binary or armoured.
enum ExportFile {
    /// Reads a whole input.
    ///
    /// - Parameter start: its beginning, if that has been read.
    /// - Throws: 14 or 19, as the export says; 14 for more than an armoured export can be.
    static func read(_ input: InputFile, after start: [UInt8] = []) throws(CommandFailure) -> TresorExport {
        let bytes = try input.readAll(
            after: start, limit: TresorExport.maximumByteCount / 2 * 3, tooLarge: failure(.altered, input)
        ) { _ throws(CommandFailure) in }
        if let mistake = FileKind.mistake(in: bytes, of: input, wanted: .export) { throw mistake }
        do throws(TresorError) {
            if let text = PastedArmour.block(of: bytes) { return try TresorExport(armoured: text) }
            return try TresorExport(bytes)
        } catch {
            throw input.change ?? TransportDamage(of: bytes)?.failure(input) ?? failure(error, input)
        }
    }

    private static func failure(_ error: TresorError, _ input: InputFile) -> CommandFailure {
        let text =
            error == .unsupported
            ? "\(input.shownName) is no export, was changed on its way, or was made by a newer version"
            : "\(input.shownName) is no export, or is damaged"
        return CommandFailure(of: error, text, file: input.path)
    }
}

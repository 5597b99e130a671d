// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Reads and checks cards, binary or armoured.
enum CardFile {
    /// Reads a whole input.
    ///
    /// - Parameters:
    ///   - start: its beginning, if that has been read.
    ///   - what: the words of a message for input that is not a card.
    /// - Throws: 14 or 19, as the card says; 14 for more than an armoured card can be.
    static func read(
        _ input: InputFile, after start: [UInt8] = [], what: String = "no card"
    ) throws(CommandFailure) -> CardChain {
        // A card in its armoured form is a third longer.
        let bytes = try input.readAll(
            after: start, limit: 2 * CardChain.maximumByteCount, tooLarge: failure(.altered, input, what)
        ) { _ throws(CommandFailure) in }
        if let mistake = FileKind.mistake(in: bytes, of: input, wanted: .card) { throw mistake }
        do throws(TresorError) {
            if let text = PastedArmour.block(of: bytes) { return try CardChain(armoured: text) }
            return try CardChain(bytes)
        } catch {
            throw input.change ?? TransportDamage(of: bytes)?.failure(input) ?? failure(error, input, what)
        }
    }

    private static func failure(_ error: TresorError, _ input: InputFile, _ what: String) -> CommandFailure {
        let text =
            error == .unsupported
            ? "\(input.shownName) is \(what), was changed on its way, or was made by a newer version"
            : "\(input.shownName) is \(what), or is damaged"
        return CommandFailure(of: error, text, file: input.path)
    }
}

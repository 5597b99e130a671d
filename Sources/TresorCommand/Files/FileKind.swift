// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// The files that people send each other or keep, and can mix up. The first bytes say which one an input wants to be.
enum FileKind: CaseIterable {
    case sealedFile
    case card
    case export
    case identity

    /// The kind of an input of any version, binary or armoured; `nil` where its first bytes are those of none.
    init?(of start: [UInt8]) {
        let block = PastedArmour.block(of: start) ?? start
        let found = Self.allCases.first { kind in kind.beginnings.contains { block.starts(with: $0.utf8) } }
        guard let found else { return nil }
        self = found
    }

    private var beginnings: [String] {
        switch self {
        case .sealedFile: ["tresorF", "-----BEGIN TRESOR FILE"]
        case .card: ["tresorC", "-----BEGIN TRESOR CARD"]
        case .export: ["tresorx", "-----BEGIN TRESOR EXPORT"]
        case .identity: ["tresorI"]
        }
    }

    private var words: String {
        switch self {
        case .sealedFile: "a sealed file"
        case .card: "a card"
        case .export: "an export"
        case .identity: "an identity, as export --recovery writes it"
        }
    }

    /// The refusal of an input that is another of them.
    static func mistake(in start: [UInt8], of input: InputFile, wanted: FileKind) -> CommandFailure? {
        guard let kind = FileKind(of: start), kind != wanted else { return nil }
        let file = input.path.map(Shell.path) ?? "FILE"
        let hint =
            switch kind {
            case .sealedFile: "tresor decrypt \(file)"
            case .card: "tresor inspect \(file)"
            case .export: "tresor import \(file)"
            case .identity: "tresor recover --from \(file)"
            }
        return CommandFailure(
            of: .altered, "\(input.shownName) is \(kind.words), not \(wanted.words)", hints: [hint], file: input.path)
    }
}

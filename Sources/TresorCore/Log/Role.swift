// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// The role of a member (SPEC §9.2).
public enum Role: UInt8, Hashable, Sendable, CaseIterable, CustomStringConvertible {
    /// Reads, writes, adds and removes people, changes keys.
    case owner = 1
    /// Reads and writes.
    case writer = 2
    /// Reads.
    case reader = 3

    /// The word in the command line: `owner`, `writer` or `reader`.
    public var description: String {
        switch self {
        case .owner: "owner"
        case .writer: "writer"
        case .reader: "reader"
        }
    }

    init(from decoder: inout ByteDecoder) throws(TresorError) {
        guard let role = Role(rawValue: try decoder.integer(UInt8.self)) else { throw .altered }
        self = role
    }
}

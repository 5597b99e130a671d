// SPDX-License-Identifier: Apache-2.0

import TresorCrypto

/// The subject of a body or an act: a user (SPEC §9.2). A later release may add teams.
///
/// Switch over it without a default, or take the one user that it names. When a team comes, the compiler finds the
/// places that it concerns.
package enum Principal: Hashable, Sendable {
    /// One person, by user id.
    case user(UserID)

    /// The user that it names.
    package var userID: UserID {
        switch self {
        case .user(let user): user
        }
    }

    /// - Throws: ``TresorError/unsupported`` for another type of principal; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principalType(userType)
        self = .user(UserID(try decoder.digest()))
    }

    func encode(into encoder: inout ByteEncoder) {
        switch self {
        case .user(let user):
            encoder.integer(userType)
            encoder.digest(user.digest)
        }
    }
}

/// A principal with the card chain that introduces it to a log: a user (SPEC §9.2). A later release may add teams.
package enum ChainPrincipal: Hashable, Sendable {
    /// One person, by their whole card chain.
    case user(CardChain)

    /// The chain of the user that it introduces.
    package var chain: CardChain {
        switch self {
        case .user(let chain): chain
        }
    }

    /// - Throws: ``TresorError/unsupported`` for another type of principal; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principalType(userType)
        self = .user(try CardChain(try decoder.vector32(1...CardChain.maximumByteCount)))
    }

    func encode(into encoder: inout ByteEncoder) {
        switch self {
        case .user(let chain):
            encoder.integer(userType)
            encoder.vector32(chain.bytes)
        }
    }
}

/// A person who approves waiting people, introduced by their whole card chain (SPEC §9.2).
///
/// The type of the principal is new, so that a release without approval says `unsupported` and does not pass over it.
package struct Approver: Hashable, Sendable {
    /// The maximum number of approvers of a tresor: 16.
    package static let maximumCount = 16

    package let chain: CardChain

    package init(_ chain: CardChain) { self.chain = chain }

    /// - Throws: ``TresorError/unsupported`` for another type of principal; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principalType(approverType)
        chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(approverType)
        encoder.vector32(chain.bytes)
    }
}

/// The type of a principal that is a user.
private let userType: UInt8 = 1
/// The type of a principal that is an approver.
private let approverType: UInt8 = 3

extension ByteDecoder {
    fileprivate mutating func principalType(_ type: UInt8) throws(TresorError) {
        guard try integer(UInt8.self) == type else { throw .unsupported }
    }
}

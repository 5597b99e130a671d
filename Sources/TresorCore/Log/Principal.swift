// SPDX-License-Identifier: Apache-2.0

/// Names a principal in the body of an entry: the type, then the id (SPEC §9.2). A user now; the type leaves room for teams.
struct UserPrincipal: Hashable, Sendable {
    let user: UserID

    init(user: UserID) { self.user = user }

    /// - Throws: ``TresorError/unsupported`` for another type of principal; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principalType()
        user = UserID(try decoder.digest())
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(userType)
        encoder.digest(user.digest)
    }
}

/// Introduces a principal in the body of a grant: the type, then the whole card chain (SPEC §9.2).
struct ChainPrincipal: Hashable, Sendable {
    let chain: CardChain

    init(chain: CardChain) { self.chain = chain }

    /// - Throws: ``TresorError/unsupported`` for another type of principal; ``TresorError/altered``.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.principalType()
        chain = try CardChain(try decoder.vector32(1...CardChain.maximumByteCount))
    }

    func encode(into encoder: inout ByteEncoder) {
        encoder.integer(userType)
        encoder.vector32(chain.bytes)
    }
}

/// The type of a principal that is a user.
private let userType: UInt8 = 1

extension ByteDecoder {
    fileprivate mutating func principalType() throws(TresorError) {
        guard try integer(UInt8.self) == userType else { throw .unsupported }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// Asks for the description of the service, and for the way in which people register.
package struct ServerRequest: ServiceRequest, EmptyMessage {
    package typealias Answer = ServerAnswer
    package static let operation = ServiceOperation.server

    package init() {}
}

/// The description of a service.
package struct ServerAnswer: ServiceMessage {
    package let server: Server
    package let registration: Registration
    /// The card chains of the approvers whom each tresor of this service must name that is shared.
    package let approvers: [[UInt8]]

    package init(server: Server, registration: Registration, approvers: [[UInt8]]) {
        self.server = server
        self.registration = registration
        self.approvers = approvers
    }

    package func encode(to encoder: inout ByteEncoder) {
        server.encode(to: &encoder)
        encoder.integer(registration.rawValue)
        encoder.list(approvers, counted: UInt16.self) { $0.vector32($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        server = try Server(from: &decoder)
        guard let registration = Registration(rawValue: try decoder.integer()) else { throw .altered }
        self.registration = registration
        approvers = try readChains(from: &decoder)
    }
}

/// The way in which people register with a service.
package enum Registration: UInt8, Sendable {
    /// The operator admits each person.
    case closed = 0
    /// An invitation of the operator admits a person; the operator admits everybody else.
    case byInvitation = 1
    /// Everybody is admitted.
    case open = 2
}

/// Asks for the card chain of a user id.
package struct CardRequest: ServiceRequest {
    package typealias Answer = ChainAnswer
    package static let operation = ServiceOperation.card

    package let user: UserID

    package init(user: UserID) { self.user = user }

    package func encode(to encoder: inout ByteEncoder) { encoder.digest(user.digest) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { user = UserID(try decoder.digest()) }
}

/// A card chain; empty for none.
package struct ChainAnswer: ServiceMessage {
    package let chain: [UInt8]

    package init(chain: [UInt8]) { self.chain = chain }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector32(chain) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        chain = try decoder.vector32(0...CardChain.maximumByteCount)
    }
}

/// Asks for the card chain under a handle.
package struct CardsRequest: ServiceRequest {
    package typealias Answer = ChainsAnswer
    package static let operation = ServiceOperation.cards

    package let handle: [UInt8]

    package init(handle: [UInt8]) { self.handle = handle }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector16(handle) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        handle = try decoder.vector16(0...Name.maximumByteCount)
    }
}

/// The card chains under a handle. An honest service has at most one.
package struct ChainsAnswer: ServiceMessage {
    package let chains: [[UInt8]]

    package init(chains: [[UInt8]]) { self.chains = chains }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.list(chains, counted: UInt16.self) { $0.vector32($1) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { chains = try readChains(from: &decoder) }
}

/// Asks for the user ids that begin with some bytes.
package struct UsersRequest: ServiceRequest {
    package typealias Answer = UsersAnswer
    package static let operation = ServiceOperation.users
    /// The sizes of a prefix in bytes. A shorter one names nobody.
    package static let prefixByteCounts = 3...32

    package let prefix: [UInt8]

    package init(prefix: [UInt8]) { self.prefix = prefix }

    package func encode(to encoder: inout ByteEncoder) { encoder.vector8(prefix) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        prefix = try decoder.vector8(Self.prefixByteCounts)
    }
}

/// User ids, rising in byte order.
package struct UsersAnswer: ServiceMessage {
    /// The maximum number of user ids: 64.
    package static let maximumCount = 64

    package let users: [UserID]

    package init(users: [UserID]) { self.users = users }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.list(users, counted: UInt16.self) { $0.digest($1.digest) }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        let users = try decoder.digests(to: Self.maximumCount, counted: UInt16.self)
        try ByteDecoder.checkRising(users)
        self.users = users.map { UserID($0) }
    }
}

/// Puts the card chain of the speaker.
package struct PutCardRequest: ServiceRequest {
    package typealias Answer = OutcomeAnswer
    package static let operation = ServiceOperation.putCard

    package let chain: [UInt8]
    /// The chain to replace; empty for none.
    package let replacing: [UInt8]

    package init(chain: [UInt8], replacing: [UInt8]) {
        self.chain = chain
        self.replacing = replacing
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.vector32(chain)
        encoder.vector32(replacing)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        chain = try decoder.vector32(1...CardChain.maximumByteCount)
        replacing = try decoder.vector32(0...CardChain.maximumByteCount)
    }
}

/// A `u16` count of card chains, each `opaque32<1..524288>`.
private func readChains(from decoder: inout ByteDecoder) throws(TresorError) -> [[UInt8]] {
    try decoder.list(of: 0, counted: UInt16.self, byteCount: 5) { (decoder) throws(TresorError) in
        try decoder.vector32(1...CardChain.maximumByteCount)
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    package import TresorCrypto

    /// A thing that a person or the operator took back. An old backup of the database still has it (SPEC §18.7).
    package enum Revocation: Hashable, Sendable {
        /// The server share of a device, which its public key names, is deleted.
        case device(UserID, key: Hash256)
        /// This card takes the place of those before it.
        case card(UserID, generation: UInt32, card: Hash256)
        /// The invitation with this hash is used.
        case invitation(Hash256)
        /// The invitation with this hash is withdrawn, also from somebody who has begun to register with it, or is deleted
        /// because that person is refused.
        case withdrawal(Hash256)
        /// The sessions of the eras before this one are ended.
        case sessions(UserID, until: Era)
        /// The account is closed. Nobody else gets its handle, of which this is the hash; zero if the person closed it.
        case account(UserID, handle: Hash256)
        /// People are in a tresor no more.
        case removal(Removal)
        /// The service started with this file. The database notes the number of its last start too.
        case start(UInt64)

        /// The size of every record in bytes: a kind, a subject, a number and an object.
        package static let byteCount = 1 + Hash256.byteCount + 8 + Hash256.byteCount

        /// The record. What a kind does not need is zero.
        package var bytes: [UInt8] {
            switch self {
            case .device(let user, let key): Self.record(1, user.digest, 0, key)
            case .card(let user, let generation, let card): Self.record(2, user.digest, UInt64(generation), card)
            case .invitation(let hash): Self.record(3, hash, 0, .zero)
            case .sessions(let user, let era): Self.record(4, user.digest, 0, Self.object(era))
            case .account(let user, let handle): Self.record(5, user.digest, 0, handle)
            case .withdrawal(let hash): Self.record(6, hash, 0, .zero)
            case .removal(let removal):
                Self.record(removal.isOwn ? 8 : 7, removal.tresor.digest, removal.sequence, Self.object(removal))
            case .start(let number): Self.record(9, .zero, number, .zero)
            }
        }

        private static func record(_ kind: UInt8, _ subject: Hash256, _ number: UInt64, _ object: Hash256) -> [UInt8] {
            var encoder = ByteEncoder(capacity: byteCount)
            encoder.integer(kind)
            encoder.digest(subject)
            encoder.integer(number)
            encoder.digest(object)
            return encoder.bytes
        }

        private static func object(_ era: Era) -> Hash256 {
            Hash256(era.bytes + [UInt8](repeating: 0, count: Hash256.byteCount - Era.byteCount)) ?? .zero
        }

        private static func object(_ removal: Removal) -> Hash256 {
            var encoder = ByteEncoder(capacity: Hash256.byteCount)
            encoder.raw(removal.people)
            encoder.integer(removal.time)
            return Hash256(encoder.bytes) ?? .zero
        }

        /// The hash by which the file names a handle. It depends on the service, as the checks of the file do. The id of the
        /// service is public: who has the file can try handles (SPEC §18.8).
        package static func hash(of handle: Name, at server: Hash256) throws(TresorError) -> Hash256 {
            let (key, bytes) = (server.bytes, handle.bytes)
            var hash = try BLAKE2b(outputCount: Hash256.byteCount, key: key.span)
            try hash.update(bytes.span)
            return Hash256(try hash.finalize()) ?? .zero
        }

        /// Reads a record.
        ///
        /// - Throws: ``TresorError/altered`` for other bytes.
        package init(_ bytes: [UInt8]) throws(TresorError) {
            var decoder = ByteDecoder(bytes)
            let kind = try decoder.integer(UInt8.self)
            let subject = try decoder.digest()
            let number = try decoder.integer(UInt64.self)
            let object = try decoder.digest()
            try decoder.end()
            switch kind {
            case 1: self = .device(UserID(subject), key: object)
            case 2:
                guard let generation = UInt32(exactly: number) else { throw .altered }
                self = .card(UserID(subject), generation: generation, card: object)
            case 3: self = .invitation(subject)
            case 4:
                guard let era = Era(Array(object.bytes.prefix(Era.byteCount))) else { throw .altered }
                self = .sessions(UserID(subject), until: era)
            case 5: self = .account(UserID(subject), handle: object)
            case 6: self = .withdrawal(subject)
            case 7, 8:
                var rest = ByteDecoder(Array(object.bytes.dropFirst(Removal.hashByteCount)))
                self = .removal(
                    Removal(
                        tresor: TresorID(subject), sequence: number,
                        people: Array(object.bytes.prefix(Removal.hashByteCount)),
                        time: try rest.integer(UInt64.self), isOwn: kind == 8))
            case 9: self = .start(number)
            default: throw .altered
            }
            guard self.bytes == bytes else { throw .altered }
        }

        /// The statements that take it out of a database again. They change nothing in one that is not older.
        var statements: [SQL] {
            switch self {
            case .device(let user, let key):
                [
                    SQL(
                        "DELETE FROM server_shares WHERE account = $1 AND device_key = $2",
                        [.digest(user.digest), .digest(key)])
                ]
            case .card(let user, let generation, let card):
                [Account.awaiting(card, generation: generation, of: user)]
            case .invitation(let hash):
                // Where the person who used it is known, it is used already. Somebody in state 1 could still lapse.
                [
                    SQL(
                        """
                        DELETE FROM invitations WHERE hash = $1
                        AND NOT EXISTS (SELECT account FROM accounts WHERE invitation = $1 AND state > 1)
                        """, [.digest(hash)])
                ]
            case .withdrawal(let hash):
                [
                    SQL(
                        "UPDATE accounts SET invitation = NULL WHERE invitation = $1 AND state = 1", [.digest(hash)]),
                    SQL(
                        """
                        DELETE FROM invitations WHERE hash = $1
                        AND NOT EXISTS (SELECT account FROM accounts WHERE invitation = $1)
                        """, [.digest(hash)]),
                ]
            case .sessions(let user, let era): [Account.beginning(era, of: user)]
            case .account(let user, _): Deletions.closing(user, from: .asked)
            // Members restore the entry. Until then ``Removals`` keeps its place free.
            case .removal: []
            case .start: []
            }
        }
    }

    /// Where a service writes down what is revoked, outside of its database. A restore of the database leaves it alone.
    package protocol RevocationLog: Sendable {
        /// Writes a revocation down. It is on the disk when the call returns.
        ///
        /// A revocation whose transaction then fails may stand there: the person who asked for it asks again.
        ///
        /// - Throws: ``TresorError/store(_:)`` with `full` if there is no room for it; ``TresorError/failed(_:)`` with
        ///   `notNoted` if it cannot be written, or if the next start would not find it.
        func append(_ revocation: Revocation) throws(TresorError)

        /// Looks whether there is room for one more, and the next start would find it: the last one is not damaged.
        ///
        /// - Throws: as ``append(_:)``.
        func checkPlace() throws(TresorError)
    }
#endif

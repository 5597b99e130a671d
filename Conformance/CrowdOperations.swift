// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// More people than a vector can hold, made from one seed each time.
enum CrowdOperations {
    static func foldCrowd(_ input: VectorFields) throws -> VectorFields {
        let count = Int(try input.integer("count"))
        let time = try input.integer("time")
        let tresor = try input.tresor()
        var fold = Fold(tresor: tresor)
        let genesis = try input.bytes("genesis")
        try fold.apply(genesis)
        var head = try BLAKE2b.hash(.entryHash, genesis)
        let founder = try SigningKey(seed: SecretKey(input.secret("founder")))
        let most = Int(try input.integer("most"))
        var people = try crowd(input, count: count, time: time)[...]
        var sequence: UInt64 = 0
        func append(_ type: UInt16, _ body: [UInt8], by founder: borrowing SigningKey) throws {
            sequence += 1
            var signed = Array("tresorE1".utf8) + [1, 1] + tresor.digest.bytes + bigEndianBytes(sequence) + head.bytes
            signed +=
                try input.bytes("author") + bigEndianBytes(UInt32(0)) + bigEndianBytes(time) + bigEndianBytes(type)
            signed += bigEndianBytes(UInt32(body.count)) + body
            let entry = signed + (try founder.sign(DomainLabel.entrySignature.message(signed)))
            try fold.apply(entry)
            head = try BLAKE2b.hash(.entryHash, entry)
        }
        while !people.isEmpty {
            let house = people.prefix(most)
            people = people.dropFirst(house.count)
            var guests = house
            while !guests.isEmpty {
                let group = guests.prefix(Int(try input.integer("people in a grant")))
                guests = guests.dropFirst(group.count)
                var body = bigEndianBytes(UInt16(group.count))
                for (_, card) in group { body += [1] + bigEndianBytes(UInt32(card.count)) + card }
                try append(2, body + [Role.reader.rawValue] + bigEndianBytes(UInt64(0)) + [0], by: founder)
            }
            guard !people.isEmpty else { break }
            var body = bigEndianBytes(UInt16(house.count))
            for (user, _) in house { body += [1] + user.bytes }
            try append(5, body + input.bytes("epoch"), by: founder)
        }
        guard let state = fold.state else { throw VectorProblem("no state") }
        return VectorFields([
            "head": bigEndianBytes(state.head.sequence) + state.head.hash.bytes,
            "members": bigEndianBytes(UInt64(state.members.count)),
        ])
    }

    /// The cards, by rising user id. They differ only in their times.
    private static func crowd(
        _ input: VectorFields, count: Int, time: UInt64
    ) throws -> [(user: Hash256, card: [UInt8])] {
        let key = try SigningKey(seed: SecretKey(input.secret("crowd")))
        let handle = try input.bytes("handle")
        var start = Array("tresorC1".utf8) + [1, 1] + bigEndianBytes(UInt16(handle.count)) + handle
        start += bigEndianBytes(UInt32(0)) + Array(repeating: 0, count: 64) + key.publicKey.bytes
        start += try input.bytes("kem_key")
        var cards: [(user: Hash256, card: [UInt8])] = []
        for index in 0..<count {
            let body = start + bigEndianBytes(time + UInt64(index))
            let card = body + (try key.sign(DomainLabel.cardSignature.message(body)))
            cards.append((try BLAKE2b.hash(.userID, card), card))
        }
        return cards.sorted { $0.user < $1.user }
    }
}

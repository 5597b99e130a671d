// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import TresorCore

/// Sessions and their requests: who signs what, and the one text of an authorization.
@Suite struct SessionStatementTests {
    private static let server = MessageSpecimen.digest(1)
    private static let id = [UInt8](repeating: 9, count: 16)

    private static func key(of identity: Identity, since: UInt64 = 1000, duration: UInt64 = 3600) throws -> SessionKey {
        try SessionKey(of: identity, device: nil, server: server, since: since, duration: duration)
    }

    @Test func anIdentitySignsItsSession() throws {
        let identity = try MessageSpecimen.identity()
        let device = try DeviceID.random()
        let key = try SessionKey(of: identity, device: device, server: Self.server, since: 1000, duration: 3600)
        let statement = try SessionStatement(key.statement.bytes)
        #expect(statement == key.statement && statement.bytes.count == SessionStatement.byteCount)
        #expect(statement.kind == .identity && statement.user == identity.user && statement.generation == 0)
        #expect(statement.server == Self.server && statement.device == device)
        #expect(statement.since == 1000 && statement.until == 4600)
        try statement.verify(by: identity.chain.newest.signingKey)
        #expect(throws: TresorError.altered) { try statement.verify(by: Self.server) }
        #expect(throws: TresorError.altered) {
            try statement.verify(by: MessageSpecimen.identity().chain.newest.signingKey)
        }
    }

    @Test func aDeviceSignsItsSession() throws {
        let device = try DeviceShare(user: try MessageSpecimen.identity().user)
        let key = try SessionKey(of: device, server: Self.server, since: 1000, duration: 3600)
        let statement = try SessionStatement(key.statement.bytes)
        #expect(statement.kind == .device && statement.device == device.id && statement.user == device.user)
        try statement.verify(by: device.publicKey())
        #expect(throws: TresorError.altered) { try statement.verify(by: statement.key) }
    }

    /// The signature covers every byte.
    @Test func aChangedSessionIsRefused() throws {
        let identity = try MessageSpecimen.identity()
        let bytes = try Self.key(of: identity).statement.bytes
        for place in bytes.indices {
            var changed = bytes
            changed[place] ^= 1
            #expect(throws: TresorError.self, "\(place)") {
                try SessionStatement(changed).verify(by: identity.chain.newest.signingKey)
            }
        }
    }

    @Test func aSessionLastsADayAtMost() throws {
        let identity = try MessageSpecimen.identity()
        let long = try Self.key(of: identity, duration: 1_000_000).statement
        #expect(long.until - long.since == SessionStatement.maximumDuration)
        for since in [Format.latestTime, UInt64.max] {
            let late = try Self.key(of: identity, since: since).statement
            #expect(late.since == Format.latestTime && late.until == Format.latestTime)
            #expect(try SessionStatement(late.bytes) == late)
        }
    }

    /// A statement with the given fields, signed by nobody.
    private static func statement(
        kind: SessionStatement.Kind = .identity, generation: UInt32 = 0, device: DeviceID? = nil, since: UInt64,
        until: UInt64
    ) throws -> [UInt8] {
        try SessionStatement(
            kind: kind, server: server, user: UserID(server), generation: generation, device: device, key: server,
            since: since, until: until, sign: { _, _ in [UInt8](repeating: 0, count: 64) }
        ).bytes
    }

    @Test func aStatementThatCannotHoldIsRefused() throws {
        let device = try DeviceID.random()
        func refused(_ bytes: [UInt8]) { #expect(throws: TresorError.altered) { try SessionStatement(bytes) } }
        _ = try SessionStatement(Self.statement(since: 5, until: 86_405))
        _ = try SessionStatement(Self.statement(kind: .device, device: device, since: 5, until: 5))
        refused(try Self.statement(since: 5, until: 86_406))
        refused(try Self.statement(since: 5, until: 4))
        refused(try Self.statement(since: 5, until: Format.latestTime + 1))
        refused(try Self.statement(kind: .device, since: 5, until: 6))
        refused(try Self.statement(kind: .device, generation: 1, device: device, since: 5, until: 6))
        for kind in [0, 3, 255] as [UInt8] {
            var bytes = try Self.statement(since: 5, until: 6)
            bytes[10] = kind
            refused(bytes)
        }
    }

    @Test func aRequestIsSignedWhole() throws {
        let key = try Self.key(of: MessageSpecimen.identity())
        let body: [UInt8] = [1, 2, 3]
        let made = try key.authorization(for: .append, body: body, id: Self.id, time: 2000)
        let read = try Authorization(made.text)
        #expect(read == made && read.id == Self.id && read.time == 2000 && read.statement == key.statement)
        try read.verify(.append, body: body)
        #expect(throws: TresorError.altered) { try read.verify(.putWraps, body: body) }
        #expect(throws: TresorError.altered) { try read.verify(.append, body: [1, 2]) }
        func refused(_ id: [UInt8], _ time: UInt64, _ statement: SessionStatement) {
            let other = Authorization(statement: statement, id: id, time: time, signature: made.signature)
            #expect(throws: TresorError.altered) { try other.verify(.append, body: body) }
        }
        refused([UInt8](repeating: 8, count: 16), 2000, key.statement)
        refused(Self.id, 2001, key.statement)
        refused(Self.id, 2000, try Self.key(of: MessageSpecimen.identity()).statement)
    }

    @Test func anAuthorizationHasOneText() throws {
        let key = try Self.key(of: MessageSpecimen.identity())
        let text = try key.authorization(for: .card, body: [], id: Self.id, time: 2000).text
        #expect(text.utf8.count == 7 + 340 + 1 + 118)
        #expect(try Authorization(text).text == text)
        func refused(_ text: String, _ error: TresorError = .altered) {
            #expect(throws: error, "\(text)") { try Authorization(text) }
        }
        refused("")
        for count in [1, 6, 7, 8, 282, 283, 284, 401] { refused(String(text.prefix(count))) }
        refused(text + "A")
        refused(text + "=")
        refused(" " + text)
        refused(text + " ")
        refused(text.replacing("Tresor ", with: "tresor "))
        refused(text.replacing("Tresor ", with: "Tresor\t"))
        refused(text.replacing(".", with: ":"))
        for character in ["+", "/", "=", "\n", "\u{e9}", "\u{212a}"] {
            for place in [7, 100, 290, 400] {
                var characters = Array(text)
                characters[place] = Character(character)
                refused(String(characters))
                characters.removeLast(character.utf8.count - 1)
                refused(String(characters))
            }
        }
        // The 4 bits of the last character that belong to no byte.
        let digits = Array("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_")
        let last = try #require(text.last.flatMap { digits.firstIndex(of: $0) })
        #expect(last % 16 == 0)
        for bits in 1..<16 { refused(text.dropLast() + String(digits[last + bits])) }
        refused(text.replacing("dHJlc29yVDE", with: "dHJlc29yVDI"), .unsupported)
    }
}

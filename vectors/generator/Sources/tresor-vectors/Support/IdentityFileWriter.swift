// SPDX-License-Identifier: Apache-2.0

@testable import TresorCrypto

/// An identity file of SPEC §8, slot by slot.
struct IdentityFileWriter {
    var person: Person
    var slots: [Bytes] = []
    private let draw: Draw

    init(_ person: Person, _ draw: Draw) {
        self.person = person
        self.draw = draw
    }

    static func fields(kind: UInt8, id: Bytes, since: UInt64, _ rest: Bytes) -> Bytes {
        join([kind], id, u64(since), rest)
    }

    func context(_ fields: Bytes) -> Bytes { join(person.user, u32(person.generation), fields) }

    func slot(_ fields: Bytes, key: Bytes, seed: Bytes? = nil, tag: String) -> Bytes {
        let sealing = Sealing(
            key, "tresor/v1/slot-seal", context(fields), seed ?? person.newest.seed, salt: draw("slot salt \(tag)", 24))
        return fields + sealing.bytes
    }

    func id(_ tag: String) -> Bytes { draw("slot id \(tag)", 16) }

    func passwordFields(memory: Int = 65_536, passes: Int = 3, salt: Bytes? = nil) -> Bytes {
        Self.fields(
            kind: 1, id: id("password"), since: 1_767_225_600,
            join(u32(memory), u32(passes), salt ?? draw("argon2 salt", 16)))
    }

    func passwordSlot(_ password: String) -> Bytes {
        let salt = draw("argon2 salt", 16)
        let prepared = must(try SecretBytes(copying: ascii(password).span))
        enum SlotKeyUse: KeyUse {}
        let key: SecretKey<SlotKeyUse> = must(try Argon2id.key(password: prepared, salt: salt, cost: .floor))
        return slot(passwordFields(salt: salt), key: key.span.publicBytes, tag: "password")
    }

    static func kitKey(_ kit: Bytes) -> Bytes { derive(kit, "tresor/v1/kit-slot") }

    func kitSlot(_ kit: Bytes, tag: String = "kit") -> Bytes {
        let fields = Self.fields(kind: 2, id: id(tag), since: 1_767_225_601, derive(kit, "tresor/v1/kit-locator"))
        return slot(fields, key: Self.kitKey(kit), tag: tag)
    }

    func deviceSlot(_ device: Bytes, serverShare: Bytes, name: String, until: UInt64, id: Bytes, tag: String) -> Bytes {
        let fields = Self.fields(
            kind: 3, id: id, since: 1_767_225_602, join(u16(name.utf8.count), ascii(name), u64(until)))
        return slot(fields, key: derive(device, "tresor/v1/slot-device", serverShare), tag: tag)
    }

    static func loginKey(_ exportKey: Bytes, server: Bytes) -> Bytes {
        derive(Bytes(exportKey.prefix(32)), "tresor/v1/slot-login", server)
    }

    func loginFields(server: Bytes, revision: UInt64 = 1) -> Bytes {
        Self.fields(kind: 4, id: id("login"), since: 1_767_225_603, join(server, u64(revision)))
    }

    func loginSlot(_ exportKey: Bytes, server: Bytes, revision: UInt64 = 1) -> Bytes {
        slot(
            loginFields(server: server, revision: revision), key: Self.loginKey(exportKey, server: server),
            tag: "login")
    }

    var untagged: Bytes {
        join(preamble("tresorI1"), prefixed(person.chain), join(person.previous), u16(slots.count), join(slots))
    }

    static func tag(_ seed: Bytes, _ untagged: Bytes) -> Bytes {
        derive(derive(seed, "tresor/v1/identity-file"), "tresor/v1/identity-tag", untagged)
    }

    var bytes: Bytes { untagged + Self.tag(person.newest.seed, untagged) }

    /// The kit's words for 32 bytes.
    static func words(_ kit: Bytes) -> String {
        let key: SecretKey<KitUse> = must(try SecretKey(SecretBytes(copying: kit.span)))
        let recovery = RecoveryKit(key)
        let words = must(try recovery.words())
        return String(decoding: words.span.publicBytes, as: UTF8.self)
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// One object of a home, by its name.
///
/// Two objects never share a name, so that a home is a dictionary from names to bytes.
public struct HomeObject: Hashable, Sendable {
    package enum Kind: Hashable, Sendable {
        /// The identity file (SPEC §8).
        case identity
        /// The names of tresors when they last opened, sealed (SPEC §8.5).
        case names
        /// The person's own marks about tresors, sealed (SPEC §8.5).
        case marks
        /// The pins: the people whom this person has verified (SPEC §7.5).
        case pins
        /// The pinned heads: the highest verified head of each tresor (SPEC §9.8).
        case heads
        /// The store where this home first saw each tresor (SPEC §8.5).
        case notedStores
        /// The services that this home has met, by their addresses (SPEC §8.5).
        case knownServices
        /// The log-ins by password that this home knows of (SPEC §20.5).
        case knownLogins
        /// One part of the local copy of a verified log (SPEC §9.8): a cache, bound to its head.
        case log(TresorID, part: UInt64 = 0)
        /// The snapshot of a verified log, tagged (SPEC §9.10): a cache, bound to its head and this identity.
        case state(TresorID)
        /// The person's own wraps of the newest epochs (SPEC §8.5), for a store that loses them.
        case wraps
        /// The device share of a slot (SPEC §8.3), separate from the rest.
        case deviceShare
        /// The cleanup journal: objects that an interrupted change of unlock methods still has to delete (SPEC §8.4).
        case cleanupJournal
        /// One piece of one part of the packs of a tresor (SPEC §8.5), as the store has them.
        case records(TresorID, part: UInt64, piece: UInt64)
        /// One volume of a checkpoint of a tresor (SPEC §8.5), as the store has it.
        case volume(TresorID, checkpoint: UInt64, number: UInt64)
        /// The index of the records of a tresor, sealed (SPEC §8.5): a cache of what its packs say.
        case recordIndex(TresorID)
        /// Changes of records that are not sent yet, sealed (SPEC §8.5).
        case outbox(TresorID)
        /// One piece of a content or an attachment that is not sent yet, sealed (SPEC §8.5).
        case unsent(TresorID, number: UInt16, piece: UInt64)
        /// The evidence that a store showed two histories, or of an approval; named by a hash, never replaced.
        case evidence(Hash256)
    }

    package let kind: Kind

    package init(_ kind: Kind) { self.kind = kind }

    /// The name, for example `identity` or `logs/` with an id: at most 100 characters of `a` to `z`, `0` to `9`, `.`,
    /// `-` and one `/`.
    ///
    /// It is a relative path. No name is a folder of another name.
    public var name: String {
        switch kind {
        case .identity: "identity"
        case .names: "names"
        case .marks: "marks"
        case .pins: "pins"
        case .heads: "heads"
        case .notedStores: "stores"
        case .knownServices: "services"
        case .knownLogins: "logins"
        case .wraps: "wraps"
        case .deviceShare: "device-share"
        case .cleanupJournal: "cleanup"
        case .log(let tresor, let part): "logs/\(Self.hexadecimal(tresor.digest)).\(part)"
        case .state(let tresor): "logs/\(Self.hexadecimal(tresor.digest)).state"
        case .records(let tresor, let part, let piece):
            "records/\(Self.hexadecimal(tresor.digest)).\(part).\(piece)"
        case .volume(let tresor, let checkpoint, let number):
            "records/\(Self.hexadecimal(tresor.digest)).v.\(checkpoint).\(number)"
        case .recordIndex(let tresor): "records/\(Self.hexadecimal(tresor.digest))\(Self.indexSuffix)"
        case .outbox(let tresor): "records/\(Self.hexadecimal(tresor.digest))\(Self.outboxSuffix)"
        case .unsent(let tresor, let number, let piece):
            "records/\(Self.hexadecimal(tresor.digest)).u.\(number).\(piece)\(Self.outboxSuffix)"
        case .evidence(let hash): "evidence/\(Self.hexadecimal(hash))"
        }
    }

    /// Whether other users must not read the object.
    ///
    /// A home refuses to read it where they could (SPEC §8.5), as ``Home/read(_:)`` says.
    public var isSecret: Bool {
        switch kind {
        case .recordIndex, .outbox, .unsent: true
        default: Self.secrets.contains(self)
        }
    }

    /// Whether the object must stay on this device, outside of all backups and synchronization: the device share
    /// (SPEC §8.3).
    public var staysOnDevice: Bool { self == .deviceShare }

    /// 64 lower-case digits.
    private static func hexadecimal(_ hash: Hash256) -> String {
        hash.bytes.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined()
    }
}

extension HomeObject {
    /// Those that every home has once. The index and the outbox of each tresor are secret too, and so are the outbox's
    /// pieces.
    package static let secrets: [HomeObject] = [.identity, .names, .marks, .deviceShare]

    package static let identity = HomeObject(.identity)
    package static let names = HomeObject(.names)
    package static let marks = HomeObject(.marks)
    package static let pins = HomeObject(.pins)
    package static let heads = HomeObject(.heads)
    package static let notedStores = HomeObject(.notedStores)
    package static let knownServices = HomeObject(.knownServices)
    package static let knownLogins = HomeObject(.knownLogins)
    package static let wraps = HomeObject(.wraps)
    package static let deviceShare = HomeObject(.deviceShare)
    package static let cleanupJournal = HomeObject(.cleanupJournal)

    package static func log(_ tresor: TresorID, part: UInt64 = 0) -> HomeObject { HomeObject(.log(tresor, part: part)) }

    package static func state(_ tresor: TresorID) -> HomeObject { HomeObject(.state(tresor)) }

    package static func records(_ tresor: TresorID, part: UInt64, piece: UInt64 = 0) -> HomeObject {
        HomeObject(.records(tresor, part: part, piece: piece))
    }

    package static func volume(_ tresor: TresorID, checkpoint: UInt64, number: UInt64) -> HomeObject {
        HomeObject(.volume(tresor, checkpoint: checkpoint, number: number))
    }

    private static let indexSuffix = ".index"
    private static let outboxSuffix = ".unsent"

    /// Whether a name's last component is that of an index of records, of an outbox or of a piece beside it.
    package static func isSecret(named component: String) -> Bool {
        component.hasSuffix(indexSuffix) || component.hasSuffix(outboxSuffix)
    }

    package static func recordIndex(_ tresor: TresorID) -> HomeObject { HomeObject(.recordIndex(tresor)) }

    package static func outbox(_ tresor: TresorID) -> HomeObject { HomeObject(.outbox(tresor)) }

    package static func unsent(_ tresor: TresorID, number: UInt16, piece: UInt64) -> HomeObject {
        HomeObject(.unsent(tresor, number: number, piece: piece))
    }

    package static func evidence(_ hash: Hash256) -> HomeObject { HomeObject(.evidence(hash)) }
}

/// The objects by their names.
extension HomeObject {
    /// The object in a folder that has a name, such as `logs/` with an id and `.0`; `nil` for a name that no object has.
    package init?(named name: String) {
        let parts = name.split(separator: "/", omittingEmptySubsequences: false)
        guard parts.count == 2 else { return nil }
        let words = parts[1].split(separator: ".", omittingEmptySubsequences: false).map { String($0) }
        guard let hash = Self.hash(of: words[0]),
            let kind = Self.kind(in: String(parts[0]), hash, Array(words.dropFirst()))
        else { return nil }
        self.init(kind)
        guard self.name.utf8.elementsEqual(name.utf8) else { return nil }
    }

    /// The only kind of object whose name may have these words behind the hash.
    private static func kind(in folder: String, _ hash: Hash256, _ words: [String]) -> Kind? {
        let tresor = TresorID(hash)
        let numbers = words.compactMap { UInt64($0) }
        switch (folder, words.count, numbers.count) {
        case ("evidence", 0, _): return .evidence(hash)
        case ("logs", 1, 1): return .log(tresor, part: numbers[0])
        case ("logs", 1, 0): return .state(tresor)
        case ("records", 1, 0): return words[0] == "index" ? .recordIndex(tresor) : .outbox(tresor)
        case ("records", 2, 2): return .records(tresor, part: numbers[0], piece: numbers[1])
        case ("records", 3, 2): return .volume(tresor, checkpoint: numbers[0], number: numbers[1])
        case ("records", 4, 2):
            guard let number = UInt16(exactly: numbers[0]) else { return nil }
            return .unsent(tresor, number: number, piece: numbers[1])
        default: return nil
        }
    }

    private static func hash(of digits: String) -> Hash256? {
        let digits = Array(digits.utf8)
        guard digits.count == 64 else { return nil }
        let bytes = stride(from: 0, to: 64, by: 2).compactMap { index in
            UInt8(String(decoding: digits[index..<index + 2], as: UTF8.self), radix: 16)
        }
        return Hash256(bytes)
    }
}

// SPDX-License-Identifier: Apache-2.0

import TestSupport
import Testing
import TresorCrypto
import TresorStore

@testable import Tresor
@testable import TresorCore

/// One of each object, and how it is read.
struct Specimen: Sendable, CustomTestStringConvertible {
    let name: String
    let bytes: [UInt8]
    let magicCount: Int
    /// The places and widths of lengths.
    let lengths: [(offset: Int, width: Int)]
    let read: @Sendable ([UInt8]) throws -> [UInt8]

    /// KEM keys that may be in it: inside them no length stands.
    var kemKeys: [[UInt8]] = []

    var kemKeyRanges: [Range<Int>] {
        kemKeys.flatMap { key in
            bytes.indices.filter { bytes[$0] == key[0] && bytes[$0...].starts(with: key) }
                .map { $0..<($0 + key.count) }
        }
    }

    var testDescription: String { name }

    static func all() async throws -> [Specimen] {
        let world = World()
        let anna = try await world.quick("anna")
        let house = try await world.quick("house")
        try world.introduce(anna, house)
        let tresor = try await anna.tresors.create(try Name(typed: "plans")).tresor
        try await anna.share(tresor, with: [house], fromNow: true)
        let file = try await anna.seal("content", in: tresor)
        _ = try await anna.unlocking.rememberDevice(name: try Name(typed: "phone"), until: world.clock.now + 9)
        let home = anna.home
        let card = try anna.identity.renewCard(time: 5).identity.chain.bytes
        let wrap = try #require(try await world.store.wraps(of: anna.identity.user, in: tresor, epoch: 2).first)
        let identity = try #require(home[.identity])
        let chainCount = anna.identity.chain.bytes.count
        let state = try await anna.client.logs.state(of: tresor)
        let keys = try await anna.keyRing.keys(of: 2, in: state)
        var kept = KeptWraps()
        kept[tresor, 2] = wrap
        var marks = Marks()
        marks[tresor] = [.hidden, .confirmed]
        var note = CleanupJournal()
        note.kits = [CleanupJournal.Kit(user: anna.identity.user, locator: .zero)]
        note.devices = [CleanupJournal.Device(user: anna.identity.user, id: try .random())]
        note.slots = [try .random()]
        note.generations = [1, 2]
        var noted = NotedStores()
        #expect(noted.note(try #require(StoreName(Array("/srv/clinic.db".utf8))), of: tresor))
        var known = KnownServices()
        known[.zero] = .zero
        let export = try TresorExport(
            tresor: tresor, entries: try await log(tresor, in: world.store).dropLast(), cards: [],
            wraps: [UnverifiedWrap(wrap)])
        var specimens = [
            Specimen(name: "card", bytes: card, magicCount: 1, lengths: [(10, 2)]) { try CardChain($0).bytes },
            Specimen(name: "identity file", bytes: identity, magicCount: 1, lengths: [(10, 4), (14 + chainCount, 2)]) {
                try IdentityFile($0).bytes
            },
            Specimen(name: "wrap", bytes: wrap, magicCount: 1, lengths: [(wrap.count - 82, 2)]) {
                try UnverifiedWrap($0).bytes
            },
            Specimen(name: "sealed file", bytes: file.bytes, magicCount: 1, lengths: []) {
                let file = try SealedFile($0)
                _ = try FileOpener.openFile(file, with: keys, in: state)
                return file.bytes
            },
            Specimen(name: "kept wraps", bytes: kept.bytes, magicCount: 1, lengths: [(50, 2)]) {
                try KeptWraps($0).bytes
            },
            Specimen(name: "noted stores", bytes: noted.bytes, magicCount: 1, lengths: [(43, 2)]) {
                try NotedStores($0).bytes
            },
            Specimen(name: "known services", bytes: known.bytes, magicCount: 1, lengths: []) {
                try KnownServices($0).bytes
            },
            Specimen(name: "export", bytes: export.bytes, magicCount: 1, lengths: [(42, 4), (46, 4)]) {
                try TresorExport($0).bytes
            },
            Specimen(name: "marks", bytes: marks.bytes, magicCount: 1, lengths: []) { try Marks($0).bytes },
            Specimen(name: "cleanup journal", bytes: note.bytes, magicCount: 1, lengths: [(10, 2), (76, 2), (126, 2)]) {
                try CleanupJournal($0).bytes
            },
            Specimen(name: "pins", bytes: try #require(home[.pins]), magicCount: 1, lengths: [(52, 4)]) {
                try Pins($0).bytes
            },
            Specimen(name: "heads", bytes: try #require(home[.heads]), magicCount: 1, lengths: []) {
                try PinnedHeads($0).bytes
            },
            Specimen(name: "cached log", bytes: try #require(home[.log(tresor)]), magicCount: 1, lengths: [(10, 4)]) {
                try LogCopy($0).bytes
            },
            Specimen(name: "device share", bytes: try #require(home[.deviceShare]), magicCount: 1, lengths: []) {
                let encoded = try DeviceShare(SecretBytes(copying: $0.span)).encoded()
                return encoded.span.publicBytes
            },
        ]
        var log = try Chronicle(founder: try identity0())
        let bob = try identity0()
        specimens.append(entry("genesis", log.entries[0], lengths: [(128, 4), (229, 4)]))
        let grant = try Chronicle.grant([bob.chain], .writer, notAfter: 99_999_999_999, fromNow: 2)
        try log.add(grant, by: log.founder)
        specimens.append(entry("grant", log.entries[1], lengths: [(128, 4), (132, 2), (135, 4)]))
        let next = try log.founder.renewCard(time: 5).identity.chain.newest
        let bodies: [(String, EntryBody, [(offset: Int, width: Int)])] = [
            (
                "remove", .remove(RemoveBody(users: [bob.user], epoch: try log.nextEpoch())),
                [(128, 4), (132, 2)]
            ),
            ("leave", .leave, [(128, 4)]),
            ("renew", .renew(RenewBody(next)), [(128, 4), (132, 4)]),
            ("epoch", .epoch(EpochBody(try log.nextEpoch())), [(128, 4), (204, 4)]),
            ("role", .role(RoleBody(user: bob.user, role: .reader, notAfter: 5)), [(128, 4)]),
            ("rename", .rename(RenameBody(try Chronicle.anyName())), [(128, 4)]),
            ("commit", .commit(CommitBody(epoch: 1, blobs: [Blob(hash: .zero, size: 674)])), [(128, 4)]),
            ("refuse", .refuse(RefuseBody(grant: .zero)), [(128, 4)]),
            (
                "approvers", .approvers(ApproversBody([Approver(bob.chain)])), [(128, 4), (132, 2), (135, 4)]
            ),
            (
                "approve",
                .approve(
                    ApproveBody(
                        grant: .zero, epoch: 1,
                        releases: [
                            try Release(
                                SecretBytes(count: 32), grant: .zero, epoch: 1, of: log.tresor, for: bob.chain.newest,
                                user: bob.user)
                        ])), [(128, 4), (172, 2), (1331, 2)]
            ),
            (
                "checkpoint",
                .checkpoint(CheckpointBody(upto: 1, epoch: 1, volumes: [Blob(hash: .zero, size: 674)])), [(128, 4)]
            ),
        ]
        for (name, body, lengths) in bodies {
            specimens.append(entry(name, try log.entry(body, by: log.founder).bytes, lengths: lengths))
        }
        let cards =
            [anna.identity, house.identity, log.founder, bob].map(\.chain.newest) + (try CardChain(card).cards) + [next]
        for index in specimens.indices { specimens[index].kemKeys = cards.map(\.kemKey.bytes) }
        return specimens
    }

    private static func identity0() throws -> Identity { try TresorTests.identity("someone") }

    private static func entry(_ name: String, _ bytes: [UInt8], lengths: [(offset: Int, width: Int)]) -> Specimen {
        Specimen(name: name, bytes: bytes, magicCount: 1, lengths: lengths) {
            // The entry does not read its body; the fold does.
            let entry = try Entry($0)
            _ = try entry.body
            return entry.bytes
        }
    }
}

/// Laws that hold for every decoder.
@Suite struct ObjectTests {
    @Test func A20_decodingAndEncodingGivesTheSameBytes() async throws {
        for specimen in try await Specimen.all() {
            #expect(try specimen.read(specimen.bytes) == specimen.bytes, "\(specimen.name)")
        }
    }

    @Test func A19_everyPrefixIsRefused() async throws {
        for specimen in try await Specimen.all() {
            for count in specimen.bytes.indices {
                let prefix = Array(specimen.bytes.prefix(count))
                let error = error { try #require(try specimen.read(prefix) == prefix) }
                let isWhole = error == nil && isSequence(specimen.name)
                #expect(error == .altered || isWhole, "\(specimen.name) \(count)")
            }
        }
    }

    /// Objects that are a sequence of parts: a prefix of whole parts is one too.
    private func isSequence(_ name: String) -> Bool {
        ["card", "pins", "heads", "cached log", "kept wraps", "marks", "noted stores", "known services"].contains(name)
    }

    @Test func A20_trailingBytesAreRefused() async throws {
        for specimen in try await Specimen.all() {
            for tail in [[0], [1], [UInt8](repeating: 0, count: 64)] as [[UInt8]] {
                #expect(error { _ = try specimen.read(specimen.bytes + tail) } == .altered, "\(specimen.name)")
            }
        }
    }

    @Test func A21_otherReleasesAreUnsupported() async throws {
        for specimen in try await Specimen.all() {
            let hasVersion = specimen.name != "wrap"
            for offset in hasVersion ? [6, 7, 8, 9] : [6, 7, 8] {
                for value: UInt8 in [0, 2, 255] {
                    var bytes = specimen.bytes
                    bytes[offset] = value
                    #expect(error { _ = try specimen.read(bytes) } == .unsupported, "\(specimen.name) \(offset)")
                }
            }
            var bytes = specimen.bytes
            bytes[0] = 0
            #expect(error { _ = try specimen.read(bytes) } == .altered)
        }
    }

    @Test func A21_everyObjectIsRefusedByEveryOtherReader() async throws {
        let specimens = try await Specimen.all()
        for one in specimens {
            for other in specimens where one.bytes.prefix(8) != other.bytes.prefix(8) {
                let error = error { _ = try other.read(one.bytes) }
                #expect(error == .unsupported || error == .altered, "\(one.name) as \(other.name)")
            }
        }
    }

    @Test func A19_everyLengthFieldAtItsBounds() async throws {
        for specimen in try await Specimen.all() {
            for (offset, width) in specimen.lengths {
                let present = specimen.bytes[offset..<(offset + width)].reduce(0) { $0 << 8 | Int($1) }
                let greatest = (1 << (8 * width)) - 1
                let values = [0, 1, present - 1, present + 1, 255, 256, 257, 65535, greatest / 2 + 1, greatest]
                for value in values where value != present && value <= greatest {
                    var bytes = specimen.bytes
                    for index in 0..<width {
                        bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - index)))
                    }
                    let error = error { _ = try specimen.read(bytes) }
                    let isRefused = error == .altered || error == .unsupported
                    #expect(isRefused, "\(specimen.name) \(offset) \(value)")
                }
            }
        }
    }

    /// Whatever stands anywhere is set to what a length could be, so that no length is forgotten: an object, or a
    /// refusal.
    @Test(arguments: [2, 4]) func A19_everythingThatCouldBeALengthAtItsBounds(width: Int) async throws {
        for specimen in try await Specimen.all() {
            let greatest = (1 << (8 * width)) - 1
            let ranges = specimen.kemKeyRanges
            for offset in (0...(specimen.bytes.count - width)).sampled(5)
            where !ranges.contains(where: { $0.contains(offset) && $0.contains(offset + width) }) {
                for value in [0, 1, greatest / 2 + 1, greatest] {
                    var bytes = specimen.bytes
                    for index in 0..<width {
                        bytes[offset + index] = UInt8(truncatingIfNeeded: value >> (8 * (width - 1 - index)))
                    }
                    let error = error { try #require(try specimen.read(bytes) == bytes) }
                    #expect(
                        error == nil || error == .altered || error == .unsupported,
                        "\(specimen.name) \(offset) \(value)")
                }
            }
        }
    }

    @Test func A19_randomBytesAndMutationsNeverTrap() async throws {
        var generator = SeededGenerator(seed: LongRun.seed)
        for specimen in try await Specimen.all() {
            for _ in 0..<150 {
                var bytes = specimen.bytes
                for _ in 0..<Int.random(in: 1...4, using: &generator) {
                    bytes[Int.random(in: bytes.indices, using: &generator)] = .random(in: 0...255, using: &generator)
                }
                let error = error { try #require(try specimen.read(bytes) == bytes) }
                #expect(
                    error == nil || error == .altered || error == .unsupported,
                    "TRESOR_SEED=\(LongRun.seed): \(specimen.name)")
            }
        }
    }
}

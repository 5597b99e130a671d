// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import Tresor
@testable import TresorCore
@testable import TresorCrypto

extension RealAttackTests {
    /// Primitives, sealing, encoding.
    @Suite struct Sealing {
        private let context: [UInt8] = [1]
        private let plain = [UInt8](repeating: 7, count: 100)

        @Test func A7_A17_saltsRepeat() async throws {
            let key = try SecretKey<SlotUse>()
            await RealAttackTests.expectReal(nil, without: .freshRandomness) {
                let sealed = try (0..<2).map { _ in
                    try TC1.seal(plain.span, with: key, label: .slotSeal, context: context.span)
                }
                return sealed[0] == sealed[1]
            }
        }

        #if os(Linux) && arch(x86_64)
            @Test(
                .enabled(if: ConstantTimeTests.isPossible, "valgrind or strip is not present"),
                .disabled(if: isSanitized, "valgrind does not run what a sanitizer built"))
            func A18_aComparisonTellsHowMuchIsRight() throws {
                #expect(try ConstantTimeTests.probe().code == 0)
                let check: Mutation = .constantTime
                let weak = try ConstantTimeTests.probe([check.rawValue])
                #expect(weak.code == 1, "\(weak.log.prefix(2000))")
                #expect(!weak.output.contains("comparing keys: 0"))
            }
        #endif

        #if os(Linux)
            @Test func A39_aSecretStaysInMemory() async throws {
                await RealAttackTests.expectReal(nil, without: .releasedSecrets) {
                    var (address, bytes): (UInt, [UInt8]) = (0, [])
                    do {
                        let secret = try SecretBytes(randomCount: 32)
                        bytes = secret.span.publicBytes
                        address = secret.span.withUnsafeBufferPointer { UInt(bitPattern: $0.baseAddress) }
                    }
                    let memory = try FileHandle(forReadingFrom: URL(fileURLWithPath: "/proc/self/mem"))
                    try memory.seek(toOffset: UInt64(address))
                    // Unmapped memory cannot be read.
                    return (try? memory.read(upToCount: 32)).map { Array($0) } == bytes
                }
            }
        #endif

        @Test func A1_aChangedCiphertextIsTaken() async throws {
            let key = try SecretKey<SlotUse>()
            var sealed = try TC1.seal(plain.span, with: key, label: .slotSeal, context: context.span)
            sealed[TC1.prefixByteCount] ^= 1
            await RealAttackTests.expectReal(.altered, without: .chunkTag) {
                let opened = try TC1.open(sealed.span, with: key, label: .slotSeal, context: context.span)
                return opened == [6] + plain.dropFirst()
            }
        }

        @Test func A2_aForeignCommitmentIsTaken() async throws {
            let key = try SecretKey<SlotUse>()
            let other = try SecretKey<SlotUse>()
            var sealed = try TC1.seal(plain.span, with: key, label: .slotSeal, context: context.span)
            let forged = try TC1.seal(plain.span, with: other, label: .slotSeal, context: context.span)
            sealed.replaceSubrange(24..<56, with: forged[24..<56])
            await RealAttackTests.expectReal(.altered, without: .keyCommitment) {
                try TC1.open(sealed.span, with: key, label: .slotSeal, context: context.span) == plain
            }
        }

        @Test func A3_aMessageOpensUnderAnotherLabelOrContext() async throws {
            let key = try SecretKey<SlotUse>()
            await RealAttackTests.expectReal(.altered, without: .sealLabel) {
                let sealed = try TC1.seal(plain.span, with: key, label: .slotSeal, context: context.span)
                return try TC1.open(sealed.span, with: key, label: .nameSeal, context: context.span) == plain
            }
            let other: [UInt8] = [2]
            await RealAttackTests.expectReal(.altered, without: .sealContext) {
                let sealed = try TC1.seal(plain.span, with: key, label: .slotSeal, context: context.span)
                return try TC1.open(sealed.span, with: key, label: .slotSeal, context: other.span) == plain
            }
        }

        @Test func A4_anObjectOpensInAnothersPlace() async throws {
            let anna = try identity("anna")
            let other = try identity("other")
            let key = try SecretKey<SlotUse>()
            func opens() throws -> Bool {
                let slot = try anna.seal(under: key, id: .random(), kind: .kit(locator: .zero), since: 1)
                let seed = try slot.open(with: key, user: other.user, generation: 0)
                return seed.span.count == 32
            }
            await RealAttackTests.expectReal(.altered, without: .sealContext) { try opens() }
        }

        @Test func A5_chunksAreExchanged() async throws {
            let key = try SecretKey<SlotUse>()
            let size = TC1.chunkByteCount
            let long = [UInt8](repeating: 1, count: size) + [UInt8](repeating: 2, count: size) + [3]
            await RealAttackTests.expectReal(.altered, without: .chunkPlace) {
                let sealed = try TC1.seal(long.span, with: key, label: .fileSeal, context: context.span)
                let first = TC1.prefixByteCount..<(TC1.prefixByteCount + size + 16)
                let second = first.upperBound..<(first.upperBound + size + 16)
                let swapped = sealed[..<first.lowerBound] + sealed[second] + sealed[first]
                let mangled = Array(swapped + sealed[second.upperBound...])
                let opened = try TC1.open(mangled.span, with: key, label: .fileSeal, context: context.span)
                return opened == long[size..<(2 * size)] + long[..<size] + [3]
            }
        }

        @Test func A6_contentComesOutBeforeTheLastCheck() async throws {
            let scene = try await Scene()
            let state = try await scene.state
            let file = try scene.forge(by: scene.bob, at: state, keys: try await scene.keys(1)) {
                $0[$0.count - 1] ^= 1
            }
            await RealAttackTests.expectReal(.altered, without: .signature, against: [scene.house]) {
                let verified = try await scene.house.files.verify(StoredFile(MemorySource(file.bytes)))
                let released = Experiment.current?.counts.releasedBytes
                return try await verified.read(0..<3) == [1, 2, 3] && released == 3
            }
        }

        @Test func A9_aPayloadIsPaddedAsItsAuthorLikes() async throws {
            let scene = try await Scene()
            let (state, keys) = (try await scene.state, try await scene.keys(1))
            let hidden = try scene.forge(by: scene.bob, at: state, keys: keys) {
                $0[Scene.fieldsByteCount + 3] = 0x48
            }
            await RealAttackTests.expectReal(.altered, without: .zeroPadding, against: [scene.house]) {
                try await scene.house.files.open(hidden).content == [1, 2, 3]
            }
            let longer = try scene.forge(by: scene.bob, at: state, keys: keys) {
                $0.insert(contentsOf: [UInt8](repeating: 0, count: 16), at: Scene.fieldsByteCount + 3)
            }
            await RealAttackTests.expectReal(.altered, without: .paddedLength, against: [scene.house]) {
                try await scene.house.files.open(longer).content == [1, 2, 3]
            }
        }

        @Test func A10_aSignatureThatOnlySomeVerifiersAccept() async throws {
            let identityPoint = [1] + [UInt8](repeating: 0, count: 31)
            let key = try #require(Hash256(identityPoint))
            let signature = identityPoint + [UInt8](repeating: 0, count: 32)
            await RealAttackTests.expectReal(.altered, without: .signature) {
                try Ed25519.verify(signature, of: context, by: key)
                return true
            }
        }

        @Test func A12_aSeedSignsUnderAForeignCard() async throws {
            let victim = try identity("victim")
            await RealAttackTests.expectReal(.altered, without: .ownCard) {
                try Identity(chain: victim.chain, seed: SecretKey(), previous: []).user == victim.user
            }
        }

        @Test func A13_oneSignedThingIsTakenForAnother() async throws {
            let anna = try identity("anna")
            let labelled = try anna.sign(.cardSignature, plain)
            let bare = try Experiment.$current.withValue(Experiment(applying: [.signatureLabel])) {
                try anna.sign(.cardSignature, plain)
            }
            await RealAttackTests.expectReal(.altered, without: .signatureLabel) {
                let signature = Mutation.signatureLabel.isApplied ? bare : labelled
                try Ed25519.verify(
                    signature, of: DomainLabel.entrySignature.message(plain), by: anna.chain.newest.signingKey)
                return true
            }
        }

        @Test func A14_anUnusableKEMKeyIsTaken() async throws {
            let key = [UInt8](repeating: 0xff, count: XWing.publicKeyByteCount)
            await RealAttackTests.expectReal(.altered, without: .kemKey) { try XWing.PublicKey(key).bytes == key }
        }

        @Test func A16_aForeignKEMKeyIsRegisteredAsOnesOwn() async throws {
            let scene = try await Scene()
            let (anna, keys) = (scene.anna.identity, try await scene.keys(1))
            let card = try Card.make(
                handle: Name(typed: "thief"), chain: nil, kemKey: anna.chain.newest.kemKey, time: 1,
                signing: SigningKey(seed: SecretKey())
            ) { _ in [] }
            let thief = try CardChain(first: card)
            func wrap() throws -> [UInt8] {
                let wrap = try Wrap(keys, of: scene.tresor, for: card, user: thief.user, history: .all)
                // The store says that it is for anna.
                return Array(wrap.bytes[..<49]) + anna.user.digest.bytes + wrap.bytes[81...]
            }
            let bound = try wrap()
            let bare = try Experiment.$current.withValue(Experiment(applying: [.wrapInfo])) { try wrap() }
            let statement = try #require(try await scene.state.statement(of: 1))
            await RealAttackTests.expectReal(.altered, without: .wrapInfo, against: [scene.anna]) {
                let opened = try UnverifiedWrap(Mutation.wrapInfo.isApplied ? bare : bound).openWrap(
                    as: anna, of: scene.tresor, statement: statement, card: anna.chain.newest, history: .all)
                return opened.content.matches(keys.content)
            }
        }

        @Test func A20_oneObjectHasTwoEncodings() async throws {
            let log = try Chronicle(founder: identity("anna"))
            let entry = log.entries[0]
            await RealAttackTests.expectReal(.altered, without: .trailingBytes) {
                try Entry(entry + [0]).bytes == entry
            }
        }

        @Test func A21_anotherVersionIsReadAsThisOne() async throws {
            let scene = try await Scene()
            var bytes = try await scene.bob.seal("x", in: scene.tresor).bytes
            bytes[8] = 2
            await RealAttackTests.expectReal(.unsupported, without: .version, against: [scene.house]) {
                try await scene.house.files.open(SealedFile(bytes)).content == Array("x".utf8)
            }
        }

        @Test func A22_oneObjectHasTwoArmours() async throws {
            let text = String(decoding: Armour.card.armour([0]), as: UTF8.self)
            let other = text.replacing("AA==", with: "AB==")
            #expect(other != text)
            await RealAttackTests.expectReal(.altered, without: .unusedBits) {
                try Armour.card.dearmour(Array(other.utf8)) == [0]
            }
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct SecretKeyTests {
    private let keyBytes = [UInt8](0..<32)

    /// Computed with Python's hashlib from SPEC §6 alone.
    @Test func derivesTheKnownAnswers() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let context: [UInt8] = [1, 2, 3]
        let derived: SecretKey<OtherUse> = try key.derive(.identitySign, context: context.span)
        let text = Hex.text(derived.span.publicBytes)
        #expect(text == "d04e6054f0bea3c7c6a13fb2aae48bc2eed84d89f2e53798d183dbba46504681")
        let nothing: [UInt8] = []
        let digest = try key.deriveDigest(.kitLocator, context: nothing.span)
        #expect(Hex.text(digest.bytes) == "ed06c1dc9ab3d5277dde03acc4c6bb5fdd2cd074e102a491afdfb35b8cc16297")
    }

    @Test func commitsToTheKnownAnswer() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let commitment = try key.commitment(.commitTK, prefix: [9, 8])
        #expect(Hex.text(commitment.bytes) == "7f18441b2023ff2652ba29b5bac2187cf332990b9002bb4f908eccd9a88494eb")
    }

    @Test func A13_everyLabelDerivesItsOwnKey() throws {
        let key = try SecretKey<TestUse>()
        var seen: Set<[UInt8]> = [key.span.publicBytes]
        for (label, _) in DomainLabel.registry {
            for context in [[], [0], [1]] as [[UInt8]] {
                let derived: SecretKey<OtherUse> = try key.derive(label, context: context.span)
                let isNew = seen.insert(derived.span.publicBytes).inserted
                #expect(isNew, "\(label.text)")
                let commitment = try key.commitment(label, prefix: context)
                #expect(seen.insert(commitment.bytes).inserted, "\(label.text)")
            }
        }
    }

    @Test func A3_derivationSeparatesLabelAndContext() throws {
        let key = try SecretKey<TestUse>()
        let contexts: ([UInt8], [UInt8]) = ([0x79], [0x78, 0x79])
        let longer = try key.deriveDigest(try DomainLabel(application: "app/keyx"), context: contexts.0.span)
        let shorter = try key.deriveDigest(try DomainLabel(application: "app/key"), context: contexts.1.span)
        #expect(longer != shorter)
    }

    @Test func freshKeysDiffer() throws {
        var seen: Set<[UInt8]> = []
        for _ in 0..<1000 {
            let key = try SecretKey<TestUse>()
            let isNew = seen.insert(key.span.publicBytes).inserted
            #expect(isNew)
        }
    }

    @Test(arguments: [0, 31, 33, 64])
    func refusesAnotherSize(count: Int) throws {
        let error = thrown { () throws(TresorError) in
            _ = try SecretKey<TestUse>(SecretBytes(count: count))
        }
        #expect(error == .altered)
    }

    @Test func copiesIntoItsPlace() throws {
        let key: SecretKey<TestUse> = try key(keyBytes)
        let whole = try SecretBytes(count: 40) { (output) throws(TresorError) in key.copy(into: &output, at: 8) }
        let bytes = whole.span.publicBytes
        #expect(bytes == [UInt8](repeating: 0, count: 8) + keyBytes)
    }
}

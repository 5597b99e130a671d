// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

/// The group of a service's key.
@Suite struct Ristretto255Tests {
    /// RFC 9496 Appendix A.1: the multiples 1 to 15 of the generator.
    private static let multiples = [
        "e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76",
        "6a493210f7499cd17fecb510ae0cea23a110e8d5b901f8acadd3095c73a3b919",
        "94741f5d5d52755ece4f23f044ee27d5d1ea1e2bd196b462166b16152a9d0259",
        "da80862773358b466ffadfe0b3293ab3d9fd53c5ea6c955358f568322daf6a57",
        "e882b131016b52c1d3337080187cf768423efccbb517bb495ab812c4160ff44e",
        "f64746d3c92b13050ed8d80236a7f0007c3b3f962f5ba793d19a601ebb1df403",
        "44f53520926ec81fbd5a387845beb7df85a96a24ece18738bdcfa6a7822a176d",
        "903293d8f2287ebe10e2374dc1a53e0bc887e592699f02d077d5263cdd55601c",
        "02622ace8f7303a31cafc63f8fc48fdc16e1c8c8d234b2f0d6685282a9076031",
        "20706fd788b2720a1ed2a5dad4952b01f413bcf0e7564de8cdc816689e2db95f",
        "bce83f8ba5dd2fa572864c24ba1810f9522bc6004afe95877ac73241cafdab42",
        "e4549ee16b9aa03099ca208c67adafcafa4c3f3e4e5303de6026e3ca8ff84460",
        "aa52e000df2e16f55fb1032fc33bc42742dad6bd5a8fc0be0167436c5948501f",
        "46376b80f409b29dc2b5f6f0c52591990896e5716f41477cd30085ab7f10301e",
        "e0c418f7c8d9c4cdd7395b93ea124f3ad99021bb681dfc3302a9d99a2e53e64e",
    ]

    @Test("RFC 9496 A.1: the multiples of the generator", arguments: 1...15)
    func multiplies(factor: Int) throws {
        let scalar = try secretBytes(([UInt8(factor)] + [UInt8](repeating: 0, count: 31)))
        let product = try Ristretto255.multiplyGenerator(by: scalar)
        #expect(Hex.text(product.bytes) == Self.multiples[factor - 1])
    }

    @Test("Zero times the generator is no key")
    func refusesZero() throws {
        let zero = try SecretBytes(count: 32)
        #expect(throws: TresorError.altered) { try Ristretto255.multiplyGenerator(by: zero) }
    }

    @Test("A scalar has 32 bytes", arguments: [0, 31, 33])
    func refusesSizes(count: Int) throws {
        let scalar = try SecretBytes(randomCount: count)
        #expect(throws: TresorError.altered) { try Ristretto255.multiplyGenerator(by: scalar) }
    }

    /// The number below the order L of the group, L, the number above it, and two with bits that no scalar has.
    @Test(
        "A scalar is below the order of the group",
        arguments: [
            ("ecd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", true),
            ("edd3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", false),
            ("eed3f55c1a631258d69cf7a2def9de1400000000000000000000000000000010", false),
            ("0100000000000000000000000000000000000000000000000000000000000080", false),
            (String(repeating: "ff", count: 32), false), (String(repeating: "00", count: 31), false),
        ])
    func judgesScalars(text: String, isScalar: Bool) throws {
        #expect(try Ristretto255.isScalar(secretBytes(bytes(text))) == isScalar)
    }

    @Test("Two drawn scalars are two keys")
    func draws() throws {
        let one = try Ristretto255.multiplyGenerator(by: Ristretto255.randomScalar())
        let other = try Ristretto255.multiplyGenerator(by: Ristretto255.randomScalar())
        #expect(one != other)
    }

    /// Not canonical, negative, and the identity. All of RFC 9496 Appendix A.2 stand in opaque.json.
    private static let badEncodings = [
        "00" + String(repeating: "ff", count: 31), "01" + String(repeating: "ff", count: 30) + "7f",
        String(repeating: "00", count: 32),
    ]

    @Test("Bad encodings are refused, and the identity", arguments: badEncodings)
    func A120_whatIsNoElementIsRefused(text: String) throws {
        let bytes = try bytes(text)
        #expect(throws: TresorError.altered) { try Ristretto255.check(bytes.span) }
        do throws(TresorError) {
            _ = try Ristretto255.multiply(bytes.span, by: Ristretto255.randomScalar())
            Issue.record("it was multiplied")
        } catch {
            #expect(error == .altered)
        }
    }

    @Test("Good encodings are taken, and multiplied as the generator is", arguments: 1...15)
    func takesGoodEncodings(factor: Int) throws {
        let one = try secretBytes(([1] + [UInt8](repeating: 0, count: 31)))
        let element = try bytes(Self.multiples[factor - 1])
        try Ristretto255.check(element.span)
        let product = try Ristretto255.multiply(element.span, by: one)
        #expect(product.span.publicBytes == element)
    }

    @Test("A scalar times its inverse is one")
    func inverts() throws {
        let scalar = try Ristretto255.randomScalar()
        let element = try Ristretto255.multiplyGenerator(by: scalar)
        let product = try Ristretto255.multiply(element.bytes.span, by: Ristretto255.invert(scalar))
        #expect(Hex.text(product.span.publicBytes) == Self.multiples[0])
        do throws(TresorError) {
            _ = try Ristretto255.invert(SecretBytes(count: 32))
            Issue.record("zero has an inverse")
        } catch {
            #expect(error == .altered)
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

/// Random cases of each construction, reduced to one hash (SPEC §6).
enum AccumulatedVectors {
    static func make() -> VectorFile { accumulated("accumulated", count: 10_000) }

    /// The same with a million cases, for a nightly run.
    static func nightly(count: Int = 1_000_000) -> VectorFile { accumulated("nightly", count: count) }

    private static func accumulated(_ name: String, count: Int) -> VectorFile {
        let file = VectorFile(name, section: "6", purpose: "random cases of each construction, reduced to one hash")
        file.group("accumulate")
        for construction in ["seal", "derive", "hash", "padding", "armour", "id", "number", "words", "sign"] {
            var sum = zeros(32)
            for number in 0..<count { sum = blake2b(32, sum + result(construction, number)) }
            file.valid(
                "\(count) cases of \(construction)",
                in: ["construction": ascii(construction), "count": u64(UInt64(count))],
                out: ["hash": sum])
        }
        return file
    }

    private static func result(_ construction: String, _ number: Int) -> Bytes {
        let draw = Draw(file: "accumulated", id: number)
        func drawn(_ name: String, _ count: Int) -> Bytes { draw("\(construction) \(name)", count) }
        switch construction {
        case "seal":
            return Sealing(
                drawn("K", 32), "tresor/v1/file-seal", drawn("context", number % 100), drawn("plaintext", number % 300),
                salt: drawn("salt", 24)
            ).bytes
        case "derive": return derive(drawn("K", 32), "tresor/v1/slot-device", drawn("context", number % 64))
        case "hash": return hash("tresor/v1/entry-hash", drawn("x", number % 200))
        case "padding":
            let length = drawn("L", 5).reduce(0) { $0 << 8 | Int($1) } >> (number % 40)
            return u64(UInt64(FileSealing.padded(max(length, 512))))
        case "armour": return Armoured.text(drawn("bytes", number % 100), kind: "TRESOR CARD")
        case "id": return ascii(Crockford.text(drawn("id", number % 2 == 0 ? 16 : 32)))
        case "number": return ascii(IdentityVectors.number(drawn("hash", 32)))
        case "words": return ascii(IdentityFileWriter.words(drawn("K", 32)))
        default: return SigningPair(seed: drawn("seed", 32)).sign("tresor/v1/entry-signature", drawn("x", number % 150))
        }
    }
}

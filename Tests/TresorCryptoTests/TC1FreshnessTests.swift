// SPDX-License-Identifier: Apache-2.0

import Foundation
import TestSupport
import Testing

@testable import TresorCrypto

/// A7: nonce and salt are nobody's to choose, and never the same twice.
@Suite struct TC1FreshnessTests {
    @Test func A7_samePlaintextSharesNoBlock() throws {
        let key = try SecretKey<TestUse>()
        let plaintext = [UInt8](repeating: 0, count: 70_000)
        var seen: Set<[UInt8]> = []
        for _ in 0..<2 {
            let sealed = try TresorCryptoTests.sealed(plaintext, with: key)
            for start in stride(from: 0, through: sealed.count - 16, by: 16) {
                let isNew = seen.insert(Array(sealed[start..<start + 16])).inserted
                #expect(isNew)
            }
        }
    }

    /// Each third of a salt by itself: chance repeats one in a million once in eighteen million runs, and a part that
    /// stands still is seen.
    @Test func A7_aMillionSealsHaveAMillionSalts() throws {
        let key = try SecretKey<TestUse>()
        let nothing: [UInt8] = []
        let count = LongRun.isOn ? 1_000_000 : 100_000
        var thirds = [[UInt64]](repeating: [], count: 3)
        for _ in 0..<count {
            let sealed = try TC1.seal(nothing.span, with: key, label: .fileSeal, context: nothing.span)
            sealed.withUnsafeBytes { bytes in
                for third in 0..<3 {
                    thirds[third].append(bytes.loadUnaligned(fromByteOffset: 8 * third, as: UInt64.self))
                }
            }
        }
        for third in thirds { #expect(Set(third).count == count) }
    }

    @Test func A7_publicInterfaceTakesNoNonceOrSalt() throws {
        let modules = [("TresorCrypto", 30), ("TresorCore", 100), ("Tresor", 100), ("TresorStore", 20)]
        for (module, count) in modules {
            let declarations = try SourceCode.publicDeclarations(of: "Sources/\(module)")
            #expect(declarations.count > count, "\(module)")
            #expect(declarations.filter(Self.takesChance) == [], "\(module)")
        }
    }

    /// Opening a slot uses the salt that the file names, and vectors name theirs. No module above the primitives passes
    /// one on.
    @Test func A7_onlyPrimitivesTakeANonceOrSalt() throws {
        let taking = try SourceCode.sharedDeclarations(of: "Sources/TresorCrypto").filter(Self.takesChance)
        let functions = taking.compactMap { $0.firstMatch(of: /func (\w+)/).map { String($0.1) } }
        #expect(functions.sorted() == ["finish", "hash", "key", "openChaChaPoly", "seal"])
        // A log-in by OPAQUE, once for each side.
        #expect(taking.count { $0.contains("init(") } == 2)
        for module in ["TresorCore", "Tresor", "TresorStore"] {
            let declarations = try SourceCode.sharedDeclarations(of: "Sources/\(module)")
            #expect(declarations.filter(Self.takesChance) == [], "\(module)")
        }
    }

    /// Whether a caller could choose what must be drawn by chance.
    private static func takesChance(_ declaration: String) -> Bool {
        ["nonce", "salt:", "seedForVectors", "generator"].contains { declaration.contains($0) }
    }

    /// A seed that a caller chooses would be a generator of its own.
    @Test func A7_publicInterfaceOfIdentitiesTakesNoSeed() throws {
        for module in ["TresorCore", "Tresor", "TresorStore"] {
            let taking = try SourceCode.publicDeclarations(of: "Sources/\(module)").filter { $0.contains("seed:") }
            #expect(taking == [], "\(module)")
        }
    }
}

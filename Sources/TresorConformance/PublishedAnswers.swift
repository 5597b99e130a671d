// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Known answers of published standards, for a program without vectors.
enum PublishedAnswers {
    static func run(_ line: (String) throws -> Void) throws -> Selftest.Report {
        var report = Selftest.Report()
        for (name, holds) in [("RFC 7693, BLAKE2b of abc", try blake2b()), ("RFC 8032, §7.1, test 2", try ed25519())] {
            if holds { report.passed += 1 } else { report.failed += 1 }
            try line("\(name) \(holds ? "passed" : "failed")")
        }
        return report
    }

    private static func blake2b() throws -> Bool {
        var hash = try BLAKE2b(outputCount: 64)
        let message = Array("abc".utf8)
        try hash.update(message.span)
        return try hash.finalize()
            == Hex.bytes(
                """
                ba80a53f981c4d0d6a2797b69f12f6e94c212f14685ac4b74b12bb6fdbffa2d1\
                7d87c5392aab792dc252d5de4533cc9518d38aa8dbf1925ab92386edd4009923
                """)
    }

    private static func ed25519() throws -> Bool {
        let key = Hex.bytes("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c").flatMap { Hash256($0) }
        let signature =
            Hex.bytes(
                """
                92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da\
                085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00
                """) ?? []
        guard let key else { return false }
        return (try? Ed25519.verify(signature, of: [0x72], by: key)) != nil
            && (try? Ed25519.verify(signature, of: [0x73], by: key)) == nil
    }
}

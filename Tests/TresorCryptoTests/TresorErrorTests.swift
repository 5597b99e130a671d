// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import TresorCrypto

@Suite struct TresorErrorTests {
    private static let errors: [TresorError] =
        [
            .notFound, .busy, .wrongPassword, .noAccess, .altered, .forked, .unverified, .unsupported, .cancelled,
        ] + TresorError.Fault.allCases.map(TresorError.failed) + TresorError.Fault.allCases.map(TresorError.store)
        + TresorError.Misuse.allCases.map(TresorError.usage)

    @Test(arguments: [
        (TresorError.failed(.other), "failed"), (.notFound, "not_found"), (.busy, "busy"),
        (.wrongPassword, "wrong_password"), (.noAccess, "no_access"), (.altered, "altered"), (.forked, "forked"),
        (.unverified, "unverified"), (.store(.withheld), "store"), (.unsupported, "unsupported"),
        (.usage(.lastOwner), "usage"), (.cancelled, "cancelled"),
    ])
    func namesAreStable(error: TresorError, name: String) {
        #expect(error.name == name)
    }

    @Test func everyErrorHasASentenceOfItsOwn() {
        #expect(Set(Self.errors.map(\.name)).count == 12)
        let sentences = Self.errors.map { ($0 as any Error).localizedDescription }
        #expect(Set(sentences).count == Self.errors.count)
        for (error, sentence) in zip(Self.errors, sentences) {
            #expect(sentence == error.errorDescription)
            #expect(!sentence.contains("TresorError") && !sentence.contains("operation could not be completed"))
            // The reason, and the way out.
            #expect(sentence.hasSuffix(".") && sentence.split(separator: ". ").count >= 2, "\(sentence)")
        }
    }

    @Test(arguments: TresorError.Misuse.allCases)
    func aRefusedArgumentIsNamed(misuse: TresorError.Misuse) throws {
        #expect(!misuse.rawValue.isEmpty)
        #expect(try #require(TresorError.usage(misuse).errorDescription).contains(misuse.rawValue))
    }
}

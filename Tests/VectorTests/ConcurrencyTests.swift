// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

/// No function of the client works where its caller runs. `CallerThreadTests` watches that it is so.
@Suite struct ConcurrencyTests {
    /// The functions that neither read nor wait: they compare, or make a value. `next` and `read` belong to an iterator
    /// and to a source, which run where they are used; they read nothing there themselves. `number` hashes one card
    /// chain, for a screen that shows it; `lock` wipes keys at once.
    private static let light: Set = [
        "<", "hash", "makeAsyncIterator", "changes", "next", "read", "share", "revoke", "rename", "number", "lock",
        "tresor",
    ]

    /// The functions of ``light`` that have a namesake which reads.
    private static let both: Set = ["share", "revoke", "tresor"]

    @Test func everyPublicFunctionOfTheClientLeavesItsCaller() throws {
        let directory = Repository.root.appending(path: "Sources/Tresor").path(percentEncoded: false)
        var leaving: Set<String> = []
        for name in try FileManager.default.subpathsOfDirectory(atPath: directory) where name.hasSuffix(".swift") {
            let text = try Repository.text("Sources/Tresor/\(name)")
            let function = /^ *((?:@\w+ )*)public (?:static |mutating )*func ([<\w]+)/
            for match in text.matches(of: function.anchorsMatchLineEndings()) {
                let isConcurrent = match.1.contains("@concurrent")
                #expect(isConcurrent || Self.light.contains(String(match.2)), "\(name): \(match.2)")
                if isConcurrent { leaving.insert(String(match.2)) }
            }
        }
        #expect(leaving.isSuperset(of: Self.both))
        let watched = try Repository.text("Tests/TresorTests/Client/CallerThreadTests.swift")
        for function in leaving.sorted() {
            #expect(watched.contains("." + function + "("), "CallerThreadTests does not call \(function)")
        }
    }
}

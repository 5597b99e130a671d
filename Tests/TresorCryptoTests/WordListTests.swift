// SPDX-License-Identifier: Apache-2.0

import Crypto
import Foundation
import Testing

@testable import TresorCrypto

/// The words of the recovery kit are the list that SPEC §8.2 names by its hash.
@Suite struct WordListTests {
    @Test func wordsAreThoseOfThePublishedList() {
        let text = WordList.words.reduce(into: Data()) { $0.append(contentsOf: $1 + [0x0a]) }
        let hash = SHA256.hash(data: text).map { String(format: "%02x", $0) }.joined()
        #expect(WordList.words.count == 2048)
        #expect(hash == "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda")
    }
}

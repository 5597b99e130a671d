// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCrypto

@testable import Tresor

/// Values that cannot be copied, on their way to another thread.
@Suite struct HeldTests {
    /// An answer to a second finish of one request would test another guess with it.
    @Test func whatIsUsedUpIsTakenOnce() throws {
        let held = HeldOnce(try OPAQUERegistration(input: SecretBytes(randomCount: 8)))
        let first = try held.take()
        #expect(first.message.count == 32)
        do throws(TresorError) {
            _ = try held.take()
            Issue.record("it was taken twice")
        } catch {
            #expect(error == .cancelled)
        }
    }
}

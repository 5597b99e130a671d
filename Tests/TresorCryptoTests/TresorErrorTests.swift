// SPDX-License-Identifier: Apache-2.0

import Testing

@testable import TresorCrypto

@Suite struct TresorErrorTests {
    @Test(arguments: [
        (TresorError.failed(.other), "failed", Int32(1)), (.notFound, "not_found", 10), (.busy, "busy", 11),
        (.wrongPassword, "wrong_password", 12), (.noAccess, "no_access", 13), (.altered, "altered", 14),
        (.forked, "forked", 15), (.unverified, "unverified", 16), (.waiting, "waiting", 17),
        (.store(.withheld), "store", 18), (.unsupported, "unsupported", 19), (.usage, "usage", 64),
        (.interrupted, "interrupted", 130),
    ])
    func namesAndExitCodesAreStable(error: TresorError, name: String, exitCode: Int32) {
        #expect(error.name == name)
        #expect(error.exitCode == exitCode)
    }
}

// SPDX-License-Identifier: Apache-2.0

import Testing

/// `ProductTests` finds the switches of tests in the program that has them.
@Suite struct MutatedProductTests {
    @Test(.enabled(if: ProductTests.canReadSymbols, "nm is not present"))
    func theSearchFindsTheSwitches() throws {
        #expect(try ProductTests.switches(in: Program.path).allSatisfy { $0 > 0 })
    }
}

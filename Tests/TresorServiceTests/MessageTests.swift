// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore

/// The messages of the service.
@Suite struct MessageTests {
    @Test func anEmptyAnswerHasNoBytes() throws {
        #expect(DoneAnswer().bytes.isEmpty)
        #expect(throws: (any Error).self) { try DoneAnswer([0]) }
    }
}

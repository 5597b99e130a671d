// SPDX-License-Identifier: Apache-2.0

import Foundation
import Testing

@testable import tresor_vectors

/// The files are what the generator makes.
@Suite struct LibraryTests {
    @Test func regenerationChangesNothing() {
        let vectors = Repository.root.appendingPathComponent("vectors").path
        #expect(Library.make().differences(from: vectors) == [])
    }

    /// The file of a night has its own name and schema. It takes minutes to make, so this one has no cases.
    @Test func aNightHasItsNameAndSchema() {
        let made = AccumulatedVectors.nightly(count: 0).json.text()
        #expect(made.hasPrefix("{\n  \"file\": \"nightly\"") && made.contains("schema/nightly.schema.json"))
    }
}

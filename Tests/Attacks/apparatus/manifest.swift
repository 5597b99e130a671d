// SPDX-License-Identifier: Apache-2.0

// scripts/attacks appends this to the copy of Package.swift: of the tests, only those that disable checks are built,
// and what they stand on.
let others = ["CLITests", "TresorStoreTests", "TresorTests", "VectorTests"]
package.targets.removeAll { others.contains($0.name) }

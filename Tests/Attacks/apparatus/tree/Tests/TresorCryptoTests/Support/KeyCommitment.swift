// SPDX-License-Identifier: Apache-2.0

@testable import TresorCrypto

/// Runs `body` where the check of the commitment is disabled.
func withoutKeyCommitment(_ body: () throws -> Void) rethrows {
    try Experiment.$current.withValue(Experiment(applying: [.keyCommitment]), operation: body)
}

// SPDX-License-Identifier: Apache-2.0

import Testing

/// Runs each test of a suite over the kind of store of the process; where none is named, also over a service that lies:
/// what EvilStore says then comes over the real wire.
struct EvilServer: SuiteTrait, TestTrait, TestScoping {
    var isRecursive: Bool { true }

    @concurrent func provideScope(
        for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
    ) async throws {
        for kind in StoreKind.withEvilServer {
            let naming = IssueHandlingTrait.compactMapIssues { issue in
                var issue = issue
                issue.comments.append("over \(kind)")
                return issue
            }
            try await naming.provideScope(for: test, testCase: testCase) {
                try await StoreKind.$chosen.withValue(kind) { try await function() }
            }
        }
    }
}

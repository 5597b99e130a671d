// SPDX-License-Identifier: Apache-2.0

/// The end of a wait for something that did not come.
public struct NeverCame: Error {}

/// Lets other tasks go on until a condition holds.
///
/// - Parameter looks: the number of looks after which it counts as one that never holds.
/// - Throws: ``NeverCame``, so that a regression fails and does not hang; the errors of the condition.
public func wait(looks: Int = 10_000_000, until condition: () async throws -> Bool) async throws {
    for _ in 0..<looks {
        if try await condition() { return }
        await Task.yield()
    }
    throw NeverCame()
}

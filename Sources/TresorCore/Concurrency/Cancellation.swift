// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The calls that the cancellation of a task ends, and the changes that go on to their end.
///
/// A call looks for it between its steps until it changes something. From then on it goes on to its end, so that the
/// caller learns whether the change was made.
package enum Cancellation {
    /// Whether steps are under way that go on to their end.
    @TaskLocal package static var isIgnored = false

    /// Ends a call whose task was cancelled.
    ///
    /// - Throws: ``TresorError/cancelled`` in a cancelled task.
    package static func check() throws(TresorError) {
        guard !Task.isCancelled else { throw .cancelled }
    }

    /// Runs steps that a cancellation no longer ends, neither here nor in the store. They may wait for the home's lock,
    /// and run on threads of their own.
    package static func ignored<Value: Sendable>(
        _ steps: @escaping @Sendable () async throws(TresorError) -> Value
    ) async throws(TresorError) -> Value {
        // A task of its own has a cancellation of its own, which nobody asks for.
        let task = Task(executorPreference: Cores.executor) { () async -> Result<Value, TresorError> in
            await $isIgnored.withValue(true) {
                do throws(TresorError) {
                    return .success(try await steps())
                } catch {
                    return .failure(error)
                }
            }
        }
        return try await task.value.get()
    }
}

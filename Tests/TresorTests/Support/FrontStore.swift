// SPDX-License-Identifier: Apache-2.0

import TresorCore
import TresorCrypto
import TresorStore

/// A store that stands before another.
protocol LayeredStore: Store {
    var truth: any Store { get }
}

/// A store of a test. The task knows in whose name it is called.
protocol TestStore: ForwardingStore {}

extension TestStore {
    func called<Answer>(
        by caller: Caller, _ calls: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await TaskCaller.call(by: caller) { () async throws(TresorError) in try await calls(self) }
    }
}

/// In whose name the stores of a test are called.
enum TaskCaller {
    @TaskLocal static var current: Caller?

    static func call<Answer>(
        by caller: Caller, _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let result = await $current.withValue(caller) { () async -> Result<Answer, TresorError> in
            do throws(TresorError) { return .success(try await calls()) } catch { return .failure(error) }
        }
        return try result.get()
    }

    /// Makes a call at a store behind those of a test.
    static func pass<Answer>(
        to store: any Store, _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        guard let current, let store = store as? any CalledStore else { return try await call(store) }
        return try await store.called(by: current, call)
    }
}

/// A store that passes on every call that it does not answer itself. One for the wraps of many members goes through its
/// calls for those of one.
protocol FrontStore: LayeredStore, TestStore {}

extension FrontStore {
    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(truth) }

    func wraps(
        of users: [UserID], in tresor: TresorID, epoch: UInt64?
    ) async throws(TresorError) -> [[[UInt8]]] {
        var found: [[[UInt8]]] = []
        for user in users { found.append(try await wraps(of: user, in: tresor, epoch: epoch)) }
        return found
    }
}

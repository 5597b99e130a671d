// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCore
import TresorCrypto
import TresorStore

/// A value that the first who asks for it makes.
final class Lazily<Value: Sendable>: Sendable {
    private let making: Mutex<Task<Value, any Error>?> = Mutex(nil)
    private let make: @Sendable () async throws -> Value

    init(_ make: @escaping @Sendable () async throws -> Value) { self.make = make }

    /// - Throws: ``TresorError/failed(_:)`` where it cannot be made.
    var value: Value {
        get async throws(TresorError) {
            let task = making.withLock { making in
                let task = making ?? Task.detached { [make] in try await make() }
                making = task
                return task
            }
            do {
                return try await task.value
            } catch {
                throw error as? TresorError ?? .failed(.other)
            }
        }
    }
}

/// A store that its first call opens.
final class LazyStore: TestStore {
    private let store: Lazily<any Store>

    init(_ open: @escaping @Sendable () async throws -> any Store) { store = Lazily(open) }

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer { try await call(store.value) }
}

/// Whether a call comes from a client, and not from the hand of a test.
enum ClientSide {
    @TaskLocal static var isHere = false

    static func call<Answer>(
        _ value: Bool, _ calls: () async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        let result = await $isHere.withValue(value) { () async -> Result<Answer, TresorError> in
            do throws(TresorError) { return .success(try await calls()) } catch { return .failure(error) }
        }
        return try result.get()
    }
}

/// A store in the hand of a test, also where a client calls it: the operator of a service helps that client.
struct HandStore: LayeredStore, TestStore {
    let truth: any Store

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await ClientSide.call(false) { () async throws(TresorError) in try await call(truth) }
    }
}

/// A store that a client without an identity asks in the name of a person.
struct AskedStore: TestStore {
    let base: any Store
    let person: Identity

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        guard TaskCaller.current == nil else { return try await call(base) }
        return try await TaskCaller.call(by: .person(person)) { () async throws(TresorError) in try await call(base) }
    }
}

/// A store whose calls come from a client, whatever stands between the two.
struct SeenStore: TestStore {
    let base: any Store

    func pass<Answer>(
        _ call: (any Store) async throws(TresorError) -> Answer
    ) async throws(TresorError) -> Answer {
        try await ClientSide.call(true) { () async throws(TresorError) in try await call(base) }
    }
}

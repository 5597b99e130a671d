// SPDX-License-Identifier: Apache-2.0

import Dispatch
import Synchronization
import Testing

@testable import Tresor

/// Asynchronous work of a session holds up no user interface: none of it runs on the executor of its caller.
@Suite struct CallerThreadTests {
    /// Runs its jobs one after the other on a queue that code can recognize.
    private final class QueueExecutor: SerialExecutor {
        private static let key = DispatchSpecificKey<ObjectIdentifier>()
        private let queue = DispatchQueue(label: "user interface")

        init() { queue.setSpecific(key: Self.key, value: ObjectIdentifier(self)) }

        /// Whether the code that asks runs in a job of this executor.
        var isRunning: Bool { DispatchQueue.getSpecific(key: Self.key) == ObjectIdentifier(self) }

        func enqueue(_ job: consuming ExecutorJob) {
            let job = UnownedJob(job)
            queue.async { job.runSynchronously(on: self.asUnownedSerialExecutor()) }
        }
    }

    /// Counts the readings of a home that an executor makes.
    private final class WatchedHome: Home {
        private let base = MemoryHome()
        private let watched: QueueExecutor
        private let seen = Atomic(0)

        init(watching executor: QueueExecutor) { watched = executor }

        var readings: Int { seen.load(ordering: .relaxed) }

        private func look() {
            if watched.isRunning { seen.add(1, ordering: .relaxed) }
        }

        func read(_ object: HomeObject) throws(TresorError) -> [UInt8]? {
            look()
            return base.read(object)
        }

        func replace(_ object: HomeObject, with bytes: [UInt8]) throws(TresorError) {
            look()
            try base.replace(object, with: bytes)
        }

        func readSecret(_ object: HomeObject) throws(TresorError) -> SecretBytes? {
            look()
            return try base.readSecret(object)
        }

        func replace(_ object: HomeObject, withSecret bytes: borrowing SecretBytes) throws(TresorError) {
            look()
            try base.replace(object, withSecret: bytes)
        }

        func delete(_ object: HomeObject) throws(TresorError) {
            look()
            base.delete(object)
        }

        func exclusively<Result>(_ body: () throws(TresorError) -> Result) throws(TresorError) -> Result {
            try base.exclusively(body)
        }
    }

    /// An app's user interface, which must stay free.
    private actor UserInterface {
        private let executor = QueueExecutor()

        nonisolated var unownedExecutor: UnownedSerialExecutor { executor.asUnownedSerialExecutor() }

        func use() async throws {
            let home = WatchedHome(watching: executor)
            let world = World()
            let client = world.client(home)
            let anna = try client.makeIdentity(handle: Name(typed: "anna"), password: password("anna"), cost: .floor)
            try await client.people.publishCard()
            let before = home.readings
            // The watch sees what does run there.
            _ = try anna.client.identityFile()
            #expect(home.readings > before)
            let start = home.readings
            let tresor = try await anna.tresors.create(Name(typed: "plans")).tresor
            let file = try await anna.files.seal([1, 2, 3], type: Name(typed: "text/plain"), in: tresor)
            #expect(try await anna.files.open(file).content == [1, 2, 3])
            _ = try await anna.files.seal([NamedContent([1], type: Name(typed: "text/plain"))], in: tresor)
            _ = try await anna.tresors.perform(.rotate, on: tresor)
            _ = try await anna.files.reseal(file)
            _ = try await anna.tresors.all()
            _ = try await anna.tresors.named("plans")
            _ = try await anna.tresors.settle(tresor)
            _ = try await anna.unlocking.makeKit()
            _ = try await anna.audit.check()
            let plans = try await anna.create("more")
            let sealed = try await plans.seal([1, 2, 3], record: "one")
            _ = try await plans.open(sealed, record: "one")
            _ = try await plans.open([ExpectedFile(sealed, expecting: plans.expecting(record: "one"))])
            _ = try await plans.plan(.rotate).perform()
            _ = try await plans.reseal(sealed)
            _ = try await plans.members()
            _ = try await plans.log()
            _ = try await anna.tresor("more")
            _ = try await client.verify("anna", number: anna.chain.number().digits)
            #expect(home.readings == start)
        }
    }

    @Test func nothingRunsWhereItsCallerRuns() async throws {
        try await UserInterface().use()
    }
}

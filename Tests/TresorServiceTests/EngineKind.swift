// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Testing
    import TresorCrypto
    import TresorPostgres
    import TresorService

    /// The engines that are installed here.
    enum EngineKind: String, CaseIterable, Sendable {
        case sqlite
        case postgres

        /// The engine of the benches of a task.
        @TaskLocal static var current = EngineKind.sqlite

        static var installed: [EngineKind] { allCases.filter { $0 == .sqlite || PostgresCluster.programs != nil } }
    }

    /// Runs each test of a suite over every engine, one after the other.
    struct EveryEngine: SuiteTrait, TestTrait, TestScoping {
        var isRecursive: Bool { true }

        @concurrent func provideScope(
            for test: Test, testCase: Test.Case?, performing function: @concurrent @Sendable () async throws -> Void
        ) async throws {
            for kind in EngineKind.installed {
                let naming = IssueHandlingTrait.compactMapIssues { issue in
                    var issue = issue
                    issue.comments.append("over \(kind)")
                    return issue
                }
                try await naming.provideScope(for: test, testCase: testCase) {
                    try await EngineKind.$current.withValue(kind) { try await function() }
                }
            }
        }
    }

    extension Trait where Self == EveryEngine {
        /// Runs each test of a suite over every engine.
        static var overEveryEngine: EveryEngine { EveryEngine() }
    }

    /// An empty database that several engines can open, as several processes do.
    struct TestDatabase: Sendable {
        private enum Place {
            case sqlite(TestDirectory)
            case postgres(PostgresLocation)
        }

        private let place: Place

        init(_ kind: EngineKind) throws {
            switch kind {
            case .sqlite: place = .sqlite(try TestDirectory())
            case .postgres: place = .postgres(try PostgresCluster.newDatabase())
            }
        }

        func open() async throws -> any SQLEngine {
            switch place {
            case .sqlite(let directory):
                HeldEngine(
                    engine: try await SQLiteEngine.open(at: directory["service.db"], creating: true),
                    directory: directory)
            case .postgres(let location): try await PostgresEngine.open(location)
            }
        }
    }

    /// An engine that keeps its directory.
    private struct HeldEngine: SQLEngine {
        let engine: SQLiteEngine
        let directory: TestDirectory

        var dialect: SQLDialect { engine.dialect }

        func write<Value: Sendable>(
            erasing: Bool, _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value { try await engine.write(erasing: erasing, body) }

        func read<Value: Sendable>(
            _ body: @escaping @Sendable (any SQLTransaction) throws(TresorError) -> Value
        ) async throws(TresorError) -> Value { try await engine.read(body) }

        func notify(_ hint: [UInt8]) { engine.notify(hint) }
        func hints() -> AsyncStream<[UInt8]> { engine.hints() }
        func close() async { await engine.close() }
    }

    /// A directory that goes with the value.
    final class TestDirectory: Sendable {
        let path: String

        init() throws {
            path =
                FileManager.default.temporaryDirectory.appendingPathComponent("tresor-test-\(UUID().uuidString)").path
            try FileManager.default.createDirectory(atPath: path, withIntermediateDirectories: false)
        }

        deinit { try? FileManager.default.removeItem(atPath: path) }

        subscript(_ name: String) -> String { path + "/" + name }
    }
#endif

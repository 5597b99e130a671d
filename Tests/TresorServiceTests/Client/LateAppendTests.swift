// SPDX-License-Identifier: Apache-2.0

#if Server
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// A commit that comes into the log after a service said to have no room for it.
    @Suite struct LateAppendTests {
        /// The service deletes nothing of it then, and the change is not sent again.
        @Test func A145_aServiceThatKeepsWhatIsInTheLogByThenGetsNothingTwice() async throws {
            let bench = try await Bench(.open)
            let stage = try CommandStage(before: LateService(bench.service), clock: bench.clock)
            try await stage.keygen("anna")
            try await stage.run(0, as: "anna", "register", "--no-login")
            try await stage.run(0, as: "anna", "create", "x")
            try stage.write(String(repeating: "k", count: 260_000), to: "k260")
            try await stage.run(0, as: "anna", "put", "-t", "x", "@k260")
            #expect(stage.handler.refusals.map(\.status) == [400])
            // The pack and the attachment of one commit.
            #expect(try await bench.engine.read(SQL("SELECT hash FROM blob_names")).count == 2)
            let list = try await stage.run(0, as: "anna", "records", "-t", "x")
            #expect(list.contains("k260") && !list.contains("unsent"), "\(list)")
            #expect(try await bench.service.check().isClean)
        }
    }

    /// A service that says to have no room for the first commit, and takes it before it deletes blobs.
    private final class LateService: ServiceHandler {
        private struct State {
            var isFirst = true
            var late: ServiceCall?
            var refusals: [ServiceReply] = []
        }

        private let service: Service
        private let state = Mutex(State())

        init(_ service: Service) { self.service = service }

        /// The refusals of deletions.
        var refusals: [ServiceReply] { state.withLock { $0.refusals } }

        func isHealthy() async -> Bool { true }

        func answer(_ call: ServiceCall) async -> ServiceReply {
            switch call.operation {
            case .append where (try? AppendRequest(call.body).blobs.isEmpty) == false:
                let isLate = state.withLock { state in
                    guard state.isFirst else { return false }
                    (state.isFirst, state.late) = (false, call)
                    return true
                }
                return isLate ? ServiceReply(Refusal(.full, .failed(.other))) : await service.answer(call)
            case .deleteBlobs:
                let late = state.withLock { state in
                    defer { state.late = nil }
                    return state.late
                }
                if let late { _ = await service.answer(late) }
                let reply = await service.answer(call)
                if reply.status != 200 { state.withLock { $0.refusals.append(reply) } }
                return reply
            default: return await service.answer(call)
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorService

    /// A service that another one on the same database may replace, and that counts what it is asked.
    final class SwitchedService: ServiceHandler {
        private struct State {
            var service: Service
            var seen: [ServiceOperation] = []
            /// The operation behind which it answers nothing; `nil` for none.
            var last: ServiceOperation?
            var end = Refusal(.unavailable, .store(.other))
            /// Changes the answers of the service.
            var lie: @Sendable (ServiceOperation, ServiceReply) -> ServiceReply = { $1 }
        }

        private let bench: Bench
        private let state: Mutex<State>

        init(_ bench: Bench) {
            self.bench = bench
            state = Mutex(State(service: bench.service))
        }

        func answer(_ call: ServiceCall) async -> ServiceReply {
            let (service, lie, end) = state.withLock { state in
                let isOver = state.last.map { state.seen.contains($0) } ?? false
                state.seen.append(call.operation)
                return (state.service, state.lie, isOver ? state.end : nil)
            }
            if let end { return ServiceReply(end) }
            return lie(call.operation, await service.answer(call))
        }

        func isHealthy() async -> Bool { true }

        /// Lets a service with other settings answer from now on.
        func change(_ change: (inout ServiceSettings) -> Void) async throws {
            let service = try await bench.anotherService(change)
            state.withLock { $0.service = service }
        }

        /// Names none of these tresors in the news from now on; with none, it is honest again.
        func leaveOut(_ tresors: Set<TresorID>) {
            state.withLock {
                $0.lie = { operation, reply in
                    guard operation == .news, let answer = try? NewsAnswer(reply.body) else { return reply }
                    return ServiceReply(
                        NewsAnswer(
                            tresors: answer.tresors.filter { !tresors.contains($0) }, cursor: answer.cursor,
                            more: answer.more))
                }
            }
        }

        /// Refuses an operation from now on.
        func refuse(_ operation: ServiceOperation, by refusal: Refusal) {
            state.withLock { $0.lie = { $0 == operation ? ServiceReply(refusal) : $1 } }
        }

        /// Answers this once more, and nothing behind it.
        func stop(behind operation: ServiceOperation, by end: Refusal = Refusal(.unavailable, .store(.other))) {
            state.withLock { ($0.last, $0.end, $0.seen) = (operation, end, []) }
        }

        /// The operations that it was asked for since the last call.
        func take() -> [ServiceOperation] {
            state.withLock { state in
                defer { state.seen = [] }
                return state.seen
            }
        }
    }

    extension CommandStage<SwitchedService> {
        /// Two people who have registered and compared their numbers.
        func people() async throws {
            for name in ["anna", "bruno"] {
                try await keygen(name)
                try await run(0, as: name, "register", "--no-login")
            }
            try await compare("anna", with: "bruno")
            try await compare("bruno", with: "anna")
        }

        /// Has a person compare the number of another one.
        func compare(_ name: String, with other: String) async throws {
            let number = try await run(0, as: other, "card", "--number").trimmingCharacters(in: .newlines)
            try await run(0, as: name, "verify", other, "--number", number)
        }
    }
#endif

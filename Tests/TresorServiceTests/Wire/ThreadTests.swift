// SPDX-License-Identifier: Apache-2.0

#if Server
    import Dispatch
    import Foundation
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorServer

    /// The threads on which requests are answered.
    @Suite struct ThreadTests {
        /// Notes on which threads it is asked, before and after it waited for another thread as for a database.
        private final class ThreadHandler: ServiceHandler {
            private let threads = Mutex<[String]>([])

            func takeThreads() -> [String] {
                threads.withLock { threads in
                    defer { threads = [] }
                    return threads
                }
            }

            private func note() { threads.withLock { $0.append(String(describing: pthread_self())) } }

            /// The thread of the connection asks this. An authorization proves who asks.
            func knows(_ head: ServiceHead) -> UserID? {
                note()
                return head.authorization == nil ? nil : UserID(.zero)
            }

            func proves(_ head: ServiceHead) async throws(Refusal) -> UserID? { nil }

            func answer(_ call: ServiceCall) async -> ServiceReply {
                note()
                await withCheckedContinuation { continuation in
                    DispatchQueue(label: "database").async { continuation.resume() }
                }
                note()
                return ServiceReply(DoneAnswer())
            }

            func noteFailure(of source: [UInt8]) {}
            func isHealthy() async -> Bool { true }
        }

        @Test func aSmallAppendKeepsToTheThreadOfItsConnection() async throws {
            let handler = ThreadHandler()
            let server = try await WireServer(
                handler: handler, address: .network(host: "127.0.0.1", port: 0),
                names: ["tresor.example"].compactMap { HostName($0) }, certificates: nil,
                limits: Wire.patientLimits, report: Report(logsSources: false) { _ in }
            ).start()
            let client = try RawClient(port: server.port)
            func threads(_ operation: String, byteCount: Int, isProved: Bool = true) async -> [String] {
                let body = [UInt8](repeating: 1, count: byteCount)
                await client.send(
                    Wire.request(operation, body: body, headers: isProved ? ["Authorization: Tresor a.b"] : []))
                #expect(await client.readAnswer()?.status == 200)
                return handler.takeThreads()
            }
            let small = await threads("append", byteCount: 8 << 10)
            #expect(small.count == 3 && Set(small).count == 1)
            // An answer that may take longer leaves the thread to the other connections, and so does that to a stranger.
            for (operation, byteCount, isProved) in [
                ("append", (8 << 10) + 1, true), ("card", 8, true), ("append", 8, false),
            ] {
                let others = await threads(operation, byteCount: byteCount, isProved: isProved)
                #expect(others.count == 3 && !others.dropFirst().contains(others[0]), "\(operation) \(byteCount)")
            }
            await server.stop()
        }
    }
#endif

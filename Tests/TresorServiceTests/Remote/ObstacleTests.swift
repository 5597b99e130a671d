// SPDX-License-Identifier: Apache-2.0

#if !canImport(Darwin)
    import Glibc
    import Synchronization
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorCommand
    @testable import TresorRemote

    /// The decisions of a client before and beside its exchanges, and its names of what stood in the way.
    @Suite struct ObstacleTests {
        @Test func bytesThatMoveGiveTime() {
            let start = ContinuousClock.now
            var allowance = Allowance(.seconds(30), from: start)
            #expect(allowance.deadline == start + .seconds(30))
            for _ in 0..<82 { allowance.moved(16 << 10) }
            // 1.3 MB at 300 kbit/s take 36 seconds.
            #expect(allowance.deadline == start + .seconds(30 + 164))
            allowance.moved(1)
            #expect(allowance.deadline < start + .seconds(30 + 165))
        }

        @Test func familiesTakeTurns() {
            func address(_ family: Int32, _ number: UInt8) -> SocketAddress {
                SocketAddress(family: family, bytes: [number])
            }
            func order(_ families: [Int32]) -> [UInt8] {
                let addresses = families.enumerated().map { address($1, UInt8($0)) }
                return SocketAddress.alternating(addresses).map { $0.bytes[0] }
            }
            #expect(order([]) == [])
            #expect(order([AF_INET]) == [0])
            #expect(order([AF_INET6, AF_INET6, AF_INET6, AF_INET]) == [0, 3, 1, 2])
            #expect(order([AF_INET, AF_INET6, AF_INET6, AF_INET]) == [0, 1, 3, 2])
        }

        @Test func theCallerAndTheEnvironmentChooseTheAuthorities() {
            func chosen(_ named: String?, _ environment: [String: String]) -> Authorities {
                Authorities(named: named, environment: { environment[$0] }, systemDirectory: "/system")
            }
            let both = ["SSL_CERT_FILE": "/a.pem", "SSL_CERT_DIR": "/b:/c"]
            #expect(chosen("/ca.pem", both).file == "/ca.pem")
            #expect(chosen("/ca.pem", both).directory == nil)
            #expect(chosen(nil, both).file == "/a.pem")
            #expect(chosen(nil, both).directory == "/b:/c")
            #expect(chosen(nil, both).bundles.isEmpty)
            #expect(chosen(nil, ["SSL_CERT_DIR": "/b"]).file == nil)
            for environment in [[:], ["SSL_CERT_FILE": "", "SSL_CERT_DIR": ""]] {
                let system = chosen(nil, environment)
                #expect(system.file == nil)
                #expect(system.directory?.hasPrefix("/system:") == true)
                #expect(system.bundles == Authorities.knownBundles)
            }
        }

        /// Each obstacle belongs to one fault, and a service that is away is asked again.
        @Test func anObstacleIsAFailure() {
            let place = Obstacle.Place(host: "a", isProxy: false)
            for obstacle in [.noAddress(place), .noConnection(place, addressCount: 2), .slow, .noTLS] as [Obstacle] {
                #expect(TransportFailure(obstacle) == TransportFailure(.store(.unreachable), obstacle))
            }
            let others =
                [
                    .refusedByProxy(status: 407), .redirect(to: ""), .page(status: 200), .changed(.chunked), .noHTTP,
                ] as [Obstacle]
            for obstacle in others { #expect(TransportFailure(obstacle).error == .store(.foreign)) }
            #expect(TransportFailure(.away(status: 502)).isBroken)
            #expect(TransportFailure(.certificate(.other(""))).error == .store(.certificate))
        }

        /// The message names the cause, with both names or both dates, and nothing that could forge a line.
        @Test(
            arguments: [
                (
                    .noConnection(.init(host: "tresor.example", isProxy: false), addressCount: 2),
                    ["cannot be reached", "2 addresses of \"tresor.example\" were tried"]
                ),
                (
                    .noConnection(.init(host: "p", isProxy: true), addressCount: 1),
                    ["1 address of the proxy \"p\" was tried"]
                ),
                (.away(status: 502), ["cannot be reached", "502"]),
                (.redirect(to: "http://login.example/\u{1b}[2J"), ["log-in", "\"http://login.example/\\u{1b}[2J\""]),
                (.page(status: 413), ["413", "16 MiB"]), (.page(status: 403), ["proxy", "403"]),
                (.changed(.chunked), ["proxy", "chunks"]), (.changed(.compressed), ["proxy", "compressed"]),
                (.namelessProxy, ["proxy", "X-Forwarded-For"]), (.olderProxy, ["proxy", "HTTP/1.0"]),
                (.unavailable, ["503", "try again later", "operator"]),
                (.behind, ["restored from a backup", "lacks a removal", "tresor check --repair -t NAME"]),
                (.otherName("a\u{1b}"), ["goes by other names than \"a\\u{1b}\""]),
                (
                    .certificate(.name(names: ["a.example", "b\n"], host: "c")),
                    ["\"a.example\", \"b\\n\"", "not for \"c\""]
                ),
                (
                    .certificate(.expired(until: 784_111_777, now: 951_868_799)),
                    ["until 1994-11-06 08:49", "shows 2000-02-29 23:59"]
                ),
                (.certificate(.early(from: 951_868_799, now: 0)), ["from 2000-02-29 23:59", "shows 1970-01-01 00:00"]),
                (
                    .certificate(.authority(issuer: "/CN=t", trusted: ["/etc/ssl/certs"])),
                    ["\"/CN=t\"", "\"/etc/ssl/certs\""]
                ),
                (.certificate(.authority(issuer: "/CN=t", trusted: [])), ["no certificates of authorities"]),
            ] as [(Obstacle, [String])])
        func anObstacleIsNamed(_ obstacle: Obstacle, _ words: [String]) {
            for word in words { #expect(obstacle.words.contains(word), "\(obstacle.words)") }
            #expect(!obstacle.words.unicodeScalars.contains { DisplayText.isUnsafe($0) })
        }

        /// An obstacle is told once, and forgotten with the next answer.
        @Test func theClientSaysWhatStoodInTheWay() async throws {
            let noted = Mutex<[Obstacle?]>([])
            let report = ServiceReport(obstacle: { obstacle in noted.withLock { $0.append(obstacle) } })
            let transport = FailingTransport(
                failures: [TransportFailure(.away(status: 502)), TransportFailure(.away(status: 504))],
                last: TransportAnswer(
                    status: 500, isOfService: true, date: nil, retryAfter: nil,
                    body: Refusal(.namelessProxy, .failed(.other)).body))
            let client = ServiceClient(over: transport, report: report, clock: { 0 }, pause: { _ in })
            await #expect(throws: TresorError.store(.other)) { try await client.serverID() }
            #expect(noted.withLock { $0 } == [.away(status: 502), .away(status: 504), .namelessProxy])
            #expect(transport.count == 3)
        }

        @Test func aServiceThatCannotDoItNowIsNamed() async throws {
            let noted = Mutex<[Obstacle?]>([])
            let report = ServiceReport(obstacle: { obstacle in noted.withLock { $0.append(obstacle) } })
            let answer = TransportAnswer(
                status: 503, isOfService: true, date: nil, retryAfter: nil,
                body: Refusal(.unavailable, .store(.other)).body)
            let client = ServiceClient(
                over: FailingTransport(failures: [], last: answer), report: report, clock: { 0 }, pause: { _ in })
            await #expect(throws: TresorError.store(.other)) { try await client.serverID() }
            #expect(noted.withLock { $0.last } == .unavailable)
        }

        @Test func aRefusalThatTellsAnObstacleIsNamed() async throws {
            let statuses: [(Refusal.Status, Obstacle?)] = [
                (.olderVersion, .olderProxy), (.misdirected, .otherName("tresor.example")),
                (.namelessProxy, .namelessProxy), (.invalid, nil),
            ]
            for (status, obstacle) in statuses {
                let noted = Mutex<[Obstacle?]>([])
                let report = ServiceReport(obstacle: { obstacle in noted.withLock { $0.append(obstacle) } })
                let answer = TransportAnswer(
                    status: status.rawValue, isOfService: true, date: nil, retryAfter: nil,
                    body: Refusal(status, .failed(.other)).body)
                let transport = FailingTransport(failures: [], last: answer)
                let client = ServiceClient(over: transport, report: report, clock: { 0 }, pause: { _ in })
                await #expect(throws: TresorError.store(.other)) { try await client.serverID() }
                #expect(noted.withLock { $0 } == [obstacle])
            }
        }

        /// Fails some times, and then answers.
        private final class FailingTransport: Transport {
            private let failures: [TransportFailure]
            private let last: TransportAnswer
            private let number = Mutex(0)
            let audience = Audience.ofTests

            init(failures: [TransportFailure], last: TransportAnswer) { (self.failures, self.last) = (failures, last) }

            var count: Int { number.withLock { $0 } }

            func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
                let number = number.withLock { number in
                    defer { number += 1 }
                    return number
                }
                guard number < failures.count else { return last }
                throw failures[number]
            }
        }
    }
#endif

// SPDX-License-Identifier: Apache-2.0

#if Server && !canImport(Darwin)
    import Foundation
    import Testing
    import TresorCore
    import TresorCrypto

    @testable import TresorRemote
    @testable import TresorServer

    /// A stranger's connection over TLS, whose place another one gets.
    @Suite struct DisplacedConnectionTests {
        /// A client over TLS that also reads what lies below it.
        private struct Stranger {
            private let socket: TresorRemote.Socket
            private let stream: TLSStream

            private static var deadline: Deadline { .now + .seconds(120) }

            init(port: Int, trusting certificate: String) async throws {
                (socket, stream) = try await Self.apart { () throws(TransportFailure) in
                    let socket = try TresorRemote.Socket.connect(
                        to: HostAndPort(host: "127.0.0.1", port: UInt16(port)),
                        as: Obstacle.Place(host: "127.0.0.1", isProxy: false), onlyLoopback: true, until: Self.deadline,
                        for: ExchangeControl())
                    let context: TLSContext
                    do throws(TresorError) { context = try TLSContext(Authorities(named: certificate)) } catch {
                        throw TransportFailure(error)
                    }
                    return (socket, try TLSStream(over: socket, to: "localhost", in: context, until: Self.deadline))
                }
            }

            /// The status of the answer to a request; `nil` if the connection ends before it.
            func ask() async throws -> Int? {
                try await Self.apart { [stream] () throws(TransportFailure) in
                    try stream.send(Wire.request("card"), until: Self.deadline)
                    var bytes: [UInt8] = []
                    while Answer(bytes)?.isWhole != true {
                        let more = try stream.receive(until: Self.deadline)
                        guard !more.isEmpty else { return nil }
                        bytes += more
                    }
                    return Answer(bytes)?.status
                }
            }

            /// Reads the bytes below TLS until the connection ends.
            func rest() async throws -> [UInt8] {
                try await Self.apart { [socket] () throws(TransportFailure) in
                    var bytes: [UInt8] = []
                    while true {
                        let more = try socket.receive(until: Self.deadline)
                        guard !more.isEmpty else { return bytes }
                        bytes += more
                    }
                }
            }

            private static func apart<Value: Sendable>(
                _ body: @escaping @Sendable () throws(TransportFailure) -> Value
            ) async throws -> Value {
                try await Cores.apart { () throws(TresorError) in
                    do throws(TransportFailure) { return try body() } catch { throw error.error }
                }
            }
        }

        /// The farewell of TLS, one record of 24 bytes, waits for no answer.
        @Test func A230_aDisplacedConnectionOverTLSEndsAtOnce() async throws {
            let files = try await CertificateFiles.make("localhost")
            defer { files.remove() }
            var limits = Wire.patientLimits
            limits.connectionsOfSource = 1
            try await Wire.run(
                limits: limits, certificates: files.certificates, handler: NotingHandler(knowing: "a proof")
            ) { wire in
                func stranger() async throws -> Stranger {
                    try await Stranger(port: wire.port, trusting: files.certificate.path)
                }
                let first = try await stranger()
                #expect(try await first.ask() == 200)
                let newest = try await stranger()
                #expect(try await newest.ask() == 200)
                #expect(try await first.rest().count == 24)
                #expect(try await newest.ask() == 200)
                #expect(wire.log.all.count { $0.contains("\"event\":\"turned-away\"") } == 1)
            }
        }
    }
#endif

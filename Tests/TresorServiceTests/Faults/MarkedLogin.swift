// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TestSupport
    import Tresor
    import TresorCore
    import TresorCrypto
    import TresorTesting

    @testable import TresorRemote

    /// Bytes that must be nowhere: as they are, in hexadecimal, in base64 and as a list of numbers.
    struct Marks {
        private let forms: [[UInt8]]

        init(_ marks: [[UInt8]]) {
            forms = marks.flatMap { mark in
                [
                    mark, Array(mark.map { ($0 < 16 ? "0" : "") + String($0, radix: 16) }.joined().utf8),
                    Array(Data(mark).base64EncodedString().prefix(mark.count).utf8),
                    Array(mark.map { String($0) }.joined(separator: ", ").utf8),
                ]
            }
        }

        /// The forms that are in these bytes.
        func found(in bytes: Data) -> [String] {
            forms.filter { bytes.range(of: Data($0)) != nil }.map { String(decoding: $0, as: UTF8.self) }
        }
    }

    /// Somebody who registers with a marked password, logs in elsewhere, changes the password and logs in once more.
    struct MarkedLogin {
        static let handle = "marked-4711-berta"
        private static let passwords = ["MARKED-4711-PASSWORD", "MARKED-4711-CHANGED"]

        /// Both passwords, and the beginnings of the export keys that they give.
        let secrets: Marks
        /// All requests with their authorizations, and all answers.
        let messages: Data

        /// - Parameters:
        ///   - port: where a service answers in clear, or a proxy before it.
        ///   - audience: the address under which the service is known; `nil` for that one.
        init(at port: Int, knownAs audience: Audience? = nil) async throws {
            let cost = try Argon2id.Cost(memoryKiB: 65_536, passes: 3)
            let address = try ServiceAddress("http://127.0.0.1:\(port)")
            let transport = NotingTransport(
                over: try SocketTransport(to: address, authorities: Authorities(named: nil), proxy: nil),
                as: audience ?? address.audience)
            let service = ServiceClient(over: transport, clock: SystemClock.read)
            func client() -> Client {
                Client(home: MemoryHome(), store: HTTPStore(service), clock: SystemClock.read)
            }
            let (first, second) = (Self.passwords[0], Self.passwords[1])
            let home = client()
            let berta = try await home.register(Self.handle, password: Password(first), cost: cost)
            _ = try await client().logIn(Self.handle, password: Password(first), cost: cost)
            let before = try await Self.exportKey(of: first, at: service)
            try await berta.unlocking.changePassword(to: Password(second), cost: cost)
            _ = try await home.register(Self.handle, password: Password(second), cost: cost)
            _ = try await client().logIn(Self.handle, password: Password(second), cost: cost)
            let after = try await Self.exportKey(of: second, at: service)
            secrets = Marks(Self.passwords.map { Array($0.utf8) } + [before, after].map { Array($0.prefix(16)) })
            messages = transport.noted
        }

        /// Logs in, and gives what the password opens.
        private static func exportKey(of password: String, at service: ServiceClient) async throws -> [UInt8] {
            let handle = try Name(typed: Self.handle)
            let parameters = try LoginParameters(server: try await service.server(), handle: handle)
            let login = try OPAQUELogin(input: parameters.input(Password(password)))
            let answer = try await service.call(LoginRequest(handle: handle, message: login.message))
            let outcome = try login.finish(
                answer: answer.message, names: parameters.names(), parameters: parameters.parameters())
            let key = outcome.exportKey.span.publicBytes
            let last = FinishLoginRequest(attempt: answer.attempt, message: outcome.message)
            _ = try await service.call(last)
            return key
        }
    }

    /// A transport that keeps what it passes on.
    private final class NotingTransport: Transport {
        private let base: any Transport
        let audience: Audience
        private let bytes = Mutex(Data())

        init(over base: any Transport, as audience: Audience) {
            self.base = base
            self.audience = audience
        }

        var noted: Data { bytes.withLock(\.self) }

        func exchange(_ request: TransportRequest) async throws(TransportFailure) -> TransportAnswer {
            bytes.withLock { bytes in
                bytes.append(contentsOf: "\(request.target) \(request.authorization ?? "") ".utf8)
                bytes.append(contentsOf: request.body)
            }
            let answer = try await base.exchange(request)
            bytes.withLock { $0.append(contentsOf: answer.body) }
            return answer
        }
    }
#endif

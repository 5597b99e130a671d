// SPDX-License-Identifier: Apache-2.0

#if Server
    import Foundation
    import Synchronization
    import TestSupport
    import TresorCore
    import TresorCrypto
    import TresorRemote
    import TresorStore

    @testable import TresorServer

    /// A way to a handler over the real wire: TLS on loopback, the strict channel, and the client's own sockets.
    final class TLSWay: TestStore {
        private let place: TLSPlace
        let remote: HTTPStore

        private init(_ place: TLSPlace, _ remote: HTTPStore) { (self.place, self.remote) = (place, remote) }

        deinit { place.leave() }

        static func open(
            to handler: any ServiceHandler, server: Hash256, clock: @escaping @Sendable () -> UInt64
        ) async throws -> TLSWay {
            let place = try await TLSPlace.take()
            place.enter(handler)
            let remote = try HTTPStore(
                ServiceAddress("https://localhost:\(place.port)"), certificates: TLSPlace.authority.get().certificate,
                proxy: nil, expecting: server, clock: clock)
            return TLSWay(place, remote)
        }

        func pass<Answer>(
            _ call: (any Store) async throws(TresorError) -> Answer
        ) async throws(TresorError) -> Answer { try await TaskCaller.pass(to: remote, call) }
    }

    /// A port of loopback with a server that serves one handler at a time, until the process ends.
    private final class TLSPlace: ServiceHandler {
        private static let free = Mutex<[TLSPlace]>([])

        /// The certificate of this process, and its key.
        static let authority = Result { try Certificate() }

        private let handler = Mutex<(any ServiceHandler)?>(nil)
        private let number = Mutex<Int>(0)

        var port: Int { number.withLock { $0 } }

        static func take() async throws -> TLSPlace {
            if let place = free.withLock({ $0.popLast() }) { return place }
            let place = TLSPlace()
            let files = try authority.get()
            let server = try await WireServer(
                handler: place, address: .network(host: "127.0.0.1", port: 0), names: [],
                certificates: try Certificates(certificate: files.certificate, key: files.key),
                report: Report(logsSources: false) { _ in }
            ).start()
            place.number.withLock { $0 = server.port }
            return place
        }

        func enter(_ handler: any ServiceHandler) { self.handler.withLock { $0 = handler } }

        func leave() {
            handler.withLock { $0 = nil }
            Self.free.withLock { $0.append(self) }
        }

        func isHealthy() async -> Bool { true }

        func answer(_ call: ServiceCall) async -> ServiceReply {
            guard let handler = handler.withLock({ $0 }) else { return ServiceReply(Refusal(.store(.other))) }
            return await handler.answer(call)
        }
    }

    /// A certificate that vouches for itself, for `localhost`.
    private struct Certificate {
        let certificate: String
        let key: String

        init() throws {
            let directory = FileManager.default.temporaryDirectory.appending(path: "tresor-tls-\(UUID())")
            try FileManager.default.createDirectory(at: directory, withIntermediateDirectories: true)
            SharedFiles.removeAtExit(directory.path)
            certificate = directory.appending(path: "certificate.pem").path
            key = directory.appending(path: "key.pem").path
            let process = Process()
            process.executableURL = URL(filePath: "/usr/bin/env")
            process.arguments = [
                "openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes",
                "-days", "2", "-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost", "-keyout", key,
                "-out", certificate,
            ]
            process.standardError = FileHandle.nullDevice
            try process.run()
            process.waitUntilExit()
        }
    }
#endif

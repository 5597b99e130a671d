// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Serving

@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

extension Site {
    /// Does the part of a measurement during which nothing else may run, if `BENCHMARK_LOCK` names a file to lock.
    static func alone<Value>(_ body: () async throws -> Value) async throws -> Value {
        guard let path = ProcessInfo.processInfo.environment["BENCHMARK_LOCK"] else { return try await body() }
        let lock = wire_lock(path)
        defer { close(lock) }
        return try await body()
    }
}

extension RunningServer {
    /// The address of the service, for connections.
    func route(certificates: String? = nil) throws -> ConnectionTarget {
        let address = try ServiceAddress("\(certificates == nil ? "http" : "https")://127.0.0.1:\(port)")
        let context = try certificates.map { try TLSContext(Authorities(named: $0)) }
        return ConnectionTarget(address: address, proxy: nil, context: context)
    }

    /// The service that sessions are for.
    struct Addressee {
        let server: Hash256
        let audience: Hash256
    }

    /// The id of the service, and its address.
    func id(over route: ConnectionTarget) throws -> Addressee {
        let answer = try Connection(to: route, for: ExchangeControl()).ask(
            ServerRequest.operation, ServerRequest().bytes, nil)
        return Addressee(
            server: try ServerAnswer(answer.body).server.id(), audience: try route.address.audience.hash())
    }
}

extension Connection {
    /// Sends one request.
    func ask(_ operation: ServiceOperation, _ body: [UInt8], _ authorization: String?) throws -> TransportAnswer {
        let request = TransportRequest(
            target: "/v1/\(operation.rawValue)", authorization: authorization, body: body, timeout: .seconds(60),
            maximumAnswerByteCount: ServiceOperation.maximumAnswerByteCount)
        return try ask(request)
    }

    func ask(_ request: TransportRequest) throws -> TransportAnswer {
        let (answer, isReusable) = try exchange(request, host: "127.0.0.1")
        guard answer.status == 200, isReusable else {
            throw LoadFailure("\(request.target) is answered with \(answer.status)")
        }
        return answer
    }
}

extension TransportRequest {
    /// The bytes of the request as the client sends it.
    var wireBytes: [UInt8] {
        let lines = [
            "POST \(target) HTTP/1.1", "Host: 127.0.0.1", "Authorization: \(authorization ?? "")",
            "Content-Type: \(WireForm.mediaType)", "Content-Length: \(body.count)", "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8) + body
    }
}

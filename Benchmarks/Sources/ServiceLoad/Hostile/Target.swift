// SPDX-License-Identifier: Apache-2.0

import CWire
import Foundation
import Serving
import Synchronization

@testable import TresorCore
@testable import TresorCrypto
@testable import TresorRemote

/// A service to which honest and hostile people send requests.
struct Target: Sendable {
    let route: ConnectionTarget
    let service: RunningServer.Addressee
    let port: Int

    init(_ server: RunningServer) throws {
        route = try server.route()
        service = try server.id(over: route)
        port = server.port
    }

    /// A session of a person, as each command makes one.
    func session(of identity: Identity) throws -> SessionKey {
        try SessionKey(
            of: identity, device: nil, server: service.server, audience: service.audience, since: Site.clock(),
            duration: 3_600)
    }

    /// A request with an id of its own.
    ///
    /// - Parameter key: the session that signs it; `nil` for a request that nobody signs.
    func request<Request: ServiceRequest>(_ request: Request, by key: SessionKey?) throws -> TransportRequest {
        let operation = Request.operation
        let body = request.bytes
        let authorization = try key?.authorization(
            for: operation, body: body, id: try randomBytes(RequestStatement.idByteCount), time: Site.clock())
        return TransportRequest(
            target: "/v1/\(operation.rawValue)", authorization: authorization?.text, body: body, timeout: .seconds(10),
            maximumAnswerByteCount: ServiceOperation.maximumAnswerByteCount)
    }
}

/// A connection to a service, which is opened again when it has ended.
struct ClientLine {
    private let route: ConnectionTarget
    private var connection: Connection?

    init(to target: Target) { route = target.route }

    /// Sends a request.
    ///
    /// - Returns: `nil` if there is no connection, or it broke.
    mutating func ask(_ request: TransportRequest) -> TransportAnswer? {
        do {
            let present = try connection ?? Connection(to: route, for: ExchangeControl())
            let (answer, isReusable) = try present.exchange(request, host: "127.0.0.1")
            connection = isReusable ? present : nil
            return answer
        } catch {
            connection = nil
            return nil
        }
    }
}

/// A connection from an address of loopback of one's own, on which anything may be sent.
struct RawLine {
    private let source: UInt32
    private let port: Int

    /// - Parameter source: the number of the address: 127.1.0.1 for 0.
    init(from source: Int, to target: Target) {
        self.source = 0x7f01_0001 + UInt32(source)
        port = target.port
    }

    /// The bytes of a request without a signature, whose head announces a body that need not follow.
    static func bytes(_ operation: ServiceOperation, announcing byteCount: Int, _ body: [UInt8]) -> [UInt8] {
        let lines = [
            "POST /v1/\(operation.rawValue) HTTP/1.1", "Host: 127.0.0.1", "Content-Type: \(WireForm.mediaType)",
            "Content-Length: \(byteCount)", "", "",
        ]
        return Array(lines.joined(separator: "\r\n").utf8) + body
    }

    /// Opens a connection and sends bytes.
    ///
    /// - Returns: its descriptor; `nil` if the service does not take it.
    func open(_ bytes: [UInt8]) -> Int32? {
        let descriptor = wire_open(source, Int32(port), bytes, bytes.count)
        return descriptor < 0 ? nil : descriptor
    }

    /// Sends bytes on a connection of their own, and waits for the answer or the end.
    func exchange(_ bytes: [UInt8]) {
        guard let descriptor = open(bytes) else { return }
        defer { close(descriptor) }
        var body = [UInt8](repeating: 0, count: 4_096)
        var count = body.count
        _ = wire_exchange(descriptor, bytes, 0, &body, &count)
    }
}

/// Says once that something is over.
final class Flag: Sendable {
    private let state = Atomic(false)

    var isRaised: Bool { state.load(ordering: .relaxed) }
    func raise() { state.store(true, ordering: .relaxed) }
}

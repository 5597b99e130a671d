// SPDX-License-Identifier: Apache-2.0

import Testing
import TresorCore
import TresorCrypto
import TresorStore
import TresorTesting

@testable import Tresor
@testable import TresorRemote

/// The requests of a client after it has refused an object do not depend on the reason (SPEC §18.5).
@Suite struct OracleTests {
    /// A way to spoil the wrap of a member.
    private struct Fault {
        let name: String
        let spoil: @Sendable ([UInt8]) -> [UInt8]

        init(_ name: String, _ spoil: @escaping @Sendable ([UInt8]) -> [UInt8]) {
            self.name = name
            self.spoil = spoil
        }

        /// Another bit at an offset.
        static func bit(_ offset: Int, _ name: String) -> Fault {
            Fault(name) { wrap in
                var wrap = wrap
                wrap[offset < 0 ? wrap.count + offset : offset] ^= 1
                return wrap
            }
        }
    }

    private static let faults: [Fault] = [
        .bit(0, "the magic"), .bit(9, "the tresor"), .bit(48, "the epoch"), .bit(49, "the user"),
        .bit(84, "the generation"), .bit(90, "the ML-KEM half of the ciphertext"),
        .bit(85 + 1_110, "the X25519 half of the ciphertext"), .bit(1_207, "the sealed keys"), .bit(-1, "the tag"),
        Fault("a byte is missing") { Array($0.dropLast()) },
        Fault("one byte") { Array($0.prefix(1)) }, Fault("zeros") { [UInt8](repeating: 0, count: $0.count) },
    ]

    private struct Message: Hashable {
        let target: String
        let body: [UInt8]
    }

    @Test func A127_aClientDoesTheSameWhateverWasWrong() async throws {
        let clock = FixedClock()
        let handler = try OpenHandler(MemoryStore(), clock: clock.read, pageCount: 100)
        let transport = LoopbackTransport(into: handler, clock: clock.read)
        let cast = PreviewCast(store: HTTPStore(ServiceClient(over: transport, clock: clock.read)), clock: clock)
        let anna = try await cast.person("anna")
        var readers: [Session] = []
        // The last reader has a good wrap.
        for number in 0...Self.faults.count {
            readers.append(try await cast.person("reader \(number)"))
            try cast.introduce(anna, readers[number])
        }
        let plans = try await cast.tresor("plans", of: anna, readers: readers)
        let file = try await plans.seal(Array("plan".utf8), record: "", type: "text/plain")
        var conversations: Set<[Message]> = []
        for (reader, fault) in zip(readers, Self.faults) {
            let good = try #require(try await handler.store.wraps(of: reader.user, in: plans.id, epoch: 1).first)
            try await handler.store.putWraps(
                [StoredWrap(user: reader.user, epoch: 1, bytes: fault.spoil(good))], in: plans.id)
            let start = transport.sent.count
            #expect(await errorOf { _ = try await reader.openFromAnyTresor(file) } == .altered, "\(fault.name)")
            let messages = transport.sent[start...].map { request in
                Message(target: request.target, body: Self.hiding(reader.user, in: request.body))
            }
            #expect(messages.contains { $0.target == "/v1/wraps" }, "\(fault.name)")
            conversations.insert(messages)
        }
        #expect(conversations.count == 1)
        let last = try #require(readers.last)
        #expect(try await last.openFromAnyTresor(file).content == Array("plan".utf8))
    }

    /// A body in which zeros take the place of the reader's id.
    private static func hiding(_ user: UserID, in body: [UInt8]) -> [UInt8] {
        let id = user.digest.bytes
        var body = body
        for start in body.indices.dropLast(id.count - 1) where body[start..<(start + id.count)].elementsEqual(id) {
            body.replaceSubrange(start..<(start + id.count), with: [UInt8](repeating: 0, count: id.count))
        }
        return body
    }
}

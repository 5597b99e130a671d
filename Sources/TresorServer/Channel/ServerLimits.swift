// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOCore

    /// The share of the service that one client may take (SPEC §18.3).
    struct ServerLimits: Sendable {
        /// The time from the beginning of a connection, or from an answer, to the end of the next head.
        var head = TimeAmount.seconds(10)
        /// The pace at which a body comes: 8 KiB a second.
        var body = BodyPace(80 << 10, in: .seconds(10))
        /// The pace at which a client takes an answer: the same, over spans that a full buffer of the system may take.
        var answer = BodyPace(480 << 10, in: .seconds(60))
        /// The time for which the bytes of a refused client are read and dropped, so that it sees the refusal.
        var farewell = TimeAmount.seconds(2)
        /// The time in which the database answers a question for its health.
        var health = TimeAmount.seconds(1)
        /// The time that running requests have when the service stops.
        var stop = TimeAmount.seconds(10)
        /// The connections of all clients.
        var connections = 20_000
        /// Those of strangers, on which no head has proved itself yet, and of these those of one address.
        var connectionsOfStrangers = 5_000
        var connectionsOfSource = 200
        /// The connections of one account.
        var connectionsOfAccount = 100
        /// The connections of all accounts behind one address: half of those of all accounts.
        var connectionsOfLine = 7_500
        /// The bytes of the bodies that are read or judged, and of the answers that are written: of all clients, and of one
        /// account, or one address of requests that prove none. All accounts behind one address have half of the whole.
        var bodyByteCount = 256 << 20
        var bodyByteCountOfSource = 64 << 20
        /// The part of both for requests whose heads prove nothing.
        var partOfStrangers = 16
        /// The bodies of theirs that leave no room to others: larger ones leave it to the answers that everybody needs.
        var smallByteCountOfStrangers = 1 << 10
    }

    extension ServerLimits {
        /// The connections of all accounts.
        var connectionsOfAccounts: Int { connections - connectionsOfStrangers }

        /// Lets an address have so many connections of strangers. Who lets it have many, since a house is one address, lets
        /// its accounts have ten times as many.
        mutating func allow(ofSource count: Int) {
            connectionsOfSource = count
            connectionsOfLine = max(connectionsOfLine, min(connectionsOfAccounts, 10 * count))
        }
    }

    /// The address by which limits count: the 4 bytes of IPv4, the first 8 of IPv6. `SourceNetwork` says which wider
    /// networks it is in.
    enum SourceAddress {
        /// The source of a connection; empty for a socket of the file system.
        static func bytes(_ address: SocketAddress?) -> [UInt8] {
            guard let address else { return [] }
            let bytes = address.withSockAddr { Array(UnsafeRawBufferPointer(start: $0, count: $1)) }
            // Family and port have 4 bytes, and the flow of IPv6 as many.
            return switch address {
            case .v4: Array(bytes[4..<8])
            case .v6: shortened(Array(bytes[8..<24]))
            case .unixDomainSocket: []
            }
        }

        /// The source that a proxy names; `nil` if it is not an address.
        static func bytes(_ text: String) -> [UInt8]? {
            (try? SocketAddress(ipAddress: text, port: 0)).map { bytes($0) }
        }

        /// The address as it is written.
        static func text(_ source: [UInt8]) -> String {
            if source.count == 4 { return source.map { String($0) }.joined(separator: ".") }
            let groups = stride(from: 0, to: source.count, by: 2).map {
                String(UInt16(source[$0]) << 8 | UInt16(source[$0 + 1]), radix: 16)
            }
            return source.isEmpty ? "local" : groups.joined(separator: ":") + "::/64"
        }

        private static func shortened(_ bytes: [UInt8]) -> [UInt8] {
            let isMapped = bytes.prefix(10).allSatisfy { $0 == 0 } && bytes[10...11] == [255, 255]
            return isMapped ? Array(bytes.suffix(4)) : Array(bytes.prefix(8))
        }
    }
#endif

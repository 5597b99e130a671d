// SPDX-License-Identifier: Apache-2.0

#if Server
    import NIOHTTP1
    import TresorCore
    import TresorCrypto

    /// The subject of a request.
    enum Endpoint: Hashable, Sendable {
        case operation(ServiceOperation)
        case health
        case metrics
    }

    /// The head of a request that kept every rule.
    struct AcceptedHead: Hashable, Sendable {
        let endpoint: Endpoint
        /// The size of the body in bytes.
        let bodyByteCount: Int
        /// The text of `Authorization`; `nil` for none.
        let authorization: String?
        /// The host of `Host`, in lower case, and the ports of the service's names with it; `nil` for the port on which it
        /// listens.
        let host: String
        let ports: Set<UInt16?>
        /// The last address of `X-Forwarded-For`; `nil` for none.
        let forwardedFor: String?
        /// Whether the connection ends with the answer.
        let closes: Bool
    }

    /// The strict half of HTTP/1.1 that the service speaks (SPEC §18.3): it refuses each form that two programs on the
    /// way could read in two ways.
    ///
    /// A request has version 1.1, exactly one `Host`, a target of a fixed list byte for byte, and one `Content-Length`
    /// in canonical decimal if it is a POST. No coding, no upgrade, no expectation; nothing that a page in a browser
    /// sends.
    struct HeadRule: Sendable {
        private let endpoints: [String: Endpoint]
        /// The ports of each name.
        private let names: [String: Set<UInt16?>]

        /// Makes the rule of the service.
        ///
        /// - Parameter names: the names under which clients know it. Those of loopback are always right.
        static func service(names: [HostName]) -> HeadRule {
            let operations = ServiceOperation.allCases.map { (WireForm.target(of: $0), Endpoint.operation($0)) }
            return HeadRule(endpoints: operations + [("/health", .health)], names: names)
        }

        /// Makes the rule of the metrics, which loopback alone reaches.
        static var metrics: HeadRule { HeadRule(endpoints: [("/metrics", .metrics)], names: []) }

        private init(endpoints: [(String, Endpoint)], names: [HostName]) {
            self.endpoints = Dictionary(uniqueKeysWithValues: endpoints)
            self.names = (names + HostName.ofLoopback).reduce(into: [:]) { $0[$1.host, default: []].insert($1.port) }
        }

        /// Judges a head.
        ///
        /// - Throws: the refusal, after which the connection ends.
        func accept(_ head: HTTPRequestHead) throws(Refusal) -> AcceptedHead {
            guard head.version == .http1_1 else { throw head.version == .http1_0 ? .olderVersion : .malformed }
            // Other letters become ASCII where case is folded: the sign of kelvin is a k.
            guard head.headers.allSatisfy({ $0.value.utf8.allSatisfy { $0 < 0x80 } }) else { throw .malformed }
            let (host, ports) = try checkHost(head.headers)
            try checkForms(head.headers)
            guard head.method == .POST || head.method == .GET else { throw .method }
            guard let endpoint = endpoints[head.uri] else { throw .malformed }
            try Self.checkSite(head.headers)
            let count: Int
            switch endpoint {
            case .operation(let operation):
                guard head.method == .POST else { throw .method }
                count = try Self.bodyByteCount(head.headers, maximum: operation.maximumBodyByteCount)
            case .health, .metrics:
                guard head.method == .GET else { throw .method }
                guard head.headers["Content-Length"].isEmpty else { throw .malformed }
                count = 0
            }
            return AcceptedHead(
                endpoint: endpoint, bodyByteCount: count, authorization: try head.headers.atMostOne("Authorization"),
                host: host, ports: ports,
                forwardedFor: head.headers["X-Forwarded-For"].last.map(Self.lastAddress),
                closes: try head.headers.atMostOne("Connection")?.lowercased() == "close")
        }

        /// There is one `Host`, with one of the names and any port.
        private func checkHost(_ headers: HTTPHeaders) throws(Refusal) -> (host: String, ports: Set<UInt16?>) {
            let hosts = headers["Host"]
            guard hosts.count == 1, let name = HostName(hosts[0]) else { throw .malformed }
            guard let ports = names[name.host] else { throw Refusal(.misdirected, .failed(.other), cause: .name) }
            return (name.host, ports)
        }

        /// Nothing changes the form of the body or the protocol.
        private func checkForms(_ headers: HTTPHeaders) throws(Refusal) {
            guard headers["Transfer-Encoding"].isEmpty else { throw Refusal(.lengthRequired, .failed(.other)) }
            guard headers["Content-Encoding"].isEmpty else { throw Refusal(.mediaType, .failed(.other)) }
            for name in ["Upgrade", "Expect", "Trailer", "TE"] {
                guard headers[name].isEmpty else { throw .malformed }
            }
            if let connection = try headers.atMostOne("Connection")?.lowercased() {
                guard connection == "close" || connection == "keep-alive" else { throw .malformed }
            }
        }

        /// No page of another site speaks: browsers name the page's origin, or say how it stands to the target.
        private static func checkSite(_ headers: HTTPHeaders) throws(Refusal) {
            guard headers["Origin"].isEmpty, headers["Sec-Fetch-Site"].allSatisfy({ $0 == "none" }) else {
                throw .forbidden
            }
        }

        private static func bodyByteCount(_ headers: HTTPHeaders, maximum: Int) throws(Refusal) -> Int {
            let lengths = headers["Content-Length"]
            guard let length = lengths.first else { throw Refusal(.lengthRequired, .failed(.other)) }
            guard lengths.count == 1, isLength(length) else { throw .malformed }
            guard let count = number(length[...]), count <= maximum else {
                guard length == "0" || !length.hasPrefix("0") else { throw .malformed }
                throw Refusal(.tooLarge, .failed(.other))
            }
            guard headers["Content-Type"] == [WireForm.mediaType] else { throw Refusal(.mediaType, .failed(.other)) }
            return count
        }

        /// The value of canonical decimal digits; `nil` for anything else, and for more than nine digits.
        private static func number(_ text: Substring) -> Int? {
            let isCanonical = (1...9).contains(text.utf8.count) && text.utf8.allSatisfy(isDigit)
            guard isCanonical, text == "0" || !text.hasPrefix("0") else { return nil }
            return Int(text)
        }

        /// Whether a text is decimal digits that every program can hold: at most 18 of them.
        private static func isLength(_ text: String) -> Bool {
            (1...18).contains(text.utf8.count) && text.utf8.allSatisfy(isDigit)
        }

        private static func isDigit(_ character: UInt8) -> Bool {
            (UInt8(ascii: "0")...UInt8(ascii: "9")).contains(character)
        }

        private static func lastAddress(_ list: String) -> String {
            let last = list.split(separator: ",", omittingEmptySubsequences: false).last ?? ""
            return String(last.drop { $0 == " " }.reversed().drop { $0 == " " }.reversed())
        }
    }

    extension Refusal {
        /// The refusal of a request that is none: 400.
        static let malformed = Refusal(.invalid, .failed(.other))
        /// The refusal of headers that are too many or too long: 431.
        static let headersTooLarge = Refusal(.headersTooLarge, .failed(.other))
        /// The refusal of a request whose proxy does not say who asks: 500.
        static let namelessProxy = Refusal(.namelessProxy, .failed(.other), cause: .namelessProxy)
        /// The refusal of HTTP/1.0: 505.
        static let olderVersion = Refusal(.olderVersion, .failed(.other), cause: .version)
        /// The refusal of another method: 405.
        static let method = Refusal(.method, .failed(.other))
    }

    extension HTTPHeaders {
        /// The value of a header that may stand once.
        fileprivate func atMostOne(_ name: String) throws(Refusal) -> String? {
            let values = self[name]
            guard values.count <= 1 else { throw .malformed }
            return values.first
        }
    }
#endif

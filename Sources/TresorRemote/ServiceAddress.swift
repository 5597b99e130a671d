// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

#if canImport(Darwin)
    import Darwin
#else
    import Glibc
#endif

/// The address of a service: `https://HOST` or `https://HOST:PORT`; with `http://` for this machine alone.
///
/// It has no path, no query and no user: what a request is about stands in its body.
package struct ServiceAddress: Hashable, Sendable {
    /// The maximum size of the text in bytes: 300.
    static let maximumByteCount = 300

    /// Whether the connection is encrypted.
    package let isSecure: Bool
    /// A name, an IPv4 address, or an IPv6 address without brackets; in lower case.
    package let host: String
    package let port: UInt16

    /// Reads an address.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `address` for another form, and for `http://` to another machine.
    package init(_ text: String) throws(TresorError) {
        guard text.utf8.count <= Self.maximumByteCount, let scheme = Self.scheme(of: text) else {
            throw .usage(.address)
        }
        var rest = Array(text.utf8.dropFirst(scheme.text.utf8.count))
        if rest.last == UInt8(ascii: "/") { rest.removeLast() }
        let place = try HostAndPort(rest, defaultPort: scheme.port)
        guard scheme.isSecure || place.isLoopback else { throw .usage(.address) }
        isSecure = scheme.isSecure
        host = place.host
        port = place.port
    }

    /// Whether a text is meant as the address of a service, and not as the path of a file.
    package static func isMeant(by text: String) -> Bool { scheme(of: text) != nil }

    /// The value of the header `Host`.
    package var authority: String {
        let isDefault = port == Self.schemes.first { $0.isSecure == isSecure }?.port
        return isDefault ? HostAndPort.bracketed(host) : "\(HostAndPort.bracketed(host)):\(port)"
    }

    /// The address as a session names it.
    package var audience: Audience {
        Audience(isSecure: isSecure, host: HostAndPort.bracketed(host), port: port)
    }

    private typealias Scheme = (text: String, isSecure: Bool, port: UInt16)

    private static let schemes: [Scheme] = [("https://", true, 443), ("http://", false, 80)]

    /// The scheme of a text, in any case.
    private static func scheme(of text: String) -> Scheme? {
        schemes.first { scheme in
            text.utf8.prefix(scheme.text.utf8.count).elementsEqual(scheme.text.utf8) { one, other in
                one == other || one | 0x20 == other && (UInt8(ascii: "A")...UInt8(ascii: "Z")).contains(one)
            }
        }
    }
}

extension ServiceAddress: CustomStringConvertible {
    /// The address, in its one form: no default port, no slash at the end.
    package var description: String { (isSecure ? "https://" : "http://") + authority }
}

/// A host and a port, such as those of a proxy.
package struct HostAndPort: Hashable, Sendable {
    package let host: String
    package let port: UInt16

    /// Reads `HOST:PORT`.
    ///
    /// - Throws: ``TresorError/usage(_:)`` with `address` for another form.
    package init(_ text: String) throws(TresorError) {
        guard text.utf8.count <= ServiceAddress.maximumByteCount else { throw .usage(.address) }
        try self.init(Array(text.utf8), defaultPort: nil)
    }

    init(host: String, port: UInt16) {
        self.host = host
        self.port = port
    }

    /// - Parameter defaultPort: the port where the text has none; `nil` if it must have one.
    fileprivate init(_ text: [UInt8], defaultPort: UInt16?) throws(TresorError) {
        let (host, port) = try Self.split(text)
        guard let port = try port.map(Self.number) ?? defaultPort else { throw .usage(.address) }
        self.host = host
        self.port = port
    }

    /// `HOST:PORT`, with brackets around an IPv6 address.
    package var text: String { "\(Self.bracketed(host)):\(port)" }

    fileprivate static func bracketed(_ host: String) -> String { host.contains(":") ? "[\(host)]" : host }

    /// Whether the host is this machine: `localhost`, `127.…` or `::1`.
    fileprivate var isLoopback: Bool {
        guard host != "localhost", host != "::1" else { return true }
        var address = in_addr()
        return inet_pton(AF_INET, host, &address) == 1 && UInt32(bigEndian: address.s_addr) >> 24 == 127
    }

    private static func split(_ text: [UInt8]) throws(TresorError) -> (host: String, port: [UInt8]?) {
        if text.first == UInt8(ascii: "["), let end = text.firstIndex(of: UInt8(ascii: "]")) {
            let host = String(decoding: text[1..<end], as: UTF8.self)
            var address = in6_addr()
            guard !host.utf8.contains(0), inet_pton(AF_INET6, host, &address) == 1 else { throw .usage(.address) }
            let rest = text[(end + 1)...]
            guard rest.isEmpty || rest.first == UInt8(ascii: ":") else { throw .usage(.address) }
            return (host.lowercased(), rest.isEmpty ? nil : Array(rest.dropFirst()))
        }
        let colon = text.firstIndex(of: UInt8(ascii: ":")) ?? text.endIndex
        let host = text[..<colon]
        let isName =
            (1...253).contains(host.count) && host.first != UInt8(ascii: "-") && host.first != UInt8(ascii: ".")
            && host.allSatisfy { isLetterOrDigit($0) || $0 == UInt8(ascii: "-") || $0 == UInt8(ascii: ".") }
        guard isName else { throw .usage(.address) }
        return (
            String(decoding: host, as: UTF8.self).lowercased(),
            colon == text.endIndex ? nil : Array(text[(colon + 1)...])
        )
    }

    private static func isLetterOrDigit(_ byte: UInt8) -> Bool {
        switch byte {
        case UInt8(ascii: "a")...UInt8(ascii: "z"), UInt8(ascii: "A")...UInt8(ascii: "Z"),
            UInt8(ascii: "0")...UInt8(ascii: "9"):
            true
        default: false
        }
    }

    private static func number(_ digits: [UInt8]) throws(TresorError) -> UInt16 {
        let isNumber = digits.allSatisfy { (UInt8(ascii: "0")...UInt8(ascii: "9")).contains($0) }
        guard isNumber, let port = UInt16(String(decoding: digits, as: UTF8.self)), port > 0 else {
            throw .usage(.address)
        }
        return port
    }
}

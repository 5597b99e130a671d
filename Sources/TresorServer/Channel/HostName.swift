// SPDX-License-Identifier: Apache-2.0

#if Server
    import ArgumentParser

    /// A host, and a port if one is said: the value of `Host`, and a name of the service.
    struct HostName: Hashable, Sendable {
        /// In lower case; an IPv6 address has brackets.
        let host: String
        let port: UInt16?

        /// Reads `HOST` or `HOST:PORT`; `nil` for another form.
        init?(_ text: String) {
            let end = text.lastIndex(of: ":").flatMap { text.hasSuffix("]") ? nil : $0 } ?? text.endIndex
            let digits = text[end...].dropFirst()
            guard end != text.startIndex, text.utf8.allSatisfy({ (0x21..<0x7f).contains($0) }) else { return nil }
            host = text[..<end].lowercased()
            guard end != text.endIndex else {
                port = nil
                return
            }
            guard digits.utf8.allSatisfy({ (0x30...0x39).contains($0) }), !digits.hasPrefix("0"),
                let port = UInt16(digits)
            else { return nil }
            self.port = port
        }

        /// The names that each service has.
        static let ofLoopback = ["localhost", "127.0.0.1", "[::1]"].compactMap { HostName($0) }

        /// Reads a name of the service as its operator types it. A pattern, or an address with a scheme, is the `Host` of
        /// no client.
        ///
        /// - Throws: the reason why it is none.
        static func typed(_ text: String) throws -> HostName {
            let form = "give each host by itself, as tresor.example or tresor.example:8443"
            if text.contains("/") { throw ValidationError("a name has no scheme and no path: \(form)") }
            if text.contains("*") { throw ValidationError("a name is no pattern: \(form)") }
            guard let name = HostName(text) else { throw ValidationError("it is no host name: \(form)") }
            return name
        }
    }
#endif

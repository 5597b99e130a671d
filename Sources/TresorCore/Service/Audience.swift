// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// An address of a service, as a client dials it (SPEC §18.2). Each session names one.
package struct Audience: Hashable, Sendable {
    /// Whether the connection is encrypted: `https`, and not `http`.
    package let isSecure: Bool
    /// The host as in the header `Host`: in lower case, and with brackets around an IPv6 address.
    package let host: String
    package let port: UInt16

    package init(isSecure: Bool, host: String, port: UInt16) {
        self.isSecure = isSecure
        self.host = host
        self.port = port
    }

    /// `H("tresor/v1/audience", Audience)`.
    package func hash() throws(TresorError) -> Hash256 {
        var encoder = ByteEncoder()
        encoder.vector8((isSecure ? "https" : "http").utf8)
        encoder.vector8(host.utf8)
        encoder.integer(port)
        return try BLAKE2b.hash(.audience, encoder.bytes)
    }
}

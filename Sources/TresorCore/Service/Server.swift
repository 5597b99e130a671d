// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The public description of a service, by which its sessions are bound to it (SPEC §18.1).
package struct Server: ServiceMessage {
    /// The size in bytes: 50.
    package static let byteCount = 50

    /// The public key of the service (ristretto255).
    package let key: Hash256
    /// The memory, in KiB, and the passes of Argon2id that a log-in takes.
    package let memoryKiB: UInt32
    package let passes: UInt32

    package init(key: Hash256, memoryKiB: UInt32, passes: UInt32) {
        self.key = key
        self.memoryKiB = memoryKiB
        self.passes = passes
    }

    /// `H("tresor/v1/server-id", Server)`.
    package func id() throws(TresorError) -> Hash256 { try BLAKE2b.hash(.serverID, bytes) }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.preamble(.server)
        encoder.digest(key)
        encoder.integer(memoryKiB)
        encoder.integer(passes)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        try decoder.preamble(.server)
        key = try decoder.digest()
        memoryKiB = try decoder.integer()
        passes = try decoder.integer()
    }
}

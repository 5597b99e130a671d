// SPDX-License-Identifier: Apache-2.0

/// A network that counts as one client (SPEC §18.3).
///
/// A line of IPv6 has many networks of 64 bits, often 256 and sometimes 65 536. So limits count an address by its first
/// 64, 56 and 48 bits, and the wider networks have larger shares.
package struct SourceNetwork: Hashable, Sendable {
    /// The first bytes of its addresses.
    package let prefix: [UInt8]
    /// Its share, as a multiple of that of one address.
    package let share: Int

    /// The networks of a source, the smallest first.
    ///
    /// - Parameter source: the 4 bytes of IPv4, or the first 8 of IPv6. Others, such as the 32 of an account, count as one
    ///   address. Without bytes, which is this process or a socket of the file system, it is in no network, and no limit
    ///   of an address holds.
    package static func all(of source: [UInt8]) -> [SourceNetwork] {
        if source.isEmpty { return [] }
        guard source.count == 8 else { return [SourceNetwork(prefix: source, share: 1)] }
        return [(8, 1), (7, 4), (6, 16)].map { SourceNetwork(prefix: Array(source.prefix($0.0)), share: $0.1) }
    }
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The marks that this person set on tresors, which no log has: 10 bytes, then 33 for each tresor, sealed (SPEC §8.5).
package struct Marks: Hashable, Sendable {
    /// The marks of one tresor.
    package struct Flags: OptionSet, Hashable, Sendable {
        package let rawValue: UInt8

        package init(rawValue: UInt8) { self.rawValue = rawValue }

        /// The tresor is hidden while its founder is not verified.
        static let hidden = Flags(rawValue: 1)
        /// This home made the tresor, or this person confirmed that they did.
        package static let confirmed = Flags(rawValue: 2)

        var isHidden: Bool { contains(.hidden) }
        var isConfirmed: Bool { contains(.confirmed) }
    }

    package private(set) var flags: [TresorID: Flags] = [:]

    init() {}

    /// Decodes the marks; the tresor ids must rise strictly, and the flags be 1 to 3.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.marks)
        flags = try decoder.rows { (decoder) throws(TresorError) in
            let value = try decoder.integer(UInt8.self)
            guard (1...3).contains(value) else { throw .altered }
            return Flags(rawValue: value)
        }
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.marks)
        encoder.rows(flags) { $0.integer($1.rawValue) }
        return encoder.bytes
    }

    /// Opens the sealed marks.
    ///
    /// - Throws: ``TresorError/altered`` when this identity did not seal them; ``TresorError/unsupported`` for another
    ///   version or suite.
    package init(_ sealed: [UInt8], of identity: Identity) throws(TresorError) {
        try self.init(try identity.openFromHome(sealed, .marksSeal))
    }

    func sealed(for identity: Identity) throws(TresorError) -> [UInt8] {
        try identity.sealForHome(bytes, .marksSeal)
    }

    subscript(tresor: TresorID) -> Flags {
        get { flags[tresor] ?? [] }
        set { flags[tresor] = newValue.isEmpty ? nil : newValue }
    }
}

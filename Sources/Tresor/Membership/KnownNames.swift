// SPDX-License-Identifier: Apache-2.0

package import TresorCore
package import TresorCrypto

/// The names of tresors as they were last opened (SPEC §8.5). They are sealed: 32 bytes of tresor id and a name of 1 to
/// 256 bytes each. A removed member still sees which tresor a file is in.
package struct KnownNames: Hashable, Sendable {
    package private(set) var names: [TresorID: Name] = [:]

    init() {}

    /// Opens the sealed names.
    ///
    /// - Throws: ``TresorError/altered`` when this identity did not seal them.
    package init(_ sealed: [UInt8], of identity: Identity) throws(TresorError) {
        var decoder = ByteDecoder(try identity.openFromHome(sealed, .namesSeal))
        names = try decoder.rows { (decoder) throws(TresorError) in
            try Name(try decoder.vector16(1...Name.maximumByteCount))
        }
    }

    func sealed(for identity: Identity) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        encoder.rows(names) { $0.vector16($1.bytes) }
        return try identity.sealForHome(encoder.bytes, .namesSeal)
    }

    subscript(tresor: TresorID) -> Name? {
        get { names[tresor] }
        set { names[tresor] = newValue }
    }
}

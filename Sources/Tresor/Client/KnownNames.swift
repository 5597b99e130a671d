// SPDX-License-Identifier: Apache-2.0

/// What tresors were called when they could last be opened (SPEC §8.5), so that a person who was put out still sees which tresor a file is in.
package struct KnownNames: Hashable, Sendable {
    package private(set) var names: [TresorID: Name] = [:]

    init() {}

    /// - Throws: ``TresorError/altered`` when it is not what this identity sealed.
    package init(_ sealed: [UInt8], of identity: Identity) throws(TresorError) {
        var decoder = ByteDecoder(try identity.openFromHome(sealed, .namesSeal))
        var last: TresorID?
        while decoder.remaining > 0 {
            let tresor = TresorID(try decoder.digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            names[tresor] = try Name(try decoder.vector16(1...Name.maximumByteCount))
        }
    }

    func sealed(for identity: Identity) throws(TresorError) -> [UInt8] {
        var encoder = ByteEncoder()
        for (tresor, name) in names.sorted(by: { $0.key < $1.key }) {
            encoder.digest(tresor.digest)
            encoder.vector16(name.bytes)
        }
        return try identity.sealForHome(encoder.bytes, .namesSeal)
    }

    subscript(tresor: TresorID) -> Name? {
        get { names[tresor] }
        set { names[tresor] = newValue }
    }
}

extension Session {
    /// What a tresor was called when this person could last open it; `nil` when the home does not know.
    public nonisolated func knownName(of tresor: TresorID) -> Name? {
        knownNames()[tresor]
    }

    /// A convenience, rebuilt as tresors are opened: what cannot be read or written is no error.
    nonisolated func remember(_ name: Name, of tresor: TresorID) {
        guard knownNames()[tresor] != name else { return }
        _ = try? client.home.exclusively { () throws(TresorError) in
            // Names that others can read are neither believed nor written over: their owner can still close the file.
            _ = try client.home.read(.names)
            var names = knownNames()
            names[tresor] = name
            try client.home.replace(.names, with: try names.sealed(for: identity))
        }
    }

    nonisolated func knownNames() -> KnownNames {
        guard let sealed = try? client.home.read(.names) else { return KnownNames() }
        let names = try? namesRead.value(of: sealed) { (bytes) throws(TresorError) in
            try KnownNames(bytes, of: identity)
        }
        return names ?? KnownNames()
    }
}

// SPDX-License-Identifier: Apache-2.0

/// A person's own wraps of the newest epochs that their home has seen (SPEC §8.5), of tresors they read the whole history of: who was given an old copy of a
/// store back still reads, and can put back everybody's wraps. They open under the identity alone, as they do in the store.
struct KeptWraps: Hashable, Sendable {
    private(set) var wraps: [TresorID: [UInt8]] = [:]

    init() {}

    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.keptWraps)
        var last: TresorID?
        while decoder.remaining > 0 {
            let tresor = TresorID(try decoder.digest())
            if let last, tresor <= last { throw .altered }
            last = tresor
            wraps[tresor] = try decoder.vector16(1...Int(UInt16.max))
        }
    }

    var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.keptWraps)
        for (tresor, wrap) in wraps.sorted(by: { $0.key < $1.key }) {
            encoder.digest(tresor.digest)
            encoder.vector16(wrap)
        }
        return encoder.bytes
    }

    subscript(tresor: TresorID) -> [UInt8]? {
        get { wraps[tresor] }
        set { wraps[tresor] = newValue }
    }
}

extension Session {
    /// A convenience, as the names are: what cannot be read or written is no error. Another process may have kept one of a later epoch.
    nonisolated func remember(ownWrap wrap: [UInt8], of tresor: TresorID) {
        guard client.keptWraps()[tresor] != wrap, let epoch = try? Wrap(wrap).epoch else { return }
        _ = try? client.home.exclusively { () throws(TresorError) in
            var wraps = client.keptWraps()
            if let kept = wraps[tresor].flatMap({ try? Wrap($0) }), kept.tresor == tresor, kept.epoch > epoch { return }
            wraps[tresor] = wrap
            try client.home.replace(.wraps, with: wraps.bytes)
        }
    }
}

extension Client {
    func keptWraps() -> KeptWraps {
        guard let bytes = try? home.read(.wraps) else { return KeptWraps() }
        return (try? KeptWraps(bytes)) ?? KeptWraps()
    }
}

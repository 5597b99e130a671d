// SPDX-License-Identifier: Apache-2.0

/// A string that separates one use of a primitive from all others (SPEC §16).
///
/// Every label of the format stands here and nowhere else. Each has one purpose and none is a prefix of another.
public struct Label: Hashable, Sendable {
    let bytes: [UInt8]
    /// `LP(label)` of SPEC §2. No label is longer than 255 bytes.
    package let prefixed: [UInt8]

    /// The label as text; always ASCII.
    public var text: String { String(decoding: bytes, as: UTF8.self) }

    private init(_ text: StaticString) {
        self.init(bytes: Array(text.description.utf8))
    }

    private init(bytes: [UInt8]) {
        self.bytes = bytes
        prefixed = [0, 0, 0, UInt8(bytes.count)] + bytes
    }

    /// A label of an application that uses ``TC1`` or ``SecretKey/derive(_:context:as:)`` for itself.
    ///
    /// - Parameter name: 1 to 255 printable ASCII characters, not beginning with `tresor/`.
    /// - Throws: ``TresorError/usage`` for any other name.
    public init(application name: String) throws(TresorError) {
        let bytes = Array(name.utf8)
        guard (1...255).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7e).contains($0) }),
            !bytes.starts(with: Array("tresor/".utf8))
        else { throw .usage }
        self.init(bytes: bytes)
    }

    /// What a label is used for.
    package enum Use: String, Sendable { case seal, derive, hash, sign, wrap }

    package static let seal = Label("tresor/v1/seal")
    package static let derive = Label("tresor/v1/derive")

    package static let userID = Label("tresor/v1/user-id")
    package static let cardHash = Label("tresor/v1/card-hash")
    package static let cardSignature = Label("tresor/v1/card-signature")
    package static let cardSuccession = Label("tresor/v1/card-succession")
    package static let number = Label("tresor/v1/number")

    package static let identitySign = Label("tresor/v1/identity-sign")
    package static let identityKEM = Label("tresor/v1/identity-kem")
    package static let identityPrevious = Label("tresor/v1/identity-previous")
    package static let identityFile = Label("tresor/v1/identity-file")
    package static let identityTag = Label("tresor/v1/identity-tag")
    package static let previousSeal = Label("tresor/v1/previous-seal")
    package static let homeKey = Label("tresor/v1/home-key")
    package static let namesSeal = Label("tresor/v1/names-seal")
    package static let marksSeal = Label("tresor/v1/marks-seal")
    package static let homeCache = Label("tresor/v1/home-cache")
    package static let stateTag = Label("tresor/v1/state-tag")

    package static let slotSeal = Label("tresor/v1/slot-seal")
    package static let slotDevice = Label("tresor/v1/slot-device")
    package static let kitSlot = Label("tresor/v1/kit-slot")
    package static let kitLocator = Label("tresor/v1/kit-locator")

    package static let tresorID = Label("tresor/v1/tresor-id")
    package static let entryHash = Label("tresor/v1/entry-hash")
    package static let entrySignature = Label("tresor/v1/entry-signature")
    package static let nameSeal = Label("tresor/v1/name-seal")
    package static let commitTK = Label("tresor/v1/commit-tk")
    package static let commitHK = Label("tresor/v1/commit-hk")
    package static let backlinkSeal = Label("tresor/v1/backlink-seal")
    package static let epochWrap = Label("tresor/v1/epoch-wrap")
    package static let evidenceHash = Label("tresor/v1/evidence-hash")

    package static let fileSeal = Label("tresor/v1/file-seal")
    package static let fileSignature = Label("tresor/v1/file-signature")
    package static let contentHash = Label("tresor/v1/content-hash")
    package static let contentPart = Label("tresor/v1/content-part")

    /// The registry of SPEC §16: every label with its use, in the order of the sections that use them.
    package static let registry: [(label: Label, use: Use)] = [
        (seal, .derive), (derive, .derive),
        (userID, .hash), (cardHash, .hash), (cardSignature, .sign), (cardSuccession, .sign), (number, .hash),
        (identitySign, .derive), (identityKEM, .derive), (identityPrevious, .derive), (identityFile, .derive),
        (identityTag, .derive), (previousSeal, .seal), (homeKey, .derive), (namesSeal, .seal), (marksSeal, .seal),
        (homeCache, .derive), (stateTag, .derive),
        (slotSeal, .seal), (slotDevice, .derive), (kitSlot, .derive), (kitLocator, .derive),
        (tresorID, .hash), (entryHash, .hash), (entrySignature, .sign), (nameSeal, .seal), (commitTK, .hash),
        (commitHK, .hash), (backlinkSeal, .seal), (epochWrap, .wrap), (evidenceHash, .hash),
        (fileSeal, .seal), (fileSignature, .sign), (contentHash, .hash), (contentPart, .hash),
    ]
}

// SPDX-License-Identifier: Apache-2.0

/// A string that separates one use of a primitive from all others (SPEC §16).
///
/// Every label of the format stands here and nowhere else. Each has one purpose and none is a prefix of another.
package struct DomainLabel: Hashable, Sendable {
    let bytes: [UInt8]
    /// `LP(label)` of SPEC §2. No label is longer than 255 bytes.
    package let prefixed: [UInt8]

    /// The label as text; always ASCII.
    package var text: String { String(decoding: bytes, as: UTF8.self) }

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
    /// - Throws: ``TresorError/usage(_:)`` with `domainLabel` for any other name.
    package init(application name: String) throws(TresorError) {
        let bytes = Array(name.utf8)
        guard (1...255).contains(bytes.count), bytes.allSatisfy({ (0x21...0x7e).contains($0) }),
            !bytes.starts(with: Array("tresor/".utf8))
        else { throw .usage(.domainLabel) }
        self.init(bytes: bytes)
    }

    /// The purpose of a label.
    package enum Use: String, Sendable { case seal, derive, hash, sign, wrap }

    package static let seal = DomainLabel("tresor/v1/seal")
    package static let derive = DomainLabel("tresor/v1/derive")

    package static let userID = DomainLabel("tresor/v1/user-id")
    package static let cardHash = DomainLabel("tresor/v1/card-hash")
    package static let cardSignature = DomainLabel("tresor/v1/card-signature")
    package static let cardSuccession = DomainLabel("tresor/v1/card-succession")
    package static let number = DomainLabel("tresor/v1/number")

    package static let identitySign = DomainLabel("tresor/v1/identity-sign")
    package static let identityKEM = DomainLabel("tresor/v1/identity-kem")
    package static let identityPrevious = DomainLabel("tresor/v1/identity-previous")
    package static let identityFile = DomainLabel("tresor/v1/identity-file")
    package static let identityTag = DomainLabel("tresor/v1/identity-tag")
    package static let previousSeal = DomainLabel("tresor/v1/previous-seal")
    package static let homeKey = DomainLabel("tresor/v1/home-key")
    package static let namesSeal = DomainLabel("tresor/v1/names-seal")
    package static let marksSeal = DomainLabel("tresor/v1/marks-seal")
    package static let outboxSeal = DomainLabel("tresor/v1/outbox-seal")
    package static let homeCache = DomainLabel("tresor/v1/home-cache")
    package static let stateTag = DomainLabel("tresor/v1/state-tag")

    package static let slotSeal = DomainLabel("tresor/v1/slot-seal")
    package static let slotDevice = DomainLabel("tresor/v1/slot-device")
    package static let slotLogin = DomainLabel("tresor/v1/slot-login")
    package static let kitSlot = DomainLabel("tresor/v1/kit-slot")
    package static let kitLocator = DomainLabel("tresor/v1/kit-locator")

    package static let deviceCode = DomainLabel("tresor/v1/device-code")
    package static let deviceLocator = DomainLabel("tresor/v1/device-locator")
    package static let deviceTag = DomainLabel("tresor/v1/device-tag")
    package static let deviceWrap = DomainLabel("tresor/v1/device-wrap")
    package static let deviceAnswer = DomainLabel("tresor/v1/device-answer")
    package static let deviceNumber = DomainLabel("tresor/v1/device-number")
    package static let deviceReceipt = DomainLabel("tresor/v1/device-receipt")

    package static let tresorID = DomainLabel("tresor/v1/tresor-id")
    package static let entryHash = DomainLabel("tresor/v1/entry-hash")
    package static let entrySignature = DomainLabel("tresor/v1/entry-signature")
    package static let nameSeal = DomainLabel("tresor/v1/name-seal")
    package static let commitTK = DomainLabel("tresor/v1/commit-tk")
    package static let commitHK = DomainLabel("tresor/v1/commit-hk")
    package static let backlinkSeal = DomainLabel("tresor/v1/backlink-seal")
    package static let epochWrap = DomainLabel("tresor/v1/epoch-wrap")
    package static let approvalKey = DomainLabel("tresor/v1/approval-key")
    package static let approvalMember = DomainLabel("tresor/v1/approval-member")
    package static let approvalSeal = DomainLabel("tresor/v1/approval-seal")
    package static let approvalWrap = DomainLabel("tresor/v1/approval-wrap")
    package static let approvalRelease = DomainLabel("tresor/v1/approval-release")
    package static let evidenceHash = DomainLabel("tresor/v1/evidence-hash")

    package static let fileSeal = DomainLabel("tresor/v1/file-seal")
    package static let fileSignature = DomainLabel("tresor/v1/file-signature")
    package static let contentHash = DomainLabel("tresor/v1/content-hash")
    package static let contentPart = DomainLabel("tresor/v1/content-part")

    package static let blobHash = DomainLabel("tresor/v1/blob-hash")
    package static let volumeKey = DomainLabel("tresor/v1/volume-key")
    package static let volumeSeal = DomainLabel("tresor/v1/volume-seal")

    package static let serverID = DomainLabel("tresor/v1/server-id")
    package static let audience = DomainLabel("tresor/v1/audience")
    package static let sessionSignature = DomainLabel("tresor/v1/session-signature")
    package static let sessionHash = DomainLabel("tresor/v1/session-hash")
    package static let deviceSign = DomainLabel("tresor/v1/device-sign")
    package static let requestBody = DomainLabel("tresor/v1/request-body")
    package static let requestSignature = DomainLabel("tresor/v1/request-signature")
    package static let loginRecord = DomainLabel("tresor/v1/login-record")
    package static let loginCopy = DomainLabel("tresor/v1/login-copy")
    package static let loginSignature = DomainLabel("tresor/v1/login-signature")
    package static let invitation = DomainLabel("tresor/v1/invitation")

    /// The registry of SPEC §16: every label with its use, in the order of the sections that use them.
    package static let registry: [(label: DomainLabel, use: Use)] = [
        (seal, .derive), (derive, .derive),
        (userID, .hash), (cardHash, .hash), (cardSignature, .sign), (cardSuccession, .sign), (number, .hash),
        (identitySign, .derive), (identityKEM, .derive), (identityPrevious, .derive), (identityFile, .derive),
        (identityTag, .derive), (previousSeal, .seal), (homeKey, .derive), (namesSeal, .seal), (marksSeal, .seal),
        (outboxSeal, .seal),
        (homeCache, .derive), (stateTag, .derive),
        (slotSeal, .seal), (slotDevice, .derive), (slotLogin, .derive), (kitSlot, .derive),
        (kitLocator, .derive),
        (deviceCode, .hash), (deviceLocator, .derive), (deviceTag, .derive), (deviceWrap, .wrap),
        (deviceAnswer, .derive), (deviceNumber, .derive), (deviceReceipt, .derive),
        (tresorID, .hash), (entryHash, .hash), (entrySignature, .sign), (nameSeal, .seal), (commitTK, .hash),
        (commitHK, .hash), (backlinkSeal, .seal), (epochWrap, .wrap),
        (approvalKey, .derive), (approvalMember, .derive), (approvalSeal, .seal), (approvalWrap, .wrap),
        (approvalRelease, .wrap), (evidenceHash, .hash),
        (fileSeal, .seal), (fileSignature, .sign), (contentHash, .hash), (contentPart, .hash),
        (blobHash, .hash), (volumeKey, .derive), (volumeSeal, .seal),
        (serverID, .hash), (audience, .hash), (sessionSignature, .sign), (sessionHash, .hash),
        (deviceSign, .derive), (requestBody, .hash), (requestSignature, .sign), (loginRecord, .hash),
        (loginCopy, .hash), (loginSignature, .sign), (invitation, .hash),
    ]
}

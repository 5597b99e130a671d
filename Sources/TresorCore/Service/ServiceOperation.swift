// SPDX-License-Identifier: Apache-2.0

/// The operations of the service (SPEC §18.4). The raw value stands in the target of a request: `/v1/` and the name.
package enum ServiceOperation: String, CaseIterable, Sendable {
    case server, card, cards, users, entries, append, wraps, tresors, news, blob, blobs, register, finish, account,
        login
    case inbox, admit, invite
    case finishLogin = "finish-login"
    case putCard = "put-card"
    case putWraps = "put-wraps"
    case putBlob = "put-blob"
    case deleteBlobs = "delete-blobs"
    case putServerShare = "put-server-share"
    case serverShare = "server-share"
    case deleteServerShares = "delete-server-shares"
    case putKitCopy = "put-kit-copy"
    case kitCopy = "kit-copy"
    case deleteKitCopy = "delete-kit-copy"
    case putOffer = "put-offer"
    case endSessions = "end-sessions"
    case deleteTresor = "delete-tresor"
    case deleteAccount = "delete-account"

    /// The speaker whom an operation demands.
    package enum Speaker: Sendable {
        /// Nobody has to be known. A signature is not read.
        case anyone
        /// A person with an account that is active.
        case person
        /// A person, with an account or without one. The request itself proves their card.
        case applicant
        /// A trusted device, or its person.
        case device
        /// The operator of the service.
        case `operator`
    }

    /// The speaker whom the operation demands.
    package var speaker: Speaker {
        switch self {
        case .server, .kitCopy, .putOffer, .login, .finishLogin: .anyone
        case .register, .finish, .account: .applicant
        case .serverShare, .deleteServerShares: .device
        case .inbox, .admit, .invite: .operator
        default: .person
        }
    }

    /// Whether the operation changes something in somebody's name. A change is answered once: the same request again gets
    /// the same answer. An offer, which nobody signs, may be put again with the same effect.
    package var isChange: Bool {
        switch self {
        case .putCard, .append, .putWraps, .putBlob, .deleteBlobs, .putServerShare, .deleteServerShares, .putKitCopy,
            .deleteKitCopy,
            .register, .finish, .endSessions, .admit, .invite, .deleteTresor, .deleteAccount:
            true
        case .server, .card, .cards, .users, .entries, .wraps, .tresors, .serverShare, .kitCopy, .news, .blob, .blobs,
            .account, .inbox, .putOffer, .login, .finishLogin:
            false
        }
    }

    /// Whether the chain in the body may prove the session: the account is not there yet, or has an older card.
    package var isProvedByBody: Bool { self == .register || self == .putCard }

    /// The maximum size of a body in bytes.
    package var maximumBodyByteCount: Int {
        switch self {
        case .append, .putWraps: 16 << 20
        case .putCard, .finish, .register, .putKitCopy, .putBlob: 4 << 20
        default: ServiceHead.smallByteCount
        }
    }

    /// The maximum size of an answer in bytes: a page of 4 MiB and its frame, or one longer object.
    package static let maximumAnswerByteCount = (4 << 20) + (64 << 10)
    /// The size in bytes that a page does not exceed, except with one object alone: 4 MiB.
    package static let pageByteCount = 4 << 20
    /// The maximum size of the name in bytes.
    static let maximumNameByteCount = 32
}

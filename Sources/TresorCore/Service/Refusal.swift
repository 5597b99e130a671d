// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The answer of a service that does not do what it is asked (SPEC §18.5): a status, and a body of 27 bytes.
package struct Refusal: Error, Hashable, Sendable {
    /// The size of the body in bytes: 27.
    package static let byteCount = 27

    /// The status of the answer.
    package enum Status: Int, CaseIterable, Sendable {
        case invalid = 400
        case unauthorized = 401
        case forbidden = 403
        case method = 405
        /// The log lacks a removal, since the database was restored from a backup.
        case behind = 409
        case lengthRequired = 411
        case tooLarge = 413
        case mediaType = 415
        case misdirected = 421
        case tooManyRequests = 429
        case headersTooLarge = 431
        /// The proxy before the service does not say who asks.
        case namelessProxy = 500
        case unavailable = 503
        /// The request is of HTTP/1.0, as a proxy speaks it that nobody told otherwise.
        case olderVersion = 505
        case full = 507
    }

    /// The reason that the service tells its operator. The body has none of them, but tells a quota from a full disk.
    package enum Cause: String, CaseIterable, Sendable {
        /// A limit of what an account or a log may keep.
        case quota
        /// The disk of the database or of the file of revocations is full.
        case disk = "disk-full"
        /// The database does not answer, or its disk fails.
        case database
        case readOnly = "database-read-only"
        case damaged = "database-damaged"
        case schema = "database-schema"
        /// The file of revocations cannot be written, or is not where it was.
        case revocations
        /// The log lacks a removal that the file of revocations names.
        case behind = "log-behind"
        /// The client dialled a name that is none of the service.
        case name
        /// The request is not of HTTP/1.1.
        case version = "http-version"
        /// The proxy does not say who asks.
        case namelessProxy = "no-x-forwarded-for"
        /// The session names an address that is none of the service.
        case address
        /// The session names an address that is none of the service, and the proxy passes on a host of loopback.
        case proxyHost = "proxy-host"
        /// The request is not of this time.
        case clock
        /// The session is one with another service.
        case service
        /// The account is not here, or has other keys.
        case unknownKey = "unknown-key"
        /// The account was closed.
        case closed
        /// The session is over, or was ended.
        case ended
    }

    package let status: Status
    package let error: TresorError
    /// The reason for the operator; `nil` for none that the status and the error do not say.
    package let cause: Cause?
    /// The era of the account, for a session of another one; otherwise the first.
    package let era: Era

    /// The refusal of a person or a request that is not allowed, and of an object that is not there: the same bytes.
    package static let forbidden = Refusal(.forbidden, .noAccess)
    /// The refusal of a session or a signature that does not hold.
    package static let unauthorized = Refusal(.unauthorized, .noAccess)

    package init(_ status: Status, _ error: TresorError, era: Era = .first, cause: Cause? = nil) {
        self.status = status
        self.error = error
        self.era = era
        self.cause = cause
    }

    /// The refusal of a session that holds, and is of another era than its account.
    package static func ended(now era: Era) -> Refusal { Refusal(.unauthorized, .noAccess, era: era, cause: .ended) }

    /// The refusal that tells an error of an object or a rule.
    package init(_ error: TresorError) {
        switch error {
        case .noAccess: self = .forbidden
        case .waiting: self = Refusal(.forbidden, .waiting)
        case .busy: self = Refusal(.tooManyRequests, .busy)
        case .store(.full): self = Refusal(.full, .store(.full), cause: .disk)
        // The room that somebody may use is full, not the disk. The code of the body says so.
        case .failed(.full): self = Refusal(.full, .failed(.full), cause: .quota)
        case .failed(.notNoted): self = Refusal(.unavailable, .store(.other), cause: .revocations)
        case .store(.behind): self = Refusal(.behind, .store(.other), cause: .behind)
        case .store(let fault): self = Refusal(.unavailable, .store(.other), cause: Cause(fault))
        case .cancelled: self = Refusal(.unavailable, .store(.other))
        case .altered, .unsupported, .unverified: self = Refusal(.invalid, error)
        default: self = Refusal(.invalid, .failed(.other))
        }
    }

    /// The body.
    package var body: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.refusal)
        encoder.integer(Self.codes.first { $0.error.name == error.name }?.code ?? 1)
        encoder.raw(era.bytes)
        return encoder.bytes
    }

    /// Reads the error of a body, and the era.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package static func read(_ body: [UInt8]) throws(TresorError) -> (error: TresorError, era: Era) {
        var decoder = ByteDecoder(body)
        try decoder.preamble(.refusal)
        let code = try decoder.integer(UInt8.self)
        let era = try Era(from: &decoder)
        try decoder.end()
        guard let known = codes.first(where: { $0.code == code }) else { throw .altered }
        return (known.error, era)
    }

    /// The codes of SPEC §12 that a service may say.
    private static let codes: [(error: TresorError, code: UInt8)] = [
        (.failed(.other), 1), (.busy, 11), (.noAccess, 13), (.altered, 14), (.unverified, 16), (.waiting, 17),
        (.store(.other), 18), (.unsupported, 19),
    ]
}

extension Refusal.Cause {
    /// The reason for a fault of the database; `nil` for one that names none.
    fileprivate init?(_ fault: TresorError.Fault) {
        switch fault {
        case .inputOutput: self = .database
        case .readOnly: self = .readOnly
        case .damaged: self = .damaged
        case .schema: self = .schema
        default: return nil
        }
    }
}

// SPDX-License-Identifier: Apache-2.0

import TresorCore
package import TresorCrypto

/// The obstacle between a client and its service, for a person.
///
/// An error carries no text. This names hosts, names and dates, some of which come from others: who shows them makes
/// them fit to be shown.
package enum Obstacle: Hashable, Sendable {
    /// The system finds no address for the name of the host.
    case noAddress(Place)
    /// None of so many addresses of a host takes a connection.
    case noConnection(Place, addressCount: Int)
    /// The proxy makes no connection, and answers with this status.
    case refusedByProxy(status: Int)
    /// A proxy answers that the service behind it is away: 502, 503 or 504.
    case away(status: Int)
    /// The answer sends the client to another address; empty if it does not say where.
    case redirect(to: String)
    /// The answer has this status, and is that of a proxy or another program.
    case page(status: Int)
    /// A proxy gave the answer another form.
    case changed(Alteration)
    /// The other side does not speak HTTP.
    case noHTTP
    /// The connection carries too little in the time there is.
    case slow
    /// The other side does not speak TLS 1.3.
    case noTLS
    /// The certificate does not prove that the service has its name.
    case certificate(CertificateFault)
    /// The proxy before the service does not tell it who asks.
    case namelessProxy
    /// The proxy before the service speaks HTTP/1.0 to it.
    case olderProxy
    /// The service is there, and cannot do what it is asked now: its database or its file of revocations fails, or it ends.
    case unavailable
    /// The service was restored from a backup, and the log lacks a removal.
    case behind
    /// The service goes by other names than this host.
    case otherName(String)
    /// The service has no room: a limit of what somebody may keep is reached, or its disk is full.
    case noRoom(isQuota: Bool)
    /// A limit of how often somebody may ask: after so many minutes the service hears them again.
    case tooOften(minutes: UInt32)

    /// The obstacle that the status of a service's answer tells; `nil` for none.
    init?(_ status: Refusal.Status?, host: String) {
        switch status {
        case .namelessProxy: self = .namelessProxy
        case .olderVersion: self = .olderProxy
        case .misdirected: self = .otherName(host)
        case .unavailable: self = .unavailable
        case .behind: self = .behind
        default: return nil
        }
    }

    /// A host that was to be connected to.
    package struct Place: Hashable, Sendable {
        package let host: String
        package let isProxy: Bool
    }

    /// The forms that a service never gives to an answer.
    package enum Alteration: Hashable, Sendable {
        /// `Transfer-Encoding`.
        case chunked
        /// `Content-Encoding`.
        case compressed
        /// No `Content-Length`.
        case withoutLength
        /// HTTP/1.0.
        case older
    }

    /// The fault that goes with it.
    package var fault: TresorError.Fault {
        switch self {
        case .noAddress, .noConnection, .away, .slow, .noTLS: .unreachable
        case .refusedByProxy, .redirect, .page, .changed, .noHTTP: .foreign
        case .certificate: .certificate
        case .namelessProxy, .olderProxy, .unavailable, .otherName, .tooOften: .other
        case .noRoom: .full
        case .behind: .behind
        }
    }
}

/// Why a certificate is not accepted.
package enum CertificateFault: Hashable, Sendable {
    /// It is for these names, and not for the host.
    case name(names: [String], host: String)
    /// It was good until a time, in seconds since 1970. The clock of this machine shows another one.
    case expired(until: UInt64, now: UInt64)
    /// It is good from a time on.
    case early(from: UInt64, now: UInt64)
    /// Its issuer is none of the authorities in these files and directories.
    case authority(issuer: String, trusted: [String])
    /// Anything else, in OpenSSL's words for its number.
    case other(String)
}

/// Takes everything that the client of a service says beside answers and errors, on any thread.
package struct ServiceReport: Sendable {
    /// Takes what stood in the way of the last exchange; `nil` if nothing did.
    package var obstacle: @Sendable (Obstacle?) -> Void
    /// Takes how far a transfer is.
    package var transfer: @Sendable (Transfer) -> Void
    /// Takes whether a change may be made although no answer came.
    package var mayBeDone: @Sendable (Bool) -> Void
    /// Takes whether the service took the keys of the person in whose name it was asked last.
    package var areKeysTaken: @Sendable (Bool) -> Void
    /// Takes what the person should know beside the answer to a request.
    package var notice: @Sendable (ServiceNotice) -> Void

    package init(
        obstacle: @escaping @Sendable (Obstacle?) -> Void = { _ in },
        transfer: @escaping @Sendable (Transfer) -> Void = { _ in },
        mayBeDone: @escaping @Sendable (Bool) -> Void = { _ in },
        areKeysTaken: @escaping @Sendable (Bool) -> Void = { _ in },
        notice: @escaping @Sendable (ServiceNotice) -> Void = { _ in }
    ) {
        self.obstacle = obstacle
        self.transfer = transfer
        self.mayBeDone = mayBeDone
        self.areKeysTaken = areKeysTaken
        self.notice = notice
    }
}

/// How far the body of a request or of an answer is, in bytes.
package struct Transfer: Hashable, Sendable {
    package let isSent: Bool
    package let byteCount: Int
    package let total: Int
}

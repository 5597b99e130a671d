// SPDX-License-Identifier: Apache-2.0

import Synchronization
import TresorCrypto
import TresorRemote

/// The obstacle in the way of the last exchange with a service.
final class LastObstacle: Sendable {
    private let last = Mutex<Obstacle?>(nil)
    private let isOpen = Mutex(false)
    private let lack = Mutex<Bool?>(nil)
    private let isBehindRemoval = Mutex(false)

    var value: Obstacle? { last.withLock { $0 } }

    /// Whether a change may be made although no answer came.
    var mayBeDone: Bool { isOpen.withLock { $0 } }

    /// Whether a limit was reached where the service had no room last, and not a full disk; `nil` where it always had room.
    var isQuota: Bool? { lack.withLock { $0 } }

    /// Whether the service said of a log that it lacks a removal.
    var isBehind: Bool { isBehindRemoval.withLock { $0 } }

    func note(_ obstacle: Obstacle?) {
        last.withLock { $0 = obstacle }
        // What is given back after it has an answer of its own.
        if case .noRoom(let isQuota)? = obstacle { lack.withLock { $0 = isQuota } }
        if case .behind? = obstacle { isBehindRemoval.withLock { $0 = true } }
    }

    func note(mayBeDone: Bool) { isOpen.withLock { $0 = mayBeDone } }
}

extension Obstacle {
    /// The reason of a failure, in the command's words.
    var words: String {
        switch fault {
        case .unreachable: "it cannot be reached: \(detail)"
        case .foreign: "the answer is not that of a tresor service: \(detail)"
        default: detail
        }
    }

    private var detail: String {
        switch self {
        case .noAddress(let place): "no address is found for \(place.words)"
        case .noConnection(let place, let count):
            "\(count == 1 ? "1 address" : "\(count) addresses") of \(place.words) \(count == 1 ? "was" : "were") tried"
        case .refusedByProxy(407): "the proxy wants a log-in, which this program does not have (status 407)"
        case .refusedByProxy(let status): "the proxy makes no connection to it (status \(status))"
        case .away(let status):
            "a proxy says that the service behind it is away (status \(status)); try again later"
        case .redirect(let target):
            "a proxy or a log-in page sends you to \(DisplayText.quoted(String(target.prefix(200)))); log in there with a "
                + "browser, or check the address"
        case .page(413): "a proxy takes no request of this size (status 413); ask its operator to let 16 MiB pass"
        case .page(let status):
            "a proxy, a log-in page or another program answers with status \(status); check the address"
        case .changed(let change): "a proxy changes it: \(change.words); ask its operator to leave answers as they are"
        case .noHTTP: "it is not HTTP that can be read; check the address"
        case .slow: "it does not answer in time, or the line is too slow"
        case .noTLS: "what answers does not speak TLS 1.3; check the address"
        case .certificate(let fault): fault.words
        case .namelessProxy:
            "the proxy before it is set up wrongly, and does not say who asks (X-Forwarded-For); tell the operator"
        case .olderProxy:
            "the proxy before it is set up wrongly, and speaks HTTP/1.0 to it, not HTTP/1.1; tell the operator"
        case .unavailable: "the service cannot do this now (status 503); try again later, or tell the operator"
        case .behind:
            "the service was restored from a backup, and lacks a removal; somebody who has seen it runs tresor check "
                + "--repair -t NAME, an owner first; until then, nobody else writes there"
        case .otherName(let host):
            "the service goes by other names than \(DisplayText.quoted(host)); check the address, or tell the operator"
        case .noRoom(let isQuota):
            isQuota ? "a limit of what somebody may keep is reached" : "its disk is full; tell its operator"
        case .tooOften(let minutes): "it is asked too often; run the command again in \(minutes) min"
        }
    }
}

extension Obstacle.Place {
    fileprivate var words: String { (isProxy ? "the proxy " : "") + DisplayText.quoted(host) }
}

extension Obstacle.Alteration {
    fileprivate var words: String {
        switch self {
        case .chunked: "it comes in chunks"
        case .compressed: "it is compressed"
        case .withoutLength: "its length is missing"
        case .older: "it comes in HTTP/1.0"
        }
    }
}

extension CertificateFault {
    fileprivate var words: String {
        switch self {
        case .name([], let host): "its certificate names no host, and not \(DisplayText.quoted(host))"
        case .name(let names, let host):
            "its certificate is for \(Self.list(names)), and not for \(DisplayText.quoted(host))"
        case .expired(let end, let now): "its certificate was good until \(Self.time(end)); \(Self.clock(now))"
        case .early(let start, let now): "its certificate is good from \(Self.time(start)) on; \(Self.clock(now))"
        case .authority(_, []):
            "this machine has no certificates of authorities; install ca-certificates, or name those of the service"
        case .authority(let issuer, let trusted):
            "its certificate comes from \(DisplayText.quoted(issuer)), for whom no certificate in "
                + "\(Self.list(trusted)) vouches"
        case .other(let reason): "its certificate is not accepted: \(DisplayText.escaped(reason))"
        }
    }

    private static func list(_ texts: [String]) -> String {
        texts.map { DisplayText.quoted($0) }.joined(separator: ", ")
    }

    private static func time(_ seconds: UInt64) -> String { Timestamp(seconds: seconds).dateAndMinute }

    private static func clock(_ now: UInt64) -> String {
        "the clock of this machine shows \(time(now)): set it if it is wrong"
    }
}

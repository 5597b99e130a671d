// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The log-ins by password that a home knows of (SPEC §20.5): the newest statement at each service, and the tries in a row
/// at each address that the password did not open. A server can claim to be any service, and not to be at another address:
/// so the tries are those of the address.
package struct KnownLogins: Hashable, Sendable {
    /// The log-in at one service, or the tries at one address.
    package struct Login: Hashable, Sendable {
        /// The newest statement that this home has seen; `nil` for none.
        package var statement: LoginStatement?
        /// The tries in a row that did not open with the password.
        package var failures: UInt8 = 0
        /// The time of the last of them, in seconds since 1970; 0 for none.
        package var failed: UInt64 = 0

        package init() {}
    }

    /// The failures in a row after which a client sends nothing for a while.
    package static let mostFailures: UInt8 = 3
    /// The time for which it sends nothing, in seconds: 15 minutes.
    package static let pause: UInt64 = 900

    /// By the id of the service, or the hash of the address.
    private var logins: [Hash256: Login] = [:]

    package init() {}

    /// Decodes the known log-ins; the ids of the services must rise strictly.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``.
    package init(_ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        try decoder.preamble(.knownLogins)
        var servers: [Hash256] = []
        while decoder.remaining > 0 {
            let server = try decoder.digest()
            servers.append(server)
            var login = Login()
            let statement = try decoder.emptyOr(LoginStatement.byteCount)
            login.statement = statement.isEmpty ? nil : try LoginStatement(statement)
            guard login.statement?.server ?? server == server else { throw .altered }
            login.failures = try decoder.integer()
            login.failed = try decoder.time()
            logins[server] = login
        }
        try ByteDecoder.checkRising(servers)
    }

    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        encoder.preamble(.knownLogins)
        for (server, login) in logins.sorted(by: { $0.key < $1.key }) {
            encoder.digest(server)
            encoder.vector8(login.statement?.bytes ?? [])
            encoder.integer(login.failures)
            encoder.integer(login.failed)
        }
        return encoder.bytes
    }

    /// Another home of a person gets: the newest statement about their log-in at each service. Tries are those of one
    /// home, and what others left in it stays there.
    package func statements(of user: UserID) -> KnownLogins {
        var all = KnownLogins()
        for (server, login) in logins where login.statement?.user == user {
            all.logins[server] = Login()
            all.logins[server]?.statement = login.statement
        }
        return all
    }

    /// The log-ins of this home with the statements of another one of the same person: the newer one of each service stays.
    ///
    /// - Parameter replaces: whether the other home's statement takes the place of another one of the same revision.
    /// - Throws: ``TresorError/forked`` where it does not, and there are two of one revision.
    package func joined(with others: KnownLogins, replacing replaces: Bool) throws(TresorError) -> KnownLogins {
        var all = self
        for (server, statement) in others.logins.compactMapValues(\.statement) {
            if let known = logins[server]?.statement, known.user == statement.user {
                guard replaces || known.revision != statement.revision || known == statement else { throw .forked }
                guard known.revision <= statement.revision else { continue }
            }
            all.logins[server, default: Login()].statement = statement
        }
        return all
    }

    /// Whether nothing is known.
    package var isEmpty: Bool { logins.isEmpty }

    /// Reads the log-in at a service, or the tries at an address.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``; the errors of the home.
    package static func login(at server: Hash256, in home: any Home) throws(TresorError) -> Login {
        try read(from: home).logins[server] ?? Login()
    }

    /// The ids of the services at which a home knows of a log-in by a password of a person.
    ///
    /// - Throws: ``TresorError/altered`` or ``TresorError/unsupported``; the errors of the home.
    package static func servers(of user: UserID, in home: any Home) throws(TresorError) -> Set<Hash256> {
        Set(
            try read(from: home).logins.values.compactMap(\.statement).filter { $0.hasPassword && $0.user == user }.map(
                \.server))
    }

    /// Notes a statement that the service showed, after it was proved.
    ///
    /// A service that shows an older one, or another of the same revision, wants a former password to count.
    ///
    /// - Returns: whether the home knew an older statement of this person.
    /// - Throws: ``TresorError/forked`` for an older statement than the home knows, and for another one of the same
    ///   revision; the errors of the home.
    @discardableResult
    package static func note(_ statement: LoginStatement, in home: any Home) throws(TresorError) -> Bool {
        try change(at: statement.server, in: home) { (login) throws(TresorError) in
            let known = login.statement.flatMap { $0.user == statement.user ? $0 : nil }
            if let known {
                guard statement.revision > known.revision || statement == known else { throw .forked }
            }
            login.statement = statement
            return known.map { $0 != statement } ?? false
        }
    }

    /// Counts a try before anything is sent, as if it failed: other processes try at the same time, and one may be killed.
    ///
    /// - Parameters:
    ///   - audience: the hash of the address.
    ///   - time: the time of the try, in seconds since 1970.
    /// - Returns: the tries before it.
    /// - Throws: ``TresorError/busy`` while nothing is sent; the errors of the home.
    package static func beginTry(
        at audience: Hash256, _ time: UInt64, in home: any Home
    ) throws(TresorError) -> Login {
        try change(at: audience, in: home) { (login) throws(TresorError) in
            guard login.blockedUntil(at: time) == nil else { throw .busy }
            let before = login
            login.failures = login.failures == .max ? .max : login.failures + 1
            login.failed = time
            return before
        }
    }

    /// Takes back a try that tested no password, or the right one. Those of other processes stay.
    package static func takeBack(
        _ before: Login, at audience: Hash256, in home: any Home
    ) throws(TresorError) {
        try change(at: audience, in: home) { (login) throws(TresorError) in
            guard login.failures > 0 else { return }
            login.failures -= 1
            if login.failures == 0 {
                login.failed = 0
            } else if login.failures <= before.failures {
                login.failed = before.failed
            }
        }
    }

    /// Notes that the password opened what an address answered.
    package static func forgetFailures(at audience: Hash256, in home: any Home) throws(TresorError) {
        guard try login(at: audience, in: home).failures > 0 else { return }
        try change(at: audience, in: home) { (login) throws(TresorError) in
            login.failures = 0
            login.failed = 0
        }
    }

    /// Forgets the log-in at a service, which is taken as it shows itself next: somebody restored it from a backup. Known
    /// log-ins that do not decode are forgotten altogether, whatever the service.
    package static func forget(at server: Hash256?, in home: any Home) throws(TresorError) {
        try home.exclusively { () throws(TresorError) in
            guard let bytes = try home.read(.knownLogins) else { return }
            var known = (try? KnownLogins(bytes)) ?? KnownLogins()
            if let server { known.logins[server] = nil }
            try home.replace(.knownLogins, with: known.bytes)
        }
    }

    private static func read(from home: any Home) throws(TresorError) -> KnownLogins {
        try home.read(.knownLogins).map { (bytes) throws(TresorError) in try KnownLogins(bytes) } ?? KnownLogins()
    }

    private static func change<Value>(
        at server: Hash256, in home: any Home, _ change: (inout Login) throws(TresorError) -> Value
    ) throws(TresorError) -> Value {
        try home.exclusively { () throws(TresorError) in
            var known = try read(from: home)
            var login = known.logins[server] ?? Login()
            let value = try change(&login)
            let next = login == Login() ? nil : login
            guard known.logins[server] != next else { return value }
            known.logins[server] = next
            // A try that was taken back leaves an empty home empty.
            if known.logins.isEmpty {
                try home.delete(.knownLogins)
            } else {
                try home.replace(.knownLogins, with: known.bytes)
            }
            return value
        }
    }
}

extension KnownLogins.Login {
    /// The time until which nothing is sent, in seconds since 1970: each further answer would test one guess of a
    /// password for the one who answers. `nil` if something may be sent.
    package func blockedUntil(at now: UInt64) -> UInt64? {
        let until = failed + KnownLogins.pause
        // A clock that was put back does not block for longer.
        return failures >= KnownLogins.mostFailures && (failed...until).contains(now) ? until : nil
    }
}

// SPDX-License-Identifier: Apache-2.0

#if Server
    package import TresorCore
    import TresorCrypto

    /// The settings of a service.
    package struct ServiceSettings: Sendable {
        /// The description of the service, whose id each session names.
        package var server: Server
        /// The user who admits people and invites them.
        package var `operator`: UserID
        package var registration: Registration
        package var quotas: Quotas
        /// The people whom each tresor that is shared must name as approvers.
        package var approvers: [CardChain]
        /// The clock, in seconds since 1970.
        package var clock: @Sendable () -> UInt64
        /// The clock by which limits fill again, which nobody sets.
        package var steadyClock: @Sendable () -> ContinuousClock.Instant = { .now }
        /// The memory that the states of logs may take, in bytes. That of one log takes at most half.
        package var stateByteCount = StateCache.memoryByteCount
        /// The secret of log-ins by password; `nil` for a process that has no server key, and refuses them.
        package var logins: LoginSecret?
        /// Where revocations are written down; `nil` for nowhere.
        package var revocations: (any RevocationLog)?

        package init(
            server: Server, operator: UserID, registration: Registration, quotas: Quotas = Quotas(),
            approvers: [CardChain] = [], clock: @escaping @Sendable () -> UInt64
        ) {
            self.server = server
            self.operator = `operator`
            self.registration = registration
            self.quotas = quotas
            self.approvers = approvers
            self.clock = clock
        }

        /// Writes revocations down, before the transaction that makes them ends.
        ///
        /// - Throws: the errors of the file, and then the transaction must not end well.
        func note(_ revoked: [Revocation]) throws(TresorError) {
            for revocation in revoked { try revocations?.append(revocation) }
        }
    }

    /// The limits of an account. Removing a member and leaving are never refused because of one.
    package struct Quotas: Hashable, Sendable {
        /// The number of tresors that a person founds, with those that were deleted.
        package var tresors: UInt64 = 1_000
        /// The number of entries in a log.
        package var entries: UInt64 = 100_000
        /// The bytes of the entries, wraps and blobs of all tresors that a person founded.
        package var bytes: UInt64 = 1 << 30
        /// The number of kit copies.
        package var kitCopies: UInt64 = 16
        /// The number of devices.
        package var devices: UInt64 = 256
        /// The number of requests a second. An account that was quiet may send ten times as many at once.
        package var requestsPerSecond: UInt32 = 50
        /// The number of open cases of registration.
        package var openCases: UInt64 = 1_000

        package init() {}
    }
#endif

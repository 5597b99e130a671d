// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The state of an account with a service.
package enum AccountState: UInt8, Sendable {
    /// The person has asked for an account. The handle is reserved for them.
    case asked = 1
    /// The person has sent all that is needed. The operator has to admit them.
    case complete = 2
    /// The person is admitted, and their card is published.
    case active = 3
    /// The person has deleted the account. The handle stays theirs, since logs hold it.
    case closed = 4

    /// Reads a byte.
    ///
    /// - Throws: ``TresorError/altered`` for one that is no state.
    init(from decoder: inout ByteDecoder) throws(TresorError) {
        guard let state = Self(rawValue: try decoder.integer()) else { throw .altered }
        self = state
    }
}

/// Asks for an account under the handle of a card chain: the first step of a registration.
package struct RegisterRequest: ServiceRequest {
    package typealias Answer = RegisterAnswer
    package static let operation = ServiceOperation.register

    package let chain: [UInt8]
    /// The code of an invitation, 16 bytes; empty for none.
    package let invitation: [UInt8]
    /// The blinded element of a log-in by password, 32 bytes; empty for none.
    package let blinded: [UInt8]

    package init(chain: [UInt8], invitation: [UInt8], blinded: [UInt8]) {
        self.chain = chain
        self.invitation = invitation
        self.blinded = blinded
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.vector32(chain)
        encoder.vector8(invitation)
        encoder.vector8(blinded)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        chain = try decoder.vector32(1...CardChain.maximumByteCount)
        invitation = try decoder.emptyOr(Invitation.byteCount)
        blinded = try decoder.emptyOr(32)
    }
}

/// The state of an account, and the evaluated element of a log-in by password.
package struct RegisterAnswer: ServiceMessage {
    package let state: AccountState
    /// 32 bytes; empty for none.
    package let evaluated: [UInt8]

    package init(state: AccountState, evaluated: [UInt8]) {
        self.state = state
        self.evaluated = evaluated
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.integer(state.rawValue)
        encoder.vector8(evaluated)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        state = try AccountState(from: &decoder)
        evaluated = try decoder.emptyOr(32)
    }
}

/// Sends all that a service keeps for a person: the second step of a registration.
package struct FinishRequest: ServiceRequest {
    package typealias Answer = FinishAnswer
    package static let operation = ServiceOperation.finish
    /// The size in bytes of the record of a log-in by password: 192.
    package static let recordByteCount = 192

    /// The record of a log-in by password; empty for none.
    package let record: [UInt8]
    package let statement: LoginStatement
    /// The login copy; empty for none.
    package let copy: [UInt8]

    package init(record: [UInt8], statement: LoginStatement, copy: [UInt8]) {
        self.record = record
        self.statement = statement
        self.copy = copy
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.vector8(record)
        statement.encode(to: &encoder)
        encoder.vector32(copy)
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        record = try decoder.emptyOr(Self.recordByteCount)
        statement = try LoginStatement(from: &decoder)
        copy = try decoder.vector32(0...IdentityFile.maximumByteCount)
        guard record.isEmpty == copy.isEmpty, record.isEmpty == (statement.record == .zero) else { throw .altered }
    }
}

/// The state of an account.
package struct FinishAnswer: ServiceMessage {
    package let state: AccountState

    package init(state: AccountState) { self.state = state }

    package func encode(to encoder: inout ByteEncoder) { encoder.integer(state.rawValue) }

    package init(from decoder: inout ByteDecoder) throws(TresorError) { state = try AccountState(from: &decoder) }
}

/// Asks for the speaker's own account.
package struct AccountRequest: ServiceRequest, EmptyMessage {
    package typealias Answer = AccountAnswer
    package static let operation = ServiceOperation.account

    package init() {}
}

/// An account with its sizes and limits.
package struct AccountAnswer: ServiceMessage {
    package let state: AccountState
    /// The newest statement about their log-in; `nil` for none.
    package let statement: LoginStatement?
    /// Whether the service has the record of that statement: it drops it when the person makes new keys.
    package let hasRecord: Bool
    /// The log-ins under the handle, since that statement, that nobody ended with the password.
    package let failures: UInt64
    /// The time of the last of them, in seconds since 1970; 0 for none.
    package let failed: UInt64
    /// The number of tresors that the person founded, and the bytes of their logs and wraps.
    package let tresors: UInt64
    package let bytes: UInt64
    /// The limits of these, and of the entries of one log.
    package let maximumTresors: UInt64
    package let maximumBytes: UInt64
    package let maximumEntries: UInt64

    package init(
        state: AccountState, statement: LoginStatement?, hasRecord: Bool, failures: UInt64, failed: UInt64,
        tresors: UInt64, bytes: UInt64, maximumTresors: UInt64,
        maximumBytes: UInt64, maximumEntries: UInt64
    ) {
        self.state = state
        self.statement = statement
        self.hasRecord = hasRecord
        self.failures = failures
        self.failed = failed
        self.tresors = tresors
        self.bytes = bytes
        self.maximumTresors = maximumTresors
        self.maximumBytes = maximumBytes
        self.maximumEntries = maximumEntries
    }

    package func encode(to encoder: inout ByteEncoder) {
        encoder.integer(state.rawValue)
        encoder.vector8(statement?.bytes ?? [])
        encoder.flag(hasRecord)
        for number in [failures, failed, tresors, bytes, maximumTresors, maximumBytes, maximumEntries] {
            encoder.integer(number)
        }
    }

    package init(from decoder: inout ByteDecoder) throws(TresorError) {
        state = try AccountState(from: &decoder)
        let statement = try decoder.emptyOr(LoginStatement.byteCount)
        self.statement = statement.isEmpty ? nil : try LoginStatement(statement)
        hasRecord = try decoder.flag()
        failures = try decoder.integer()
        failed = try decoder.time()
        guard !hasRecord || self.statement?.hasPassword == true else { throw .altered }
        tresors = try decoder.integer()
        bytes = try decoder.integer()
        maximumTresors = try decoder.integer()
        maximumBytes = try decoder.integer()
        maximumEntries = try decoder.integer()
    }
}

/// Ends all sessions of the speaker: it begins another era of their account.
package struct EndSessionsRequest: ServiceRequest, EmptyMessage {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.endSessions

    package init() {}
}

/// Deletes the speaker's account. Chain and handle stay, since logs hold them.
package struct DeleteAccountRequest: ServiceRequest, EmptyMessage {
    package typealias Answer = DoneAnswer
    package static let operation = ServiceOperation.deleteAccount

    package init() {}
}

// SPDX-License-Identifier: Apache-2.0

package import TresorCrypto

/// The body of an entry: the registry of SPEC §9.2. Each case is a ``LogBody`` in `Bodies/`.
///
/// Validation and effect dispatch by a switch over the cases. A log is long, and an existential would be allocated for
/// each entry.
package enum EntryBody: Hashable, Sendable {
    case genesis(GenesisBody)
    case grant(GrantBody)
    case approve(ApproveBody)
    case refuse(RefuseBody)
    case remove(RemoveBody)
    case leave
    case renew(RenewBody)
    case epoch(EpochBody)
    case role(RoleBody)
    case rename(RenameBody)
    case approvers(ApproversBody)
    case commit(CommitBody)
    case checkpoint(CheckpointBody)
    case additive(AdditiveBody)

    /// Reads the body of an entry.
    ///
    /// - Throws: ``TresorError/altered``; ``TresorError/unsupported`` for a number below 128 that this release does not
    ///   know.
    package init(type: UInt16, _ bytes: [UInt8]) throws(TresorError) {
        var decoder = ByteDecoder(bytes)
        switch type {
        case GenesisBody.type: self = .genesis(try GenesisBody(from: &decoder))
        case GrantBody.type: self = .grant(try GrantBody(from: &decoder))
        case ApproveBody.type: self = .approve(try ApproveBody(from: &decoder))
        case RefuseBody.type: self = .refuse(try RefuseBody(from: &decoder))
        case RemoveBody.type: self = .remove(try RemoveBody(from: &decoder))
        case LeaveBody.type: self = .leave
        case RenewBody.type: self = .renew(try RenewBody(from: &decoder))
        case EpochBody.type: self = .epoch(try EpochBody(from: &decoder))
        case RoleBody.type: self = .role(try RoleBody(from: &decoder))
        case RenameBody.type: self = .rename(try RenameBody(from: &decoder))
        case ApproversBody.type: self = .approvers(try ApproversBody(from: &decoder))
        case AdditiveBody.leastType...: self = try .additive(type: type, bytes)
        default: throw .unsupported
        }
        // An additive body has read all.
        if type < AdditiveBody.leastType { try decoder.end() }
    }

    /// Reads an additive body. One of a known type that does not read keeps its bytes and has no effect.
    private static func additive(type: UInt16, _ bytes: [UInt8]) throws(TresorError) -> EntryBody {
        var decoder = ByteDecoder(bytes)
        let known: EntryBody? =
            switch type {
            case CommitBody.type: (try? CommitBody(from: &decoder)).map { .commit($0) }
            case CheckpointBody.type: (try? CheckpointBody(from: &decoder)).map { .checkpoint($0) }
            default: nil
            }
        if let known, decoder.remaining == 0 { return known }
        var whole = ByteDecoder(bytes)
        return .additive(try AdditiveBody(type: type, from: &whole))
    }

    /// Whether every program accepts the body from every owner and writer; a rule that it breaks makes it void.
    var isAdditive: Bool { type >= AdditiveBody.leastType }

    private var content: any LogBody {
        switch self {
        case .genesis(let body): body
        case .grant(let body): body
        case .approve(let body): body
        case .refuse(let body): body
        case .remove(let body): body
        case .leave: LeaveBody()
        case .renew(let body): body
        case .epoch(let body): body
        case .role(let body): body
        case .rename(let body): body
        case .approvers(let body): body
        case .commit(let body): body
        case .checkpoint(let body): body
        case .additive(let body): body
        }
    }

    /// The registered number (SPEC §9.2).
    package var type: UInt16 { content.type }

    /// The epoch that begins with this entry.
    package var nextEpoch: Epoch? { content.nextEpoch }

    /// The blobs that the body names: a pack with its attachments, or volumes.
    package var blobs: [Blob] {
        switch self {
        case .commit(let commit): commit.blobs
        case .checkpoint(let checkpoint): checkpoint.volumes
        default: []
        }
    }

    /// The name in SPEC §9.2.
    var name: String { content.name }

    /// The change that a log shows.
    var change: LogRecord.Change { content.change }

    /// The users that the body names.
    var users: [UserID] { content.users }

    /// The encoded body, without number and length.
    package var bytes: [UInt8] {
        var encoder = ByteEncoder()
        content.encode(into: &encoder)
        return encoder.bytes
    }

    /// The permissions of SPEC §9.2.
    func isPermitted(to author: Author, of entry: Entry, in state: LogState) -> Bool {
        switch self {
        case .genesis(let body): body.isPermitted(to: author, of: entry, in: state)
        case .grant(let body): body.isPermitted(to: author, of: entry, in: state)
        case .approve(let body): body.isPermitted(to: author, of: entry, in: state)
        case .refuse(let body): body.isPermitted(to: author, of: entry, in: state)
        case .remove(let body): body.isPermitted(to: author, of: entry, in: state)
        case .leave: LeaveBody().isPermitted(to: author, of: entry, in: state)
        case .renew(let body): body.isPermitted(to: author, of: entry, in: state)
        case .epoch(let body): body.isPermitted(to: author, of: entry, in: state)
        case .role(let body): body.isPermitted(to: author, of: entry, in: state)
        case .rename(let body): body.isPermitted(to: author, of: entry, in: state)
        case .approvers(let body): body.isPermitted(to: author, of: entry, in: state)
        case .commit(let body): body.isPermitted(to: author, of: entry, in: state)
        case .checkpoint(let body): body.isPermitted(to: author, of: entry, in: state)
        case .additive(let body): body.isPermitted(to: author, of: entry, in: state)
        }
    }

    /// The rules of the body (SPEC §9.3).
    func check(_ validator: EntryValidator, in state: LogState) throws(Violation) {
        switch self {
        case .genesis(let body): try body.check(validator, in: state)
        case .grant(let body): try body.check(validator, in: state)
        case .approve(let body): try body.check(validator, in: state)
        case .refuse(let body): try body.check(validator, in: state)
        case .remove(let body): try body.check(validator, in: state)
        case .leave: try LeaveBody().check(validator, in: state)
        case .renew(let body): try body.check(validator, in: state)
        case .epoch(let body): try body.check(validator, in: state)
        case .role(let body): try body.check(validator, in: state)
        case .rename(let body): try body.check(validator, in: state)
        case .approvers(let body): try body.check(validator, in: state)
        case .commit(let body): try body.check(validator, in: state)
        case .checkpoint(let body): try body.check(validator, in: state)
        case .additive(let body): try body.check(validator, in: state)
        }
    }

    /// The effect of the body (SPEC §9.4).
    func apply(_ effect: EntryEffect, to state: inout LogState) {
        switch self {
        case .genesis(let body): body.apply(effect, to: &state)
        case .grant(let body): body.apply(effect, to: &state)
        case .approve(let body): body.apply(effect, to: &state)
        case .refuse(let body): body.apply(effect, to: &state)
        case .remove(let body): body.apply(effect, to: &state)
        case .leave: LeaveBody().apply(effect, to: &state)
        case .renew(let body): body.apply(effect, to: &state)
        case .epoch(let body): body.apply(effect, to: &state)
        case .role(let body): body.apply(effect, to: &state)
        case .rename(let body): body.apply(effect, to: &state)
        case .approvers(let body): body.apply(effect, to: &state)
        case .commit(let body): body.apply(effect, to: &state)
        case .checkpoint(let body): body.apply(effect, to: &state)
        case .additive(let body): body.apply(effect, to: &state)
        }
    }
}

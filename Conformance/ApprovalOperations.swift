// SPDX-License-Identifier: Apache-2.0

import Tresor
import TresorCore
import TresorCrypto

/// Keys of people who wait, and of approvers (SPEC §9.11).
enum ApprovalOperations {
    static func openApproval(_ input: VectorFields) throws -> VectorFields {
        let identity = try input.identity()
        let (state, epoch) = (try input.state(), try input.integer("e"))
        let wrap = try UnverifiedWrap(input.bytes("wrap"))
        guard let statement = state.statement(of: epoch) else { throw TresorError.altered }
        guard let card = state.chain(of: identity.user)?.card(generation: wrap.generation) else {
            throw TresorError.altered
        }
        let key = try wrap.openApproval(as: identity, of: state.tresor, statement: statement, card: card)
        let own = try key.key(of: UserID(input.digest("user")))
        return VectorFields(["A": key.publicBytes, "A_u": own.span.publicBytes])
    }

    static func openWaitingWrap(_ input: VectorFields) throws -> VectorFields {
        let identity = try input.identity()
        let (state, epoch) = (try input.state(), try input.integer("e"))
        let wrap = try UnverifiedWrap(input.bytes("wrap"))
        guard let statement = state.statement(of: epoch), let chain = state.chain(of: identity.user),
            let card = chain.card(generation: wrap.generation)
        else { throw TresorError.altered }
        guard let member = state.members[identity.user] else { throw state.refusal(of: identity.user) }
        let approval = try input.list("log")[Int(member.since)]
        let released = try ReleasedKeys(approval: approval, at: member.since, in: state, for: identity)
        let sealed = try wrap.sealedKeys(as: identity, of: state.tresor, statement: statement, card: card)
        let keys = try wrap.openWaiting(
            sealed, of: state.tresor, statement: statement, history: member.history, key: released.key(of: epoch))
        let secret = try keys.secret()
        return VectorFields(["keys": secret.span.publicBytes])
    }
}

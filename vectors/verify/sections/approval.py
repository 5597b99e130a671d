# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.11: approval. approval.json."""
from verify.sections.conventions import note, require, u64, use
from verify.sections.encoding import Reader, opaque16, opaque32, preamble
from verify.sections.suite import hpke_unwrap
from verify.sections.tc1 import derive, tc1_open
from verify.sections.bodies import APPROVE, read_body, read_entry
from verify.sections.epochs import check_keys, fitting_wrap, wrap_info


# 9.11 Approval

def approval_key(tresor, epoch, HK):
    return derive(HK, "tresor/v1/approval-key", tresor + u64(epoch))


def approval_member(A, user):
    return derive(A, "tresor/v1/approval-member", user)


def approval_context(tresor, epoch, user):
    return tresor + u64(epoch) + user


def approver_info(tresor, epoch, user, card):
    return use("tresor/v1/approval-wrap", "wrap") + tresor + u64(epoch) + user + card.hash


def release_info(tresor, grant, epoch, user, card):
    return use("tresor/v1/approval-release", "wrap") + tresor + grant + u64(epoch) + user + card.hash


def open_approver_wrap(data, state, epoch, identity, trace=None):
    wrap, card = fitting_wrap(data, state.tresor, epoch, state.chains[identity.user], identity)
    require(len(wrap.ct) == 48)
    info = approver_info(state.tresor, epoch.number, wrap.user, card)
    note(trace, info=info, enc=wrap.enc, ct=wrap.ct)
    return hpke_unwrap(identity.keys[wrap.generation].kem_seed, info, wrap.enc, wrap.ct, trace)


def released(state, approve, identity, trace=None):
    """The approval keys that an entry *approve* of this log releases to me, by epoch."""
    entry = read_entry(approve)
    require(state.contains(entry.sequence, entry.hash) and entry.type == APPROVE)
    body = read_body(entry.type, entry.body_bytes)
    release = next((release for release in body.releases if release.user == identity.user), None)
    require(release is not None)
    card = state.chains[identity.user].card(release.generation)
    require(card is not None)
    require(release.generation < len(identity.keys), "no_access")
    info = release_info(state.tresor, body.grant, body.approved_epoch, identity.user, card)
    note(trace, info=info, enc=release.enc, ct=release.ct)
    keys = hpke_unwrap(identity.keys[release.generation].kem_seed, info, release.enc, release.ct, trace)
    first = body.approved_epoch - len(keys) // 32 + 1
    return {first + place: keys[32 * place:32 * place + 32] for place in range(len(keys) // 32)}


def open_waiting_wrap(data, state, epoch, identity, approve, trace=None):
    """The keys (TK, HK or none) in a waiting wrap of a member whom `approve` let in."""
    wrap, card = fitting_wrap(data, state.tresor, epoch, state.chains[identity.user], identity)
    require(len(wrap.ct) in (120, 152))
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")
    require(me.approved_by is not None)
    A = released(state, approve, identity).get(epoch.number)
    require(A is not None)
    sealed = hpke_unwrap(identity.keys[wrap.generation].kem_seed, wrap_info(state.tresor, epoch.number, wrap.user, card), wrap.enc, wrap.ct)
    note(trace, A_u=A, sealed=sealed)
    plaintext = tc1_open(A, "tresor/v1/approval-seal", approval_context(state.tresor, epoch.number, identity.user), sealed, trace)
    TK, HK = plaintext[:32], plaintext[32:] or None
    require(len(plaintext) in (32, 64) and (HK is not None) == (me.history == 0))
    check_keys(state.tresor, epoch, TK, HK)
    return TK, HK


def read_approval_evidence(data):
    reader = Reader(data)
    reader.preamble(b"tresorB1")
    evidence = (reader.digest(), reader.opaque32(1, 1048576), reader.opaque16(1, 1359), reader.opaque16(0, 65535))
    reader.end()
    return evidence


def encode_approval_evidence(tresor, approve, wrap, opened):
    return preamble(b"tresorB1") + tresor + opaque32(approve) + opaque16(wrap) + opaque16(opened)

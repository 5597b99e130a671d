# SPDX-License-Identifier: Apache-2.0
"""The operations of wrap.json and approval.json."""
from verify.libraries import ChaCha20Poly1305
from verify.sections.conventions import ZERO, Refused, require
from verify.sections.suite import check_kem_key, key_schedule, xwing_combine, xwing_secrets
from verify.sections.identity import read_chain
from verify.sections.identity_file import Identity, open_previous
from verify.sections.home import read_kept_wraps
from verify.sections.fold import fold
from verify.sections.epochs import make_wrap, open_wrap, read_wrap, wrap_info
from verify.sections.approval import approval_key, approval_member, open_approver_wrap, open_waiting_wrap
from verify.sections.keys import keys_of
from verify.operations.operation import identity_in, number_in, one_epoch, operation


@operation("checkKEMKey")
def test_check_kem_key(i, trace):
    check_kem_key(i["pk"])
    return {"pk": i["pk"]}


def unwrap_unchecked(i, chain, identity):
    """What a program opens that takes zero for the X25519 secret instead of refusing a point of low order."""
    wrap = read_wrap(i["wrap"])
    mlkem, x25519 = xwing_secrets(identity.keys[wrap.generation].kem_seed)
    ct_m, ct_x = wrap.enc[:1088], wrap.enc[1088:]
    secret = xwing_combine(mlkem.decapsulate(ct_m), ZERO, ct_x, x25519.public_key().public_bytes_raw())
    key, nonce = key_schedule(secret, wrap_info(wrap.tresor, wrap.epoch, wrap.user, chain.card(wrap.generation)))
    return ChaCha20Poly1305(key).decrypt(nonce, wrap.ct, None)


@operation("openWrap")
def test_open_wrap(i, trace):
    chain, own = read_chain(i["chain"]), read_chain(i["own chain"])
    identity = Identity(own, open_previous(own, i["S"], i["previous"]))
    epoch = one_epoch(i["epoch"])
    if "plaintext without the check" in trace:
        assert unwrap_unchecked(i, chain, identity) == trace["plaintext without the check"]
    TK, HK = open_wrap(i["wrap"], i["tresor"], epoch, chain, number_in(i["history"]), identity, trace=trace)
    keys = TK + (HK or b"")
    if "eseed" in trace:
        wrap = read_wrap(i["wrap"])
        again = make_wrap(i["tresor"], epoch.number, wrap.user, chain.card(wrap.generation), keys, trace["eseed"])
        assert again == i["wrap"], "eseed does not give this wrap"
    return {"keys": keys}


@operation("keysOf")
def test_keys_of(i, trace):
    def from_store():
        require(i.get("store fails") != b"\1", "store")
        return [(number_in(row[:8]), row[8:]) for row in i["wraps"]]
    try:
        kept = read_kept_wraps(i["kept wraps"]) if "kept wraps" in i else []
    except Refused:
        kept = []
    from_home = [(epoch, wrap) for tresor, epoch, wrap in kept if tresor == i["tresor"]]
    TK, HK = keys_of(fold(i["tresor"], i["log"]), identity_in(i), from_store, from_home, number_in(i["e"]), i["log"])
    return {"keys": TK + (HK or b"")}


@operation("openApproval")
def test_open_approval(i, trace):
    state, epoch = fold(i["tresor"], i["log"]), number_in(i["e"])
    A = open_approver_wrap(i["wrap"], state, state.epochs[epoch], identity_in(i), trace)
    if "HK" in trace:
        assert approval_key(i["tresor"], epoch, trace["HK"]) == A
    return {"A": A, "A_u": approval_member(A, i["user"])}


@operation("openWaitingWrap")
def test_open_waiting_wrap(i, trace):
    state, identity = fold(i["tresor"], i["log"]), identity_in(i)
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")
    TK, HK = open_waiting_wrap(i["wrap"], state, state.epochs[number_in(i["e"])], identity, i["log"][me.since], trace)
    return {"keys": TK + (HK or b"")}

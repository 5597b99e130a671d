# SPDX-License-Identifier: Apache-2.0
"""The operations of log.json and epoch.json."""
from verify.sections.conventions import H, LP, ZERO, Refused, note, require, u16, u32, u64, u8
from verify.sections.encoding import opaque16, opaque32, preamble
from verify.sections.suite import ed25519_public, sign
from verify.sections.bodies import GRANT, READER, REMOVE, encode_body, encode_entry, open_name
from verify.sections.rules import judge
from verify.sections.fold import apply, fold
from verify.sections.epochs import check_keys, commitments, open_back_link
from verify.sections.snapshot import make_snapshot, open_snapshot
from verify.operations.operation import identity_in, number_in, one_epoch, operation, state_out


@operation("fold")
def test_fold(i, trace):
    entries = i["log"] + [i["entry"]]
    try:
        before = fold(i["tresor"], i["log"]) if i["log"] else None
    except Refused as refused:
        raise AssertionError("the log before the entry does not fold: %s" % refused.name) from None
    entry = judge(before, i["tresor"], i["entry"])
    state = apply(before, entry)
    assert state.hashes == fold(i["tresor"], entries).hashes
    assert encode_entry(entry) == i["entry"] and encode_body(entry.type, entry.body) == entry.body_bytes
    note(trace, signed=entry.signed, signature_input=LP("tresor/v1/entry-signature") + entry.signed, entry_hash=entry.hash)
    return {**state_out(state), "void": (entry.void or "").encode()}


@operation("makeSnapshot")
def test_make_snapshot(i, trace):
    identity = identity_in(i)
    note(trace, state_key=identity.keys[-1].state_key)
    kept = make_snapshot(fold(i["tresor"], i["log"]), identity)
    assert make_snapshot(open_snapshot(kept, i["tresor"], identity), identity) == kept
    return {"snapshot": kept}


@operation("openSnapshot")
def test_open_snapshot(i, trace):
    identity = identity_in(i)
    note(trace, state_key=identity.keys[-1].state_key)
    state = open_snapshot(i["snapshot"], i["tresor"], identity)
    assert make_snapshot(state, identity)[12:-32] == i["snapshot"][12:-32]                 # a later program knows more additive bodies
    return state_out(state)


@operation("foldCrowd")
def test_fold_crowd(i, trace):
    crowd, founder, handle, kem_key = (i[name] for name in ("crowd", "founder", "handle", "kem_key"))
    count, at_once, when = number_in(i["count"]), number_in(i["people in a grant"]), number_in(i["time"])
    signing_key, chains = ed25519_public(crowd), []
    for j in range(count):
        body = preamble(b"tresorC1") + opaque16(handle) + u32(0) + ZERO + ZERO + signing_key + kem_key + u64(when + j)
        chains.append(body + sign(crowd, "tresor/v1/card-signature", body))
    chains.sort(key=lambda card: H("tresor/v1/user-id", card))
    entries, most = [i["genesis"]], number_in(i["most"])

    def add(type_, body):
        previous = H("tresor/v1/entry-hash", entries[-1])
        signed = preamble(b"tresorE1") + i["tresor"] + u64(len(entries)) + previous + i["author"] + u32(0) + u64(when) + u16(type_)
        signed += opaque32(body)
        entries.append(signed + sign(founder, "tresor/v1/entry-signature", signed))
    for first in range(0, count, most):
        house = chains[first:first + most]
        for j in range(0, len(house), at_once):
            people = house[j:j + at_once]
            add(GRANT, u16(len(people)) + b"".join(u8(1) + opaque32(chain) for chain in people) + u8(READER) + u64(0) + u8(0))
        if first + most < count:
            add(REMOVE, u16(len(house)) + b"".join(u8(1) + H("tresor/v1/user-id", card) for card in house) + i["epoch"])
    state = fold(i["tresor"], entries)
    return {"head": u64(state.sequence) + state.hash, "members": u64(len(state.members))}


@operation("checkKeys")
def test_check_keys(i, trace):
    epoch = one_epoch(i["epoch"])
    require(len(i["keys"]) in (32, 64))
    TK, HK = i["keys"][:32], i["keys"][32:] or None
    check_keys(i["tresor"], epoch, TK, HK)
    content, history = commitments(i["tresor"], TK, HK)
    note(trace, content_commitment=content, history_commitment=history or epoch.history_commitment)
    return {"epoch": u64(epoch.number)}


@operation("openBackLink")
def test_open_back_link(i, trace):
    epochs = {epoch.number: epoch for epoch in map(one_epoch, i["epochs"])}
    assert sorted(epochs) == list(range(1, len(i["epochs"]) + 1))
    own = len(epochs)
    TK, HK = i["keys"][:32], i["keys"][32:]
    check_keys(i["tresor"], epochs[own], TK, HK)
    links = open_back_link(i["tresor"], epochs, own, HK, trace)
    return {"links": [u64(e) + tk + hk for e, tk, hk in links]}


@operation("openName")
def test_open_name(i, trace):
    name, kind = open_name(i["TK"], i["tresor"], number_in(i["epoch"]), number_in(i["sequence"]), i["sealed name"], trace)
    return {"name": name, "kind": kind}

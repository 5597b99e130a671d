# SPDX-License-Identifier: Apache-2.0
"""The operations of act.json."""
import os

from verify.sections.conventions import Refused, require, u32, u64, u8
from verify.sections.encoding import opaque32
from verify.sections.identity import read_chain
from verify.sections.pins import counting, read_pins
from verify.sections.identity_file import Identity, open_previous, read_identity_file
from verify.sections.bodies import RENEW, Epoch, seal_name
from verify.sections.rules import judge
from verify.sections.fold import apply, fold, make_entry
from verify.sections.epochs import commitments, seal_back_link
from verify.sections.acts import body_of_act, effect_of, settle, superseded
from verify.sections.heads import read_heads
from verify.operations.operation import identity_in, number_in, operation


def carry_out(act, wanted, state, effect, own, now):
    """Steps 8 to 10: the entry that goes with an effect keeps every rule, and the state after it is what the effect says."""
    if effect.is_nothing():
        return
    TK, HK = os.urandom(32), os.urandom(32)                 # keys that nobody gets, and a link to keys that are none: fold judges none
    number_ = effect.epoch or state.epoch
    back_link = seal_back_link(state.tresor, number_, HK, [(number_ - 1, os.urandom(32), os.urandom(32))])
    epoch = Epoch(number_, *commitments(state.tresor, TK, HK), back_link).encode()
    name = seal_name(TK, state.tresor, number_, state.sequence + 1, wanted["name"] or b"a name", b"")
    card = own.chain.cards[effect.generation].bytes if effect.generation else b""
    type_, body = body_of_act(act, wanted, effect, epoch, name, card)
    newest = state.chains[own.user].newest.generation
    entry = make_entry(own.keys[newest], state.tresor, state.sequence + 1, state.hash, own.user, newest, now, type_, body)
    try:
        after = apply(state, judge(state, state.tresor, entry))
    except Refused as refused:
        raise AssertionError("the entry of this act breaks %s" % refused.rule) from None
    assert set(after.members) == (set(state.members) | set(effect.admitted)) - set(effect.dismissed)
    assert len(after.members) == effect.remaining and after.epoch == (effect.epoch or state.epoch)
    for user in effect.admitted + effect.changed:
        assert (after.members[user].role, after.members[user].not_after) == (wanted["role"], wanted["not_after"] or 0)
        assert after.members[user].history == (effect.epoch if user in effect.admitted else state.members[user].history)
    assert not effect.renames or after.name[1:] == (after.epoch, after.sequence)
    assert not effect.generation or after.chains[own.user].newest.generation == effect.generation


@operation("act")
def test_act(i, trace):
    chain = read_chain(i["chain"])
    own = Identity(chain, open_previous(chain, i["S"], i["previous"]))
    wanted = {"people": [read_chain(data) for data in i.get("people", [])], "users": i.get("users", []), "name": i.get("name", b""),
              "role": number_in(i.get("role", b"")), "from_now": i.get("from now") == b"\1",
              "not_after": number_in(i["not after"]) if "not after" in i else None}
    home = read_identity_file(i["identity file"]).chain
    act, state, now = i["act"].decode(), fold(i["tresor"], i["log"]), number_in(i["now"])
    effect = effect_of(act, wanted, state, chain, home, counting(read_pins(i["pins"]), home), now)
    carry_out(act, wanted, state, effect, own, now)
    return {"admitted": sorted(effect.admitted), "changed": sorted(effect.changed), "dismissed": sorted(effect.dismissed),
            "already": sorted(effect.already), "remaining": u64(effect.remaining), "epoch": u64(effect.epoch),
            "renames": u8(effect.renames), "generation": u32(effect.generation)}


@operation("superseded")
def test_superseded(i, trace):
    own = identity_in(i).chain
    return {"users": superseded(fold(i["tresor"], i["log"]), own, counting(read_pins(i["pins"]), own))}


@operation("settle")
def test_settle(i, trace):
    own, state, pins, now = identity_in(i), fold(i["tresor"], i["log"]), read_pins(i["pins"]), number_in(i["now"])
    assert read_identity_file(i["identity file"]).chain.bytes == own.chain.bytes
    heads = read_heads(i["heads"])[1] if "heads" in i else []
    head = next((pinned for tresor, pinned, _ in heads if tresor == i["tresor"]), None)
    require(head is None or state.contains(*head), "forked")
    cards, users = settle(state, own.chain, pins, head is not None, now, i.get("go on") == b"\1")
    for card in cards:
        entry = make_entry(own.keys[-1], state.tresor, state.sequence + 1, state.hash, own.user, own.chain.newest.generation, now, RENEW,
                           opaque32(card.bytes))
        state = apply(state, judge(state, state.tresor, entry))
    assert not cards or not superseded(state, own.chain, pins)
    if users:
        wanted = {"people": [], "users": users, "name": b"", "role": 0, "from_now": False, "not_after": None}
        effect = effect_of("revoke", wanted, state, own.chain, own.chain, pins, now, head is not None)
        assert effect.dismissed == users
        carry_out("revoke", wanted, state, effect, own, now)
    return {"cards": [card.bytes for card in cards], "removed": users}

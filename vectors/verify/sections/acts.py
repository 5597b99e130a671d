# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.7: what an act means. act.json."""
from verify.sections.conventions import require, u16, u64, u8
from verify.sections.encoding import opaque32
from verify.sections.pins import founder_trust, is_behind
from verify.sections.bodies import EPOCH, GRANT, LEAVE, OWNER, REMOVE, RENAME, RENEW, ROLE, WRITER
from verify.sections.rules import has_room


# 9.7 Acts: what they mean

class Effect:
    def __init__(self, remaining):
        self.admitted, self.changed, self.dismissed, self.already = [], [], [], []
        self.remaining, self.epoch, self.renames, self.generation = remaining, 0, 0, 0

    def is_nothing(self):
        """Step 8."""
        return not (self.admitted or self.changed or self.dismissed or self.epoch or self.renames or self.generation)


def effect_of(act, wanted, state, own, home, pins, clock, pinned=False):
    """Steps 3 to 6 of perform. `own` is the chain of the identity that acts, `home` that of the identity file beside the pins; `pinned` says
    that a head of the tresor was pinned before."""
    me = state.members.get(own.user)
    require(me is not None and own.extends(state.chains[own.user]), "no_access")                    # 3
    known = state.chains[own.user]
    require(act in ("renew", "leave") or known.bytes == own.bytes, "no_access")
    behind = act == "renew" and pinned and is_behind(pins, state.chains[state.root.founder])                                  # 4
    require(act == "leave" or behind or founder_trust(home, pins, state, marked=True, pinned=pinned) in ("me", "verified"), "unverified")
    require(act == "leave" or me.not_after == 0 or clock <= me.not_after, "no_access")              # 5
    effect = Effect(len(state.members))                                                             # 6
    if act in ("share", "revoke", "rename"):
        require(me.role == OWNER, "no_access")
    if act == "rotate":
        require(me.role == OWNER or (me.role == WRITER and me.history == 0 and state.rekey_pending), "no_access")
        require(me.role == OWNER or not superseded(state, own, pins), "unverified")
        effect.epoch = state.epoch + 1
    elif act == "share":
        share_effect(effect, wanted, state)
    elif act == "revoke":
        users = wanted["users"]
        require(users and len(set(users)) == len(users), "usage")
        for user in sorted(users):
            require(user != own.user and (user != state.root.founder or user not in state.members), "usage")
            require(user in state.chains, "not_found")
            (effect.dismissed if user in state.members else effect.already).append(user)
        if effect.dismissed:
            require(state.lasting_owner_besides(*effect.dismissed), "usage")
            effect.epoch = state.epoch + 1
    elif act == "leave":
        require(me.role != OWNER or state.lasting_owner_besides(own.user), "usage")
        effect.dismissed.append(own.user)
    elif act == "rename":
        require(wanted["name"] != b"", "usage")
        effect.renames = 1
    elif act == "renew" and known.bytes != own.bytes:
        effect.generation = known.newest.generation + 1
    effect.remaining += len(effect.admitted) - len(effect.dismissed)
    return effect


def superseded(state, own, pins):
    users = (set(state.members) | {state.root.founder}) - {own.user}
    return sorted(user for user in users if is_behind(pins, state.chains[user]))


def settle(state, own, pins, was_pinned, clock, go_on=False):
    """What settle appends, in two lists: cards to renew, in order, and users to remove. `own` is the own chain, `was_pinned` whether a
    head was known before, `go_on` what a person answered."""
    me, chains = state.members.get(own.user), dict(state.chains)
    if me is None or me.role != OWNER or chains[own.user].newest.bytes != own.newest.bytes:         # 1
        return [], []
    founder, cards = state.root.founder, []
    behind = founder != own.user and is_behind(pins, chains[founder]) and was_pinned
    if not (founder_trust_is_good(own, pins, state, chains[founder], was_pinned) or behind):        # 1
        return [], []
    ended = sorted(user for user, member in state.members.items()                                   # 2
                   if user not in (founder, own.user) and member.not_after and member.not_after < clock)
    if ended and (clock < state.owner_time - 86400 or clock > state.owner_time + 400 * 86400):
        require(go_on, "failed")
        ended = []
    for user in superseded(state, own, pins):                                                       # 3
        compared = next(pin.chain for pin in pins if pin.chain.user == user)
        cards += compared.cards[len(chains[user].cards):]
        chains[user] = compared
    if not founder_trust_is_good(own, pins, state, chains[founder], was_pinned):                    # 4
        return cards, []
    return cards, ended                                                                             # 5


def founder_trust_is_good(own, pins, state, chain, pinned):
    return founder_trust(own, pins, state, marked=True, chain=chain, pinned=pinned) in ("me", "verified")


def body_of_act(act, wanted, effect, epoch, name, card):
    """Step 9: (body type, body) of the entry. `epoch`, `name`, `card`: the new Epoch, the sealed name and the next card, encoded."""
    people, until = {chain.user: chain for chain in wanted["people"]}, u64(wanted["not_after"] or 0)
    if act == "share" and effect.changed:
        return ROLE, u8(1) + effect.changed[0] + u8(wanted["role"]) + until
    if act == "share":
        body = u16(len(effect.admitted)) + b"".join(u8(1) + opaque32(people[user].bytes) for user in sorted(effect.admitted))
        return GRANT, body + u8(wanted["role"]) + until + (u8(1) + epoch + name if effect.epoch else u8(0))
    if act == "revoke":
        return REMOVE, u16(len(effect.dismissed)) + b"".join(u8(1) + user for user in sorted(effect.dismissed)) + epoch
    return {"leave": (LEAVE, b""), "rotate": (EPOCH, epoch), "rename": (RENAME, name), "renew": (RENEW, opaque32(card))}[act]


def share_effect(effect, wanted, state):
    users, role, not_after = [chain.user for chain in wanted["people"]], wanted["role"], wanted["not_after"]
    require(users and len(set(users)) == len(users), "usage")
    require(not (role == OWNER and wanted["from_now"]), "usage")
    require(not_after is None or 0 < not_after <= 253402300799, "usage")
    for user in users:
        member = state.members.get(user)
        if member is None:
            effect.admitted.append(user)
            continue
        require(wanted["from_now"] == (member.history != 0), "usage")
        if (member.role, member.not_after) == (role, not_after or 0):
            effect.already.append(user)
        else:
            require(user != state.root.founder and (role != OWNER or member.history == 0), "usage")
            require(role == OWNER and not_after is None or state.lasting_owner_besides(user), "usage")
            effect.changed.append(user)
    require(len(state.members) + len(effect.admitted) <= 10000 and has_room(state, effect.admitted), "usage")
    require(state.root.founder not in effect.admitted or (role == OWNER and not_after is None), "usage")
    require(not effect.changed or (not effect.admitted and len(effect.changed) == 1), "usage")
    if wanted["from_now"] and effect.admitted:
        effect.epoch = state.epoch + 1

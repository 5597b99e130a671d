# SPDX-License-Identifier: Apache-2.0
"""SPEC §7.5, §7.6: pins, trust, renewal. identity.json."""
from verify.sections.conventions import LAST_TIME, require, u32, u64, u8
from verify.sections.encoding import Reader, opaque32, preamble
from verify.sections.tc1 import tc1_seal
from verify.sections.identity import Keys, make_card, read_chain


# 7.5 Pins

NUMBER, CARD, LINK, KNOWN = 1, 2, 3, 4
NOBODY = bytes(32)


class Pin:
    def __init__(self, time_, replaced, chain, how=NUMBER, by=NOBODY):
        self.time, self.replaced, self.chain, self.how, self.by = time_, replaced, chain, how, by

    def encode(self):
        return u64(self.time) + u8(self.replaced) + u8(self.how) + self.by + opaque32(self.chain.bytes)

    def is_later(self, other):
        return (self.time, self.replaced) > (other.time, other.replaced)

    def is_newer(self, other):
        if self.replaced or other.replaced or not comparable(self.chain, other.chain):
            return self.is_later(other)
        return (self.chain.newest.generation, self.time) > (other.chain.newest.generation, other.time)

    def says(self, other):
        return self.replaced == other.replaced and (self.replaced or self.chain.bytes == other.chain.bytes)


def read_pin(reader):
    time_, replaced, how, by = reader.time(), reader.mark(), reader.u8(), reader.digest()
    require(NUMBER <= how <= KNOWN and (how == KNOWN) == (by != NOBODY))
    return Pin(time_, replaced, read_chain(reader.opaque32(1, 524288)), how, by)


def read_pins(data):
    reader, pins = Reader(data), []
    reader.preamble(b"tresorP2")
    while reader.left():
        pins.append(read_pin(reader))
    users = [pin.chain.user for pin in pins]
    require(len(set(users)) == len(users))
    return pins


def counting(pins, own):
    """The pins that count: what this home compared, and what the newest card of its own chain said."""
    return [pin for pin in pins if pin.how != KNOWN or own is not None and pin.by == own.newest.hash]


def encode_pins(pins):
    return preamble(b"tresorP2") + b"".join(pin.encode() for pin in pins)


def trust(own, pins, chain):
    if own is not None and chain.user == own.user:
        require(own.extends(chain), "forked")
        return "me"
    if namesakes(pins, chain):
        return "changed"
    mine = [pin for pin in pins if pin.chain.user == chain.user and not pin.replaced]
    if not mine:
        return "unverified"
    require(chain.extends(mine[0].chain), "forked")
    return "verified" if chain.newest.bytes == mine[0].chain.newest.bytes else "renewed"


def namesakes(pins, chain):
    """The people for whom the handle of a chain stands, if it does not stand for its own person."""
    active = [pin for pin in pins if not pin.replaced]
    if any(pin.chain.user == chain.user for pin in active):
        return []
    return [pin for pin in active if pin.chain.handle == chain.handle]


def founder_trust(own, pins, state, marked=False, chain=None, pinned=False):
    """`own` is none in a home without identity; `marked` says that the home's marks have the tresor as confirmed mine, `pinned` that it
    has a pinned head of it; `chain` is the state's of the founder, or what it will be."""
    chain = chain or state.chains[state.root.founder]
    if own is not None and chain.user == own.user:                                                  # 1
        if not own.extends(chain):
            require(chain.extends(own), "forked")
            return "renewed"
        is_newest = chain.bytes == own.bytes and state.root.card_hash == own.newest.hash
        return "me" if is_newest or marked else "unverified"
    if is_behind(pins, chain):                                                                      # 2
        return "unverified"
    result = trust(own, pins, chain)                                                                # 4
    if result in ("verified", "renewed") and state.founder_generation != chain.newest.generation and not pinned:    # 3
        return "unverified"
    return result


def is_behind(pins, chain):
    """An older generation than was compared."""
    return any(pin.chain.user == chain.user and not pin.replaced and pin.chain.extends(chain)
               and len(pin.chain.cards) > len(chain.cards) for pin in pins)


def author_trust(own, pins, chain, generation):
    """§10.5 step 14a; `chain` is the state's chain of the author."""
    mine = [pin.chain for pin in pins if pin.chain.user == chain.user and not pin.replaced]
    compared = own if own is not None and own.user == chain.user else mine[0] if mine else None
    if compared is None:                                                                            # 1
        require(not any(not pin.replaced and pin.chain.handle == chain.handle for pin in pins), "unverified")
        return
    require(chain.extends(compared) or compared.extends(chain), "forked")                           # 2
    require(generation <= compared.newest.generation, "unverified")                                 # 3


def put_pin(pins, chain, replacing, beside, now):
    mine = [pin for pin in pins if pin.chain.user == chain.user]
    require(not mine or mine[0].replaced or chain.extends(mine[0].chain), "forked")
    others = namesakes(pins, chain)
    require(replacing or beside or not others, "unverified")
    for pin in others if replacing else []:
        pin.replaced, pin.time = 1, max(now, pin.time)
    if mine:
        return [Pin(time_of_act(pin, now), 0, chain) if pin is mine[0] else pin for pin in pins]
    return pins + [Pin(now, 0, chain)]


def time_of_act(pin, now):
    """The time of an act about the person of a pin."""
    return now if (now, 1) > (pin.time, pin.replaced) else min(pin.time + 1, LAST_TIME)


def give_up(pins, user, now):
    mine = [place for place, pin in enumerate(pins) if pin.chain.user == user]
    require(mine, "not_found")
    pin = pins[mine[0]]
    pins[mine[0]] = Pin(time_of_act(pin, now), 1, pin.chain)
    return pins


# 7.6 Renewal

def previous_context(user, generation):
    return user + u32(generation) + u32(generation - 1)


def seal_previous(keys, user, generation, earlier_seed, salt=None):
    return tc1_seal(keys.previous_key, "tresor/v1/previous-seal", previous_context(user, generation), earlier_seed, salt)


def renew_card(chain, seed, new_seed, now):
    require(chain.newest.generation < 255, "usage")
    generation, keys = chain.newest.generation + 1, Keys(new_seed)
    card = make_card(keys, chain.handle, generation, chain.user, chain.newest.hash, now, Keys(seed))
    return read_chain(chain.bytes + card), seal_previous(keys, chain.user, generation, seed)


def comparable(one, other): return one.extends(other) or other.extends(one)

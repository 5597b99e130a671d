# SPDX-License-Identifier: Apache-2.0
"""SPEC §19.8: own tresors. identity.json."""
from verify.sections.conventions import require
from verify.sections.encoding import Reader
from verify.sections.pins import KNOWN, Pin, comparable, counting, read_pin


# 19.8 Own tresors

def read_statement(user, content):
    reader = Reader(content)
    pin = read_pin(reader)
    reader.end()
    require(pin.chain.user == user)
    return pin


def said_of(statements, user):
    """The newest statement about a person, whether they are disputed, and the latest statement; None where there is none."""
    said = [pin for pin in statements if pin.chain.user == user]
    ends = [pin for pin in said if pin.replaced]
    given_up = max(ends, key=lambda pin: (pin.time, pin.chain.newest.generation)) if ends else None
    compared = [pin for pin in said if not pin.replaced and (given_up is None or pin.is_later(given_up))]
    if not compared:
        return None if given_up is None else (given_up, False, given_up)
    newest = max(compared, key=lambda pin: (pin.chain.newest.generation, pin.time))
    disputed = not all(comparable(pin.chain, newest.chain) for pin in compared)
    return newest, disputed, max(compared, key=lambda pin: pin.time)


def judge_known(stands, pins):
    """Step 3: what the newest statement about a person brings about."""
    said, disputed, latest = stands
    user = said.chain.user
    here = next((pin for pin in pins if pin.chain.user == user), None)
    own = here is not None and here.how != KNOWN
    if disputed:                                                                                    # 3.1
        return "nothing" if own and here.is_later(latest) else "conflict"
    if here is not None:                                                                            # 3.2
        one = comparable(said.chain, here.chain)
        beside = not one and not said.replaced and not here.replaced and said.time == here.time
        if not said.is_newer(here) and not beside:
            return "nothing"
        if own:                                                                                     # 3.3
            differ = here.replaced != said.replaced or not one and not said.replaced
            return "conflict" if differ else "nothing"
    holders = [pin for pin in pins if pin.how != KNOWN and not pin.replaced and pin.chain.user != user]
    taken = not said.replaced and any(pin.chain.handle == said.chain.handle for pin in holders)     # 3.4
    return "conflict" if taken else "put"


def take_known(pins, statements, own, now):
    stored, pins = pins, counting(pins, own)                                                        # 2
    ends = [pin for pin in stored if pin not in pins]
    conflicts = []
    for user in sorted({pin.chain.user for pin in statements} - {own.user}):                        # 3
        stands = said_of(statements, user)                                                         # 1
        said, _, latest = stands
        result = judge_known(stands, pins)
        here = next((pin for pin in pins if pin.chain.user == user), None)
        if result == "conflict":
            conflicts.append(user)
            if here is not None and here.how != KNOWN and latest.time > now:                        # 3.6
                here.time = max(here.time, latest.time - here.replaced)
        if result != "put":
            continue
        known = Pin(said.time, said.replaced, said.chain, KNOWN, own.newest.hash)                   # 3.5
        pins = [known if pin is here else pin for pin in pins] if here is not None else pins + [known]
    users = {pin.chain.user for pin in pins}
    ended = sorted(pin.chain.user for pin in ends if not pin.replaced and pin.chain.user not in users)      # 4
    return pins, conflicts, ended


def known_news(pins, statements):
    news = []
    for pin in pins:
        stands, own = said_of(statements, pin.chain.user), pin.how != KNOWN
        if stands is None:
            more = True
        elif stands[1]:
            more = own and pin.is_later(stands[2])
        else:
            said = stands[0]
            more = pin.is_newer(said) and not pin.says(said) and (own or comparable(pin.chain, said.chain))
        if more:
            news.append(pin)
    return sorted(news, key=lambda pin: (not pin.replaced, pin.chain.user))


def take_heads(heads, statements):
    """`statements` are pairs of a tresor and a head."""
    rows = {tresor: [pinned, told] for tresor, pinned, told in heads}
    for tresor, row in rows.items():
        if row[1] is not None and (tresor, row[1]) not in statements:
            row[1] = None
    for tresor in {tresor for tresor, _ in statements}:
        highest = None
        for said in [head for other, head in statements if other == tresor]:
            if highest is None or said[0] > highest[0]:
                highest = said
        row = rows.setdefault(tresor, [None, None])
        if all(head is None or head[0] < highest[0] for head in row):
            row[1] = highest
    return [(tresor, *row) for tresor, row in sorted(rows.items()) if row != [None, None]]

# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.5, §9.6: keysOf, reachable, newEpoch, cutOff. epoch.json, wrap.json."""
import os

from verify.sections.conventions import Refused, require
from verify.sections.bodies import OWNER, Epoch
from verify.sections.epochs import commitments, fitting_wrap, open_back_link, open_wrap, read_wrap, seal_back_link
from verify.sections.approval import open_waiting_wrap


def openable(state, identity, wraps):
    """Of `wraps`, (epoch, bytes, whether the store gave it), those that may be opened, each once: of each epoch, of what the store gives, the first
    16 that fit; all that do not fit, for their error; and the home's."""
    taken, seen = {}, set()
    for e, data, from_store in wraps:
        if data in seen or from_store and taken.get(e, 0) == 16:
            continue
        seen.add(data)
        try:
            fitting_wrap(data, state.tresor, state.epochs[e], state.chains[identity.user], identity)
            if from_store:
                taken[e] = taken.get(e, 0) + 1
        except Refused:
            pass
        yield e, data


def reachable(state, identity, wraps, from_home=()):
    """`wraps` lists (epoch, bytes): all own wraps of this tresor that the store has, `from_home` those of the home. (epoch, TK, HK)."""
    chain, reached, links = state.chains[identity.user], {}, []
    every = [wrap + (True,) for wrap in wraps] + [wrap + (False,) for wrap in from_home]
    for e, data in openable(state, identity, sorted((wrap for wrap in every if wrap[0] in state.epochs), key=lambda wrap: -wrap[0])):
        if e in reached or len(links) == 4096:
            continue
        try:
            keys = open_wrap(data, state.tresor, state.epochs[e], chain, 0, identity)
        except Refused:
            continue
        links.append((e,) + keys)
        new = [links[-1]]
        while new:
            number_, TK, HK = new.pop()
            if number_ not in reached:
                reached[number_] = (TK, HK)
                try:
                    new += open_back_link(state.tresor, state.epochs, number_, HK)
                except Refused:
                    pass
    return links


def new_epoch(state, identity, wraps):
    """(TK, HK) and the Epoch. `wraps` as in reachable."""
    number_, TK, HK = state.epoch + 1, os.urandom(32), os.urandom(32)                               # 1
    if state.members[identity.user].role == OWNER:                                                  # 3
        links = reachable(state, identity, wraps)
    else:
        current = keys_of(state, identity, lambda: wraps, [], state.epoch)
        require(current[1] is not None, "no_access")
        links = [(state.epoch,) + current]
    return (TK, HK), Epoch(number_, *commitments(state.tresor, TK, HK), seal_back_link(state.tresor, number_, HK, links))


def keys_of(state, identity, from_store, from_home, wanted, entries=()):
    """`from_store()` gives what the store has of my wraps of this tresor, as (epoch, bytes), or raises; `from_home` lists those of the
    home, `entries` the log, which has the approval of who waited. The keys (TK, HK or none) of the epoch."""
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")           # 1
    require(1 <= wanted <= state.epoch, "no_access")
    require(wanted >= me.history, "no_access")                                                      # 2
    reached, errors = {}, []

    def attempt(function, *arguments):
        """What it gives, or none; its error may be that of step 4."""
        try:
            return function(*arguments)
        except Refused as refused:
            errors.append(refused)
            return None

    least, most = (wanted, wanted) if me.history else (wanted, state.epoch)
    wraps = [wrap + (True,) for wrap in attempt(from_store) or []] + [wrap + (False,) for wrap in from_home]
    wraps = sorted((wrap for wrap in wraps if least <= wrap[0] <= most), key=lambda wrap: -wrap[0])  # stable: the store's before the home's
    wraps = list(openable(state, identity, wraps))
    links_opened = set()
    while wanted not in reached:                                                                    # 3
        lowest = min((e for e in reached if e > wanted and e not in links_opened), default=None)
        if lowest is not None:                                                                      # a
            links_opened.add(lowest)
            for e, TK, HK in attempt(open_back_link, state.tresor, state.epochs, lowest, reached[lowest][1]) or []:
                reached.setdefault(e, (TK, HK))
            continue
        e, data = next((wrap for wrap in wraps if wrap[0] not in reached), (None, None))            # b
        if e is None:                                                                               # c, 4
            raise errors[0] if errors else Refused("no_access")
        wraps.remove((e, data))
        read = attempt(read_wrap, data)
        if me.approved_by is not None and read is not None and len(read.ct) >= 120:
            keys = attempt(open_waiting_wrap, data, state, state.epochs[e], identity, entries[me.since])
        else:
            keys = attempt(open_wrap, data, state.tresor, state.epochs[e], state.chains[identity.user], me.history, identity)
        if keys is not None:
            reached[e] = keys
    return reached[wanted]


def cut_off(state, identity, from_store, from_home, began):
    """`began`: the author of the entry that began the current epoch, which the log says."""
    if identity.user not in state.members or state.members[identity.user].role != OWNER:            # 1
        return False
    try:
        keys_of(state, identity, from_store, from_home, state.epoch)
        return False
    except Refused as refused:
        if refused.name in ("store", "busy"):
            raise
    require(began != identity.user, "store")                                                        # 2
    return True

# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.8, §11: a store, and a home that looks at it. scenario/."""
from verify.sections.conventions import H, Refused, require
from verify.sections.pins import author_trust, founder_trust, is_behind
from verify.sections.fold import fold
from verify.sections.keys import keys_of
from verify.sections.heads import encode_evidence
from verify.sections.sealed_file import compared_chain, open_file


class Store:
    """The operations of §11 that a reader needs. `logs`: tresor → entries; `wraps`: (tresor, user, epoch) → wrap."""

    def __init__(self):
        self.logs, self.wraps = {}, {}

    def entries(self, tresor, first):
        return self.logs.get(tresor, [])[first:]

    def own_wraps(self, tresor, user):
        """(epoch, wrap), by rising epoch."""
        return sorted((key[2], wrap) for key, wrap in self.wraps.items() if key[:2] == (tresor, user))

    def append(self, tresor, sequence, previous, entry, wraps, removes):
        """`previous` is the hash of the entry before, as the new one names it."""
        log = self.logs.setdefault(tresor, [])
        if len(log) != sequence or (log and H("tresor/v1/entry-hash", log[-1]) != previous):
            return "conflict"
        log.append(entry)
        for key in [key for key in self.wraps if key[0] == tresor and key[1] in removes]:
            del self.wraps[key]
        for user, epoch, wrap in wraps:
            self.wraps[tresor, user, epoch] = wrap
        return "done"


class Home:
    """What one person keeps: identity, pins, heads, kept logs, own wraps as (tresor, epoch, wrap), evidence."""

    def __init__(self, store, identity, pins):
        self.store, self.identity, self.pins = store, identity, pins
        self.heads, self.logs, self.wraps, self.evidence = {}, {}, [], []

    def kept(self, tresor, head):
        """The kept log up to the pinned head, and its state: none without a head, or unless it folds and ends there."""
        if head is None:
            return [], None
        try:
            log = self.logs.get(tresor, [])[:head[0] + 1]
            state = fold(tresor, log)
        except Refused:
            return [], None
        return (log, state) if (state.sequence, state.hash) == head else ([], None)

    def read_log(self, tresor):
        head = self.heads.get(tresor)                                                               # 1
        log, state = self.kept(tresor, head)
        answer = self.store.entries(tresor, max(len(log) - 1, 0))                                   # 2
        if log and answer[:1] != log[-1:] or head is not None and not answer:                       # 3
            return self.disagree(tresor, head)
        log = log + answer[1:] if log else answer
        if not log:                                                                                 # 5
            raise Refused("not_found")
        state = fold(tresor, log)                                                                   # 4
        if head is not None and not state.contains(*head):
            return self.disagree(tresor, head)
        if head is None:                                                                            # 6
            try:
                if self.founder_trust(state) in ("changed", "unverified"):
                    return state
            except Refused:
                return state
        self.logs[tresor], self.heads[tresor] = log, (state.sequence, state.hash)
        return state

    def disagree(self, tresor, head):                                                               # 7
        log, kept = self.store.entries(tresor, 0), self.kept(tresor, head)[0]
        if log:
            fold(tresor, log)
        shown = log[min(head[0], len(log) - 1)] if log else b""
        self.evidence.append(encode_evidence(tresor, *head, kept[-1] if kept else b"", shown))
        raise Refused("forked")

    def founder_trust(self, state):
        """§7.5."""
        return founder_trust(self.identity.chain, self.pins, state, marked=True, pinned=state.tresor in self.heads)

    def keys_of(self, state, epoch):
        kept = [(e, wrap) for tresor, e, wrap in self.wraps if tresor == state.tresor]
        own_wraps = lambda: self.store.own_wraps(state.tresor, self.identity.user)
        return keys_of(state, self.identity, own_wraps, kept, epoch, self.logs.get(state.tresor, ()))

    def open_file(self, data, expected=None):
        """§10.5 whole; nothing unverified is accepted."""
        seen = {}

        def state_of(tresor):                                                                       # 3
            seen["pinned"] = tresor in self.heads
            try:
                seen["state"] = self.read_log(tresor)
            except Refused as refused:
                raise Refused("no_access" if refused.name == "not_found" else refused.name) from None
            return seen["state"]

        def member():                                                                               # 4
            require(self.identity.user in seen["state"].members, "waiting" if self.identity.user in seen["state"].waiting else "no_access")

        def admitted(header):                                                                       # 5
            state = seen["state"]
            founder, result = state.chains[state.root.founder], self.founder_trust(state)
            if result == "renewed":
                own = self.identity.chain
                compared = own if own.user == founder.user else next(pin.chain for pin in self.pins if pin.chain.user == founder.user)
                require(state.generation_at(founder.user, header.head_sequence) <= compared.newest.generation, "unverified")
            elif not (seen["pinned"] and result == "unverified" and is_behind(self.pins, founder)):
                require(result in ("me", "verified"), "unverified")

        def believed(said):                                                                         # 14a
            author_trust(self.identity.chain, self.pins, seen["state"].chains[said.author], said.generation)

        def compared(user):                                                                         # 16
            return compared_chain(self.identity.chain, self.pins, user)

        return open_file(data, state_of, lambda epoch: self.keys_of(seen["state"], epoch)[0], expected, member=member, admitted=admitted,
                         believed=believed, compared=compared)

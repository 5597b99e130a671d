# SPDX-License-Identifier: Apache-2.0
"""A log that is made here, for checks that no vector has."""
from verify.sections.conventions import H, ZERO, u16, u64, u8
from verify.sections.encoding import opaque32
from verify.sections.identity import Chain, Keys, make_card, read_chain
from verify.sections.pins import renew_card
from verify.sections.identity_file import Identity
from verify.sections.bodies import EPOCH, GENESIS, GRANT, Epoch, tresor_id
from verify.sections.rules import judge
from verify.sections.fold import fold, make_entry
from verify.sections.epochs import commitments, make_wrap, seal_back_link


class OwnLog:
    """A log that is made here, with people who have a card of every generation asked for."""

    def __init__(self, founder, time_):
        self.root = u8(1) + founder.user + founder.chain.newest.hash + bytes(32)
        self.tresor, self.entries, self.state, self.keys, self.began = tresor_id(self.root), [], None, {}, None
        epoch = self.epoch_of(1, *self.new_keys(1))
        self.say(founder, time_, GENESIS, self.root + opaque32(founder.chain.bytes) + u16(0) + bytes(588) + epoch)

    @staticmethod
    def person(handle, generations=1, time_=0):
        seed = H("tresor/v1/user-id", handle)
        chain, keys = read_chain(make_card(Keys(seed), handle, 0, ZERO, ZERO, time_)), [Keys(seed)]
        for g in range(1, generations):
            chain, _ = renew_card(chain, keys[-1].seed, H("tresor/v1/user-id", handle + u8(g)), time_ + g)
            keys.append(Keys(H("tresor/v1/user-id", handle + u8(g))))
        return Identity(chain, keys)

    @staticmethod
    def until(person, generations):
        """The person of an earlier day."""
        return Identity(Chain(person.chain.cards[:generations]), person.keys[:generations])

    def new_keys(self, number_):
        self.keys[number_] = (H("tresor/v1/user-id", u64(number_)), H("tresor/v1/number", u64(number_)))
        return self.keys[number_]

    def epoch_of(self, number_, TK, HK, links=None):
        back_link = b"" if links is None else seal_back_link(self.tresor, number_, HK, links)
        return Epoch(number_, *commitments(self.tresor, TK, HK), back_link).encode()

    def say(self, author, time_, type_, body):
        sequence, previous = (self.state.sequence + 1, self.state.hash) if self.state else (0, ZERO)
        entry = make_entry(author.keys[-1], self.tresor, sequence, previous, author.user, len(author.keys) - 1, time_, type_, body)
        self.entries.append(entry)
        self.state = fold(self.tresor, self.entries)
        if judge(fold(self.tresor, self.entries[:-1]) if sequence else None, self.tresor, entry).body.epoch is not None:
            self.began = author.user
        return self.state

    def grant(self, author, time_, people, role, not_after=0):
        chains = sorted((person.chain for person in people), key=lambda chain: chain.user)
        people = u16(len(chains)) + b"".join(u8(1) + opaque32(chain.bytes) for chain in chains)
        return self.say(author, time_, GRANT, people + u8(role) + u64(not_after) + u8(0))

    def begin(self, author, time_, links):
        """An epoch with these links, each named by its number."""
        number_ = self.state.epoch + 1
        epoch = self.epoch_of(number_, *self.new_keys(number_), links=[(e,) + self.keys[e] for e in links])
        return self.say(author, time_, EPOCH, epoch)

    def wrap(self, person, epoch):
        chain = self.state.chains[person.user]
        return epoch, make_wrap(self.tresor, epoch, person.user, chain.newest, b"".join(self.keys[epoch]))

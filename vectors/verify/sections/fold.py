# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.4: the state of a log. log.json."""
import hashlib

from verify.sections.conventions import require, u16, u32, u64
from verify.sections.encoding import opaque32, preamble
from verify.sections.suite import sign
from verify.sections.identity import Chain
from verify.sections.bodies import APPROVE, APPROVERS, CHECKPOINT, GENESIS, GRANT, LEAVE, OWNER, REFUSE, REMOVE, RENEW, ROLE, WRITER, Epoch
from verify.sections.rules import Member, judge


# 9.4 Fold and state

ADMITTED, CHANGED, REMOVED, LEFT, GRANTED, REFUSED = "admitted", "role changed", "removed", "left", "asked", "refused"


class Change:
    def __init__(self, sequence, time_, author, change, role=None, not_after=0):
        self.sequence, self.time, self.author, self.change, self.role, self.not_after = sequence, time_, author, change, role, not_after


def last_until(records, sequence):
    found = None
    for record in records:
        if record[0] <= sequence:
            found = record
    return found


class State:
    def __init__(self, entry):
        self.tresor, self.root = entry.tresor, entry.body.root
        self.sequence, self.hash, self.time, self.owner_time, self.founder_generation = None, None, None, None, None
        self.members, self.rekey_pending, self.epochs, self.chains, self.name = {}, False, {}, {}, None
        self.floor = self.checkpoint = 0
        self.waiting, self.approvers, self.approvers_since = {}, [], 0
        self.hashes, self.last_times, self.changes, self.generations, self.rotate_history = [], {}, {}, {}, []

    def copy(self):
        new = object.__new__(State)
        new.__dict__.update(self.__dict__)
        new.members = {user: Member(**vars(member)) for user, member in self.members.items()}
        for field in ("epochs", "chains", "last_times", "waiting"):
            setattr(new, field, dict(getattr(self, field)))
        new.hashes, new.rotate_history = list(self.hashes), list(self.rotate_history)
        new.changes = {user: list(changes) for user, changes in self.changes.items()}
        new.generations = {user: list(records) for user, records in self.generations.items()}
        return new

    @property
    def epoch(self):
        return len(self.epochs)

    def is_in(self, user):
        return user in self.members or user in self.waiting

    def waiting_by(self, grant):
        """Who waits by the grant of this hash, rising."""
        return sorted(user for user, person in self.waiting.items() if self.hashes[person.since] == grant)

    def card(self, user, generation):
        return self.chains[user].card(generation) if user in self.chains else None

    def lasting_owner_besides(self, *users):
        return any(member.is_lasting_owner() for other, member in self.members.items() if other not in users)

    def contains(self, sequence, hash_):
        return sequence < len(self.hashes) and self.hashes[sequence] == hash_

    # At an entry of the past.
    def epoch_at(self, sequence):
        return sum(1 for epoch in self.epochs.values() if epoch.sequence <= sequence)

    def rekey_pending_at(self, sequence):
        found = last_until(self.rotate_history, sequence)
        return found is not None and found[1]

    def generation_at(self, user, sequence):
        found = last_until(self.generations.get(user, []), sequence)
        return None if found is None else found[2]

    def change_at(self, user, sequence):
        found = last_until([(change.sequence, change) for change in self.changes.get(user, [])], sequence)
        return None if found is None else found[1]

    def role_at(self, user, sequence):
        change = self.change_at(user, sequence)
        return change.role if change is not None and change.change in (ADMITTED, CHANGED) else None

    def ever_wrote(self, user):
        return any(change.role in (OWNER, WRITER) and change.change != GRANTED for change in self.changes.get(user, []))


def apply(state, entry):
    by_lasting_owner = state is None or entry.author in state.members and state.members[entry.author].is_lasting_owner()
    state = State(entry) if state is None else state.copy()
    body, sequence = entry.body, entry.sequence
    state.sequence, state.hash, state.time = sequence, entry.hash, entry.time
    state.hashes.append(entry.hash)
    state.last_times[entry.author] = max(entry.time, state.last_times.get(entry.author, 0))
    state.owner_time = entry.time if by_lasting_owner else state.owner_time
    if entry.author == state.root.founder:
        state.founder_generation = entry.generation

    def change(user, *what):
        state.changes.setdefault(user, []).append(Change(sequence, entry.time, entry.author, *what))

    def know(chain):
        state.chains[chain.user] = chain
        state.generations.setdefault(chain.user, []).append((sequence, entry.time, chain.newest.generation))

    def admit(chain, role, history, not_after):
        place = state.waiting if state.approvers else state.members
        place[chain.user] = Member(role, history, not_after, sequence, entry.time, entry.author)
        change(chain.user, GRANTED if state.approvers else ADMITTED, role, not_after)
        know(chain)

    def name_approvers(chains):
        state.approvers, state.approvers_since = [chain.user for chain in chains], sequence
        for chain in chains:
            know(chain)

    def dismiss(user, what):
        state.members.pop(user, None)
        state.waiting.pop(user, None)
        change(user, what)

    whose = body.card.user if entry.type == RENEW else None
    if entry.type == GENESIS:
        admit(body.chain, OWNER, 0, 0)
        name_approvers(body.approvers)
    elif entry.type == GRANT:
        for chain in body.people:
            admit(chain, body.role, body.epoch.number if body.from_now else 0, body.not_after)
    elif entry.type == REMOVE:
        for user in body.users:
            dismiss(user, REMOVED)
    elif entry.type == LEAVE:
        dismiss(entry.author, LEFT)
    elif entry.type == APPROVE:
        for user in state.waiting_by(body.grant):
            asked = state.waiting.pop(user)
            state.members[user] = Member(asked.role, asked.history, asked.not_after, sequence, entry.time, asked.admitted_by, entry.author)
            change(user, ADMITTED, asked.role, asked.not_after)
    elif entry.type == REFUSE:
        for user in state.waiting_by(body.grant):
            dismiss(user, REFUSED)
    elif entry.type == APPROVERS:
        name_approvers(body.approvers)
    elif entry.type == RENEW:
        state.chains[whose] = Chain(state.chains[whose].cards + [body.card])
        state.generations[whose].append((sequence, entry.time, body.card.generation))
    elif entry.type == ROLE:
        state.members[body.user].role, state.members[body.user].not_after = body.role, body.not_after
        change(body.user, CHANGED, body.role, body.not_after)
    elif entry.type == CHECKPOINT and entry.void is None:
        state.floor, state.checkpoint = entry.said.upto, sequence
    if body.epoch is not None:
        epoch = body.epoch
        state.epochs[epoch.number] = Epoch(epoch.number, epoch.content_commitment, epoch.history_commitment, epoch.back_link, sequence)
    if body.name is not None:
        state.name = (body.name, state.epoch, sequence)
    if entry.type in (LEAVE, REFUSE, APPROVERS) or entry.type == RENEW and state.is_in(whose):
        state.rekey_pending = True
        state.rotate_history.append((sequence, True))
    elif body.epoch is not None:
        state.rekey_pending = False
        state.rotate_history.append((sequence, False))
    return state


FOLDED = {}


def fold(tresor, entries):
    require(len(entries) > 0)
    state, path = None, tresor
    for data in entries:
        path = hashlib.sha256(path + hashlib.sha256(data).digest()).digest()
        if path not in FOLDED:
            FOLDED[path] = apply(state, judge(state, tresor, data))
        state = FOLDED[path]
    return state


def make_entry(keys, tresor, sequence, previous, author, generation, time_, type_, body):
    signed = preamble(b"tresorE1") + tresor + u64(sequence) + previous + author + u32(generation) + u64(time_) + u16(type_) + opaque32(body)
    return signed + sign(keys.sign_seed, "tresor/v1/entry-signature", signed)

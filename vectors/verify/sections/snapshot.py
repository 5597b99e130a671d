# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.10: the snapshot of a state. log.json."""
from verify.sections.conventions import H, equal, require, u16, u32, u64, u8
from verify.sections.encoding import Reader, opaque32, preamble
from verify.sections.tc1 import derive
from verify.sections.identity import read_chain
from verify.sections.bodies import CHECKPOINT, OWNER, READER, WRITER, read_epoch, read_root
from verify.sections.rules import Member
from verify.sections.fold import ADMITTED, CHANGED, GRANTED, LEFT, REFUSED, REMOVED, Change, State


# 9.10 Snapshot

KIND_OF_CHANGE = {ADMITTED: 1, CHANGED: 2, REMOVED: 3, LEFT: 4, GRANTED: 5, REFUSED: 6}
KNOWN_ADDITIVE = CHECKPOINT                                 # the greatest additive body type that this release knows


def state_tag(identity, body):
    return derive(identity.keys[-1].state_key, "tresor/v1/state-tag", body)


def encode_counted(elements):
    return u32(len(elements)) + b"".join(elements)


def make_snapshot(state, identity):
    name, _, name_sequence = state.name
    turned = [False] + [mark for _, mark in state.rotate_history]
    marks = [u64(sequence) for (sequence, mark), before in zip(state.rotate_history, turned) if mark != before]

    def person(user):
        generations = [u64(sequence) + u64(when) + u32(generation) for sequence, when, generation in state.generations[user]]
        changes = [u64(c.sequence) + u64(c.time) + c.author + u8(KIND_OF_CHANGE[c.change]) + u8(c.role or 0) + u64(c.not_after or 0)
                   for c in state.changes.get(user, [])]
        last = u8(1) + u64(state.last_times[user]) if user in state.last_times else u8(0)
        history = (state.members.get(user) or state.waiting[user]).history if state.is_in(user) else 0
        return opaque32(state.chains[user].bytes) + encode_counted(generations) + encode_counted(changes) + last + u64(history)

    body = preamble(b"tresorS2") + u16(KNOWN_ADDITIVE) + state.root.bytes + u64(state.time) + u64(state.owner_time)
    body += u32(state.founder_generation) + u64(state.floor) + u64(state.checkpoint)
    body += u16(len(state.approvers)) + b"".join(state.approvers) + u64(state.approvers_since) + encode_counted(state.hashes)
    body += encode_counted([state.epochs[e].encode() + u64(state.epochs[e].sequence) for e in sorted(state.epochs)])
    body += name + u64(name_sequence) + encode_counted(marks) + encode_counted([person(user) for user in sorted(state.chains)])
    return body + state_tag(identity, body)


class SnapshotReader(Reader):
    """A reader that knows how many entries the log has."""

    entries = 0

    def counted(self, least, size, read):
        """At least `least` elements, each of at least `size` bytes."""
        count = self.u32()
        require(count >= least and count * size <= self.left())
        return [read() for _ in range(count)]

    def rising(self):
        """A function that reads sequence numbers, each greater than the one before it."""
        last = [-1]

        def sequence():
            value = self.u64()
            require(last[0] < value < self.entries)
            last[0] = value
            return value
        return sequence


def open_snapshot(data, tresor, identity):
    body, tag = data[:-32], data[-32:]
    require(len(data) >= 32 and equal(tag, state_tag(identity, body)))                              # 1
    reader, state = SnapshotReader(body), object.__new__(State)                                    # 2, 3
    reader.preamble(b"tresorS2")
    require(reader.u16() >= KNOWN_ADDITIVE, "unsupported")
    state.root, state.time, state.owner_time, state.founder_generation = read_root(reader), reader.time(), reader.time(), reader.u32()
    state.floor, state.checkpoint = reader.u64(), reader.u64()
    state.tresor = H("tresor/v1/tresor-id", state.root.bytes)
    approver_count = reader.u16()
    require(approver_count * 32 <= reader.left())
    state.approvers, state.approvers_since = [reader.digest() for _ in range(approver_count)], reader.u64()
    state.hashes = reader.counted(1, 32, reader.digest)
    reader.entries = len(state.hashes)
    require((state.floor, state.checkpoint) == (0, 0) or 0 < state.floor < state.checkpoint < reader.entries)
    require(state.approvers_since < reader.entries)
    state.sequence, state.hash = reader.entries - 1, state.hashes[-1]
    sequence = reader.rising()

    def epoch():
        found = read_epoch(reader)
        found.sequence = sequence()
        return found
    epochs = reader.counted(1, 84, epoch)
    require(epochs[0].sequence == 0)
    require(all(found.number == place and (found.back_link == b"") == (place == 1) for place, found in enumerate(epochs, 1)))
    state.epochs = {found.number: found for found in epochs}
    name, name_sequence = reader.take(588), reader.rising()()
    state.name = (name, state.epoch_at(name_sequence), name_sequence)
    marks = reader.counted(0, 8, reader.rising())
    state.rotate_history = [(mark, place % 2 == 0) for place, mark in enumerate(marks)]
    state.rekey_pending = len(marks) % 2 == 1
    people = reader.counted(1, 42, lambda: read_kept_person(reader, len(epochs)))
    reader.end()
    state.members, state.waiting, state.chains, state.last_times, state.changes, state.generations = {}, {}, {}, {}, {}, {}
    users = []
    for chain, generations, changes, last, history in people:                                       # 4
        chain = read_chain(chain)
        require(chain.newest.generation == generations[-1][2])
        users.append(chain.user)
        state.chains[chain.user], state.generations[chain.user], state.changes[chain.user] = chain, generations, changes
        if last is not None:
            state.last_times[chain.user] = last
        require(changes or chain.user != state.root.founder)
        if changes and changes[-1].change in (ADMITTED, CHANGED, GRANTED):
            place = [place for place, change in enumerate(changes) if change.change in (ADMITTED, GRANTED)][-1]
            admission, asked = changes[place], changes[place - 1] if place and changes[place - 1].change == GRANTED else None
            found = state.waiting if changes[-1].change == GRANTED else state.members
            found[chain.user] = Member(changes[-1].role, history, changes[-1].not_after, admission.sequence, admission.time,
                                       asked.author if asked else admission.author, admission.author if asked else None)
    require(all(a < b for a, b in zip(users, users[1:])))
    require(state.root.founder in state.chains and len(state.members) + len(state.waiting) <= 10000)
    require(len(state.chains) <= 16384)
    require(state.founder_generation <= state.chains[state.root.founder].newest.generation)
    require(len(state.approvers) <= 16 and all(a < b for a, b in zip(state.approvers, state.approvers[1:])))
    require(all(user in state.chains and not state.is_in(user) for user in state.approvers))
    require(state.tresor == tresor)                                                                 # 5
    return state


def read_kept_person(reader, epoch_count):
    chain = reader.opaque32(1, 524288)
    sequence = reader.rising()
    generations = reader.counted(1, 20, lambda: (sequence(), reader.time(), reader.u32()))
    require(all(a[2] <= b[2] for a, b in zip(generations, generations[1:])))
    at, before = reader.rising(), [None]

    def change():
        place, when, author, kind, role, not_after = at(), reader.time(), reader.digest(), reader.u8(), reader.u8(), reader.time()
        require(1 <= kind <= 6)
        what = next(name for name, number_ in KIND_OF_CHANGE.items() if number_ == kind)
        stays = what in (ADMITTED, CHANGED, GRANTED)
        require(role in (OWNER, WRITER, READER) if stays else (role, not_after) == (0, 0))
        last = before[0]
        is_in, waits = last is not None and last.change in (ADMITTED, CHANGED, GRANTED), last is not None and last.change == GRANTED
        as_asked = waits and (last.role, last.not_after) == (role, not_after)
        require({GRANTED: not is_in, ADMITTED: as_asked if waits else not is_in, CHANGED: is_in and not waits, REMOVED: is_in, LEFT: is_in,
                 REFUSED: waits}[what])
        before[0] = Change(place, when, author, what, role, not_after) if stays else Change(place, when, author, what)
        return before[0]
    changes = reader.counted(0, 58, change)
    last = reader.time() if reader.mark() else None
    history = reader.u64()
    is_in = bool(changes) and changes[-1].change in (ADMITTED, CHANGED, GRANTED)
    require(history == 0 or is_in and 2 <= history <= epoch_count)
    return chain, generations, changes, last, history

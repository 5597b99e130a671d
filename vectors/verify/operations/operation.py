# SPDX-License-Identifier: Apache-2.0
"""SPEC Appendix E.3: the operations of the vectors by name, and how their inputs are read."""
from verify.sections.conventions import blake2b, require, u32, u64, u8
from verify.sections.encoding import Reader
from verify.sections.identity import read_chain
from verify.sections.identity_file import Identity, open_previous
from verify.sections.bodies import read_epoch
from verify.sections.rules import judge
from verify.sections.fold import apply
from verify.sections.epochs import check_keys


# An operation takes the `in` of a test as bytes, and a trace that it fills with intermediate values. The trace begins with the `mid`
# that are drawn at random (seeds), so that an operation can check them. It returns `out`, or raises Refused.
OPERATIONS = {}


def operation(name):
    def enter(function):
        OPERATIONS[name] = function
        return function
    return enter


def number_in(data): return int.from_bytes(data, "big")


def one_epoch(data):
    reader = Reader(data)
    epoch = read_epoch(reader)
    reader.end()
    return epoch


def opened(identity):
    return {"user": identity.user, "generation": u32(identity.chain.newest.generation)}


def identity_in(i):
    chain = read_chain(i["chain"])
    return Identity(chain, open_previous(chain, i["S"], i["previous"]))


def state_out(state):
    def rows(people):
        return [user + u8(m.role) + u64(m.history) + u64(m.not_after) + u64(m.since) + u64(m.since_time) + m.admitted_by
                for user, m in sorted(people.items())]
    approved = [user + m.approved_by for user, m in sorted(state.members.items()) if m.approved_by is not None]
    return {"head": u64(state.sequence) + state.hash, "head time": u64(state.time), "epoch": u64(state.epoch),
            "rekey pending": u8(state.rekey_pending), "floor": u64(state.floor), "checkpoint": u64(state.checkpoint),
            "members": rows(state.members), "waiting": rows(state.waiting), "approved": approved, "approvers": state.approvers}


def judged(tresor, log):
    """The state of a log, and its entries of which each has been judged."""
    state, entries = None, []
    for data in log:
        entries.append(judge(state, tresor, data))
        state = apply(state, entries[-1])
    return state, entries


def keys_in(state, epoch, data):
    """TK, HK of one epoch, checked against the log."""
    require(data is not None, "no_access")
    TK, HK = data[:32], data[32:] or None
    require(len(data) in (32, 64))
    check_keys(state.tresor, state.epochs[epoch], TK, HK)
    return TK, HK


def by_number(rows):
    """A list of u64 ‖ bytes."""
    return {number_in(row[:8]): row[8:] for row in rows}


def history_in(i):
    return number_in(i["history"]) if "history" in i else None


def plain_hashes(items):
    return [blake2b(item.bytes) for item in items]


def numbers(values):
    return b"".join(u64(value) for value in values)

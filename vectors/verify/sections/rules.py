# SPDX-License-Identifier: Apache-2.0
"""SPEC §9.3: the rules of an entry. log.json."""
from verify.sections.conventions import ZERO, Refused, require
from verify.sections.suite import verify_label
from verify.sections.identity import check_succeeds
from verify.sections.bodies import (
    ADDITIVE, APPROVE, APPROVERS, CHECKPOINT, COMMIT, GENESIS, GRANT, GREATEST_BLOB, GREATEST_PACK, LEAST_BLOB, LEAVE, OWNER, REFUSE,
    REMOVE, RENEW, ROLE, kind_of, read_body, read_checkpoint, read_commit, read_entry, tresor_id)


# 9.3 Rules

class Member:
    def __init__(self, role, history, not_after, since, since_time, admitted_by, approved_by=None):
        self.role, self.history, self.not_after = role, history, not_after          # history 0: all, else from that epoch
        self.since, self.since_time, self.admitted_by, self.approved_by = since, since_time, admitted_by, approved_by

    def first_release(self, epoch):
        """The first of the epochs whose approval keys are released when this person is approved."""
        return self.history or epoch

    def is_lasting_owner(self):
        return self.role == OWNER and self.not_after == 0


def void_by(state, entry):
    """The rule that makes an additive body void, or none; `state` is that before the entry. Sets what the body says."""
    if entry.type not in (COMMIT, CHECKPOINT):
        return None
    is_commit = entry.type == COMMIT
    try:
        said = entry.said = (read_commit if is_commit else read_checkpoint)(entry.body_bytes)
    except Refused:
        return "R2"
    sizes = [size for _, size in said.blobs]
    small = sizes[:1] if is_commit else sizes
    rules = [(15, is_commit or state.members[entry.author].role == OWNER),
             (38, 1 <= len(sizes) <= (1024 if is_commit else 10000) and all(LEAST_BLOB <= size <= GREATEST_BLOB for size in sizes)
              and all(size <= GREATEST_PACK for size in small)),
             (39, said.epoch == state.epoch), (40, not state.rekey_pending)]
    if not is_commit:
        people = list(state.members.values()) + list(state.waiting.values())
        began = [state.epochs[person.history].sequence for person in people if person.history != 0]
        rules += [(41, state.floor < said.upto < entry.sequence), (42, all(said.upto < sequence for sequence in began))]
    return next(("R%d" % n for n, holds in rules if not holds), None)


def judge(state, tresor, data):
    """The rules in the order of §9.3; the entry, with its body, if it keeps all that apply."""
    def rule(n, holds, name="altered"):
        require(holds, name, "R%d" % n)

    def read(function, *arguments):
        """R1 and R2."""
        try:
            return function(*arguments)
        except Refused as refused:
            raise Refused(refused.name, "R1" if refused.name == "unsupported" else "R2") from None

    def signed(card):
        try:
            verify_label(card.signing_key, "tresor/v1/entry-signature", entry.signed, entry.signature)
        except Refused:
            raise Refused("altered", "R12") from None

    entry = read(read_entry, data)                                                                  # 1
    is_genesis, entry.void, entry.said = entry.type == GENESIS, None, None
    rule(3, entry.tresor == tresor)                                                                 # 2
    rule(4, entry.sequence == (state.sequence + 1 if state else 0))
    rule(5, entry.previous == (state.hash if state else ZERO))
    rule(6, is_genesis == (state is None))
    if is_genesis:                                                                                  # 3
        body = entry.body = read(read_body, entry.type, entry.body_bytes)
        newest = body.chain.newest
        rule(7, tresor_id(body.root.bytes) == entry.tresor)
        rule(8, body.root.founder == body.chain.user == entry.author and body.root.card_hash == newest.hash
             and entry.generation == newest.generation)
        rule(9, body.epoch.number == 1 and body.epoch.back_link == b"")
        signed(newest)
        judge_approvers(rule, body.approvers, lambda chain: chain.user != entry.author)
        return entry
    card, author = state.card(entry.author, entry.generation), state.members.get(entry.author)
    person, is_approver = author or state.waiting.get(entry.author), entry.author in state.approvers
    rule(11, card is not None, "no_access")
    signed(card)
    may = {APPROVE: is_approver, REFUSE: is_approver, RENEW: person is not None or is_approver, LEAVE: person is not None}
    rule(13, may.get(entry.type, author is not None), "no_access")
    rule(14, entry.generation == state.chains[entry.author].newest.generation, "no_access")
    if entry.type != LEAVE and person is not None:
        rule(16, person.not_after == 0 or entry.time <= person.not_after, "no_access")
    body = entry.body = read(read_body, entry.type, entry.body_bytes)
    rule(15, kind_of(entry.type).permits(state, entry, author), "no_access")
    if entry.type >= ADDITIVE:                                                                      # 4
        entry.void = void_by(state, entry)
        return entry
    if entry.type in (GRANT, REMOVE):
        users = [chain.user for chain in body.people] if entry.type == GRANT else body.users
        rule(17, users and all(a < b for a, b in zip(users, users[1:])))
    if entry.type == GRANT:
        rule(18, not any(state.is_in(user) or user in state.approvers for user in users))
        rule(19, all(chain.extends(state.chains[chain.user]) for chain in body.people if chain.user in state.chains))
        rule(20, body.role != OWNER or not body.from_now)
        rule(21, state.root.founder not in users or (body.role == OWNER and body.not_after == 0))
        rule(22, len(state.members) + len(state.waiting) + len(users) <= 10000)
    if body.epoch is not None:
        rule(23, body.epoch.number == state.epoch + 1 and body.epoch.back_link != b"")
    if entry.type == REMOVE:
        rule(24, all(state.is_in(user) for user in users))
        rule(25, state.root.founder not in users and entry.author not in users)
    if entry.type == LEAVE:
        rule(26, author is None or author.role != OWNER or state.lasting_owner_besides(entry.author))
    if entry.type == RENEW:
        rule(27, body.card.user in state.chains)
        try:
            check_succeeds(body.card, state.chains[body.card.user].newest, body.card.user)
        except Refused:
            raise Refused("altered", "R27") from None
    if entry.type == ROLE:
        person = state.members.get(body.user)
        rule(28, person is not None)
        rule(29, body.user != state.root.founder)
        rule(30, body.role != person.role or body.not_after != person.not_after)
        rule(31, body.role != OWNER or person.history == 0)
        rule(32, (body.role == OWNER and body.not_after == 0) or state.lasting_owner_besides(body.user))
    if entry.type == REMOVE:
        rule(33, state.lasting_owner_besides(*users))
    if entry.type == APPROVERS:
        judge_approvers(rule, body.approvers, lambda chain: not state.is_in(chain.user)
                        and (chain.user not in state.chains or chain.extends(state.chains[chain.user])))
    if entry.type in (APPROVE, REFUSE):
        waiting = state.waiting_by(body.grant)
        rule(35, waiting != [])
    if entry.type == APPROVE:
        rule(36, body.approved_epoch == state.epoch)
        rule(37, [release.user for release in body.releases] == waiting)
        for release in body.releases:
            keys = state.epoch - state.waiting[release.user].first_release(state.epoch) + 1
            rule(37, release.generation == state.chains[release.user].newest.generation and len(release.ct) == 16 + 32 * keys)
    if body.epoch is not None:
        earlier = {c for epoch in state.epochs.values() for c in (epoch.content_commitment, epoch.history_commitment)}
        rule(48, body.epoch.content_commitment not in earlier and body.epoch.history_commitment not in earlier)
    if entry.type in (GRANT, APPROVERS):
        rule(49, has_room(state, [chain.user for chain in (body.people if entry.type == GRANT else body.approvers)]))
    return entry


def judge_approvers(rule, chains, may_approve):
    users = [chain.user for chain in chains]
    rule(34, len(users) <= 16 and all(a < b for a, b in zip(users, users[1:])) and all(may_approve(chain) for chain in chains))


def has_room(state, users):
    return len(state.chains) + sum(user not in state.chains for user in users) <= 16384

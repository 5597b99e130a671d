# SPDX-License-Identifier: Apache-2.0
"""Checks that no vector has."""
from verify.sections.conventions import H, ZERO, Refused, u16, u32
from verify.sections.encoding import opaque32, preamble
from verify.sections.identity import Chain, Keys
from verify.sections.pins import Pin, founder_trust
from verify.sections.identity_file import DEVICE, KIT, Identity, IdentityFile, Slot, open_with_device
from verify.sections.home import encode_kept_wraps, open_marks, open_names, read_kept_wraps, seal_marks, seal_names, settle_ways_in
from verify.sections.bodies import EPOCH, LEAVE, OWNER, READER, RENEW, WRITER, Epoch, encode_body, read_body
from verify.sections.rules import judge
from verify.sections.fold import ADMITTED, CHANGED, LEFT, REMOVED, Change, State, make_entry
from verify.sections.epochs import check_keys, encode_wrap, open_back_link
from verify.sections.approval import encode_approval_evidence, read_approval_evidence
from verify.sections.keys import cut_off, keys_of, new_epoch, reachable
from verify.sections.acts import effect_of, settle, superseded
from verify.sections.snapshot import make_snapshot, open_snapshot, state_tag
from verify.sections.sealed_file import standing
from verify.operations.operation import one_epoch
from verify.case import refusal
from verify.own_log import OwnLog


def check_own(totals):
    """What no vector has: the names a home keeps sealed, its kept wraps, what finishes a cleanup journal, bodies by number, dates of
    standing, keys where an epoch is withheld, what settle appends."""
    def holds(what, condition):
        if not condition:
            totals.problem("own check: %s" % what)

    one, two = bytes([1] * 32), bytes([2] * 32)
    identity = Identity(Chain([type("Card", (), {"bytes": b"", "handle": b""})]), [Keys(ZERO)])
    names = [(ZERO, b"a"), (one, b"b")]
    holds("names", open_names(identity, seal_names(identity, names)) == names)

    wrap = encode_wrap(one, 1, two, 0, bytes(1120), bytes(80))
    marks = [(one, 1), (two, 2)]
    holds("marks", open_marks(identity, seal_marks(identity, marks)) == marks)
    rows = [(one, 1, wrap), (one, 256, wrap), (two, 1, wrap)]
    kept = encode_kept_wraps(rows)
    holds("kept wraps", read_kept_wraps(kept) == rows and read_kept_wraps(preamble(b"tresorK1")) == [])
    for what, data, name in [
            ("cut", kept[:-1], "altered"), ("a byte behind", kept + b"\0", "altered"), ("nothing", b"", "altered"),
            ("ids that fall", encode_kept_wraps([(two, 1, wrap), (one, 2, wrap)]), "altered"),
            ("epochs that fall", encode_kept_wraps([(one, 256, wrap), (one, 1, wrap)]), "altered"),
            ("one epoch twice", encode_kept_wraps([(one, 1, wrap)] * 2), "altered"),
            ("a wrap of no bytes", encode_kept_wraps([(one, 1, b"")]), "altered"),
            ("version 2", kept[:8] + b"\2" + kept[9:], "unsupported"), ("suite 2", kept[:9] + b"\2" + kept[10:], "unsupported"),
            ("another object", b"tresorO1" + kept[8:], "unsupported"), ("no object of ours", b"Tresor" + kept[6:], "altered")]:
        holds("kept wraps, %s" % what, refusal(read_kept_wraps, data) == name)

    def slot(kind, id_, locator=None):
        made = Slot()
        made.kind, made.id, made.locator = kind, id_, locator
        return made
    here, gone, revoked, share = bytes([3] * 16), bytes([4] * 16), bytes([5] * 16), Slot()
    file = IdentityFile()
    file.chain, file.slots = identity.chain, [slot(KIT, bytes(16), one), slot(DEVICE, here), slot(DEVICE, gone)]
    user, share.user, share.device = identity.user, identity.user, here
    kits = [[user + one, user + two], [one + two]]
    note_ = [sorted(kits[0] + kits[1]), sorted([user + here, user + gone, user + revoked]), [gone], [u32(1)]]
    holds("cleanup journal", settle_ways_in(note_, file, share)
          == (False, [user + two], [user + gone, user + revoked], [kits[1], [], [gone], [u32(1)]]))
    share.device = revoked
    holds("cleanup journal, a share without slot", settle_ways_in(note_, file, share)
          == (True, [user + two], [user + here, user + gone, user + revoked], [kits[1], [], [here, gone], [u32(1)]]))
    holds("cleanup journal, no file", settle_ways_in(note_, None, None) == (False, [], note_[1], [note_[0], [], [], [u32(1)]]))
    data = preamble(b"tresorD1") + user + revoked + ZERO
    holds("a device that was ended", refusal(open_with_device, file, data, ZERO, 0, None, note_) == "not_found")
    holds("a device that nobody ended", refusal(open_with_device, file, data, ZERO, 0, None, [[], [], [], []]) == "no_access")

    for kind in [0, 11, 12, *range(14, 128)]:
        holds("body %d" % kind, refusal(read_body, kind, b"") == "unsupported")
    evidence = encode_approval_evidence(user, b"approve", b"wrap", b"")
    holds("evidence of an approval", encode_approval_evidence(*read_approval_evidence(evidence)) == evidence)
    holds("evidence of an approval without a wrap",
          refusal(read_approval_evidence, encode_approval_evidence(user, b"approve", b"", b"")) == "altered")
    for kind in (128, 129, 130, 65535):
        holds("body %d" % kind, encode_body(kind, read_body(kind, b"any bytes")) == b"any bytes" and read_body(kind, b"").epoch is None)
    check_own_standing(holds)
    check_own_keys(holds)
    check_own_settle(holds)


def check_own_standing(holds):
    user, other = bytes([1] * 32), bytes([2] * 32)
    card = lambda generation, time_=0: type("Card", (), {"generation": generation, "time": time_})
    chain = lambda *cards: type("Chain", (), {"newest": cards[-1], "card": lambda self, g: cards[g]})()
    state = object.__new__(State)
    state.generations, state.chains = {user: [(0, 10, 0), (1, 20, 1), (2, 30, 2), (3, 40, 2)]}, {user: chain(card(2))}

    def stands(changes, generation, h, compared=None):
        state.changes = {user: [Change(at, 10 * at, other, *change) for at, change in changes]}
        return standing(state, user, generation, h, compared)
    writer, reader = (ADMITTED, WRITER), (ADMITTED, READER)
    current, renewed = ("current",), ("former", "key renewed", 30)
    holds("standing", [stands([(0, writer)], g, 0) for g in (0, 2)] == [renewed, current])
    holds("standing, role of one who writes", stands([(0, writer), (4, (CHANGED, OWNER))], 2, 3) == current)
    back = [(0, writer), (4, (REMOVED,)), (7, writer)]
    holds("standing, back", [stands(back, 2, h) for h in (3, 6, 7)] == [("former", REMOVED, 40)] * 2 + [current])
    holds("standing, back with an older generation", [stands(back, 0, h) for h in (3, 7)] == [("former", REMOVED, 40), renewed])
    twice = back + [(8, (LEFT,)), (9, reader), (12, (CHANGED, WRITER))]
    holds("standing, back twice", [stands(twice, 2, h) for h in (3, 11, 12)] == [("former", "role changed", 90)] * 2 + [current])
    holds("standing, out", [stands(twice[:n], 2, 7)[1:] for n in (2, 4, 5)] == [(REMOVED, 40), (LEFT, 80), ("role changed", 90)])
    longer = chain(card(0, 1), card(1, 2), card(2, 3), card(3, 4), card(4, 5))
    holds("standing, compared", [stands([(0, writer)], 2, 0, compared) for compared in (longer, chain(card(0), card(1)))]
          == [("former", "key renewed", 4), current])
    holds("standing, compared, back", stands(back, 2, 3, longer) == ("former", REMOVED, 40))


def check_own_keys(holds):
    """keysOf where an epoch is withheld or its back-link spoiled; reachable, newEpoch and cutOff; the snapshot with owner time."""
    anna, bert = OwnLog.person(b"anna"), OwnLog.person(b"bert")
    log = OwnLog(anna, 100)
    log.grant(anna, 200, [bert], WRITER)
    renewed = OwnLog.person(b"bert", 2)
    log.say(bert, 300, RENEW, opaque32(renewed.chain.newest.bytes))
    holds("owner time", (log.state.time, log.state.owner_time, log.state.rekey_pending) == (300, 200, True))
    bert = renewed
    log.begin(bert, 400, [1])
    one, two = log.wrap(anna, 1), log.wrap(bert, 2)

    def failing():
        raise Refused("store")

    def finds(person, wanted, store, home=()):
        """What keysOf gives: yes, or the error; keys must be those of the epoch."""
        try:
            return keys_of(log.state, person, store if callable(store) else lambda: store, list(home), wanted) == log.keys[wanted]
        except Refused as refused:
            return refused.name
    spoiled = lambda wrap, at=1: (wrap[0], wrap[1][:-at] + bytes([wrap[1][-at] ^ 1]) + wrap[1][len(wrap[1]) - at + 1:])
    alien = lambda wrap: (wrap[0], wrap[1][:8] + b"\2" + wrap[1][9:])
    many = lambda wrap, count: [spoiled(wrap, at) for at in range(1, count + 1)]
    for what, wanted, store, home, result in [
            ("withheld: the one before", 1, [one], [], True), ("withheld", 2, [one], [], "no_access"),
            ("by the home's wrap", 1, [], [one], True), ("the store's is spoiled", 1, [spoiled(one)], [one], True),
            ("the home's is spoiled", 1, [one], [spoiled(one)], True), ("both are spoiled", 1, [spoiled(one)], [spoiled(one)], "altered"),
            ("the first error", 1, [alien(one)], [spoiled(one)], "unsupported"), ("no wrap", 1, [], [], "no_access"),
            ("the store fails, the home has it", 1, failing, [one], True), ("the store fails", 2, failing, [one], "store"),
            ("the store fails, and the home's is spoiled", 1, failing, [spoiled(one)], "store"),
            ("a wrap of another epoch in its place", 2, [(2, one[1])], [], "altered"),
            ("the newer wrap is spoiled", 1, [one, spoiled((2, one[1]))], [], True),
            ("the first error is that of the newest", 1, [spoiled(one), alien((2, one[1]))], [], "unsupported"),
            ("two of one epoch: the first that opens", 1, [spoiled(one), one], [], True),
            ("sixteen of one epoch", 1, [alien(one)] + many(one, 15) + many(one, 15) + [one], [], True),
            ("seventeen of one epoch", 1, many(one, 16) + [one], [], "altered"),
            ("two of one epoch: the first that fits", 1, [alien(one), (1, two[1]), one], [], True),
            ("two of one epoch, and the home's", 1, [spoiled(one), one], [one], True),
            ("epoch 0", 0, [one], [], "no_access"), ("beyond the current epoch", 3, [one], [], "no_access")]:
        holds("keysOf, %s" % what, finds(anna, wanted, store, home) == result)
    holds("keysOf, by the back-link", finds(bert, 1, [two]) is True and finds(bert, 1, [], [two]) is True)

    def cut(person, store, home=(), began=None):
        try:
            return cut_off(log.state, person, store if callable(store) else lambda: store, list(home), began or log.began)
        except Refused as refused:
            return refused.name
    holds("cutOff", [cut(anna, [one]), cut(anna, [one], [spoiled((2, one[1]))]), cut(anna, failing, [one]), cut(bert, []),
                     cut(anna, [one], began=anna.user), cut(anna, [log.wrap(anna, 2)])] == [True, True, "store", False, "store", False])

    links = lambda person, wraps: [link[0] for link in reachable(log.state, person, wraps)]
    made = lambda person, wraps: [link[0] for link in new_links(log.state, person, wraps)]

    def new_links(state, person, wraps):
        (TK, HK), epoch = new_epoch(state, person, wraps)
        check_keys(log.tresor, one_epoch(epoch.encode()), TK, HK)
        return open_back_link(log.tresor, {**state.epochs, epoch.number: epoch}, epoch.number, HK)
    holds("reachable, withheld", links(anna, [one]) == [1] and made(anna, [one]) == [1])
    holds("reachable, nothing", made(anna, []) == [] and links(anna, [spoiled(one), (9, one[1])]) == [])
    holds("newEpoch of a writer", made(bert, [log.wrap(bert, 1), two]) == [2]
          and refusal(new_epoch, log.state, bert, [log.wrap(bert, 1)]) == "no_access")
    log.begin(anna, 500, [1])                               # 3: goes past 2
    log.begin(anna, 600, [])                                # 4: reaches nothing
    log.keys[5], good = log.new_keys(5), log.keys[3]
    log.keys[3] = (ZERO, ZERO)
    log.begin(anna, 700, [3])                               # 5: a link that is none
    log.keys[3] = good
    own = {e: log.wrap(anna, e) for e in range(1, 6)}
    wraps = lambda *numbers: [own[e] for e in numbers]
    for what, wanted, numbers, result in [
            ("past a withheld epoch", 1, (3,), True), ("the epoch past which it goes", 2, (3,), "no_access"),
            ("no links", 3, (4,), "no_access"), ("a wrap behind no links", 1, (3, 4), True), ("a spoiled link", 3, (5,), "altered"),
            ("a wrap behind a spoiled link", 3, (3, 5), True), ("a wrap behind both", 1, (1, 5), True),
            ("every wrap", 2, (1, 2, 3, 4, 5), True)]:
        holds("keysOf, %s" % what, finds(anna, wanted, wraps(*numbers)) == result)
        holds("keysOf, %s, by the home" % what, finds(anna, wanted, [], wraps(*numbers)) == result)
    holds("reachable, links", links(anna, wraps(1, 2, 3, 4, 5)) == [5, 4, 3, 2] and links(anna, wraps(1, 3)) == [3]
          and links(anna, wraps(1, 3) + wraps(3, 4)) == [4, 3] and made(anna, wraps(1, 2, 4)) == [4, 2])
    holds("reachable, a wrap of the home alone", [link[0] for link in reachable(log.state, anna, [spoiled(own[5])], [own[5]])] == [5])
    holds("reachable, two of one epoch", links(anna, [spoiled(own[5]), own[5]]) == [5] and links(anna, many(own[5], 16) + [own[5]]) == []
          and links(anna, [alien(own[5]), own[5]]) == [5])
    holds("openBackLink, no links", open_back_link(log.tresor, log.state.epochs, 4, log.keys[4][1]) == [])
    holds("openBackLink, not to the epoch before", [link[0] for link in open_back_link(log.tresor, log.state.epochs, 3, good[1])] == [1])
    log.begin(anna, 750, [1])                               # 6
    log.begin(anna, 760, [6, 4])                            # 7: the lower of the two leads nowhere
    seven = [log.wrap(anna, 7)]
    holds("keysOf, by the higher of two links", [finds(anna, e, seven) for e in (1, 2, 4)] == [True, "no_access", True])
    used = log.epoch_of(8, log.keys[1][0], H("tresor/v1/number", b""), [])
    swapped = Epoch(8, log.state.epochs[1].history_commitment, ZERO, log.state.epochs[3].back_link).encode()
    for epoch in (used, swapped):
        entry = make_entry(anna.keys[0], log.tresor, log.state.sequence + 1, log.state.hash, anna.user, 0, 800, EPOCH, epoch)
        try:
            judge(log.state, log.tresor, entry)
            holds("a key that comes back", False)
        except Refused as refused:
            holds("a key that comes back", (refused.name, refused.rule) == ("altered", "R48"))

    state = open_snapshot(make_snapshot(log.state, anna), log.tresor, anna)
    holds("snapshot", (state.owner_time, make_snapshot(state, anna)) == (760, make_snapshot(log.state, anna)))
    later = preamble(b"tresorS2") + u16(200) + make_snapshot(log.state, anna)[12:-32]
    state = open_snapshot(later + state_tag(anna, later), log.tresor, anna)
    holds("snapshot of a later program", make_snapshot(state, anna) == make_snapshot(log.state, anna))
    before = b"tresorS1" + later[8:]
    holds("snapshot of before", refusal(open_snapshot, before + state_tag(anna, before), log.tresor, anna) == "unsupported")


def check_own_settle(holds):
    """What settle appends: newer cards that were compared, and dates that passed, by a clock that is not far from the owners'."""
    day, now = 86400, 1000 * 86400
    anna, dora, house, cleo = (OwnLog.person(name, 3) for name in (b"anna", b"dora", b"dr-house", b"cleo"))
    first = lambda person: OwnLog.until(person, 1)
    log = OwnLog(first(anna), now)
    log.grant(first(anna), now, [first(dora)], OWNER)
    log.grant(first(anna), now, [first(cleo)], OWNER, now + 3 * day)
    log.grant(first(anna), now, [first(house)], READER, now + 2 * day)
    log.say(first(cleo), now + day, 200, b"no owner time: she has a date")
    holds("owner time of who has a date", (log.state.time, log.state.owner_time) == (now + day, now))

    pin = lambda person, generations=1, replaced=0: Pin(0, replaced, Chain(person.chain.cards[:generations]))
    me, founder = first(dora), pin(anna)

    def settled(pins, clock, was_pinned=True, go_on=False, by=me, state=None):
        try:
            cards, users = settle(state or log.state, by.chain, pins, was_pinned, clock, go_on)
            return [(card.user, card.generation) for card in cards], users
        except Refused as refused:
            return refused.name
    both = sorted([house.user, cleo.user])
    for what, clock, result in [
            ("on the day itself", now + 2 * day, []), ("a second later", now + 2 * day + 1, [house.user]),
            ("two dates", now + 3 * day + 1, both), ("the last second", now + 400 * day, both), ("too late", now + 400 * day + 1, "failed"),
            ("before any date", now - 2 * day, [])]:
        holds("settle, %s" % what, settled([founder], clock) == (result if result == "failed" else ([], result)))
    holds("settle, too late, and somebody says to go on", settled([founder], now + 401 * day, go_on=True) == ([], []))
    early = log.state.copy()
    early.owner_time = now + 4 * day
    holds("settle, a clock that is behind", [settled([founder], now + 3 * day + s, state=early) for s in (0, -1)]
          == [([], [house.user]), "failed"])
    for who in (first(house), OwnLog.person(b"x")):
        holds("settle, not by a reader or a stranger", settled([founder], now + 3 * day + 1, by=who) == ([], []))
    holds("settle, not with a card that the log has not", settled([founder], now + 3 * day + 1, by=dora) == ([], []))
    holds("settle, a founder nobody compared", settled([pin(house, 3)], now + 3 * day + 1) == ([], []))

    later = [(house.user, 1), (house.user, 2)]
    holds("settle, newer cards", settled([founder, pin(house, 3)], now) == (later, []))
    holds("settle, newer cards and a date", settled([founder, pin(house, 3)], now + 2 * day + 1) == (later, [house.user]))
    holds("settle, newer cards do not bring the clock nearer", settled([founder, pin(house, 3)], now + 400 * day + 1) == "failed")
    holds("settle, a pin that was replaced", settled([founder, pin(house, 3, 1)], now) == ([], []))
    holds("settle, the founder's newer card", [settled([pin(anna, 2)], now + 2 * day + 1, was) for was in (True, False)]
          == [([(anna.user, 1)], [house.user]), ([], [])])
    holds("superseded", superseded(log.state, first(house).chain, [pin(anna, 2), pin(house, 3), pin(dora, 2)])
          == sorted([anna.user, dora.user]))

    log.say(me, now, RENEW, opaque32(house.chain.cards[1].bytes))       # what an owner says for somebody else
    holds("renew for a member", log.state.rekey_pending and log.state.chains[house.user].newest.generation == 1)
    log.begin(me, now, [1])
    log.say(first(anna), now, LEAVE, b"")
    log.begin(me, now, [2])
    holds("settle, a founder who left and renewed", settled([pin(anna, 2)], now) == ([(anna.user, 1)], []))
    log.say(me, now, RENEW, opaque32(anna.chain.cards[1].bytes))
    holds("renew for who is out", not log.state.rekey_pending and log.state.chains[anna.user].newest.generation == 1
          and settled([pin(anna, 2)], now) == ([], []))
    out = log.state.copy()
    del out.members[house.user]
    holds("settle, somebody else who is out", settled([pin(anna, 2), pin(house, 3)], now, state=out) == ([], []))

    # The founder's card has signed nothing here, and an owner put it in: whoever knows the tresor from before believes it.
    trusts = lambda pins, pinned: founder_trust(first(house).chain, pins, log.state, pinned=pinned)
    holds("founderTrust, a card that signed nothing", [trusts([pin(anna, n)], was) for n in (1, 2) for was in (True, False)]
          == ["renewed", "unverified", "verified", "unverified"])
    holds("founder generation", log.state.founder_generation == 0)
    log.grant(me, now, [OwnLog.until(anna, 2)], OWNER)
    log.say(OwnLog.until(anna, 2), now, 200, b"")
    holds("founderTrust, a card that signed", log.state.founder_generation == 1 and trusts([pin(anna, 2)], False) == "verified")

    # A writer rotates for nobody whose card this home knows to be superseded; the founder's is unverified anyway.
    log.grant(me, now, [first(OwnLog.person(b"walt"))], WRITER)
    walt = OwnLog.person(b"walt")
    log.say(OwnLog.until(house, 2), now, LEAVE, b"")
    rotates = lambda who, pins: refusal(effect_of, "rotate", {}, log.state, who.chain, who.chain, pins, now, True)
    holds("rotate by a writer", [rotates(walt, [pin(anna, 2), pin(dora, n)]) for n in (1, 2)] == [None, "unverified"])
    holds("rotate by an owner", rotates(me, [pin(anna, 2), pin(cleo, 2)]) is None)

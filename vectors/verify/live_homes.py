# SPDX-License-Identifier: Apache-2.0
"""Opens here what the command makes, and by the command what is made here."""
import os
import time

from verify.sections.conventions import ZERO, Refused, u16, u32, u64, u8
from verify.sections.encoding import CARD_ARMOUR, FILE_ARMOUR, armour, dearmour, is_armour, opaque32, preamble
from verify.sections.suite import argon2id
from verify.sections.tc1 import tc1_seal
from verify.sections.identity import number, read_chain
from verify.sections.pins import read_pins, trust
from verify.sections.identity_file import (
    KIT, PASSWORD, identity_tag, kit_locator, kit_slot_key, kit_words, open_with_kit, read_identity_file, set_password)
from verify.sections.home import open_names, read_kept_wraps
from verify.sections.bodies import (
    EPOCH, GENESIS, GRANT, OWNER, READER, RENEW, WRITER, Epoch, open_name, read_body, read_entry, seal_name, tresor_id)
from verify.sections.fold import fold, make_entry
from verify.sections.epochs import commitments, make_wrap, open_back_link, read_wrap, seal_back_link
from verify.sections.keys import keys_of
from verify.sections.heads import read_heads, read_kept_log
from verify.sections.snapshot import make_snapshot, open_snapshot
from verify.sections.sealed_file import encode_fields, encode_header, seal_payload
from verify.case import refusal
from verify.own_log import OwnLog
from verify.live_program import refused_with, same
from verify.live_records import live_attachments, live_records


def live_all(run, command):
    small, large = b'{"plan": 1}', os.urandom(200000)
    contents = {"plan.json": small, "large.bin": large, "empty": b""}
    for name, content in contents.items():
        command.file(name, content)
    password, people = command.password, {}
    for home in ("anna", "dr-house", "eve"):
        command.must(home, "keygen", home, "--no-kit", "--argon2id", "64,3")

    # 7, 8: identities
    def identities():
        for home in ("anna", "dr-house", "eve"):
            people[home] = command.identity(home)
            same(people[home].chain.handle, home.encode())
    run.check("identity files open", identities)
    chain = lambda home: people[home].chain

    def wrong_password():
        try:
            command.identity("anna", password + b".")
        except Refused as refused:
            same(refused.name, "wrong_password")
        else:
            raise AssertionError("opened with another password")
    run.check("another password", wrong_password)

    def numbers():
        for home in people:
            same(command.must(home, "card", "--number").decode().strip().replace(" ", ""), number(chain(home)).replace(" ", ""), "number")
    run.check("numbers", numbers)

    def cards():
        for home in people:
            command.must(home, "card", "-o", home + ".card")
            data = (command.directory / (home + ".card")).read_bytes()
            same(read_chain(dearmour(data, CARD_ARMOUR) if is_armour(data) else data).bytes, chain(home).bytes, "card")
        same(sorted(command.objects(b"tresorC1")), sorted(chain(home).bytes for home in people), "card in the store")
    run.check("cards", cards)

    def pins():
        for home, other in (("anna", "dr-house"), ("anna", "eve"), ("dr-house", "anna"), ("eve", "anna")):
            command.must(home, "verify", other, "--number", number(chain(other)))
        refused_with("unverified", command.run("eve", "verify", "dr-house", "--number", number(chain("anna"))))
        kept = read_pins((command.directory / "anna" / "pins").read_bytes())
        same([trust(chain("anna"), kept, chain(home)) for home in ("anna", "dr-house", "eve")], ["me", "verified", "verified"], "trust")
    run.check("numbers that are typed, and pins", pins)
    run.section("7", "live-identity")

    # 9: a tresor
    command.must("anna", "create", "plans")
    tresor = command.objects(b"tresorE1")[0][10:42]

    def encrypt(home, source, target, *options):
        command.must(home, "encrypt", "-t", "plans", "--type", "application/json", source, "-o", target, *options)
    encrypt("anna", "plan.json", "1.tresor")
    command.must("anna", "share", "-t", "plans", "dr-house", "--role", "writer")
    encrypt("dr-house", "large.bin", "2.tresor", "-a")
    command.must("anna", "rotate", "-t", "plans", "--yes")
    encrypt("anna", "empty", "3.tresor")
    command.must("anna", "share", "-t", "plans", "eve", "--from-now")
    encrypt("dr-house", "plan.json", "4.tresor")
    command.must("anna", "rotate", "--identity", "--no-kit", "--argon2id", "64,3", "--yes")
    people["anna"] = command.identity("anna")
    anna, house, eve = people["anna"], people["dr-house"], people["eve"]

    def members():
        state = run.state(tresor)
        same({user: (m.role, m.history) for user, m in state.members.items()},
             {anna.user: (OWNER, 0), house.user: (WRITER, 0), eve.user: (READER, 3)}, "list of members")
        same((state.epoch, state.rekey_pending, state.chains[anna.user].bytes), (4, False, anna.chain.bytes), "state")
    run.check("the log folds", members)

    def kept():
        own_time, heads = read_heads((command.directory / "anna" / "heads").read_bytes())
        state = run.state(tresor)
        same(heads, [(tresor, (state.sequence, state.hash), None)], "head")
        same(own_time, state.last_times[anna.user], "own time")
        objects = [p.read_bytes() for p in (command.directory / "anna").rglob("*") if p.is_file()]
        logs = [data for data in objects if data[:8] == b"tresorL1"]
        same([read_kept_log(log) for log in logs], [command.log(tresor)], "kept log")
        states = [open_snapshot(data, tresor, anna) for data in objects if data[:8] == b"tresorS2"]
        same([make_snapshot(kept, anna) for kept in states], [make_snapshot(state, anna)], "snapshot")
        names = open_names(anna, (command.directory / "anna" / "names").read_bytes())
        same(names, [(tresor, b"plans")], "kept name")
        rows = [row for data in objects if data[:8] == b"tresorK1" for row in read_kept_wraps(data)]
        same({row[0] for row in rows}, {tresor}, "kept wrap")
        home = [row[1:] for row in rows]
        same(keys_of(state, anna, lambda: [], home, 4), run.keys(anna, tresor, 4), "key by the kept wrap")
    run.check("heads, kept log, snapshot, kept wraps and names of the home", kept)
    run.section("9.4", "live-log")

    def read_snapshot(home, wanted):
        objects = [p.read_bytes() for p in (command.directory / home).rglob("*") if p.is_file()]
        opened_ = []
        for data in objects:
            if data[:8] == b"tresorS2":
                try:
                    opened_.append(open_snapshot(data, wanted, people[home]))
                except Refused:
                    pass                                    # that of another tresor
        same(len(opened_), 1, "number of snapshots")
        return opened_[0]

    # 9.5, 9.6: keys
    def keys_from_all():
        state = run.state(tresor)
        for e in range(1, state.epoch + 1):
            same(run.keys(house, tresor, e), run.keys(anna, tresor, e), "key")
        same([run.keys(eve, tresor, e)[0] for e in (3, 4)], [run.keys(anna, tresor, e)[0] for e in (3, 4)], "key")
        same(run.keys(eve, tresor, 4)[1], None, "history key")
    run.check("wraps and back-links of everybody", keys_from_all)

    def from_now():
        for e in (1, 2):
            try:
                run.keys(eve, tresor, e)
            except Refused as refused:
                same(refused.name, "no_access")
            else:
                raise AssertionError("a key from before")
    run.check("nothing from before", from_now)

    def name():
        sealed, epoch, sequence = run.state(tresor).name
        same(open_name(run.keys(anna, tresor, epoch)[0], tresor, epoch, sequence, sealed), (b"plans", b""), "name")
        for entry in map(read_entry, command.log(tresor)):
            sealed = read_body(entry.type, entry.body_bytes).name
            if sealed is not None:
                epoch = run.state(tresor).epoch_at(entry.sequence)
                same(open_name(run.keys(anna, tresor, epoch)[0], tresor, epoch, entry.sequence, sealed)[0], b"plans", "name")
    run.check("sealed names", name)
    run.section("9.6", "live-wrap")

    # 10: files
    for i, (author, record) in enumerate([(anna, "plan.json"), (house, "large.bin"), (anna, "empty"), (house, "plan.json")], 1):
        def opens(i=i, author=author, record=record):
            content, fields, _ = run.open(anna, command.directory / ("%d.tresor" % i))
            same(content, contents[record], "content")
            same((fields.author, fields.record, fields.type), (author.user, record.encode(), b"application/json"), "field")
        run.check("file %d opens" % i, opens)
    run.section("10.5", "live-open")

    # The other way round: files
    command.must("dr-house", "verify", "anna", "--number", number(anna.chain))
    command.must("eve", "verify", "anna", "--number", number(anna.chain))

    def decrypts(home, data, content, *options):
        command.file("made.tresor", data)
        same(command.must(home, "decrypt", "made.tresor", "-o", "-", *options), content, "content")

    def refuses(home, data, name):
        command.file("made.tresor", data)
        refused_with(name, command.run(home, "decrypt", "made.tresor", "-o", "-"))

    for what, content in contents.items():
        def made(content=content, what=what):
            data = run.seal(anna, tresor, content, what.encode(), b"text/plain")
            for home in people:
                decrypts(home, data, content, "--record", what, "--from", "anna", "--current")
        run.check("the command opens %s, sealed here" % what, made)
    run.check("the command opens armour",
              lambda: decrypts("eve", armour(run.seal(house, tresor, large, b"r"), FILE_ARMOUR, b"\r\n"), large))

    def resealed():
        _, fields, _ = run.open(anna, command.directory / "4.tresor")
        origin = (fields.header.bytes, fields.author, fields.generation, fields.time, fields.signature)
        data = run.seal(anna, tresor, small, b"plan.json", b"application/json", origin)
        decrypts("dr-house", data, small, "--from", "dr-house")
        refuses("dr-house", run.seal(anna, tresor, small + b" ", b"plan.json", b"application/json", origin), "altered")
    run.check("the command opens a file with an origin", resealed)
    sealed = run.seal(anna, tresor, small)
    run.check("it refuses a bit", lambda: refuses("eve", sealed[:-30] + bytes([sealed[-30] ^ 1]) + sealed[-29:], "altered"))
    run.check("it refuses a reader's file", lambda: refuses("anna", run.seal(eve, tresor, small), "no_access"))
    run.check("it refuses a replaced generation", lambda: refuses("dr-house", run.seal(anna, tresor, small, generation=0), "no_access"))
    run.section("10.4", "live-seal")
    live_records(run, command, people)

    # An identity file made here, with a kit slot, a password slot and its tag
    def made_identity():
        file = read_identity_file((command.directory / "dr-house" / "identity").read_bytes())
        new_password, K, now = set_password("ein neues Pa\u00dfwort".encode()), os.urandom(32), int(time.time())
        salt = os.urandom(16)
        slots = b""
        for fields, key in (
                (u8(PASSWORD) + os.urandom(16) + u64(now) + u32(65536) + u32(3) + salt, argon2id(new_password, salt, 65536, 3)),
                (u8(KIT) + os.urandom(16) + u64(now) + kit_locator(K), kit_slot_key(K))):
            slots += fields + tc1_seal(key, "tresor/v1/slot-seal", file.chain.user + u32(file.generation) + fields, house.keys[-1].seed)
        before = preamble(b"tresorI1") + opaque32(file.chain.bytes) + b"".join(file.previous) + u16(2) + slots
        data = before + identity_tag(house.keys[-1], before)
        same(open_with_kit(read_identity_file(data), " ".join(kit_words(K))).user, house.user, "user")
        command.file("new-password", "ein neues Pa\u00dfwort\n".encode())
        command.file("dr-house/identity", data)
        command.file("made.tresor", run.seal(anna, tresor, small))
        same(command.must("dr-house", "decrypt", "made.tresor", "-o", "-", password="new-password"), small, "content")
        refused_with("wrong_password", command.run("dr-house", "decrypt", "made.tresor", "-o", "-"))
    run.check("an identity file made here", made_identity)

    # A tresor made here, put into the store as rows like those that are there
    def put_entry(data):
        entry = read_entry(data)

        def row(old):
            blob = next(v for v in old.values() if isinstance(v, bytes) and v[:8] == b"tresorE1")
            there = read_entry(blob)
            return {there.tresor: entry.tresor, u64(there.sequence): u64(entry.sequence), there.sequence: entry.sequence, blob: data}
        command.put(b"tresorE1", row)

    def put_wrap(new, e, person, plaintext):
        wrap = make_wrap(new, e, person.user, person.chain.newest, plaintext)

        def row(old):
            blob = next(v for v in old.values() if isinstance(v, bytes) and v[:8] == b"tresorW1")
            there = read_wrap(blob)
            return {there.tresor: new, there.user: person.user, u64(there.epoch): u64(e), there.epoch: e, blob: wrap}
        command.put(b"tresorW1", row)

    def made_tresor():
        newest, keys = anna.chain.newest, anna.keys[-1]
        root = u8(1) + anna.user + newest.hash + os.urandom(32)
        new, TK, HK, now = tresor_id(root), os.urandom(32), os.urandom(32), int(time.time())
        epoch = Epoch(1, *commitments(new, TK, HK), b"").encode()
        body = root + opaque32(anna.chain.bytes) + u16(0) + seal_name(TK, new, 1, 0, b"made elsewhere", b"") + epoch
        genesis = make_entry(keys, new, 0, ZERO, anna.user, newest.generation, now, GENESIS, body)
        state = fold(new, [genesis])
        people_ = u16(1) + u8(1) + opaque32(house.chain.bytes)
        TK2, HK2 = os.urandom(32), os.urandom(32)
        epoch2 = Epoch(2, *commitments(new, TK2, HK2), seal_back_link(new, 2, HK2, [(1, TK, HK)])).encode()
        body = people_ + u8(READER) + u64(0) + u8(1) + epoch2 + seal_name(TK2, new, 2, 1, b"made elsewhere", b"")
        grant = make_entry(keys, new, 1, state.hash, anna.user, newest.generation, now, GRANT, body)
        fold(new, [genesis, grant])
        for entry in (genesis, grant):
            put_entry(entry)
        for person, e, plaintext in ((anna, 1, TK + HK), (anna, 2, TK2 + HK2), (house, 2, TK2)):
            put_wrap(new, e, person, plaintext)
        command.must("anna", "encrypt", "-t", "made elsewhere", "plan.json", "-o", "5.tresor")
        same(run.open(house, command.directory / "5.tresor")[0], small, "content")
        data = run.seal(anna, new, large, b"r")
        decrypts("anna", data, large)
        command.file("made.tresor", data)
        same(command.must("dr-house", "decrypt", "made.tresor", "-o", "-", password="new-password"), large, "content")
        refused_with("no_access", command.run("eve", "decrypt", "made.tresor", "-o", "-"))
        command.must("anna", "revoke", "-t", "made elsewhere", "dr-house", "--yes")
        same(run.state(new).epoch, 3, "epoch")
        same(run.keys(anna, new, 1), (TK, HK), "key behind two back-links")
    run.check("a tresor made here", made_tresor)

    # Another: an owner begins an epoch that reaches only himself, a body nobody knows, and a member whose newer card the log lacks
    def withheld():
        name, keys, later = b"withheld", {e: (os.urandom(32), os.urandom(32)) for e in (1, 2)}, [int(time.time())]
        newest = anna.chain.newest
        root = u8(1) + anna.user + newest.hash + os.urandom(32)
        new, entries = tresor_id(root), []

        def say(author, type_, body):
            sequence, previous = (len(entries), fold(new, entries).hash) if entries else (0, ZERO)
            entries.append(make_entry(author.keys[-1], new, sequence, previous, author.user, len(author.keys) - 1, later[0], type_, body))
            fold(new, entries)
            put_entry(entries[-1])

        def epoch(e, back_link):
            return Epoch(e, *commitments(new, *keys[e]), back_link).encode()
        say(anna, GENESIS, root + opaque32(anna.chain.bytes) + u16(0) + seal_name(keys[1][0], new, 1, 0, name, b"") + epoch(1, b""))
        for person, role in ((house, OWNER), (eve, READER)):
            say(anna, GRANT, u16(1) + u8(1) + opaque32(person.chain.bytes) + u8(role) + u64(0) + u8(0))
        for person in (anna, house, eve):
            put_wrap(new, 1, person, b"".join(keys[1]))
        before = run.seal(anna, new, small, b"before")
        say(house, 200, b"a body of a later release")
        say(house, EPOCH, epoch(2, seal_back_link(new, 2, keys[2][1], [])))
        put_wrap(new, 2, house, b"".join(keys[2]))
        for home in ("anna", "eve"):
            decrypts(home, before, small)
        between = seal_payload(house.keys[-1], keys[2][0], encode_header(new, 2, 4, fold(new, entries).hash),
                               encode_fields(house.user, len(house.keys) - 1, int(time.time()), b"", b"between"), small)
        refuses("eve", between, "no_access")
        command.must("anna", "encrypt", "-t", name.decode(), "plan.json", "-o", "6.tresor")
        state = run.state(new)
        same(state.epoch, 3, "epoch")
        same(read_snapshot("anna", new).owner_time, state.owner_time, "owner time")
        same([link[0] for link in open_back_link(new, state.epochs, 3, run.keys(anna, new, 3)[1])], [1], "link of an owner who was cut off")
        decrypts("eve", before, small)
        same(refusal(run.keys, eve, new, 2), "no_access", "end of a withheld epoch")
        ahead = seal_payload(anna.keys[-1], run.keys(anna, new, 3)[0], encode_header(new, 3, state.sequence + 1, ZERO),
                             encode_fields(anna.user, len(anna.keys) - 1, int(time.time()), b"", b""), small)
        refuses("eve", ahead, "store")
    run.check("an epoch that reaches only its author", withheld)

    def newer_card():
        """Eve has a newer card than the log shows, and anna has compared it: her program puts it there, then changes the key."""
        command.must("eve", "rotate", "--identity", "--no-kit", "--argon2id", "64,3", "--yes")
        people["eve"] = command.identity("eve")
        old, newest, TK, HK = OwnLog.until(people["eve"], 1), anna.chain.newest, os.urandom(32), os.urandom(32)
        root = u8(1) + anna.user + newest.hash + os.urandom(32)
        new, now = tresor_id(root), int(time.time())
        epoch = Epoch(1, *commitments(new, TK, HK), b"").encode()
        body = root + opaque32(anna.chain.bytes) + u16(0) + seal_name(TK, new, 1, 0, b"newer", b"") + epoch
        genesis = make_entry(anna.keys[-1], new, 0, ZERO, anna.user, newest.generation, now, GENESIS, body)
        people_ = u16(1) + u8(1) + opaque32(old.chain.bytes) + u8(READER) + u64(0) + u8(0)
        grant = make_entry(anna.keys[-1], new, 1, read_entry(genesis).hash, anna.user, newest.generation, now, GRANT, people_)
        for entry in (genesis, grant):
            put_entry(entry)
        for person in (anna, old):
            put_wrap(new, 1, person, TK + HK)
        command.must("anna", "verify", "eve", "--number", number(chain("eve")))
        command.must("anna", "encrypt", "-t", "newer", "plan.json", "-o", "7.tresor")
        entries = [read_entry(data) for data in command.log(new)]
        same([(entry.type, entry.author) for entry in entries[2:]], [(RENEW, anna.user), (EPOCH, anna.user)], "log")
        state = run.state(new)
        same((state.chains[eve.user].bytes, state.rekey_pending), (chain("eve").bytes, False), "state")
        same(run.open(people["eve"], command.directory / "7.tresor")[0], small, "content")
    run.check("a card that was compared is put into the log", newer_card)
    run.section("9.7", "live-make")
    live_attachments(run, command, people["anna"], house, tresor, put_entry)

# SPDX-License-Identifier: Apache-2.0
"""The same for records and attachments."""
import datetime
import functools
import json
import os
import shutil
import time

from verify.sections.conventions import H, u16, u64, u8
from verify.sections.encoding import id_text, opaque16
from verify.sections.home import CONTENT, open_outbox, open_piece
from verify.sections.bodies import COMMIT
from verify.sections.fold import make_entry
from verify.sections.sealed_file import encode_fields, encode_header, seal_payload
from verify.sections.records import ITEMS, WITHHELD, compare_packs, kept_items, open_attachment, open_pack, read_records
from verify.operations.operation import judged
from verify.case import refusal
from verify.live_program import refused_with, same


def live_attachments(run, command, anna, house, tresor, put_entry):
    """8.5, 19: contents above 64 KiB, held in a home, in a commit of the command, and in one made here."""
    scan, name = os.urandom(1500000), tresor.hex()
    records = command.directory / "anna" / "records"
    command.file("scan", scan)

    def held():
        command.must("anna", "put", "-t", "plans", "--later", "--type", "image/png", "scan")
        sent, rows, pending = open_outbox(anna, tresor, (records / (name + ".unsent")).read_bytes())
        item = pending[0][0]
        same((sent, len(pending), item.record, item.type, item.kind), (None, 1, b"scan", b"image/png", 2), "outbox")
        same([(row[0], *row[2:4]) for row in rows], [(item.blob, CONTENT, len(scan))], "held content")
        mark = rows[0][1]
        pieces = [(records / ("%s.u.%d.%d.unsent" % (name, item.blob, i))).read_bytes() for i in range(2)]
        same(b"".join(open_piece(anna, tresor, item.blob, mark, i, piece) for i, piece in enumerate(pieces)), scan, "content")
        same(refusal(open_piece, anna, tresor, item.blob, mark, 1, pieces[0]), "altered", "end of a piece in another's place")
    run.check("a content in the outbox", held)

    def sent():
        command.must("anna", "sync", "-t", "plans")
        same([path.name for path in records.iterdir() if ".u." in path.name], [], "pieces")
        state, entries = judged(tresor, command.log(tresor))
        entry = [entry for entry in entries if entry.type == COMMIT][-1]
        keys = lambda: run.keys(house, tresor, entry.said.epoch)
        pack, attachment = [command.blob(tresor, hash_) for hash_, _ in entry.said.blobs]
        what, items, _ = open_pack(state, entry, 0, pack, keys)
        same((entry.void, what, [item.record for item in items]), (None, ITEMS, [b"scan"]), "pack")
        same(open_attachment(state, entry, items[0], attachment, keys), scan, "content")
        bad = attachment[:-1] + bytes([attachment[-1] ^ 1])
        same(refusal(open_attachment, state, entry, items[0], bad, keys), "altered", "end of an attachment with another bit")
    run.check("an attachment opens", sent)

    def made():
        state, content = run.state(tresor), os.urandom(70000)
        generation, TK, now = len(anna.keys) - 1, run.keys(anna, tresor, state.epoch)[0], int(time.time())
        header = encode_header(tresor, state.epoch, state.sequence, state.hash)

        def seal(type_, record, plaintext):
            return seal_payload(anna.keys[-1], TK, header, encode_fields(anna.user, generation, now, type_, record), plaintext)
        item = opaque16(b"film") + u8(0) + u64(now) + u8(2) + opaque16(b"video/mp4") + u16(1)
        blobs = [seal(b"tresor/pack", b"", u8(0) + u16(1) + item), seal(b"video/mp4", b"film", content)]
        named = [(H("tresor/v1/blob-hash", blob), blob) for blob in blobs]
        body = u64(state.epoch) + u16(2) + b"".join(hash_ + u64(len(blob)) for hash_, blob in named)
        for hash_, blob in named:
            command.put_blob(tresor, hash_, blob)
        put_entry(make_entry(anna.keys[-1], tresor, state.sequence + 1, state.hash, anna.user, generation, now, COMMIT, body))
        same(command.must("anna", "get", "-t", "plans", "film"), content, "content")
    run.check("the command reads an attachment made here", made)
    run.section("19.2", "live-contents")


def live_records(run, command, people):
    """19: records that were compacted under a newer key, and what was committed after it. A copy of a home from before reads the volumes."""
    anna, house = people["anna"], people["dr-house"]

    def put(home, **contents):
        for name, content in contents.items():
            command.file(name, content)
        command.must(home, "put", "-t", "care", "--type", "text/plain", *contents)

    made = command.must("anna", "create", "care").decode().strip()
    tresor = next(data[10:42] for data in command.objects(b"tresorE1") if id_text(data[10:42]) == made)
    command.must("anna", "share", "-t", "care", "dr-house", "--role", "writer")
    shutil.copytree(command.directory / "anna", command.directory / "anna-new")
    put("anna", plan=b"one", gone=b"x")
    command.must("dr-house", "sync")
    command.file("plan", b"beside it")
    command.must("dr-house", "put", "-t", "care", "--later", "plan")
    put("anna", plan=b"two")
    command.must("dr-house", "sync")
    command.must("dr-house", "put", "-t", "care", "--delete", "gone")
    for first in (0, 9):                                    # more than one volume takes
        put("anna", **{"scan%02d" % i: os.urandom(60000) for i in range(first, first + 9)})
    command.must("anna", "rotate", "-t", "care", "--yes")
    keys = functools.cache(lambda epoch: run.keys(anna, tresor, epoch))

    def packs():
        """The state, the entries, and what the packs that the store has are for anna, who has the whole history."""
        state, entries = judged(tresor, command.log(tresor))
        return state, entries, {entry.sequence: open_pack(state, entry, 0, command.blob(tresor, entry.said.blobs[0][0]), lambda: keys(entry.said.epoch))
                                for entry in entries if entry.type == COMMIT}
    before = packs()[2]
    command.must("anna", "compact", "-t", "care", "--yes")
    command.file("plan-file", b"a content that came later")
    command.must("dr-house", "put", "-t", "care", "--as", "after", "plan-file")
    state, entries, opened_ = packs()

    def kept():
        return kept_items(state, entries, lambda index: command.blob(tresor, entries[state.checkpoint].said.blobs[index][0]), keys)

    def volumes():
        said = entries[state.checkpoint].said
        same((len(said.blobs), said.epoch, state.floor), (2, 2, state.checkpoint - 1), "checkpoint")
        same({sequence: what for sequence, (what, _, _) in opened_.items() if what != WITHHELD}, {state.sequence: ITEMS}, "pack in the store")
        same({what for what, _, _ in before.values()}, {ITEMS}, "pack of before")
        compare_packs(kept(), state.floor, {sequence: items for sequence, (_, items, _) in before.items()})
    run.check("volumes stand for the packs, which the store has no more", volumes)
    table = read_records([entry for entry in entries if entry.type == COMMIT], state.floor, lambda entry: opened_[entry.sequence], kept)

    def listed():
        same((table.by_volumes, table.missing, table.no_volume), (True, {}, None), "table")
        wanted = {}
        for name in table.names():
            revisions = [table.shown(name)] + table.put_aside(name) if table.shown(name) else table.rank(name)[:1]
            for revision in revisions:
                item = table.items[name][revision]
                said = "deleted" if item.kind == 0 else "versions" if len(revisions) > 1 else "ok"
                by = id_text(anna.user) if revision <= state.floor else None
                wanted[name.decode(), revision] = (id_text(entries[revision].author), said, item.time, by)
        same((len(wanted), {row[1] for row in wanted.values()}), (22, {"ok", "versions", "deleted"}), "list")
        own = {place: row[:3] + (None,) for place, row in wanted.items()}
        # A home with every pack takes nobody's word.
        for home, rows in (("anna-new", wanted), ("dr-house", wanted), ("anna", own)):
            found = {}
            for line in command.must(home, "records", "-t", "care", "--versions", "--deleted", "--json").splitlines():
                row = json.loads(line)
                when = int(datetime.datetime.fromisoformat(row["date"]).timestamp())
                found[row["name"], row["revision"]] = (row["author"], row["state"], when, row.get("vouched_by"))
            same(found, rows, "list of %s" % home)
    run.check("the command lists the same versions", listed)

    def shown():
        for name in table.names():
            revision = table.shown(name)
            if revision == 0:
                refused_with("not_found", command.run("anna-new", "get", "-t", "care", name.decode()))
            elif not name.startswith(b"scan") or name in (b"scan00", b"scan17"):
                same(command.must("anna-new", "get", "-t", "care", name.decode()), table.items[name][revision].content, "content")
                for other in table.put_aside(name):
                    content = command.must("anna-new", "get", "-t", "care", name.decode(), "--rev", other)
                    same(content, table.items[name][other].content, "content beside it")
        same([entries[table.shown(name)].author for name in (b"after", b"scan17")], [house.user, anna.user], "author")
    run.check("the command shows the same contents", shown)
    run.section("19.5", "live-records")

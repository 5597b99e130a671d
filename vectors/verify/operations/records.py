# SPDX-License-Identifier: Apache-2.0
"""The operations of pack.json, records.json and checkpoint.json."""
from verify.sections.conventions import blake2b, require, u64, u8
from verify.sections.encoding import Reader
from verify.sections.bodies import CHECKPOINT, COMMIT
from verify.sections.items import read_item
from verify.sections.records import ITEMS, WITHHELD, compare_packs, kept_items, open_attachment, open_pack, open_volume, read_records
from verify.operations.operation import by_number, history_in, judged, keys_in, number_in, numbers, operation, plain_hashes


@operation("openPack")
def test_open_pack(i, trace):
    state, entries = judged(i["tresor"], i["log"] + [i["entry"]])
    entry = entries[-1]
    assert entry.type == COMMIT
    what, items, error = open_pack(state, entry, history_in(i), i.get("pack"), lambda: keys_in(state, entry.said.epoch, i.get("keys")))
    require(what != WITHHELD, error)
    return {"outcome": what.encode(), "item hashes": plain_hashes(items or [])}


@operation("openAttachment")
def test_open_attachment(i, trace):
    state, entries = judged(i["tresor"], i["log"] + [i["entry"]])
    entry, item = entries[-1], read_item(Reader(i["item"]), 2**64 - 1)
    assert entry.type == COMMIT and entry.void is None and item.kind == 2
    content = open_attachment(state, entry, item, i.get("attachment"), lambda: keys_in(state, entry.said.epoch, i.get("keys")))
    return {"content hash": blake2b(content), "content size": u64(len(content))}


def records_in(i):
    """The table, the state, and what of it the test's inputs gave."""
    state, entries = judged(i["tresor"], i["log"])
    keys, packs, volumes = by_number(i["keys"]), by_number(i["packs"]), i.get("volumes", [])
    opened = {entry.sequence: open_pack(state, entry, history_in(i), packs.get(entry.sequence),
                                        lambda entry=entry: keys_in(state, entry.said.epoch, keys.get(entry.said.epoch)))
              for entry in entries if entry.type == COMMIT}

    def kept():
        return kept_items(state, entries, lambda index: volumes[index] if index < len(volumes) else None,
                          lambda epoch: keys_in(state, epoch, keys.get(epoch)))
    commits = [entry for entry in entries if entry.type == COMMIT]
    table = read_records(commits, state.floor, lambda entry: opened[entry.sequence], kept)
    return table, state, entries, opened, kept


@operation("readRecords")
def test_read_records(i, trace):
    table = records_in(i)[0]
    names = table.names()
    contents = []
    for name in names:
        item = table.items[name].get(table.shown(name))
        contents.append(b"" if item is None or item.kind != 1 else blake2b(item.content))
    missing = [u64(sequence) + error.encode() for sequence, error in sorted(table.missing.items())]
    return {"names": names, "heads": [numbers(table.heads(name)) for name in names], "shown": [u64(table.shown(name)) for name in names],
            "put aside": [numbers(table.put_aside(name)) for name in names], "content hashes": contents,
            "void": numbers(table.void), "missing": missing, "missing volume": (table.no_volume or "").encode(),
            "by volumes": u8(table.by_volumes)}


@operation("openVolume")
def test_open_volume(i, trace):
    state, entries = judged(i["tresor"], i["log"] + [i["entry"]])
    entry = entries[-1]
    assert entry.type == CHECKPOINT and entry.void is None
    kept = open_volume(state, entry, number_in(i["index"]), i.get("volume"), lambda: keys_in(state, entry.said.epoch, i.get("keys")))
    return {"sequences": numbers(sequence for sequence, _ in kept), "item hashes": plain_hashes(item for _, item in kept)}


@operation("comparePacks")
def test_compare_packs(i, trace):
    _, state, entries, opened, kept = records_in(i)
    found = kept()
    packs = {sequence: items for sequence, (what, items, _) in opened.items() if what == ITEMS and sequence < state.checkpoint}
    compare_packs(found, state.floor, packs)
    return {"sequences": numbers(sequence for sequence, _ in found), "item hashes": plain_hashes(item for _, item in found)}

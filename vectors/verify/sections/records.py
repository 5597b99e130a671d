# SPDX-License-Identifier: Apache-2.0
"""SPEC §19.2 to §19.5: packs, the table, checkpoints. pack.json, records.json, checkpoint.json."""
from verify.sections.conventions import H, Refused, require, u64
from verify.sections.encoding import Reader
from verify.sections.tc1 import MOST, derive, tc1_open, tc1_opened_size
from verify.sections.bodies import COMMIT
from verify.sections.sealed_file import content_hash, judge_statement, padded_size, read_fields, read_header
from verify.sections.items import GREATEST_CONTENT, read_item, read_pack


# 19.2 Opening a pack

ITEMS, NOT_MINE, WITHHELD, VOID = "items", "not mine", "missing", "void"


def check_blob(blob, data):
    """§19.2 step 3: the bytes are those that the entry names."""
    hash_, size = blob
    require(data is not None, "store")
    require(len(data) == size and H("tresor/v1/blob-hash", data) == hash_)


def open_sealed(state, entry, epoch, type_, data, key, label, record=b""):
    """§19.2 step 5: the content and the sequence of the head that the header names."""
    header = read_header(Reader(data[:90]))
    require(len(data) <= MOST and tc1_opened_size(len(data) - 90) >= 512)
    require(header.tresor == state.tresor and header.epoch == epoch and header.head_sequence < entry.sequence)
    payload = tc1_open(key, label, header.bytes, data[90:])
    reader = Reader(payload)
    fields = read_fields(reader)
    fields.header = header
    require(reader.left() >= 72)
    length, fields.signature = int.from_bytes(payload[-72:-64], "big"), payload[-64:]
    require(reader.left() - 72 >= length)
    content = reader.take(length)
    require(len(payload) == padded_size(len(fields.fields) + length + 72) and not any(payload[reader.at:-72]))
    judge_statement(state, fields, content_hash(content))
    require(fields.type == type_ and fields.record == record and fields.origin is None)
    require(fields.author == entry.author and fields.generation == entry.generation)
    return content, header.head_sequence


def open_pack(state, entry, history, data, keys):
    """(what, items or none, error or none). `history` is that of a present member, none for somebody else; `keys()` gives TK, HK."""
    if entry.void is not None:                                                                      # 1
        return VOID, None, None
    if history is None or entry.said.epoch < max(history, 1):                                       # 2
        return NOT_MINE, None, None
    try:
        check_blob(entry.said.blobs[0], data)                                                       # 3
        TK, _ = keys()                                                                              # 4
    except Refused as refused:
        return WITHHELD, None, refused.name
    try:
        content, head = open_sealed(state, entry, entry.said.epoch, b"tresor/pack", data, TK, "tresor/v1/file-seal")  # 5
        return ITEMS, read_pack(content, head, len(entry.said.blobs)), None                         # 6
    except Refused as refused:
        return (WITHHELD, None, "unsupported") if refused.name == "unsupported" else (VOID, None, None)


def open_attachment(state, entry, item, data, keys):
    """The content of an item of kind 2; `keys()` gives TK, HK."""
    require(1 <= item.blob < len(entry.said.blobs))                                                 # 1
    check_blob(entry.said.blobs[item.blob], data)
    TK, _ = keys()                                                                                  # 2
    try:
        return open_sealed(state, entry, entry.said.epoch, item.type, data, TK, "tresor/v1/file-seal", item.record)[0]  # 3
    except Refused as refused:
        raise Refused("unsupported" if refused.name == "unsupported" else "altered") from None


# 19.3 The table

class Table:
    """Records by name: revision → item. Which are heads is computed when asked."""

    def __init__(self):
        self.items, self.missing, self.void, self.by_volumes, self.no_volume = {}, {}, [], False, None

    def take(self, sequence, item):
        self.items.setdefault(item.record, {})[sequence] = item

    def heads(self, record):
        versions = self.items.get(record, {})
        replaced = {revision for item in versions.values() for revision in item.replaces}
        return sorted(revision for revision in versions if revision not in replaced)

    def rank(self, record):
        """The heads: the one that is shown first, then those that would be shown without it."""
        versions = self.items[record]
        return sorted(self.heads(record), key=lambda revision: (versions[revision].kind != 0, versions[revision].time, revision), reverse=True)

    def shown(self, record):
        ranked = self.rank(record)
        return ranked[0] if ranked and self.items[record][ranked[0]].kind != 0 else 0

    def put_aside(self, record):
        said, different = [], []
        for revision in self.rank(record):
            item = self.items[record][revision]
            what = (item.kind, item.type, item.content)
            if item.kind == 2 or what not in said:                      # what an attachment says is not compared
                said.append(what)
                different.append(revision)
        return different[1:]

    def names(self):
        return sorted(record for record in self.items if self.heads(record))


def read_records(commits, floor, opened, volumes):
    """`opened(entry)` is openPack; `volumes()` gives what the newest checkpoint keeps: (sequence, item)."""
    table, early = Table(), Table()
    for entry in commits:
        what, items, error = opened(entry)
        for some in [table] + ([early] if entry.sequence <= floor else []):
            if what == WITHHELD:
                some.missing[entry.sequence] = error
            if what == VOID:
                some.void.append(entry.sequence)
            for item in items or []:
                some.take(entry.sequence, item)
    if not early.missing:
        return table
    try:
        kept = volumes()
    except Refused as refused:
        table.no_volume = refused.name
        return table
    whole = Table()
    whole.by_volumes = True
    whole.missing = {sequence: error for sequence, error in table.missing.items() if sequence > floor}
    whole.void = [sequence for sequence in table.void if sequence > floor]
    for sequence, item in kept:
        whole.take(sequence, item)
    for record, versions in table.items.items():
        for sequence, item in versions.items():
            if sequence > floor:
                whole.take(sequence, item)
    return whole


# 19.5 Checkpoints

def volume_key(tresor, epoch, HK):
    return derive(HK, "tresor/v1/volume-key", tresor + u64(epoch))


def read_volume(data, upto):
    require(len(data) <= GREATEST_CONTENT)
    reader, kept = Reader(data), []
    n = reader.u32()
    require(n * 21 <= reader.left())
    for _ in range(n):
        sequence = reader.u64()
        require(sequence >= 1)
        kept.append((sequence, read_item(reader, sequence - 1)))
    require(rising(kept) and all(sequence <= upto for sequence, _ in kept))
    reader.end()
    return kept


def rising(kept):
    places = [(sequence, item.record) for sequence, item in kept]
    return all(a < b for a, b in zip(places, places[1:]))


def open_volume(state, entry, index, data, keys):
    """What the volume keeps; `keys()` gives TK, HK."""
    _, HK = keys()
    require(HK is not None, "no_access")                                                            # 1
    check_blob(entry.said.blobs[index], data)                                                       # 2
    try:
        key = volume_key(state.tresor, entry.said.epoch, HK)                                        # 3
        content, _ = open_sealed(state, entry, entry.said.epoch, b"tresor/volume", data, key, "tresor/v1/volume-seal")
        return read_volume(content, entry.said.upto)                                                # 4
    except Refused as refused:
        raise Refused("unsupported" if refused.name == "unsupported" else "altered") from None


def check_volumes(kept, upto, blobs):
    """`blobs` maps each commit that is not void to how many blobs it names."""
    require(rising(kept) and all(sequence <= upto for sequence, _ in kept))
    require(all(sequence in blobs and (item.blob is None or item.blob < blobs[sequence]) for sequence, item in kept))


def kept_items(state, entries, volume, keys):
    """What the newest checkpoint keeps; `volume(i)` gives what the store has at a place, `keys(epoch)` TK, HK."""
    entry, found = entries[state.checkpoint], []
    for index in range(len(entry.said.blobs)):
        found += open_volume(state, entry, index, volume(index), lambda: keys(entry.said.epoch))
    blobs = {other.sequence: len(other.said.blobs) for other in entries if other.type == COMMIT and other.void is None}
    check_volumes(found, entry.said.upto, blobs)
    return found


def compare_packs(kept, upto, packs):
    """`packs` maps each commit before the checkpoint to its items."""
    table = Table()
    for sequence, items in packs.items():
        for item in items:
            table.take(sequence, item)
    there = {}
    for sequence, item in kept:
        require(any(item.bytes == other.bytes for other in packs.get(sequence, [])))
        there.setdefault(item.record, set()).add(sequence)
    for record, versions in table.items.items():
        mine, heads = there.get(record, set()), table.heads(record)
        require(all(revision in mine for revision in heads if revision <= upto))
        replaced = [revision for revision in mine if revision not in heads]
        require(all(revision in mine for revision in versions if replaced and min(replaced) < revision <= upto))

# SPDX-License-Identifier: Apache-2.0
"""SPEC §8.4, §8.5: what lies in a home. encoding.json, device.json."""
from verify.sections.conventions import Refused, require, u16, u64, u8
from verify.sections.encoding import Reader, opaque16, opaque32, preamble
from verify.sections.tc1 import tc1_open, tc1_seal
from verify.sections.identity_file import KIT
from verify.sections.bodies import GREATEST_PACK, encode_entry, read_entry
from verify.sections.sealed_file import read_header
from verify.sections.items import read_item


# 8.4 Change and replacement

def read_cleanup_journal(data):
    """Four lists of bytes: user ‖ locator of kits, user ‖ device id of devices, device ids of slots, generations."""
    reader, lists = Reader(data), []
    reader.preamble(b"tresorO1")
    for size in (64, 48, 16, 4):
        count = reader.u16()
        require(count <= 4096)
        lists.append([reader.take(size) for _ in range(count)])
        require(all(a < b for a, b in zip(lists[-1], lists[-1][1:])))
    reader.end()
    return lists


def encode_cleanup_journal(lists):
    return preamble(b"tresorO1") + b"".join(u16(len(items)) + b"".join(items) for items in lists)


def settle_ways_in(lists, file, share):
    """What settleWaysIn does with a journal; `file` and `share`, the device share here, may be none. Whether the share is destroyed; what
    is deleted from the store, as user ‖ locator and user ‖ device id; the journal that is left."""
    kits, devices, slots, generations = lists
    destroyed = file is not None and share is not None and file.device_slot(share.device) is None   # 1
    here = None if share is None or destroyed else share.user + share.device
    ours = [kit for kit in kits if file is not None and kit[:32] == file.chain.user]                # 2
    used = file.slot(KIT) if file is not None else None
    copies = [kit for kit in ours if used is None or kit[32:] != used.locator]
    shares = [device for device in devices if device != here]                                       # 3
    dead = {device[32:] for device in shares} | {slot for slot in slots if here is None or slot != here[32:]}
    still = sorted(slot for slot in dead if file is not None and file.device_slot(slot) is not None)     # 4
    return destroyed, copies, shares, [[kit for kit in kits if kit not in ours], [], still, generations]


# 8.5 What lies where: own wraps

def read_kept_wraps(data):
    """(tresor, epoch, wrap), by rising tresor and epoch."""
    reader, wraps = Reader(data), []
    reader.preamble(b"tresorK1")
    while reader.left():
        wraps.append((reader.digest(), reader.u64(), reader.opaque16(1, 65535)))
    require(all(a[:2] < b[:2] for a, b in zip(wraps, wraps[1:])))
    return wraps


def encode_kept_wraps(wraps):
    return preamble(b"tresorK1") + b"".join(tresor + u64(epoch) + opaque16(wrap) for tresor, epoch, wrap in wraps)


# 8.5 What lies where: noted stores

def read_noted_stores(data):
    reader, stores = Reader(data), []
    reader.preamble(b"tresorn1")
    while reader.left():
        stores.append((reader.digest(), reader.u8(), reader.opaque16(1, 4096)))
    require(all((a[0], a[2]) < (b[0], b[2]) for a, b in zip(stores, stores[1:])))
    require(all(1 <= roles <= 7 for _, roles, _ in stores))
    return stores


def encode_noted_stores(stores):
    return preamble(b"tresorn1") + b"".join(tresor + u8(roles) + opaque16(name) for tresor, roles, name in stores)


# 8.5 What lies where: known services

def read_known_services(data):
    reader, services = Reader(data), []
    reader.preamble(b"tresora1")
    while reader.left():
        services.append((reader.digest(), reader.digest()))
    require(all(a[0] < b[0] for a, b in zip(services, services[1:])))
    return services


def encode_known_services(services):
    return preamble(b"tresora1") + b"".join(audience + server for audience, server in services)


# 8.5 What lies where: kept packs and outbox

def read_kept_packs(data):
    reader, packs = Reader(data), []
    reader.preamble(b"tresorR1")
    while reader.left():
        packs.append((reader.u64(), reader.opaque32(1, GREATEST_PACK)))
    require(all(a[0] < b[0] for a, b in zip(packs, packs[1:])))
    return packs


def encode_kept_packs(packs):
    return preamble(b"tresorR1") + b"".join(u64(sequence) + opaque32(pack) for sequence, pack in packs)


def read_changes(reader):
    n = reader.u16()
    require(n >= 1)
    items = [read_item(reader, 2**64 - 1) for _ in range(n)]
    require(all(a.record < b.record for a, b in zip(items, items[1:])))
    return items


UNFINISHED, CONTENT, ATTACHMENT = 0, 1, 2


def read_held(reader):
    """What a row says: number, mark, kind, until or size or (content, generation, blob, header), and its bytes."""
    start, number, mark, kind = reader.at, reader.u16(), reader.u64(), reader.u8()
    require(1 <= number <= 2046 and kind <= ATTACHMENT)
    if kind == UNFINISHED:
        what = reader.time()
    elif kind == CONTENT:
        what = reader.u64()
    else:
        what = (reader.u16(), reader.u32(), (reader.digest(), reader.u64()), read_header(reader))
    return number, mark, kind, what, reader.data[start:reader.at]


def read_outbox(data):
    """The sent entry, its pack and its changes, or None; what is held; the bytes without room; and the pending sets."""
    reader, sent, held, refused, pending = Reader(data), None, [], None, []
    reader.preamble(b"tresorG1")
    parts = reader.u8()
    require(parts <= 7)
    if parts & 1:
        entry, pack = reader.opaque32(1, 1048576), reader.opaque32(1, GREATEST_PACK)
        sent = (encode_entry(read_entry(entry)), pack, read_changes(reader))
    if parts & 2:
        n = reader.u16()
        require(n >= 1)
        held = [read_held(reader) for _ in range(n)]
    if parts & 4:
        refused = reader.u64()
    while reader.left():
        pending.append(read_changes(reader))
    names = [item.record for changes in pending for item in changes]
    require(len(names) == len(set(names)))
    require(all(a[0] < b[0] for a, b in zip(held, held[1:])))
    contents = {number for number, _, kind, _, _ in held if kind == CONTENT}
    named = [item.blob for changes in pending + ([sent[2]] if sent else []) for item in changes if item.kind == 2]
    made = [what[0] for _, _, kind, what, _ in held if kind == ATTACHMENT]
    for numbers in (named, made):
        require(len(numbers) == len(set(numbers)) and contents.issuperset(numbers))
    return sent, held, refused, pending


def encode_outbox(sent, held, refused, pending):
    def encode(items):
        return u16(len(items)) + b"".join(item.bytes for item in items)

    head = u8((1 if sent else 0) + (2 if held else 0) + (0 if refused is None else 4))
    if sent:
        head += opaque32(sent[0]) + opaque32(sent[1]) + encode(sent[2])
    if held:
        head += u16(len(held)) + b"".join(row[-1] for row in held)
    if refused is not None:
        head += u64(refused)
    return preamble(b"tresorG1") + head + b"".join(encode(changes) for changes in pending)


# 8.5 What lies where: marks

def read_marks(data):
    reader, marks = Reader(data), []
    reader.preamble(b"tresorY1")
    while reader.left():
        marks.append((reader.digest(), reader.u8()))
        require(1 <= marks[-1][1] <= 3)
    require(all(a[0] < b[0] for a, b in zip(marks, marks[1:])))
    return marks


def encode_marks(marks):
    return preamble(b"tresorY1") + b"".join(tresor + bytes([flags]) for tresor, flags in marks)


# 8.5 What lies where: the names that tresors had when they last opened

def open_from_home(identity, label, sealed, context=None):
    """By the home key of the newest generation under which it opens."""
    for keys in reversed(identity.keys):
        try:
            return tc1_open(keys.home_key, label, context or identity.user, sealed)
        except Refused:
            pass
    raise Refused("altered")


def open_names(identity, sealed):
    reader, names = Reader(open_from_home(identity, "tresor/v1/names-seal", sealed)), []
    while reader.left():
        names.append((reader.digest(), reader.name(1)))
    require(all(a[0] < b[0] for a, b in zip(names, names[1:])))
    return names


def open_marks(identity, sealed):
    return read_marks(open_from_home(identity, "tresor/v1/marks-seal", sealed))


def open_outbox(identity, tresor, sealed):
    return read_outbox(open_from_home(identity, "tresor/v1/outbox-seal", sealed, tresor))


def open_piece(identity, tresor, number, mark, i, sealed):
    return open_from_home(identity, "tresor/v1/outbox-seal", sealed, tresor + u16(number) + u64(mark) + u64(i))


def seal_marks(identity, marks):
    return tc1_seal(identity.keys[-1].home_key, "tresor/v1/marks-seal", identity.user, encode_marks(marks))


def seal_names(identity, names):
    plaintext = b"".join(tresor + opaque16(name) for tresor, name in names)
    return tc1_seal(identity.keys[-1].home_key, "tresor/v1/names-seal", identity.user, plaintext)

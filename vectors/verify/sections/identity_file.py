# SPDX-License-Identifier: Apache-2.0
"""SPEC §8 to §8.3: identity file, password, recovery kit, trusted device. slots.json, password.json, device.json."""
import hashlib
import re

from verify.sections.conventions import Refused, equal, note, require, u16, u32, u64, u8
from verify.sections.encoding import DEFAULT_IGNORABLE, SINCE_15, Reader, category, in_ranges, nfc, opaque16, opaque32, preamble
from verify.sections.suite import argon2id, check_argon2id
from verify.sections.tc1 import derive, tc1_open
from verify.sections.identity import Keys, encode_chain, read_chain
from verify.sections.pins import previous_context
from verify.sections.words import WORD_NUMBERS, WORDS

PASSWORD, KIT, DEVICE, LOGIN = 1, 2, 3, 4


class Slot:
    pass


def read_slot(reader):
    slot, start = Slot(), reader.at
    slot.kind, slot.id, slot.since = reader.u8(), reader.take(16), reader.time()
    require(slot.kind in (PASSWORD, KIT, DEVICE, LOGIN), "unsupported")
    if slot.kind == PASSWORD:
        slot.memory_kib, slot.passes = reader.u32(), reader.u32()
        check_argon2id(slot.memory_kib, slot.passes)
        slot.salt = reader.take(16)
    elif slot.kind == KIT:
        slot.locator = reader.take(32)
    elif slot.kind == DEVICE:
        slot.name, slot.until = reader.name(), reader.time()
    else:
        slot.server, slot.revision = reader.digest(), reader.u64()
        require(slot.revision >= 1)
    slot.fields = reader.data[start:reader.at]
    slot.sealed = reader.take(104)
    return slot


class IdentityFile:
    def slot(self, kind):
        return next((slot for slot in self.slots if slot.kind == kind), None)

    def device_slot(self, device):
        return next((slot for slot in self.slots if slot.kind == DEVICE and slot.id == device), None)


def read_identity_file(data):
    require(len(data) <= 1048576)
    file, reader = IdentityFile(), Reader(data)
    reader.preamble(b"tresorI1")
    file.chain = read_chain(reader.opaque32(1, 524288))
    file.generation = file.chain.newest.generation
    file.previous = [reader.take(104) for _ in range(file.generation)]
    count = reader.u16()
    require(1 <= count <= 256)
    file.slots = [read_slot(reader) for _ in range(count)]
    file.before_tag = data[:reader.at]
    file.tag = reader.take(32)
    reader.end()
    kinds = [slot.kind for slot in file.slots]
    require(len({slot.id for slot in file.slots}) == count and kinds.count(PASSWORD) <= 1 and kinds.count(KIT) <= 1)
    require(LOGIN not in kinds or kinds == [LOGIN])
    return file


class Identity:
    """A chain and the keys of every generation, the oldest first; `keys` may know fewer generations than a log."""

    def __init__(self, chain, keys):
        self.chain, self.keys = chain, keys
        self.user = chain.user


def open_previous(chain, seed, previous):
    """openSlot steps 2 and 3: the keys of all generations. `previous` is the list of sealed seeds, the newest first."""
    keys = [Keys(seed)]
    require(keys[0].signing_key == chain.newest.signing_key and keys[0].kem_key == chain.newest.kem_key)
    for j in range(chain.newest.generation, 0, -1):
        sealed = previous[chain.newest.generation - j]
        earlier = Keys(tc1_open(keys[0].previous_key, "tresor/v1/previous-seal", previous_context(chain.user, j), sealed))
        require(earlier.signing_key == chain.cards[j - 1].signing_key and earlier.kem_key == chain.cards[j - 1].kem_key)
        keys.insert(0, earlier)
    return keys


def slot_context(file, slot):
    return file.chain.user + u32(file.generation) + slot.fields


def identity_tag(keys, before_tag):
    return derive(keys.tag_key, "tresor/v1/identity-tag", before_tag)


def open_slot(file, slot, slot_key, trace=None):
    context = slot_context(file, slot)
    note(trace, slot_key=slot_key, fields=slot.fields, context=context)
    try:
        seed = tc1_open(slot_key, "tresor/v1/slot-seal", context, slot.sealed, trace)
    except Refused:
        raise Refused("wrong_password" if slot.kind in (PASSWORD, KIT) else "altered") from None
    keys = Keys(seed)
    note(trace, S=seed, tag_key=keys.tag_key)
    all_keys = open_previous(file.chain, seed, file.previous)
    tag = identity_tag(keys, file.before_tag)
    note(trace, tag=tag)
    require(equal(tag, file.tag))
    return Identity(file.chain, all_keys)


# 8.1 Password

def prepare(typed):
    require(1 <= len(typed) <= 1024, "usage")
    try:
        text = typed.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("usage") from None
    require(not any(category(c) == "Cn" or in_ranges(ord(c), SINCE_15) for c in text), "usage")
    text = nfc("".join(" " if category(c) == "Zs" else c for c in text))
    for c in text:
        require(category(c) not in ("Cc", "Cf", "Cs", "Co", "Zl", "Zp") and not in_ranges(ord(c), DEFAULT_IGNORABLE), "usage")
    return text.encode("utf-8")


def open_with_password(file, typed, trace=None):
    prepared = prepare(typed)
    note(trace, prepared=prepared)
    slot = file.slot(PASSWORD)
    require(slot is not None, "wrong_password")
    return open_slot(file, slot, argon2id(prepared, slot.salt, slot.memory_kib, slot.passes), trace)


def set_password(typed):
    prepared = prepare(typed)
    require(len(prepared.decode("utf-8")) >= 8, "usage")
    return prepared


# 8.2 Recovery kit

def kit_words(K):
    bits = int.from_bytes(K + hashlib.sha256(K).digest()[:1], "big")
    return [WORDS[bits >> 11 * (23 - i) & 2047] for i in range(24)]


WHITE_SPACE = re.compile("[\t-\r \x85\xa0\u1680\u2000-\u200a\u2028\u2029\u202f\u205f\u3000\ufeff]+")


def read_kit(typed):
    require(len(typed if isinstance(typed, bytes) else typed.encode("utf-8")) <= 1024, "wrong_password")
    if isinstance(typed, bytes):
        try:
            typed = typed.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("wrong_password") from None
    words = [re.sub("[A-Z]", lambda m: m.group().lower(), word) for word in WHITE_SPACE.split(typed)
             if word and not re.fullmatch("[0-9]{1,2}[.]?", word)]
    require(len(words) == 24 and all(word in WORD_NUMBERS for word in words), "wrong_password")
    bits = 0
    for word in words:
        bits = bits << 11 | WORD_NUMBERS[word]
    data = bits.to_bytes(33, "big")
    require(hashlib.sha256(data[:32]).digest()[:1] == data[32:], "wrong_password")
    return data[:32]


def kit_slot_key(K): return derive(K, "tresor/v1/kit-slot")
def kit_locator(K): return derive(K, "tresor/v1/kit-locator")


def open_with_kit(file, typed, trace=None):
    K = read_kit(typed)
    slot = file.slot(KIT)
    require(slot is not None, "wrong_password")
    note(trace, K=K, locator=kit_locator(K))
    return open_slot(file, slot, kit_slot_key(K), trace)


def open_kit_copy(data, typed):
    """recover steps 1 and 3: what the store has under the locator (none is none), in an empty home."""
    read_kit(typed)
    require(data is not None, "wrong_password")
    file = read_identity_file(data)
    require([slot.kind for slot in file.slots] == [KIT])
    return open_with_kit(file, typed)


# 8.3 Trusted device

def read_device_share(data):
    require(len(data) == 90)
    reader = Reader(data)
    reader.preamble(b"tresorD1")
    share = Slot()
    share.user, share.device, share.secret = reader.digest(), reader.take(16), reader.take(32)
    reader.end()
    return share


def device_slot_key(D, T):
    return derive(D, "tresor/v1/slot-device", T)


def open_with_device(file, device_share, server_share, now, trace=None, journal=None):
    """`server_share` is none where the store has none, `now` as of step 3, `journal` what read_cleanup_journal gives."""
    require(device_share is not None, "not_found")                                                   # 1
    mine = read_device_share(device_share)
    slot = file.device_slot(mine.device)
    require(slot is not None or journal is None or mine.user + mine.device not in journal[1], "not_found")
    require(server_share is not None, "no_access")                                                    # 2
    require(len(server_share) == 32)
    require(slot is not None and mine.user == file.chain.user and now <= slot.until, "no_access")   # 4
    return open_slot(file, slot, device_slot_key(mine.secret, server_share), trace)                   # 5


def encode_slot_fields(slot):
    fields = u8(slot.kind) + slot.id + u64(slot.since)
    if slot.kind == PASSWORD:
        return fields + u32(slot.memory_kib) + u32(slot.passes) + slot.salt
    if slot.kind == KIT:
        return fields + slot.locator
    if slot.kind == DEVICE:
        return fields + opaque16(slot.name) + u64(slot.until)
    return fields + slot.server + u64(slot.revision)


def encode_identity_file(file):
    slots = b"".join(encode_slot_fields(slot) + slot.sealed for slot in file.slots)
    head = preamble(b"tresorI1") + opaque32(encode_chain(file.chain)) + b"".join(file.previous)
    return head + u16(len(file.slots)) + slots + file.tag

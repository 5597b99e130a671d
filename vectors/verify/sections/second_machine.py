# SPDX-License-Identifier: Apache-2.0
"""SPEC §8.6: a second machine. device.json."""
from verify.sections.conventions import H, equal, note, require, u64, u8, use
from verify.sections.encoding import ALPHABET, Reader, id_text, opaque32, preamble, read_id
from verify.sections.suite import check_kem_key, hpke_unwrap
from verify.sections.tc1 import derive
from verify.sections.identity_file import KIT, PASSWORD, Identity, identity_tag, open_previous, read_identity_file
from verify.sections.sealed_file import padded_size


# 8.6 A second machine

def read_code(typed):
    require(len(typed) <= 1024, "not_found")
    digits = typed.decode("latin-1").translate(dict.fromkeys(map(ord, " \t\r\n-")))
    require(len(digits) == 16, "not_found")
    value = 0
    for digit in read_id(digits):
        value = value << 5 | ALPHABET.index(digit)
    return value.to_bytes(10, "big")


def show_code(code):
    return "-".join(id_text(code)[j:j + 4] for j in range(0, 16, 4))


def code_key(code): return H("tresor/v1/device-code", code)
def code_locator(K): return derive(K, "tresor/v1/device-locator")
def offer_tag(K, fields): return derive(K, "tresor/v1/device-tag", fields)
def receipt(K, offer, answer): return derive(K, "tresor/v1/device-receipt", offer + answer)


def offer_number(K, offer):
    digest = derive(K, "tresor/v1/device-number", offer)
    return " ".join("%05d" % (int.from_bytes(digest[j:j + 8], "big") % 100000) for j in range(0, 32, 8))


def answer_tag(K, offer, fields): return derive(K, "tresor/v1/device-answer", offer + fields)


def read_offer(K, data):
    require(len(data) == 1266)
    require(equal(offer_tag(K, data[:-32]), data[-32:]), "unverified")
    reader = Reader(data[:-32])
    reader.preamble(b"tresord1")
    kem_key = reader.take(1216)
    check_kem_key(kem_key)
    until = reader.time()
    reader.end()
    return kem_key, until


SHORTEST_ANSWER, LONGEST_ANSWER = 1694, 1048576 - 1289


def open_answer(K, offer, seed, data, trace=None):
    require(SHORTEST_ANSWER <= len(data) <= LONGEST_ANSWER)
    require(equal(answer_tag(K, offer, data[:-32]), data[-32:]), "unverified")
    reader = Reader(data[:-32])
    reader.preamble(b"tresorw1")
    enc, ct = reader.take(1120), reader.opaque32(0, LONGEST_ANSWER)
    reader.end()
    info = use("tresor/v1/device-wrap", "wrap") + offer
    plaintext = hpke_unwrap(seed, info, enc, ct)
    note(trace, info=info, enc=enc, ct=ct, plaintext=plaintext)
    return read_bundle(plaintext)


def read_bundle(data):
    reader = Reader(data)
    seed = reader.take(32)
    reader.preamble(b"tresori1")
    encoded = reader.opaque32(1, 1048576)
    file = read_identity_file(encoded)
    require([slot.kind for slot in file.slots] in ([KIT], [PASSWORD]))
    store = reader.opaque16(0, 4096)
    objects = [reader.opaque32(0, LONGEST_ANSWER) for _ in range(6)]
    require(len(data) == padded_size(reader.at) and not any(reader.take(reader.left())))
    keys = open_previous(file.chain, seed, file.previous)
    require(equal(identity_tag(keys[-1], file.before_tag), file.tag))
    return Identity(file.chain, keys), encoded, store, objects


def read_mailbox(data):
    reader = Reader(data)
    reader.preamble(b"tresorb1")
    until, state = reader.time(), reader.u8()
    require(state <= 3)
    if state == 3:
        letters = [reader.take(32)]
        reader.end()
        return until, letters
    letters = [reader.take(1266)] if state else []
    if state == 2:
        letters.append(reader.opaque32(SHORTEST_ANSWER, LONGEST_ANSWER))
    reader.end()
    return until, letters


def encode_mailbox(until, letters):
    if letters and len(letters[0]) == 32:
        return preamble(b"tresorb1") + u64(until) + u8(3) + letters[0]
    return preamble(b"tresorb1") + u64(until) + u8(len(letters)) + b"".join(letters[:1]) + b"".join(opaque32(x) for x in letters[1:])

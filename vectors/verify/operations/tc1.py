# SPDX-License-Identifier: Apache-2.0
"""The operations of tc1.json and accumulated.json."""
from verify.sections.conventions import H, LP, USED, ZERO, blake2b, u32, u64
from verify.sections.encoding import CARD_ARMOUR, armour, id_text
from verify.sections.suite import sign
from verify.sections.tc1 import derive, tc1_open, tc1_seal
from verify.sections.identity import thirty_digits
from verify.sections.identity_file import kit_words
from verify.sections.sealed_file import padded_size
from verify.operations.operation import number_in, operation


def uncounted(function, *arguments):
    """A label that a vector gives counts as used by nobody."""
    used = set(USED)
    try:
        return function(*arguments)
    finally:
        USED.clear()
        USED.update(used)


@operation("derive")
def test_derive(i, trace):
    return {"key": uncounted(derive, i["K"], i["label"], i["context"], trace)}


@operation("open")
def test_open(i, trace):
    return {"plaintext": uncounted(tc1_open, i["K"], i["label"], i["context"], i["sealed"], trace)}


def drawn(file, test, name, size):
    """The values of the vectors that are drawn at random."""
    data, i = b"", 0
    while len(data) < size:
        data += blake2b(LP("tresor vectors v1") + LP(file) + u32(test) + LP(name) + u32(i), 64)
        i += 1
    return data[:size]


ACCUMULATED = {
    "seal": lambda n, draw: tc1_seal(draw("K", 32), "tresor/v1/file-seal", draw("context", n % 100), draw("plaintext", n % 300),
                                     draw("salt", 24)),
    "derive": lambda n, draw: derive(draw("K", 32), "tresor/v1/slot-device", draw("context", n % 64)),
    "hash": lambda n, draw: H("tresor/v1/entry-hash", draw("x", n % 200)),
    "padding": lambda n, draw: u64(padded_size(number_in(draw("L", 5)) >> n % 40)),
    "armour": lambda n, draw: armour(draw("bytes", n % 100), CARD_ARMOUR),
    "id": lambda n, draw: id_text(draw("id", 32 if n % 2 else 16)).encode(),
    "number": lambda n, draw: thirty_digits(draw("hash", 32)).encode(),
    "words": lambda n, draw: " ".join(kit_words(draw("K", 32))).encode(),
    "sign": lambda n, draw: sign(draw("seed", 32), "tresor/v1/entry-signature", draw("x", n % 150)),
}


@operation("accumulate")
def test_accumulate(i, trace):
    construction, accumulator = i["construction"].decode("ascii"), ZERO
    for n in range(number_in(i["count"])):
        draw = lambda name, size: drawn("accumulated", n, construction + " " + name, size)
        accumulator = blake2b(accumulator + uncounted(ACCUMULATED[construction], n, draw))
    return {"hash": accumulator}

# SPDX-License-Identifier: Apache-2.0
"""Seals and opens records of 1 KiB with the libraries of PyPI that people would otherwise take.

Prints lines of WORK, LIBRARY and seconds for one record, separated by tabs: the median of seven rounds. What is not installed is left out.
"""

import os
import statistics
import time

ROUNDS = 2000
RECORD = os.urandom(1024)


def pynacl():
    import nacl.secret
    import nacl.signing

    box = nacl.secret.Aead(os.urandom(32))
    key = nacl.signing.SigningKey.generate()
    context = bytes(90)
    sealed = box.encrypt(RECORD, context)
    signed = box.encrypt(bytes(key.sign(RECORD)), context)
    yield "seal 1 KiB", "pynacl, XChaCha20-Poly1305", lambda: box.encrypt(RECORD, context)
    yield "open 1 KiB", "pynacl, XChaCha20-Poly1305", lambda: box.decrypt(sealed, context)
    yield "seal 1 KiB, signed", "pynacl, the same and Ed25519", lambda: box.encrypt(bytes(key.sign(RECORD)), context)
    yield (
        "open 1 KiB, signature checked", "pynacl, the same and Ed25519",
        lambda: key.verify_key.verify(box.decrypt(signed, context)))


def tink():
    import tink
    from tink import aead

    aead.register()
    key = tink.new_keyset_handle(aead.aead_key_templates.XCHACHA20_POLY1305).primitive(aead.Aead)
    context = bytes(90)
    sealed = key.encrypt(RECORD, context)
    yield "seal 1 KiB", "tink, XChaCha20-Poly1305", lambda: key.encrypt(RECORD, context)
    yield "open 1 KiB", "tink, XChaCha20-Poly1305", lambda: key.decrypt(sealed, context)


def pyrage():
    import pyrage

    identity = pyrage.x25519.Identity.generate()
    recipients = [identity.to_public()]
    sealed = pyrage.encrypt(RECORD, recipients)
    yield "seal 1 KiB, signed", "pyrage, one recipient, not signed", lambda: pyrage.encrypt(RECORD, recipients)
    yield "open 1 KiB, signature checked", "pyrage, not signed", lambda: pyrage.decrypt(sealed, [identity])


def seconds(work):
    times = []
    for _ in range(7):
        start = time.perf_counter()
        for _ in range(ROUNDS):
            work()
        times.append((time.perf_counter() - start) / ROUNDS)
    return statistics.median(times)


for library in (pynacl, tink, pyrage):
    try:
        for name, beside, work in library():
            print(name, beside, seconds(work), sep="\t", flush=True)
    except ImportError:
        pass

# SPDX-License-Identifier: Apache-2.0
"""SPEC §6: derive, and TC1. tc1.json, accumulated.json."""
import os

from verify.libraries import ChaCha20Poly1305, InvalidTag
from verify.sections.conventions import LP, Refused, blake2b, equal, note, require, u8, use


def derive(K, label, context=b"", trace=None):
    data = use("tresor/v1/derive", "derive") + use(label, "derive") + LP(context)
    note(trace, input=data)
    return blake2b(data, 32, K)


CHUNK, MOST = 65536, 2 ** 40


def tc1_okm(K, label, context, salt):
    return blake2b(use("tresor/v1/seal", "derive") + use(label, "seal") + salt + LP(context), 64, K)


def tc1_nonce(i, last):
    return i.to_bytes(11, "big") + u8(1 if last else 0)


def tc1_opened_size(sealed_size):
    """§6.4 steps 1 and 2."""
    body = sealed_size - 56
    require(body >= 16)
    n = (body - 1) // 65552 + 1
    last = body - 65552 * (n - 1)
    require(last > 16 or (n == 1 and last == 16))
    require(body - 16 * n <= MOST)
    return body - 16 * n


def tc1_seal(K, label, context, plaintext, salt=None):
    require(len(plaintext) <= MOST, "usage")
    salt = salt or os.urandom(24)
    okm = tc1_okm(K, label, context, salt)
    cipher, n = ChaCha20Poly1305(okm[:32]), max(1, -(-len(plaintext) // CHUNK))
    chunks = [cipher.encrypt(tc1_nonce(i, i == n - 1), plaintext[CHUNK * i:CHUNK * (i + 1)], None) for i in range(n)]
    return salt + okm[32:] + b"".join(chunks)


def tc1_chunks(k, body):
    cipher, n = ChaCha20Poly1305(k), (len(body) - 1) // 65552 + 1
    try:
        return b"".join(cipher.decrypt(tc1_nonce(i, i == n - 1), body[65552 * i:65552 * (i + 1)], None) for i in range(n))
    except InvalidTag:
        raise Refused("altered") from None


def tc1_open(K, label, context, sealed, trace=None):
    tc1_opened_size(len(sealed))
    okm = tc1_okm(K, label, context, sealed[:24])
    note(trace, salt=sealed[:24], okm=okm, k=okm[:32], commitment=okm[32:])
    if trace is not None and "plaintext without the check" in trace:
        trace["plaintext without the check"] = tc1_chunks(okm[:32], sealed[56:])
    require(equal(okm[32:], sealed[24:56]))
    return tc1_chunks(okm[:32], sealed[56:])

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the formats of SPEC, written from that text alone, and a run of every vector against it.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python verify.py                      every vector
    venv/bin/python verify.py --live PATH          instead: exchange objects with the command `tresor` at PATH
    venv/bin/python verify.py --live-server PATH   instead: start the program `tresor-server` at PATH, and ask it

Sections come in SPEC's order and carry its numbers. Behind them, section 29 runs the vectors and sections 30 and 31 the live tests.
"""
import argparse
import base64
import binascii
import concurrent.futures
import datetime
import email.utils
import functools
import hashlib
import hmac
import http.client
import ipaddress
import json
import os
import pathlib
import re
import shutil
import socket
import sqlite3
import ssl
import struct
import subprocess
import sys
import tempfile
import time
import traceback
import unicodedata

HERE = pathlib.Path(__file__).resolve().parent

try:
    import cryptography
    from cryptography import x509
    from cryptography.exceptions import InvalidSignature, InvalidTag
    from cryptography.hazmat.primitives import hashes, hpke as library_hpke, serialization
    from cryptography.hazmat.primitives.asymmetric import ec
    from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PrivateKey, Ed25519PublicKey
    from cryptography.hazmat.primitives.asymmetric.mlkem import MLKEM768PrivateKey
    from cryptography.hazmat.primitives.asymmetric.x25519 import X25519PrivateKey, X25519PublicKey
    from cryptography.hazmat.primitives.ciphers.aead import ChaCha20Poly1305
    from cryptography.hazmat.primitives.kdf.argon2 import Argon2id
    import nacl.bindings
    import nacl.exceptions
    XWING_SUITE = library_hpke.Suite(library_hpke.KEM.MLKEM768_X25519, library_hpke.KDF.HKDF_SHA256, library_hpke.AEAD.CHACHA20_POLY1305)
    MISSING = None
except (ImportError, AttributeError) as missing:
    MISSING = missing


# ---------------------------------------------------------------------------------------------------------------------
# 2. Conventions
# ---------------------------------------------------------------------------------------------------------------------

class Refused(Exception):
    """An error of SPEC §12. `rule` is the rule of §9.3 that was broken, if one was."""

    def __init__(self, name, rule=None):
        super().__init__(name)
        self.name = name
        self.rule = rule


def require(condition, name="altered", rule=None):
    if not condition:
        raise Refused(name, rule)


def u8(n): return n.to_bytes(1, "big")
def u16(n): return n.to_bytes(2, "big")
def u32(n): return n.to_bytes(4, "big")
def u64(n): return n.to_bytes(8, "big")


def as_bytes(x):
    return x.encode("ascii") if isinstance(x, str) else x


def LP(x):
    x = as_bytes(x)
    return u32(len(x)) + x


def blake2b(data, size=32, key=b""):
    return hashlib.blake2b(data, digest_size=size, key=key).digest()


USED = set()


def use(label, how):
    """LP(label); what was used, and how, is compared with the registry in the end."""
    USED.add((as_bytes(label), how))
    return LP(label)


def H(label, x):
    """`H(label, x)`: BLAKE2b-256, no key."""
    return blake2b(use(label, "hash") + x)


equal = hmac.compare_digest
ZERO = bytes(32)
LAST_TIME = 253402300799


def note(trace, **values):
    """Intermediate values, for the comparison with `mid`. Underscores stand for blanks."""
    if trace is not None:
        for name, value in values.items():
            trace[name.replace("_", " ")] = value


# ---------------------------------------------------------------------------------------------------------------------
# 4. Encoding
# ---------------------------------------------------------------------------------------------------------------------

# 4.1 Binary form

class Reader:
    """Reads fields in the order in which they stand; the first failure decides."""

    def __init__(self, data):
        self.data = bytes(data)
        self.at = 0

    def left(self):
        return len(self.data) - self.at

    def take(self, n):
        require(self.left() >= n)
        self.at += n
        return self.data[self.at - n:self.at]

    def number(self, width): return int.from_bytes(self.take(width), "big")
    def u8(self): return self.number(1)
    def u16(self): return self.number(2)
    def u32(self): return self.number(4)
    def u64(self): return self.number(8)
    def digest(self): return self.take(32)

    def opaque16(self, least, most):
        length = self.u16()
        require(least <= length <= most)
        return self.take(length)

    def opaque32(self, least, most):
        length = self.u32()
        require(least <= length <= most)
        return self.take(length)

    def name(self, least=0):
        value = self.opaque16(least, 256)
        check_name(value)
        return value

    def time(self):
        value = self.u64()
        require(value <= LAST_TIME)
        return value

    def mark(self):
        value = self.u8()
        require(value in (0, 1))
        return value

    def magic(self, wanted):
        found = self.take(8)
        if found != wanted:
            raise Refused("unsupported" if found[:6] == b"tresor" else "altered")

    def suite(self):
        require(self.u8() == 1, "unsupported")

    def preamble(self, wanted):
        self.magic(wanted)
        require(self.u8() == 1, "unsupported")
        self.suite()

    def end(self):
        require(self.left() == 0)


def preamble(magic):
    return magic + u8(1) + u8(1)


def opaque16(x): return u16(len(x)) + x
def opaque32(x): return u32(len(x)) + x


MAGICS = [b"tresor" + end for end in (b"C1", b"I1", b"E1", b"W1", b"F1", b"P2", b"H2", b"L1", b"V1", b"B1", b"D1", b"K1", b"Y1", b"O1", b"S2", b"N1", b"Z1",
                               b"T1", b"X1", b"Q1", b"U1", b"x1", b"n1", b"a1", b"R1", b"G1", b"b1", b"d1", b"w1",
                               b"i1")]


# 4.2 Armour

CARD_ARMOUR, FILE_ARMOUR = b"TRESOR CARD", b"TRESOR FILE"


def is_armour(data):
    return data.startswith(b"-----BEGIN ")


def armour(data, kind, eol=b"\n"):
    text = base64.b64encode(data)
    lines = [text[i:i + 64] for i in range(0, len(text), 64)]
    return b"".join(line + eol for line in [b"-----BEGIN " + kind + b"-----"] + lines + [b"-----END " + kind + b"-----"])


def dearmour(text, kind):
    """There is one form for given bytes and a given line end: decode what can be decoded, make it again, compare."""
    for eol in (b"\n", b"\r\n"):
        begin, end = b"-----BEGIN " + kind + b"-----" + eol, b"-----END " + kind + b"-----" + eol
        if text.startswith(begin) and text.endswith(end) and len(text) >= len(begin) + len(end):
            body = text[len(begin):len(text) - len(end)].replace(eol, b"")
            try:
                data = base64.b64decode(body, validate=True)
            except (binascii.Error, ValueError):
                continue
            if armour(data, kind, eol) == text:
                return data
    raise Refused("altered")


# 4.3 Ids as text

ALPHABET = "0123456789abcdefghjkmnpqrstvwxyz"


def id_text(data):
    bits = len(data) * 8
    length = -(-bits // 5)
    value = int.from_bytes(data, "big") << (5 * length - bits)
    return "".join(ALPHABET[(value >> 5 * (length - 1 - i)) & 31] for i in range(length))


def read_id(text):
    """A typed id, as the beginning of id texts that it stands for. What is no typed id stands for nothing."""
    require(6 <= len(text) <= 52, "not_found")
    result = ""
    for character in text:
        low = character.lower() if character.isascii() else character
        low = {"i": "1", "l": "1", "o": "0"}.get(low, low)
        require(low in ALPHABET, "not_found")
        result += low
    return result


# 4.4 Names

REFUSED_IN_NAMES = [
    (0x0000, 0x001F), (0x007F, 0x009F), (0x00AD, 0x00AD), (0x061C, 0x061C), (0x180E, 0x180E), (0xFEFF, 0xFEFF), (0x200B, 0x200F),
    (0x2028, 0x202E), (0x2060, 0x206F), (0xFFF9, 0xFFFB), (0xE0000, 0xE007F), (0xFDD0, 0xFDEF)]
REFUSED_IN_NAMES += [(n << 16 | 0xFFFE, n << 16 | 0xFFFF) for n in range(17)]


def in_ranges(code, ranges):
    return any(first <= code <= last for first, last in ranges)


def check_name(data):
    require(len(data) <= 256)
    try:
        text = data.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("altered") from None
    require(not any(in_ranges(ord(c), REFUSED_IN_NAMES) for c in text))


def typed_name(text):
    """What a writer makes of a typed name, given as text or bytes."""
    if isinstance(text, bytes):
        try:
            text = text.decode("utf-8")
        except UnicodeDecodeError:
            raise Refused("usage") from None
    name = nfc(text)
    require(name != "" and not name.startswith("-"), "usage")
    data = name.encode("utf-8")
    try:
        check_name(data)
    except Refused:
        raise Refused("usage") from None
    require(not any(category(c) == "Cn" for c in name), "usage")
    return data


# 4.5 Numbers: below, with §7.4.

# What Unicode says, at least version 15.0 (§8.1). Python 3.11 knows 14.0; here is what 15.0 added.

UNICODE_15 = [
    (0x0CF3, 0x0CF3, "Mc"), (0x0ECE, 0x0ECE, "Mn"), (0x10EFD, 0x10EFF, "Mn"), (0x1123F, 0x11240, "Lo"), (0x11241, 0x11241, "Mn"),
    (0x11B00, 0x11B09, "Po"), (0x11F00, 0x11F01, "Mn"), (0x11F02, 0x11F02, "Lo"), (0x11F03, 0x11F03, "Mc"), (0x11F04, 0x11F10, "Lo"),
    (0x11F12, 0x11F33, "Lo"), (0x11F34, 0x11F35, "Mc"), (0x11F36, 0x11F3A, "Mn"), (0x11F3E, 0x11F3F, "Mc"), (0x11F40, 0x11F40, "Mn"),
    (0x11F41, 0x11F41, "Mc"), (0x11F42, 0x11F42, "Mn"), (0x11F43, 0x11F4F, "Po"), (0x11F50, 0x11F59, "Nd"), (0x1342F, 0x1342F, "Lo"),
    (0x13439, 0x1343F, "Cf"), (0x13440, 0x13440, "Mn"), (0x13441, 0x13446, "Lo"), (0x13447, 0x13455, "Mn"), (0x1B132, 0x1B132, "Lo"),
    (0x1B155, 0x1B155, "Lo"), (0x1D2C0, 0x1D2D3, "No"), (0x1DF25, 0x1DF2A, "Ll"), (0x1E030, 0x1E06D, "Lm"), (0x1E08F, 0x1E08F, "Mn"),
    (0x1E4D0, 0x1E4EA, "Lo"), (0x1E4EB, 0x1E4EB, "Lm"), (0x1E4EC, 0x1E4EF, "Mn"), (0x1E4F0, 0x1E4F9, "Nd"), (0x1F6DC, 0x1F6DC, "So"),
    (0x1F774, 0x1F776, "So"), (0x1F77B, 0x1F77F, "So"), (0x1F7D9, 0x1F7D9, "So"), (0x1FA75, 0x1FA77, "So"), (0x1FA87, 0x1FA88, "So"),
    (0x1FAAD, 0x1FAAF, "So"), (0x1FABB, 0x1FABD, "So"), (0x1FABF, 0x1FABF, "So"), (0x1FACE, 0x1FACF, "So"), (0x1FADA, 0x1FADB, "So"),
    (0x1FAE8, 0x1FAE8, "So"), (0x1FAF7, 0x1FAF8, "So"), (0x31350, 0x323AF, "Lo")]
# What later versions assigned, for a Python that knows them: to 17.0. There a password may not have them.
SINCE_15 = [
    (0x88F, 0x88F), (0x897, 0x897), (0xC5C, 0xC5C), (0xCDC, 0xCDC), (0x1ACF, 0x1ADD), (0x1AE0, 0x1AEB), (0x1B4E, 0x1B4F),
    (0x1B7F, 0x1B7F), (0x1C89, 0x1C8A), (0x20C1, 0x20C1), (0x2427, 0x2429), (0x2B96, 0x2B96), (0x2FFC, 0x2FFF), (0x31E4, 0x31E5),
    (0x31EF, 0x31EF), (0xA7CB, 0xA7CF), (0xA7D2, 0xA7D2), (0xA7D4, 0xA7D4), (0xA7DA, 0xA7DC), (0xA7F1, 0xA7F1), (0xFBC3, 0xFBD2),
    (0xFD90, 0xFD91), (0xFDC8, 0xFDCE), (0x105C0, 0x105F3), (0x10940, 0x10959), (0x10D40, 0x10D65), (0x10D69, 0x10D85),
    (0x10D8E, 0x10D8F), (0x10EC2, 0x10EC7), (0x10ED0, 0x10ED8), (0x10EFA, 0x10EFC), (0x11380, 0x11389), (0x1138B, 0x1138B),
    (0x1138E, 0x1138E), (0x11390, 0x113B5), (0x113B7, 0x113C0), (0x113C2, 0x113C2), (0x113C5, 0x113C5), (0x113C7, 0x113CA),
    (0x113CC, 0x113D5), (0x113D7, 0x113D8), (0x113E1, 0x113E2), (0x116D0, 0x116E3), (0x11B60, 0x11B67), (0x11BC0, 0x11BE1),
    (0x11BF0, 0x11BF9), (0x11DB0, 0x11DDB), (0x11DE0, 0x11DE9), (0x11F5A, 0x11F5A), (0x13460, 0x143FA), (0x16100, 0x16139),
    (0x16D40, 0x16D79), (0x16EA0, 0x16EB8), (0x16EBB, 0x16ED3), (0x16FF2, 0x16FF6), (0x187F8, 0x187FF), (0x18CFF, 0x18CFF),
    (0x18D09, 0x18D1E), (0x18D80, 0x18DF2), (0x1CC00, 0x1CCFC), (0x1CD00, 0x1CEB3), (0x1CEBA, 0x1CED0), (0x1CEE0, 0x1CEF0),
    (0x1E5D0, 0x1E5FA), (0x1E5FF, 0x1E5FF), (0x1E6C0, 0x1E6DE), (0x1E6E0, 0x1E6F5), (0x1E6FE, 0x1E6FF), (0x1F6D8, 0x1F6D8),
    (0x1F777, 0x1F77A), (0x1F8B2, 0x1F8BB), (0x1F8C0, 0x1F8C1), (0x1F8D0, 0x1F8D8), (0x1FA54, 0x1FA57), (0x1FA89, 0x1FA8A),
    (0x1FA8E, 0x1FA8F), (0x1FABE, 0x1FABE), (0x1FAC6, 0x1FAC6), (0x1FAC8, 0x1FAC8), (0x1FACD, 0x1FACD), (0x1FADC, 0x1FADC),
    (0x1FADF, 0x1FADF), (0x1FAE9, 0x1FAEA), (0x1FAEF, 0x1FAEF), (0x1FBCB, 0x1FBEF), (0x1FBFA, 0x1FBFA), (0x2B73A, 0x2B73F),
    (0x2CEA2, 0x2CEAD), (0x2EBF0, 0x2EE5D), (0x323B0, 0x33479)]
COMBINING_15 = {0x10EFD: 220, 0x10EFE: 220, 0x10EFF: 220, 0x11F41: 9, 0x11F42: 9, 0x1E08F: 230,
                0x1E4EC: 232, 0x1E4ED: 232, 0x1E4EE: 220, 0x1E4EF: 230}
DEFAULT_IGNORABLE = [
    (0x00AD, 0x00AD), (0x034F, 0x034F), (0x061C, 0x061C), (0x115F, 0x1160), (0x17B4, 0x17B5), (0x180B, 0x180F), (0x200B, 0x200F),
    (0x202A, 0x202E), (0x2060, 0x206F), (0x3164, 0x3164), (0xFE00, 0xFE0F), (0xFEFF, 0xFEFF), (0xFFA0, 0xFFA0), (0xFFF0, 0xFFF8),
    (0x1BCA0, 0x1BCA3), (0x1D173, 0x1D17A), (0xE0000, 0xE0FFF)]


def category(character):
    found = unicodedata.category(character)
    if found == "Cn":
        for first, last, name in UNICODE_15:
            if first <= ord(character) <= last:
                return name
    return found


def nfc(text):
    if not any(ord(c) in COMBINING_15 for c in text) or unicodedata.unidata_version >= "15":
        return unicodedata.normalize("NFC", text)
    # A mark that this Python does not know blocks nothing and moves by its class: order by hand, then compose piece by piece.
    decomposed = unicodedata.normalize("NFD", text)
    combining = lambda c: COMBINING_15.get(ord(c)) or unicodedata.combining(c)
    ordered, run = [], []
    for c in decomposed:
        if combining(c):
            run.append(c)
        else:
            ordered += sorted(run, key=combining) + [c]
            run = []
    ordered += sorted(run, key=combining)
    # Composition by the algorithm of the Unicode standard (D117), pairs by the library.
    result, starter, last = [], None, 0
    for c in ordered:
        here = combining(c)
        if starter is not None and (last < here or (last == 0 and starter == len(result) - 1)):
            pair = unicodedata.normalize("NFC", result[starter] + c)
            if len(pair) == 1 and ord(c) not in COMBINING_15:
                result[starter] = pair
                continue
        if here == 0:
            starter = len(result)
        last = here
        result.append(c)
    return "".join(result)


# ---------------------------------------------------------------------------------------------------------------------
# 5. Suite 1
# ---------------------------------------------------------------------------------------------------------------------

# 5.1 Start-up check

SPECCHECK_KEY = "cdb267ce40c5cd45306fa5d2f29731459387dbf9eb933b7bd5aed9a765b88d4d"
SPECCHECK = [                                   # message, signature, accepted: numbers 3, 4, 5 of the twelve, all by the key above
    ("9bd9f44f4dcc75bd531b56b2cd280b0bb38fc1cd6d1230e14861d861de092e79",
     "9046a64750444938de19f227bb80485e92b83fdb4b6506c160484c016cc1852f"
     "87909e14428a7a1d62e9f22f3d3ad7802db02eb2e688b6c52fcd6648a98bd009", True),
    ("e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
     "160a1cb0dc9c0258cd0a7d23e94d8fa878bcb1925f2c64246b2dee1796bed512"
     "5ec6bc982a269b723e0668e540911a9a6a58921d6925e434ab10aa7940551a09", False),
    ("e47d62c63f830dc7a6851a0b1f33ae4bb2f507fb6cffec4011eaccd55b53f56c",
     "21122a84e0b5fca4052f5b1235c80a537878b38f3142356b2c2384ebad4668b7"
     "e40bc836dac0f71076f9abe3a53f9c03c1ceeeddb658d0030494ace586687405", False)]
NOT_IN_THE_SUBGROUP = "95" + "99" * 31


def start_up_check():
    """Both libraries judge the signatures (verify_by_rule), and libsodium the point."""
    for message, signature, accepted in SPECCHECK:
        require(verify_by_rule(bytes.fromhex(SPECCHECK_KEY), bytes.fromhex(message), bytes.fromhex(signature)) == accepted, "failed")
    require(not nacl.bindings.crypto_core_ed25519_is_valid_point(bytes.fromhex(NOT_IN_THE_SUBGROUP)), "failed")


# 5.2 Ed25519

P25519 = 2 ** 255 - 19
L25519 = 2 ** 252 + 27742317777372353535851937790883648493
D25519 = -121665 * pow(121666, -1, P25519) % P25519


def square_root(a):
    """A square root modulo 2^255 - 19, or none."""
    root = pow(a, (P25519 + 3) // 8, P25519)
    if (root * root - a) % P25519 != 0:
        root = root * pow(2, (P25519 - 1) // 4, P25519) % P25519
    return root if (root * root - a) % P25519 == 0 else None


def small_order_ys():
    """The y of the points whose order divides 8: 1; -1; 0; and, where doubling gives y = 0, d·y^4 + 2·y^2 - 1 = 0."""
    ys = {0, 1, P25519 - 1}
    root = square_root((1 + D25519) % P25519)
    for sign in (1, -1):
        y = square_root((sign * root - 1) * pow(D25519, -1, P25519) % P25519)
        if y is not None:
            ys |= {y, P25519 - y}
    assert len(ys) == 5
    return ys


SMALL_ORDER_YS = small_order_ys()


def is_small_order(encoding):
    """Canonical or not: the top bit is the sign of x, and y is taken modulo p."""
    return (int.from_bytes(encoding, "little") & (2 ** 255 - 1)) % P25519 in SMALL_ORDER_YS


def is_canonical_point(encoding):
    value = int.from_bytes(encoding, "little")
    y, sign = value & (2 ** 255 - 1), value >> 255
    if y >= P25519:
        return False
    x2 = (y * y - 1) * pow(D25519 * y * y + 1, -1, P25519) % P25519
    if x2 == 0:
        return sign == 0
    return square_root(x2) is not None


def ed25519_verify(A, M, sig):
    require(verify_by_rule(A, M, sig))


def verify_by_rule(A, M, sig):
    """The rule of SPEC §5.2 with the arithmetic of `cryptography`. libsodium, by PyNaCl, must say the same."""
    if len(sig) != 64:
        return False
    R, S = sig[:32], sig[32:]
    verdict = True
    if int.from_bytes(S, "little") >= L25519 or is_small_order(R) or not is_canonical_point(A) or is_small_order(A):
        verdict = False
    else:
        try:
            Ed25519PublicKey.from_public_bytes(A).verify(sig, M)
        except InvalidSignature:
            verdict = False
    try:
        nacl.bindings.crypto_sign_open(sig + M, A)
        other = True
    except (nacl.exceptions.BadSignatureError, ValueError):
        other = False
    if other != verdict:
        raise AssertionError("Ed25519: the rule with `cryptography` and PyNaCl do not agree")
    return verdict


def ed25519_public(seed):
    return Ed25519PrivateKey.from_private_bytes(seed).public_key().public_bytes_raw()


def sign(seed, label, x):
    return Ed25519PrivateKey.from_private_bytes(seed).sign(use(label, "sign") + x)


def verify_label(A, label, x, sig):
    ed25519_verify(A, use(label, "sign") + x, sig)


# 5.4 X-Wing and HPKE

LOW_ORDER_US = {
    0, 1, P25519 - 1, 325606250916557431795983626356110631294008115727848805560023387167927233504,
    39382357235489614581723060781553021112529911719440698176882885853963445705823}


def is_low_order(u):
    return (int.from_bytes(u, "little") & (2 ** 255 - 1)) % P25519 in LOW_ORDER_US


@functools.lru_cache(maxsize=64)
def modulus_check(data):
    """FIPS 203 §7.2: 12-bit numbers, least significant bit first, all below 3329."""
    for i in range(0, len(data), 3):
        three = int.from_bytes(data[i:i + 3], "little")
        if three & 0xFFF >= 3329 or three >> 12 >= 3329:
            return False
    return True


def check_kem_key(pk):
    require(len(pk) == 1216)
    require(modulus_check(pk[:1152]))
    require(not is_low_order(pk[1184:]))


def xwing_secrets(seed):
    expanded = hashlib.shake_256(seed).digest(96)
    return MLKEM768PrivateKey.from_seed_bytes(expanded[:64]), X25519PrivateKey.from_private_bytes(expanded[64:])


def xwing_public(seed):
    mlkem, x25519 = xwing_secrets(seed)
    return mlkem.public_key().public_bytes_raw() + x25519.public_key().public_bytes_raw()


def xwing_combine(ss_m, ss_x, ct_x, pk_x):
    return hashlib.sha3_256(ss_m + ss_x + ct_x + pk_x + bytes.fromhex("5c2e2f2f5e5c")).digest()


def xwing_encapsulate(pk, eseed):
    """(enc, shared secret) for given randomness. ML-KEM's own half is MLKEM below: `cryptography` takes no randomness."""
    ss_m, ct_m = MLKEM.encapsulate(pk[:1184], eseed[:32])
    ephemeral = X25519PrivateKey.from_private_bytes(eseed[32:])
    ct_x = ephemeral.public_key().public_bytes_raw()
    ss_x = ephemeral.exchange(X25519PublicKey.from_public_bytes(pk[1184:]))
    return ct_m + ct_x, xwing_combine(ss_m, ss_x, ct_x, pk[1184:])


def xwing_decapsulate(seed, enc):
    mlkem, x25519 = xwing_secrets(seed)
    ct_m, ct_x = enc[:1088], enc[1088:]
    ss_x = x25519.exchange(X25519PublicKey.from_public_bytes(ct_x))
    return xwing_combine(mlkem.decapsulate(ct_m), ss_x, ct_x, x25519.public_key().public_bytes_raw())


class MLKEM:
    """FIPS 203, ML-KEM-768, Encaps_internal alone. Not in constant time: for vectors, whose randomness is public."""
    Q = 3329
    ZETAS = [pow(17, int(format(i, "07b")[::-1], 2), 3329) for i in range(128)]
    GAMMAS = [pow(17, 2 * int(format(i, "07b")[::-1], 2) + 1, 3329) for i in range(128)]

    @classmethod
    def ntt(cls, f):
        f, i, length = list(f), 1, 128
        while length >= 2:
            for start in range(0, 256, 2 * length):
                zeta, i = cls.ZETAS[i], i + 1
                for j in range(start, start + length):
                    t = zeta * f[j + length] % cls.Q
                    f[j + length], f[j] = (f[j] - t) % cls.Q, (f[j] + t) % cls.Q
            length //= 2
        return f

    @classmethod
    def inverse_ntt(cls, f):
        f, i, length = list(f), 127, 2
        while length <= 128:
            for start in range(0, 256, 2 * length):
                zeta, i = cls.ZETAS[i], i - 1
                for j in range(start, start + length):
                    t = f[j]
                    f[j], f[j + length] = (t + f[j + length]) % cls.Q, zeta * (f[j + length] - t) % cls.Q
            length *= 2
        return [3303 * x % cls.Q for x in f]

    @classmethod
    def multiply(cls, f, g):
        h = []
        for i in range(128):
            a0, a1, b0, b1 = f[2 * i], f[2 * i + 1], g[2 * i], g[2 * i + 1]
            h += [(a0 * b0 + a1 * b1 * cls.GAMMAS[i]) % cls.Q, (a0 * b1 + a1 * b0) % cls.Q]
        return h

    @classmethod
    def sample_ntt(cls, seed):
        size = 1008
        while True:
            stream, found = hashlib.shake_128(seed).digest(size), []
            for i in range(0, size, 3):
                three = int.from_bytes(stream[i:i + 3], "little")
                found += [d for d in (three & 0xFFF, three >> 12) if d < cls.Q]
            if len(found) >= 256:
                return found[:256]
            size *= 2

    @staticmethod
    def sample_cbd(seed, n):
        bits = int.from_bytes(hashlib.shake_256(seed + u8(n)).digest(128), "little")
        bit = lambda i: bits >> i & 1
        return [bit(4 * i) + bit(4 * i + 1) - bit(4 * i + 2) - bit(4 * i + 3) for i in range(256)]

    @staticmethod
    def encode(f, d):
        return sum(x << d * i for i, x in enumerate(f)).to_bytes(32 * d, "little")

    @staticmethod
    def decode(data, d):
        value = int.from_bytes(data, "little")
        return [value >> d * i & (1 << d) - 1 for i in range(256)]

    @classmethod
    def compress(cls, f, d):
        return [((x << d) + cls.Q // 2) // cls.Q & (1 << d) - 1 for x in f]

    @classmethod
    def add(cls, *polynomials):
        return [sum(xs) % cls.Q for xs in zip(*polynomials)]

    @classmethod
    def encapsulate(cls, ek, m):
        shared, r = (lambda g: (g[:32], g[32:]))(hashlib.sha3_512(m + hashlib.sha3_256(ek).digest()).digest())
        t = [cls.decode(ek[384 * i:384 * i + 384], 12) for i in range(3)]
        rho = ek[1152:]
        y = [cls.ntt(cls.sample_cbd(r, i)) for i in range(3)]
        e1 = [cls.sample_cbd(r, 3 + i) for i in range(3)]
        e2 = cls.sample_cbd(r, 6)
        u = []
        for i in range(3):                                              # the transpose of A: bytes j, i with the row last
            row = [cls.multiply(cls.sample_ntt(rho + u8(i) + u8(j)), y[j]) for j in range(3)]
            u.append(cls.add(cls.inverse_ntt(cls.add(*row)), e1[i]))
        mu = [bit * 1665 for bit in cls.decode(m, 1)]
        v = cls.add(cls.inverse_ntt(cls.add(*(cls.multiply(t[i], y[i]) for i in range(3)))), e2, mu)
        return shared, b"".join(cls.encode(cls.compress(x, 10), 10) for x in u) + cls.encode(cls.compress(v, 4), 4)


HPKE_SUITE_ID = b"HPKE" + bytes.fromhex("647a") + bytes.fromhex("0001") + bytes.fromhex("0003")


def labeled_extract(salt, label, ikm):
    return hmac.digest(salt or ZERO, b"HPKE-v1" + HPKE_SUITE_ID + label + ikm, "sha256")


def labeled_expand(prk, label, info, n):
    info = u16(n) + b"HPKE-v1" + HPKE_SUITE_ID + label + info
    out, block, i = b"", b"", 1
    while len(out) < n:
        block = hmac.digest(prk, block + info + u8(i), "sha256")
        out, i = out + block, i + 1
    return out[:n]


def key_schedule(shared_secret, info, trace=None):
    context = b"\0" + labeled_extract(b"", b"psk_id_hash", b"") + labeled_extract(b"", b"info_hash", info)
    secret = labeled_extract(shared_secret, b"secret", b"")
    key, nonce = labeled_expand(secret, b"key", context, 32), labeled_expand(secret, b"base_nonce", context, 12)
    note(trace, shared_secret=shared_secret, context=context, secret=secret, key=key, nonce=nonce)
    return key, nonce


def hpke_wrap(pk, info, plaintext, eseed=None):
    check_kem_key(pk)
    enc, shared_secret = xwing_encapsulate(pk, eseed or os.urandom(64))
    key, nonce = key_schedule(shared_secret, info)
    return enc, ChaCha20Poly1305(key).encrypt(nonce, plaintext, None)


def hpke_unwrap(seed, info, enc, ct, trace=None):
    """By the parts, and by the library's own HPKE; both must say the same."""
    require(len(enc) == 1120 and not is_low_order(enc[1088:]))
    key, nonce = key_schedule(xwing_decapsulate(seed, enc), info, trace)
    try:
        plaintext = ChaCha20Poly1305(key).decrypt(nonce, ct, None)
    except InvalidTag:
        plaintext = None
    try:
        other = XWING_SUITE.decrypt(enc + ct, library_hpke.MLKEM768X25519PrivateKey(*xwing_secrets(seed)), info)
    except InvalidTag:
        other = None
    if other != plaintext:
        raise AssertionError("HPKE: the parts and the library do not agree")
    require(plaintext is not None)
    return plaintext


# 5.5 Argon2id

def check_argon2id(memory_kib, passes):
    require(65536 <= memory_kib <= 4194304 and 3 <= passes <= 16)


ARGON2ID_DONE = {}


def argon2id(password, salt, memory_kib, passes):
    check_argon2id(memory_kib, passes)
    asked = (password, salt, memory_kib, passes)
    if asked not in ARGON2ID_DONE:
        try:
            ARGON2ID_DONE[asked] = Argon2id(salt=salt, length=32, iterations=passes, lanes=1, memory_cost=memory_kib).derive(password)
        except MemoryError:
            raise Refused("failed") from None
    return ARGON2ID_DONE[asked]


# ---------------------------------------------------------------------------------------------------------------------
# 6. TC1 and derive
# ---------------------------------------------------------------------------------------------------------------------

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


# ---------------------------------------------------------------------------------------------------------------------
# 7. Identity
# ---------------------------------------------------------------------------------------------------------------------

class Keys:
    """What one seed S_g gives."""

    def __init__(self, seed):
        self.seed = seed
        self.sign_seed = derive(seed, "tresor/v1/identity-sign")
        self.kem_seed = derive(seed, "tresor/v1/identity-kem")
        self.previous_key = derive(seed, "tresor/v1/identity-previous")
        self.tag_key = derive(seed, "tresor/v1/identity-file")
        self.home_key = derive(seed, "tresor/v1/home-key")
        self.state_key = derive(seed, "tresor/v1/home-cache")
        self.signing_key = ed25519_public(self.sign_seed)
        self.kem_key = xwing_public(self.kem_seed)


# 7.1 Card

class Card:
    pass


def read_card(reader):
    card, start = Card(), reader.at
    reader.preamble(b"tresorC1")
    card.handle = reader.name(1)
    card.generation = reader.u32()
    card.user, card.previous = reader.digest(), reader.digest()
    card.signing_key, card.kem_key = reader.digest(), reader.take(1216)
    card.time = reader.time()
    card.body = reader.data[start:reader.at]
    first = card.generation == 0
    require(card.generation <= 255 and first == (card.user == ZERO) and first == (card.previous == ZERO))
    card.self_signature = reader.take(64)
    card.succession = b"" if first else reader.take(64)
    card.bytes = reader.data[start:reader.at]
    card.hash = H("tresor/v1/card-hash", card.bytes)
    verify_label(card.signing_key, "tresor/v1/card-signature", card.body, card.self_signature)
    check_kem_key(card.kem_key)
    return card


def make_card(keys, handle, generation, user, previous, time_, predecessor=None):
    body = preamble(b"tresorC1") + opaque16(handle) + u32(generation) + user + previous + keys.signing_key + keys.kem_key + u64(time_)
    card = body + sign(keys.sign_seed, "tresor/v1/card-signature", body)
    return card + (sign(predecessor.sign_seed, "tresor/v1/card-succession", body) if predecessor else b"")


# 7.2, 7.3 User id, chain

class Chain:
    def __init__(self, cards):
        self.cards = cards
        self.user = H("tresor/v1/user-id", cards[0].bytes)
        self.bytes = b"".join(card.bytes for card in cards)
        self.newest = cards[-1]
        self.handle = cards[0].handle

    def extends(self, other):
        return self.user == other.user and [c.bytes for c in self.cards[:len(other.cards)]] == [c.bytes for c in other.cards]

    def card(self, generation):
        return self.cards[generation] if generation < len(self.cards) else None


CHAINS = {}


def read_chain(data):
    key = hashlib.sha256(data).digest()
    if key not in CHAINS:
        CHAINS[key] = parse_chain(data)
    return CHAINS[key]


def parse_chain(data):
    require(len(data) <= 524288)
    reader = Reader(data)
    cards = [read_card(reader)]
    require(cards[0].generation == 0)
    user = H("tresor/v1/user-id", cards[0].bytes)
    while reader.left():
        card = read_card(reader)
        check_succeeds(card, cards[-1], user)
        cards.append(card)
    return Chain(cards)


def check_succeeds(card, before, user):
    require(card.generation == before.generation + 1 and card.previous == before.hash and card.user == user and card.handle == before.handle)
    verify_label(before.signing_key, "tresor/v1/card-succession", card.body, card.succession)


# 7.4 Number

def thirty_digits(hash_):
    return format(int.from_bytes(hash_, "big") % 10 ** 30, "030d")


def number(chain):
    digits = thirty_digits(H("tresor/v1/number", chain.user + chain.newest.hash))
    return " ".join(digits[i:i + 5] for i in range(0, 30, 5))


def read_number(typed):
    digits = typed.replace(" ", "")
    require(re.fullmatch(r"[0-9]{30}", digits) is not None and digits.isascii(), "usage")
    return digits


def compare_number(chain, typed):
    require(equal(read_number(typed), number(chain).replace(" ", "")), "unverified")


# 7.5 Pins

NUMBER, CARD, LINK, KNOWN = 1, 2, 3, 4
NOBODY = bytes(32)


class Pin:
    def __init__(self, time_, replaced, chain, how=NUMBER, by=NOBODY):
        self.time, self.replaced, self.chain, self.how, self.by = time_, replaced, chain, how, by

    def encode(self):
        return u64(self.time) + u8(self.replaced) + u8(self.how) + self.by + opaque32(self.chain.bytes)

    def is_later(self, other):
        return (self.time, self.replaced) > (other.time, other.replaced)

    def is_newer(self, other):
        if self.replaced or other.replaced or not comparable(self.chain, other.chain):
            return self.is_later(other)
        return (self.chain.newest.generation, self.time) > (other.chain.newest.generation, other.time)

    def says(self, other):
        return self.replaced == other.replaced and (self.replaced or self.chain.bytes == other.chain.bytes)


def read_pin(reader):
    time_, replaced, how, by = reader.time(), reader.mark(), reader.u8(), reader.digest()
    require(NUMBER <= how <= KNOWN and (how == KNOWN) == (by != NOBODY))
    return Pin(time_, replaced, read_chain(reader.opaque32(1, 524288)), how, by)


def read_pins(data):
    reader, pins = Reader(data), []
    reader.preamble(b"tresorP2")
    while reader.left():
        pins.append(read_pin(reader))
    users = [pin.chain.user for pin in pins]
    require(len(set(users)) == len(users))
    return pins


def counting(pins, own):
    """The pins that count: what this home compared, and what the newest card of its own chain said."""
    return [pin for pin in pins if pin.how != KNOWN or own is not None and pin.by == own.newest.hash]


def encode_pins(pins):
    return preamble(b"tresorP2") + b"".join(pin.encode() for pin in pins)


def trust(own, pins, chain):
    if own is not None and chain.user == own.user:
        require(own.extends(chain), "forked")
        return "me"
    if namesakes(pins, chain):
        return "changed"
    mine = [pin for pin in pins if pin.chain.user == chain.user and not pin.replaced]
    if not mine:
        return "unverified"
    require(chain.extends(mine[0].chain), "forked")
    return "verified" if chain.newest.bytes == mine[0].chain.newest.bytes else "renewed"


def namesakes(pins, chain):
    """The people for whom the handle of a chain stands, if it does not stand for its own person."""
    active = [pin for pin in pins if not pin.replaced]
    if any(pin.chain.user == chain.user for pin in active):
        return []
    return [pin for pin in active if pin.chain.handle == chain.handle]


def founder_trust(own, pins, state, marked=False, chain=None, pinned=False):
    """`own` is none in a home without identity; `marked` says that the home's marks have the tresor as confirmed mine, `pinned` that it
    has a pinned head of it; `chain` is the state's of the founder, or what it will be."""
    chain = chain or state.chains[state.root.founder]
    if own is not None and chain.user == own.user:                                                  # 1
        if not own.extends(chain):
            require(chain.extends(own), "forked")
            return "renewed"
        is_newest = chain.bytes == own.bytes and state.root.card_hash == own.newest.hash
        return "me" if is_newest or marked else "unverified"
    if is_behind(pins, chain):                                                                      # 2
        return "unverified"
    result = trust(own, pins, chain)                                                                # 4
    if result in ("verified", "renewed") and state.founder_generation != chain.newest.generation and not pinned:    # 3
        return "unverified"
    return result


def is_behind(pins, chain):
    """An older generation than was compared."""
    return any(pin.chain.user == chain.user and not pin.replaced and pin.chain.extends(chain)
               and len(pin.chain.cards) > len(chain.cards) for pin in pins)


def author_trust(own, pins, chain, generation):
    """§10.5 step 14a; `chain` is the state's chain of the author."""
    mine = [pin.chain for pin in pins if pin.chain.user == chain.user and not pin.replaced]
    compared = own if own is not None and own.user == chain.user else mine[0] if mine else None
    if compared is None:                                                                            # 1
        require(not any(not pin.replaced and pin.chain.handle == chain.handle for pin in pins), "unverified")
        return
    require(chain.extends(compared) or compared.extends(chain), "forked")                           # 2
    require(generation <= compared.newest.generation, "unverified")                                 # 3


def put_pin(pins, chain, replacing, beside, now):
    mine = [pin for pin in pins if pin.chain.user == chain.user]
    require(not mine or mine[0].replaced or chain.extends(mine[0].chain), "forked")
    others = namesakes(pins, chain)
    require(replacing or beside or not others, "unverified")
    for pin in others if replacing else []:
        pin.replaced, pin.time = 1, max(now, pin.time)
    if mine:
        return [Pin(time_of_act(pin, now), 0, chain) if pin is mine[0] else pin for pin in pins]
    return pins + [Pin(now, 0, chain)]


def time_of_act(pin, now):
    """The time of an act about the person of a pin."""
    return now if (now, 1) > (pin.time, pin.replaced) else min(pin.time + 1, LAST_TIME)


def give_up(pins, user, now):
    mine = [place for place, pin in enumerate(pins) if pin.chain.user == user]
    require(mine, "not_found")
    pin = pins[mine[0]]
    pins[mine[0]] = Pin(time_of_act(pin, now), 1, pin.chain)
    return pins


# 7.6 Renewal

def previous_context(user, generation):
    return user + u32(generation) + u32(generation - 1)


def seal_previous(keys, user, generation, earlier_seed, salt=None):
    return tc1_seal(keys.previous_key, "tresor/v1/previous-seal", previous_context(user, generation), earlier_seed, salt)


def renew_card(chain, seed, new_seed, now):
    require(chain.newest.generation < 255, "usage")
    generation, keys = chain.newest.generation + 1, Keys(new_seed)
    card = make_card(keys, chain.handle, generation, chain.user, chain.newest.hash, now, Keys(seed))
    return read_chain(chain.bytes + card), seal_previous(keys, chain.user, generation, seed)


# ---------------------------------------------------------------------------------------------------------------------
# 8. Identity file
# ---------------------------------------------------------------------------------------------------------------------

PASSWORD, KIT, DEVICE = 1, 2, 3


class Slot:
    pass


def read_slot(reader):
    slot, start = Slot(), reader.at
    slot.kind, slot.id, slot.since = reader.u8(), reader.take(16), reader.time()
    require(slot.kind in (PASSWORD, KIT, DEVICE), "unsupported")
    if slot.kind == PASSWORD:
        slot.memory_kib, slot.passes = reader.u32(), reader.u32()
        check_argon2id(slot.memory_kib, slot.passes)
        slot.salt = reader.take(16)
    elif slot.kind == KIT:
        slot.locator = reader.take(32)
    else:
        slot.name, slot.until = reader.name(), reader.time()
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
        raise Refused("altered" if slot.kind == DEVICE else "wrong_password") from None
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


# 8.3 Remembered device

def read_device_half(data):
    require(len(data) == 90)
    reader = Reader(data)
    reader.preamble(b"tresorD1")
    half = Slot()
    half.user, half.device, half.half = reader.digest(), reader.take(16), reader.take(32)
    reader.end()
    return half


def device_slot_key(D, T):
    return derive(D, "tresor/v1/slot-device", T)


def open_with_device(file, device_half, store_half, now, trace=None, leftovers=None):
    """`store_half` is none where the store has none, `now` as of step 3, `leftovers` what read_leftovers gives."""
    require(device_half is not None, "not_found")                                                   # 1
    mine = read_device_half(device_half)
    slot = file.device_slot(mine.device)
    require(slot is not None or leftovers is None or mine.user + mine.device not in leftovers[1], "not_found")
    require(store_half is not None, "no_access")                                                    # 2
    require(len(store_half) == 32)
    require(slot is not None and mine.user == file.chain.user and now <= slot.until, "no_access")   # 4
    return open_slot(file, slot, device_slot_key(mine.half, store_half), trace)                     # 5


# 8.4 What a change may have left behind

def read_leftovers(data):
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


def encode_leftovers(lists):
    return preamble(b"tresorO1") + b"".join(u16(len(items)) + b"".join(items) for items in lists)


def settle_ways_in(lists, file, half):
    """What settleWaysIn does with a note; `file` and `half`, the device half here, may be none. Whether the half is destroyed; what is
    deleted from the store, as user ‖ locator and user ‖ device id; the note that is left."""
    kits, devices, slots, generations = lists
    destroyed = file is not None and half is not None and file.device_slot(half.device) is None     # 1
    here = None if half is None or destroyed else half.user + half.device
    ours = [kit for kit in kits if file is not None and kit[:32] == file.chain.user]                # 2
    used = file.slot(KIT) if file is not None else None
    copies = [kit for kit in ours if used is None or kit[32:] != used.locator]
    halves = [device for device in devices if device != here]                                       # 3
    dead = {device[32:] for device in halves} | {slot for slot in slots if here is None or slot != here[32:]}
    still = sorted(slot for slot in dead if file is not None and file.device_slot(slot) is not None)     # 4
    return destroyed, copies, halves, [[kit for kit in kits if kit not in ours], [], still, generations]


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
    require(all(1 <= roles <= 3 for _, roles, _ in stores))
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
    """The sent entry, its pack and its changes, or None; what is held; and the pending sets."""
    reader, sent, held, pending = Reader(data), None, [], []
    reader.preamble(b"tresorG1")
    parts = reader.u8()
    require(parts <= 3)
    if parts & 1:
        entry, pack = reader.opaque32(1, 1048576), reader.opaque32(1, GREATEST_PACK)
        sent = (encode_entry(read_entry(entry)), pack, read_changes(reader))
    if parts & 2:
        n = reader.u16()
        require(n >= 1)
        held = [read_held(reader) for _ in range(n)]
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
    return sent, held, pending


def encode_outbox(sent, held, pending):
    def encode(items):
        return u16(len(items)) + b"".join(item.bytes for item in items)

    head = u8((1 if sent else 0) + (2 if held else 0))
    if sent:
        head += opaque32(sent[0]) + opaque32(sent[1]) + encode(sent[2])
    if held:
        head += u16(len(held)) + b"".join(row[-1] for row in held)
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
    objects = [reader.opaque32(0, LONGEST_ANSWER) for _ in range(5)]
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


# ---------------------------------------------------------------------------------------------------------------------
# 9. Tresor log
# ---------------------------------------------------------------------------------------------------------------------

# 9.1 Entries, ids, hashes; 9.2 Bodies

GENESIS, GRANT, APPROVE, REFUSE, REMOVE, LEAVE, RENEW, EPOCH, ROLE, RENAME, APPROVERS = 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 13
ADDITIVE = 128                                                                                      # from there on
COMMIT, CHECKPOINT = 128, 129
OWNER, WRITER, READER = 1, 2, 3


class Entry:
    pass


class Epoch:
    def __init__(self, number_, content_commitment, history_commitment, back_link, sequence=None):
        self.number, self.content_commitment, self.history_commitment = number_, content_commitment, history_commitment
        self.back_link, self.sequence = back_link, sequence

    def encode(self):
        return u64(self.number) + self.content_commitment + self.history_commitment + opaque32(self.back_link)


def read_epoch(reader):
    epoch = Epoch(reader.u64(), reader.digest(), reader.digest(), reader.opaque32(0, 295048))
    if epoch.back_link:
        size = tc1_opened_size(len(epoch.back_link))
        require(size % 72 == 0 and size // 72 <= 4096)
    return epoch


def read_root(reader):
    root, start = Entry(), reader.at
    reader.suite()
    root.founder, root.card_hash, root.random = reader.digest(), reader.digest(), reader.digest()
    root.bytes = reader.data[start:reader.at]
    return root


def read_principal(reader):
    require(reader.u8() == 1, "unsupported")
    return reader.digest()


def read_chain_principal(reader):
    require(reader.u8() == 1, "unsupported")
    return read_chain(reader.opaque32(1, 524288))


def read_approver(reader):
    require(reader.u8() == 3, "unsupported")
    return read_chain(reader.opaque32(1, 524288))


def encode_approvers(chains):
    return u16(len(chains)) + b"".join(u8(3) + opaque32(encode_chain(chain)) for chain in chains)


def read_role(reader):
    role = reader.u8()
    require(role in (OWNER, WRITER, READER))
    return role


def read_count(reader):
    n = reader.u16()
    require(n <= 10000)
    return n


def read_principals(reader, read_one):
    return [read_one(reader) for _ in range(read_count(reader))]


def encode_principals(encoded):
    return u16(len(encoded)) + b"".join(u8(1) + one for one in encoded)


def read_genesis(body, reader):
    body.root = read_root(reader)
    body.chain = read_chain(reader.opaque32(1, 524288))
    body.approvers = read_principals(reader, read_approver)
    body.name = reader.take(588)
    body.epoch = read_epoch(reader)


def encode_genesis(body):
    root = u8(1) + body.root.founder + body.root.card_hash + body.root.random
    return root + opaque32(encode_chain(body.chain)) + encode_approvers(body.approvers) + body.name + body.epoch.encode()


def read_grant(body, reader):
    body.people = read_principals(reader, read_chain_principal)
    body.role, body.not_after, body.from_now = read_role(reader), reader.time(), reader.mark()
    if body.from_now:
        body.epoch = read_epoch(reader)
        body.name = reader.take(588)


def encode_grant(body):
    people = encode_principals([opaque32(encode_chain(chain)) for chain in body.people])
    tail = body.epoch.encode() + body.name if body.from_now else b""
    return people + u8(body.role) + u64(body.not_after) + u8(body.from_now) + tail


class Release:
    def __init__(self, user, generation, enc, ct):
        self.user, self.generation, self.enc, self.ct = user, generation, enc, ct

    def encode(self):
        return u8(1) + self.user + u32(self.generation) + self.enc + opaque16(self.ct)


def read_release(reader):
    return Release(read_principal(reader), reader.u32(), reader.take(1120), reader.opaque16(48, 65535))


def read_approve(body, reader):
    body.grant, body.approved_epoch = reader.digest(), reader.u64()
    body.releases = read_principals(reader, read_release)


def encode_approve(body):
    return body.grant + u64(body.approved_epoch) + u16(len(body.releases)) + b"".join(release.encode() for release in body.releases)


def read_refuse(body, reader):
    body.grant = reader.digest()


def read_approvers(body, reader):
    body.approvers = read_principals(reader, read_approver)


def read_remove(body, reader):
    body.users = read_principals(reader, read_principal)
    body.epoch = read_epoch(reader)


def read_renew(body, reader):
    one = Reader(reader.opaque32(1, 524288))
    body.card = read_card(one)
    one.end()


def read_epoch_body(body, reader):
    body.epoch = read_epoch(reader)


def read_role_body(body, reader):
    body.user, body.role, body.not_after = read_principal(reader), read_role(reader), reader.time()


def read_rename(body, reader):
    body.name = reader.take(588)


def read_additive(body, reader):
    body.additive = reader.take(reader.left())


def read_blobs(reader):
    n = reader.u16()
    require(reader.left() >= 40 * n)
    return [(reader.digest(), reader.u64()) for _ in range(n)]


def read_commit(data):
    body, reader = Entry(), Reader(data)
    body.epoch, body.blobs = reader.u64(), read_blobs(reader)
    reader.end()
    return body


def read_checkpoint(data):
    body, reader = Entry(), Reader(data)
    body.upto, body.epoch, body.blobs = reader.u64(), reader.u64(), read_blobs(reader)
    reader.end()
    return body


def by_owner(state, entry, author):
    return author is not None and author.role == OWNER


class Kind:
    """A type of body: how its fields are read and written, and who may write it (R15: the last column of §9.2). The author is none for
    who is no member, or waits."""
    def __init__(self, read, encode, permits=by_owner):
        self.read, self.encode, self.permits = read, encode, permits


KINDS = {
    GENESIS: Kind(read_genesis, encode_genesis),
    GRANT: Kind(read_grant, encode_grant),
    APPROVE: Kind(read_approve, encode_approve, lambda state, entry, author: entry.author in state.approvers),
    REFUSE: Kind(read_refuse, lambda body: body.grant, lambda state, entry, author: entry.author in state.approvers),
    REMOVE: Kind(read_remove, lambda body: encode_principals(body.users) + body.epoch.encode()),
    LEAVE: Kind(lambda body, reader: None, lambda body: b"", lambda state, entry, author: True),
    RENEW: Kind(read_renew, lambda body: opaque32(encode_card(body.card)),
                lambda state, entry, author: by_owner(state, entry, author) or entry.body.card.user == entry.author),
    EPOCH: Kind(read_epoch_body, lambda body: body.epoch.encode(),
                lambda state, entry, author: author.role == OWNER
                or (state.rotate_first and author.role == WRITER and author.history == 0)),
    ROLE: Kind(read_role_body, lambda body: u8(1) + body.user + u8(body.role) + u64(body.not_after)),
    RENAME: Kind(read_rename, lambda body: body.name),
    APPROVERS: Kind(read_approvers, lambda body: encode_approvers(body.approvers)),
    ADDITIVE: Kind(read_additive, lambda body: body.additive, lambda state, entry, author: author.role in (OWNER, WRITER)),
}


def kind_of(type_):
    return KINDS.get(min(type_, ADDITIVE))


def read_body(type_, data):
    body, reader = Entry(), Reader(data)
    body.epoch = body.name = None
    kind = kind_of(type_)                                                                           # 1
    require(kind is not None, "unsupported")                                                        # 2
    kind.read(body, reader)                                                                         # 3
    reader.end()
    return body


def encode_body(type_, body):
    return kind_of(type_).encode(body)


def read_entry(data):
    """The body stays a vector of bytes: §9.3 says when it is read."""
    require(len(data) <= 1048576)
    entry, reader = Entry(), Reader(data)
    reader.preamble(b"tresorE1")
    entry.tresor, entry.sequence, entry.previous = reader.digest(), reader.u64(), reader.digest()
    entry.author, entry.generation, entry.time = reader.digest(), reader.u32(), reader.time()
    entry.type = reader.u16()
    entry.body_bytes, entry.body = reader.opaque32(0, 1048576), None
    entry.signed = reader.data[:reader.at]
    entry.signature = reader.take(64)
    reader.end()
    entry.bytes = bytes(data)
    entry.hash = H("tresor/v1/entry-hash", entry.bytes)
    return entry


def tresor_id(root_bytes):
    return H("tresor/v1/tresor-id", root_bytes)


def sealed_name_context(tresor, epoch, sequence):
    return tresor + u64(epoch) + u64(sequence)


def padded_name(data):
    return u16(len(data)) + data + bytes(256 - len(data))


def seal_name(TK, tresor, epoch, sequence, name, kind, salt=None):
    return tc1_seal(TK, "tresor/v1/name-seal", sealed_name_context(tresor, epoch, sequence), padded_name(name) + padded_name(kind), salt)


def open_name(TK, tresor, epoch, sequence, sealed, trace=None):
    require(len(sealed) == 588)
    context = sealed_name_context(tresor, epoch, sequence)
    plaintext = tc1_open(TK, "tresor/v1/name-seal", context, sealed, trace)
    note(trace, context=context, plaintext=plaintext)
    reader, parts = Reader(plaintext), []
    for _ in range(2):
        length = reader.u16()
        require(length <= 256)
        parts.append(reader.take(length))
        check_name(parts[-1])
        require(not any(reader.take(256 - length)))
    require(parts[0] != b"")
    return tuple(parts)


# 9.3 Rules

class Member:
    def __init__(self, role, history, not_after, since, since_time, admitted_by, approved_by=None):
        self.role, self.history, self.not_after = role, history, not_after          # history 0: all, else from that epoch
        self.since, self.since_time, self.admitted_by, self.approved_by = since, since_time, admitted_by, approved_by

    def first_release(self, epoch):
        """The first of the epochs whose approval keys are released when this person is approved."""
        return self.history or epoch

    def is_lasting_owner(self):
        return self.role == OWNER and self.not_after == 0


LEAST_BLOB, GREATEST_PACK, GREATEST_BLOB = 674, 1081762, 2 ** 40


def void_by(state, entry):
    """The rule that makes an additive body void, or none; `state` is that before the entry. Sets what the body says."""
    if entry.type not in (COMMIT, CHECKPOINT):
        return None
    is_commit = entry.type == COMMIT
    try:
        said = entry.said = (read_commit if is_commit else read_checkpoint)(entry.body_bytes)
    except Refused:
        return "R2"
    sizes = [size for _, size in said.blobs]
    small = sizes[:1] if is_commit else sizes
    rules = [(15, is_commit or state.members[entry.author].role == OWNER),
             (38, 1 <= len(sizes) <= (1024 if is_commit else 10000) and all(LEAST_BLOB <= size <= GREATEST_BLOB for size in sizes)
              and all(size <= GREATEST_PACK for size in small)),
             (39, said.epoch == state.epoch), (40, not state.rotate_first)]
    if not is_commit:
        people = list(state.members.values()) + list(state.waiting.values())
        began = [state.epochs[person.history].sequence for person in people if person.history != 0]
        rules += [(41, state.floor < said.upto < entry.sequence), (42, all(said.upto < sequence for sequence in began))]
    return next(("R%d" % n for n, holds in rules if not holds), None)


def judge(state, tresor, data):
    """The rules in the order of §9.3; the entry, with its body, if it keeps all that apply."""
    def rule(n, holds, name="altered"):
        require(holds, name, "R%d" % n)

    def read(function, *arguments):
        """R1 and R2."""
        try:
            return function(*arguments)
        except Refused as refused:
            raise Refused(refused.name, "R1" if refused.name == "unsupported" else "R2") from None

    def signed(card):
        try:
            verify_label(card.signing_key, "tresor/v1/entry-signature", entry.signed, entry.signature)
        except Refused:
            raise Refused("altered", "R12") from None

    entry = read(read_entry, data)                                                                  # 1
    is_genesis, entry.void, entry.said = entry.type == GENESIS, None, None
    rule(3, entry.tresor == tresor)                                                                 # 2
    rule(4, entry.sequence == (state.sequence + 1 if state else 0))
    rule(5, entry.previous == (state.hash if state else ZERO))
    rule(6, is_genesis == (state is None))
    if is_genesis:                                                                                  # 3
        body = entry.body = read(read_body, entry.type, entry.body_bytes)
        newest = body.chain.newest
        rule(7, tresor_id(body.root.bytes) == entry.tresor)
        rule(8, body.root.founder == body.chain.user == entry.author and body.root.card_hash == newest.hash
             and entry.generation == newest.generation)
        rule(9, body.epoch.number == 1 and body.epoch.back_link == b"")
        signed(newest)
        judge_approvers(rule, body.approvers, lambda chain: chain.user != entry.author)
        return entry
    card, author = state.card(entry.author, entry.generation), state.members.get(entry.author)
    person, is_approver = author or state.waiting.get(entry.author), entry.author in state.approvers
    rule(11, card is not None, "no_access")
    signed(card)
    may = {APPROVE: is_approver, REFUSE: is_approver, RENEW: person is not None or is_approver, LEAVE: person is not None}
    rule(13, may.get(entry.type, author is not None), "no_access")
    rule(14, entry.generation == state.chains[entry.author].newest.generation, "no_access")
    if entry.type != LEAVE and person is not None:
        rule(16, person.not_after == 0 or entry.time <= person.not_after, "no_access")
    body = entry.body = read(read_body, entry.type, entry.body_bytes)
    rule(15, kind_of(entry.type).permits(state, entry, author), "no_access")
    if entry.type >= ADDITIVE:                                                                      # 4
        entry.void = void_by(state, entry)
        return entry
    if entry.type in (GRANT, REMOVE):
        users = [chain.user for chain in body.people] if entry.type == GRANT else body.users
        rule(17, users and all(a < b for a, b in zip(users, users[1:])))
    if entry.type == GRANT:
        rule(18, not any(state.is_in(user) or user in state.approvers for user in users))
        rule(19, all(chain.extends(state.chains[chain.user]) for chain in body.people if chain.user in state.chains))
        rule(20, body.role != OWNER or not body.from_now)
        rule(21, state.root.founder not in users or (body.role == OWNER and body.not_after == 0))
        rule(22, len(state.members) + len(state.waiting) + len(users) <= 10000)
    if body.epoch is not None:
        rule(23, body.epoch.number == state.epoch + 1 and body.epoch.back_link != b"")
    if entry.type == REMOVE:
        rule(24, all(state.is_in(user) for user in users))
        rule(25, state.root.founder not in users and entry.author not in users)
    if entry.type == LEAVE:
        rule(26, author is None or author.role != OWNER or state.lasting_owner_besides(entry.author))
    if entry.type == RENEW:
        rule(27, body.card.user in state.chains)
        try:
            check_succeeds(body.card, state.chains[body.card.user].newest, body.card.user)
        except Refused:
            raise Refused("altered", "R27") from None
    if entry.type == ROLE:
        person = state.members.get(body.user)
        rule(28, person is not None)
        rule(29, body.user != state.root.founder)
        rule(30, body.role != person.role or body.not_after != person.not_after)
        rule(31, body.role != OWNER or person.history == 0)
        rule(32, (body.role == OWNER and body.not_after == 0) or state.lasting_owner_besides(body.user))
    if entry.type == REMOVE:
        rule(33, state.lasting_owner_besides(*users))
    if entry.type == APPROVERS:
        judge_approvers(rule, body.approvers, lambda chain: not state.is_in(chain.user)
                        and (chain.user not in state.chains or chain.extends(state.chains[chain.user])))
    if entry.type in (APPROVE, REFUSE):
        waiting = state.waiting_by(body.grant)
        rule(35, waiting != [])
    if entry.type == APPROVE:
        rule(36, body.approved_epoch == state.epoch)
        rule(37, [release.user for release in body.releases] == waiting)
        for release in body.releases:
            keys = state.epoch - state.waiting[release.user].first_release(state.epoch) + 1
            rule(37, release.generation == state.chains[release.user].newest.generation and len(release.ct) == 16 + 32 * keys)
    if body.epoch is not None:
        earlier = {c for epoch in state.epochs.values() for c in (epoch.content_commitment, epoch.history_commitment)}
        rule(48, body.epoch.content_commitment not in earlier and body.epoch.history_commitment not in earlier)
    if entry.type in (GRANT, APPROVERS):
        rule(49, has_room(state, [chain.user for chain in (body.people if entry.type == GRANT else body.approvers)]))
    return entry


def judge_approvers(rule, chains, may_approve):
    users = [chain.user for chain in chains]
    rule(34, len(users) <= 16 and all(a < b for a, b in zip(users, users[1:])) and all(may_approve(chain) for chain in chains))


def has_room(state, users):
    return len(state.chains) + sum(user not in state.chains for user in users) <= 16384


# 9.4 Fold and state

ADMITTED, CHANGED, REMOVED, LEFT, GRANTED, REFUSED = "admitted", "role changed", "removed", "left", "asked", "refused"


class Change:
    def __init__(self, sequence, time_, author, change, role=None, not_after=0):
        self.sequence, self.time, self.author, self.change, self.role, self.not_after = sequence, time_, author, change, role, not_after


def last_until(records, sequence):
    found = None
    for record in records:
        if record[0] <= sequence:
            found = record
    return found


class State:
    def __init__(self, entry):
        self.tresor, self.root = entry.tresor, entry.body.root
        self.sequence, self.hash, self.time, self.owner_time, self.founder_generation = None, None, None, None, None
        self.members, self.rotate_first, self.epochs, self.chains, self.name = {}, False, {}, {}, None
        self.floor = self.checkpoint = 0
        self.waiting, self.approvers, self.approvers_since = {}, [], 0
        self.hashes, self.last_times, self.changes, self.generations, self.rotate_history = [], {}, {}, {}, []

    def copy(self):
        new = object.__new__(State)
        new.__dict__.update(self.__dict__)
        new.members = {user: Member(**vars(member)) for user, member in self.members.items()}
        for field in ("epochs", "chains", "last_times", "waiting"):
            setattr(new, field, dict(getattr(self, field)))
        new.hashes, new.rotate_history = list(self.hashes), list(self.rotate_history)
        new.changes = {user: list(changes) for user, changes in self.changes.items()}
        new.generations = {user: list(records) for user, records in self.generations.items()}
        return new

    @property
    def epoch(self):
        return len(self.epochs)

    def is_in(self, user):
        return user in self.members or user in self.waiting

    def waiting_by(self, grant):
        """Who waits by the grant of this hash, rising."""
        return sorted(user for user, person in self.waiting.items() if self.hashes[person.since] == grant)

    def card(self, user, generation):
        return self.chains[user].card(generation) if user in self.chains else None

    def lasting_owner_besides(self, *users):
        return any(member.is_lasting_owner() for other, member in self.members.items() if other not in users)

    def contains(self, sequence, hash_):
        return sequence < len(self.hashes) and self.hashes[sequence] == hash_

    # At an entry of the past.
    def epoch_at(self, sequence):
        return sum(1 for epoch in self.epochs.values() if epoch.sequence <= sequence)

    def rotate_first_at(self, sequence):
        found = last_until(self.rotate_history, sequence)
        return found is not None and found[1]

    def generation_at(self, user, sequence):
        found = last_until(self.generations.get(user, []), sequence)
        return None if found is None else found[2]

    def change_at(self, user, sequence):
        found = last_until([(change.sequence, change) for change in self.changes.get(user, [])], sequence)
        return None if found is None else found[1]

    def role_at(self, user, sequence):
        change = self.change_at(user, sequence)
        return change.role if change is not None and change.change in (ADMITTED, CHANGED) else None

    def ever_wrote(self, user):
        return any(change.role in (OWNER, WRITER) and change.change != GRANTED for change in self.changes.get(user, []))


def apply(state, entry):
    by_lasting_owner = state is None or entry.author in state.members and state.members[entry.author].is_lasting_owner()
    state = State(entry) if state is None else state.copy()
    body, sequence = entry.body, entry.sequence
    state.sequence, state.hash, state.time = sequence, entry.hash, entry.time
    state.hashes.append(entry.hash)
    state.last_times[entry.author] = max(entry.time, state.last_times.get(entry.author, 0))
    state.owner_time = entry.time if by_lasting_owner else state.owner_time
    if entry.author == state.root.founder:
        state.founder_generation = entry.generation

    def change(user, *what):
        state.changes.setdefault(user, []).append(Change(sequence, entry.time, entry.author, *what))

    def know(chain):
        state.chains[chain.user] = chain
        state.generations.setdefault(chain.user, []).append((sequence, entry.time, chain.newest.generation))

    def admit(chain, role, history, not_after):
        place = state.waiting if state.approvers else state.members
        place[chain.user] = Member(role, history, not_after, sequence, entry.time, entry.author)
        change(chain.user, GRANTED if state.approvers else ADMITTED, role, not_after)
        know(chain)

    def name_approvers(chains):
        state.approvers, state.approvers_since = [chain.user for chain in chains], sequence
        for chain in chains:
            know(chain)

    def dismiss(user, what):
        state.members.pop(user, None)
        state.waiting.pop(user, None)
        change(user, what)

    whose = body.card.user if entry.type == RENEW else None
    if entry.type == GENESIS:
        admit(body.chain, OWNER, 0, 0)
        name_approvers(body.approvers)
    elif entry.type == GRANT:
        for chain in body.people:
            admit(chain, body.role, body.epoch.number if body.from_now else 0, body.not_after)
    elif entry.type == REMOVE:
        for user in body.users:
            dismiss(user, REMOVED)
    elif entry.type == LEAVE:
        dismiss(entry.author, LEFT)
    elif entry.type == APPROVE:
        for user in state.waiting_by(body.grant):
            asked = state.waiting.pop(user)
            state.members[user] = Member(asked.role, asked.history, asked.not_after, sequence, entry.time, asked.admitted_by, entry.author)
            change(user, ADMITTED, asked.role, asked.not_after)
    elif entry.type == REFUSE:
        for user in state.waiting_by(body.grant):
            dismiss(user, REFUSED)
    elif entry.type == APPROVERS:
        name_approvers(body.approvers)
    elif entry.type == RENEW:
        state.chains[whose] = Chain(state.chains[whose].cards + [body.card])
        state.generations[whose].append((sequence, entry.time, body.card.generation))
    elif entry.type == ROLE:
        state.members[body.user].role, state.members[body.user].not_after = body.role, body.not_after
        change(body.user, CHANGED, body.role, body.not_after)
    elif entry.type == CHECKPOINT and entry.void is None:
        state.floor, state.checkpoint = entry.said.upto, sequence
    if body.epoch is not None:
        epoch = body.epoch
        state.epochs[epoch.number] = Epoch(epoch.number, epoch.content_commitment, epoch.history_commitment, epoch.back_link, sequence)
    if body.name is not None:
        state.name = (body.name, state.epoch, sequence)
    if entry.type in (LEAVE, REFUSE, APPROVERS) or entry.type == RENEW and state.is_in(whose):
        state.rotate_first = True
        state.rotate_history.append((sequence, True))
    elif body.epoch is not None:
        state.rotate_first = False
        state.rotate_history.append((sequence, False))
    return state


FOLDED = {}


def fold(tresor, entries):
    require(len(entries) > 0)
    state, path = None, tresor
    for data in entries:
        path = hashlib.sha256(path + hashlib.sha256(data).digest()).digest()
        if path not in FOLDED:
            FOLDED[path] = apply(state, judge(state, tresor, data))
        state = FOLDED[path]
    return state


def make_entry(keys, tresor, sequence, previous, author, generation, time_, type_, body):
    signed = preamble(b"tresorE1") + tresor + u64(sequence) + previous + author + u32(generation) + u64(time_) + u16(type_) + opaque32(body)
    return signed + sign(keys.sign_seed, "tresor/v1/entry-signature", signed)


# 9.5 Epochs

def commitments(tresor, TK, HK):
    return H("tresor/v1/commit-tk", tresor + TK), None if HK is None else H("tresor/v1/commit-hk", tresor + HK)


def check_keys(tresor, epoch, TK, HK):
    """`epoch` is the state's Epoch."""
    content, history = commitments(tresor, TK, HK)
    require(equal(content, epoch.content_commitment))
    require(HK is None or equal(history, epoch.history_commitment))


def back_link_context(tresor, epoch):
    return tresor + u64(epoch)


def open_back_link(tresor, epochs, number_, HK, trace=None):
    """`epochs`: number → Epoch, of the state. The list of (epoch, TK, HK)."""
    epoch, context = epochs[number_], back_link_context(tresor, number_)
    plaintext = tc1_open(HK, "tresor/v1/backlink-seal", context, epoch.back_link, trace)
    note(trace, context=context, plaintext=plaintext)
    require(len(plaintext) % 72 == 0)                                                               # 2
    links = []
    for i in range(0, len(plaintext), 72):
        links.append((int.from_bytes(plaintext[i:i + 8], "big"), plaintext[i + 8:i + 40], plaintext[i + 40:i + 72]))
    numbers = [number_] + [link[0] for link in links]                                               # 3
    require(0 not in numbers and all(a > b for a, b in zip(numbers, numbers[1:])))
    held = []                                                                                       # 4
    for link in links:
        try:
            require(link[0] in epochs)
            check_keys(tresor, epochs[link[0]], link[1], link[2])
        except Refused:
            if not held:
                raise
            break                                           # nothing behind a link that does not hold is believed
        held.append(link)
    return held


def seal_back_link(tresor, number_, HK, links, salt=None):
    plaintext = b"".join(u64(e) + TK + HK_ for e, TK, HK_ in links)
    return tc1_seal(HK, "tresor/v1/backlink-seal", back_link_context(tresor, number_), plaintext, salt)


def openable(state, identity, wraps):
    """Of `wraps`, (epoch, bytes, whether the store gave it), those that may be opened, each once: of each epoch, of what the store gives, the first
    16 that fit; all that do not fit, for their error; and the home's."""
    taken, seen = {}, set()
    for e, data, from_store in wraps:
        if data in seen or from_store and taken.get(e, 0) == 16:
            continue
        seen.add(data)
        try:
            fitting_wrap(data, state.tresor, state.epochs[e], state.chains[identity.user], identity)
            if from_store:
                taken[e] = taken.get(e, 0) + 1
        except Refused:
            pass
        yield e, data


def reachable(state, identity, wraps, from_home=()):
    """`wraps` lists (epoch, bytes): all own wraps of this tresor that the store has, `from_home` those of the home. (epoch, TK, HK)."""
    chain, reached, links = state.chains[identity.user], {}, []
    every = [wrap + (True,) for wrap in wraps] + [wrap + (False,) for wrap in from_home]
    for e, data in openable(state, identity, sorted((wrap for wrap in every if wrap[0] in state.epochs), key=lambda wrap: -wrap[0])):
        if e in reached or len(links) == 4096:
            continue
        try:
            keys = open_wrap(data, state.tresor, state.epochs[e], chain, 0, identity)
        except Refused:
            continue
        links.append((e,) + keys)
        new = [links[-1]]
        while new:
            number_, TK, HK = new.pop()
            if number_ not in reached:
                reached[number_] = (TK, HK)
                try:
                    new += open_back_link(state.tresor, state.epochs, number_, HK)
                except Refused:
                    pass
    return links


def new_epoch(state, identity, wraps):
    """(TK, HK) and the Epoch. `wraps` as in reachable."""
    number_, TK, HK = state.epoch + 1, os.urandom(32), os.urandom(32)                               # 1
    if state.members[identity.user].role == OWNER:                                                  # 3
        links = reachable(state, identity, wraps)
    else:
        current = keys_of(state, identity, lambda: wraps, [], state.epoch)
        require(current[1] is not None, "no_access")
        links = [(state.epoch,) + current]
    return (TK, HK), Epoch(number_, *commitments(state.tresor, TK, HK), seal_back_link(state.tresor, number_, HK, links))


# 9.6 Wraps

class Wrap:
    pass


def read_wrap(data):
    wrap, reader = Wrap(), Reader(data)
    reader.magic(b"tresorW1")
    reader.suite()
    wrap.tresor, wrap.epoch, wrap.user, wrap.generation = reader.digest(), reader.u64(), reader.digest(), reader.u32()
    wrap.enc, wrap.ct = reader.take(1120), reader.opaque16(0, 152)
    require(len(wrap.ct) in (48, 80, 120, 152))
    reader.end()
    return wrap


def encode_wrap(tresor, epoch, user, generation, enc, ct):
    return b"tresorW1" + u8(1) + tresor + u64(epoch) + user + u32(generation) + enc + opaque16(ct)


def wrap_info(tresor, epoch, user, card):
    return use("tresor/v1/epoch-wrap", "wrap") + tresor + u64(epoch) + user + card.hash


def fitting_wrap(data, tresor, epoch, chain, identity):
    """Steps 1 to 4 of openWrap: the wrap and the card it is made for."""
    wrap = read_wrap(data)
    require(wrap.tresor == tresor and wrap.epoch == epoch.number and wrap.user == identity.user)
    card = chain.card(wrap.generation)
    require(card is not None)
    require(wrap.generation < len(identity.keys), "no_access")
    return wrap, card


def open_wrap(data, tresor, epoch, chain, history, identity, trace=None):
    """`epoch` is the state's Epoch, `chain` the state's chain of me, `history` mine. The keys (TK, HK or none)."""
    wrap, card = fitting_wrap(data, tresor, epoch, chain, identity)
    require(len(wrap.ct) in (48, 80))
    info = wrap_info(tresor, epoch.number, wrap.user, card)
    note(trace, info=info, enc=wrap.enc, ct=wrap.ct)
    plaintext = hpke_unwrap(identity.keys[wrap.generation].kem_seed, info, wrap.enc, wrap.ct, trace)
    TK, HK = plaintext[:32], plaintext[32:] or None
    require((HK is not None) == (history == 0))
    check_keys(tresor, epoch, TK, HK)
    return TK, HK


def make_wrap(tresor, epoch, user, card, plaintext, eseed=None):
    enc, ct = hpke_wrap(card.kem_key, wrap_info(tresor, epoch, user, card), plaintext, eseed)
    return encode_wrap(tresor, epoch, user, card.generation, enc, ct)


# 9.11 Approval

def approval_key(tresor, epoch, HK):
    return derive(HK, "tresor/v1/approval-key", tresor + u64(epoch))


def approval_member(A, user):
    return derive(A, "tresor/v1/approval-member", user)


def approval_context(tresor, epoch, user):
    return tresor + u64(epoch) + user


def approver_info(tresor, epoch, user, card):
    return use("tresor/v1/approval-wrap", "wrap") + tresor + u64(epoch) + user + card.hash


def release_info(tresor, grant, epoch, user, card):
    return use("tresor/v1/approval-release", "wrap") + tresor + grant + u64(epoch) + user + card.hash


def open_approver_wrap(data, state, epoch, identity, trace=None):
    wrap, card = fitting_wrap(data, state.tresor, epoch, state.chains[identity.user], identity)
    require(len(wrap.ct) == 48)
    info = approver_info(state.tresor, epoch.number, wrap.user, card)
    note(trace, info=info, enc=wrap.enc, ct=wrap.ct)
    return hpke_unwrap(identity.keys[wrap.generation].kem_seed, info, wrap.enc, wrap.ct, trace)


def released(state, approve, identity, trace=None):
    """The approval keys that an entry *approve* of this log releases to me, by epoch."""
    entry = read_entry(approve)
    require(state.contains(entry.sequence, entry.hash) and entry.type == APPROVE)
    body = read_body(entry.type, entry.body_bytes)
    release = next((release for release in body.releases if release.user == identity.user), None)
    require(release is not None)
    card = state.chains[identity.user].card(release.generation)
    require(card is not None)
    require(release.generation < len(identity.keys), "no_access")
    info = release_info(state.tresor, body.grant, body.approved_epoch, identity.user, card)
    note(trace, info=info, enc=release.enc, ct=release.ct)
    keys = hpke_unwrap(identity.keys[release.generation].kem_seed, info, release.enc, release.ct, trace)
    first = body.approved_epoch - len(keys) // 32 + 1
    return {first + place: keys[32 * place:32 * place + 32] for place in range(len(keys) // 32)}


def open_waiting_wrap(data, state, epoch, identity, approve, trace=None):
    """The keys (TK, HK or none) in a waiting wrap of a member whom `approve` let in."""
    wrap, card = fitting_wrap(data, state.tresor, epoch, state.chains[identity.user], identity)
    require(len(wrap.ct) in (120, 152))
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")
    require(me.approved_by is not None)
    A = released(state, approve, identity).get(epoch.number)
    require(A is not None)
    sealed = hpke_unwrap(identity.keys[wrap.generation].kem_seed, wrap_info(state.tresor, epoch.number, wrap.user, card), wrap.enc, wrap.ct)
    note(trace, A_u=A, sealed=sealed)
    plaintext = tc1_open(A, "tresor/v1/approval-seal", approval_context(state.tresor, epoch.number, identity.user), sealed, trace)
    TK, HK = plaintext[:32], plaintext[32:] or None
    require(len(plaintext) in (32, 64) and (HK is not None) == (me.history == 0))
    check_keys(state.tresor, epoch, TK, HK)
    return TK, HK


def read_approval_evidence(data):
    reader = Reader(data)
    reader.preamble(b"tresorB1")
    evidence = (reader.digest(), reader.opaque32(1, 1048576), reader.opaque16(1, 1359), reader.opaque16(0, 65535))
    reader.end()
    return evidence


def encode_approval_evidence(tresor, approve, wrap, opened):
    return preamble(b"tresorB1") + tresor + opaque32(approve) + opaque16(wrap) + opaque16(opened)


def keys_of(state, identity, from_store, from_home, wanted, entries=()):
    """`from_store()` gives what the store has of my wraps of this tresor, as (epoch, bytes), or raises; `from_home` lists those of the
    home, `entries` the log, which has the approval of who waited. The keys (TK, HK or none) of the epoch."""
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")           # 1
    require(1 <= wanted <= state.epoch, "no_access")
    require(wanted >= me.history, "no_access")                                                      # 2
    reached, errors = {}, []

    def attempt(function, *arguments):
        """What it gives, or none; its error may be that of step 4."""
        try:
            return function(*arguments)
        except Refused as refused:
            errors.append(refused)
            return None

    least, most = (wanted, wanted) if me.history else (wanted, state.epoch)
    wraps = [wrap + (True,) for wrap in attempt(from_store) or []] + [wrap + (False,) for wrap in from_home]
    wraps = sorted((wrap for wrap in wraps if least <= wrap[0] <= most), key=lambda wrap: -wrap[0])  # stable: the store's before the home's
    wraps = list(openable(state, identity, wraps))
    links_opened = set()
    while wanted not in reached:                                                                    # 3
        lowest = min((e for e in reached if e > wanted and e not in links_opened), default=None)
        if lowest is not None:                                                                      # a
            links_opened.add(lowest)
            for e, TK, HK in attempt(open_back_link, state.tresor, state.epochs, lowest, reached[lowest][1]) or []:
                reached.setdefault(e, (TK, HK))
            continue
        e, data = next((wrap for wrap in wraps if wrap[0] not in reached), (None, None))            # b
        if e is None:                                                                               # c, 4
            raise errors[0] if errors else Refused("no_access")
        wraps.remove((e, data))
        read = attempt(read_wrap, data)
        if me.approved_by is not None and read is not None and len(read.ct) >= 120:
            keys = attempt(open_waiting_wrap, data, state, state.epochs[e], identity, entries[me.since])
        else:
            keys = attempt(open_wrap, data, state.tresor, state.epochs[e], state.chains[identity.user], me.history, identity)
        if keys is not None:
            reached[e] = keys
    return reached[wanted]


def cut_off(state, identity, from_store, from_home, began):
    """`began`: the author of the entry that began the current epoch, which the log says."""
    if identity.user not in state.members or state.members[identity.user].role != OWNER:            # 1
        return False
    try:
        keys_of(state, identity, from_store, from_home, state.epoch)
        return False
    except Refused as refused:
        if refused.name in ("store", "busy"):
            raise
    require(began != identity.user, "store")                                                        # 2
    return True


# 9.7 Acts: what they mean

class Effect:
    def __init__(self, remaining):
        self.admitted, self.changed, self.dismissed, self.already = [], [], [], []
        self.remaining, self.epoch, self.renames, self.generation = remaining, 0, 0, 0

    def is_nothing(self):
        """Step 8."""
        return not (self.admitted or self.changed or self.dismissed or self.epoch or self.renames or self.generation)


def effect_of(act, wanted, state, own, home, pins, clock, pinned=False):
    """Steps 3 to 6 of perform. `own` is the chain of the identity that acts, `home` that of the identity file beside the pins; `pinned` says
    that a head of the tresor was pinned before."""
    me = state.members.get(own.user)
    require(me is not None and own.extends(state.chains[own.user]), "no_access")                    # 3
    known = state.chains[own.user]
    require(act in ("renew", "leave") or known.bytes == own.bytes, "no_access")
    behind = act == "renew" and pinned and is_behind(pins, state.chains[state.root.founder])                                  # 4
    require(act == "leave" or behind or founder_trust(home, pins, state, marked=True, pinned=pinned) in ("me", "verified"), "unverified")
    require(act == "leave" or me.not_after == 0 or clock <= me.not_after, "no_access")              # 5
    effect = Effect(len(state.members))                                                             # 6
    if act in ("share", "revoke", "rename"):
        require(me.role == OWNER, "no_access")
    if act == "rotate":
        require(me.role == OWNER or (me.role == WRITER and me.history == 0 and state.rotate_first), "no_access")
        require(me.role == OWNER or not superseded(state, own, pins), "unverified")
        effect.epoch = state.epoch + 1
    elif act == "share":
        share_effect(effect, wanted, state)
    elif act == "revoke":
        users = wanted["users"]
        require(users and len(set(users)) == len(users), "usage")
        for user in sorted(users):
            require(user != own.user and (user != state.root.founder or user not in state.members), "usage")
            require(user in state.chains, "not_found")
            (effect.dismissed if user in state.members else effect.already).append(user)
        if effect.dismissed:
            require(state.lasting_owner_besides(*effect.dismissed), "usage")
            effect.epoch = state.epoch + 1
    elif act == "leave":
        require(me.role != OWNER or state.lasting_owner_besides(own.user), "usage")
        effect.dismissed.append(own.user)
    elif act == "rename":
        require(wanted["name"] != b"", "usage")
        effect.renames = 1
    elif act == "renew" and known.bytes != own.bytes:
        effect.generation = known.newest.generation + 1
    effect.remaining += len(effect.admitted) - len(effect.dismissed)
    return effect


def superseded(state, own, pins):
    users = (set(state.members) | {state.root.founder}) - {own.user}
    return sorted(user for user in users if is_behind(pins, state.chains[user]))


def settle(state, own, pins, was_pinned, clock, go_on=False):
    """What settle appends, in two lists: cards to renew, in order, and users to remove. `own` is the own chain, `was_pinned` whether a
    head was known before, `go_on` what a person answered."""
    me, chains = state.members.get(own.user), dict(state.chains)
    if me is None or me.role != OWNER or chains[own.user].newest.bytes != own.newest.bytes:         # 1
        return [], []
    founder, cards = state.root.founder, []
    behind = founder != own.user and is_behind(pins, chains[founder]) and was_pinned
    if not (founder_trust_is_good(own, pins, state, chains[founder], was_pinned) or behind):        # 1
        return [], []
    ended = sorted(user for user, member in state.members.items()                                   # 2
                   if user not in (founder, own.user) and member.not_after and member.not_after < clock)
    if ended and (clock < state.owner_time - 86400 or clock > state.owner_time + 400 * 86400):
        require(go_on, "failed")
        ended = []
    for user in superseded(state, own, pins):                                                       # 3
        compared = next(pin.chain for pin in pins if pin.chain.user == user)
        cards += compared.cards[len(chains[user].cards):]
        chains[user] = compared
    if not founder_trust_is_good(own, pins, state, chains[founder], was_pinned):                    # 4
        return cards, []
    return cards, ended                                                                             # 5


def founder_trust_is_good(own, pins, state, chain, pinned):
    return founder_trust(own, pins, state, marked=True, chain=chain, pinned=pinned) in ("me", "verified")


def body_of_act(act, wanted, effect, epoch, name, card):
    """Step 9: (body type, body) of the entry. `epoch`, `name`, `card`: the new Epoch, the sealed name and the next card, encoded."""
    people, until = {chain.user: chain for chain in wanted["people"]}, u64(wanted["not_after"] or 0)
    if act == "share" and effect.changed:
        return ROLE, u8(1) + effect.changed[0] + u8(wanted["role"]) + until
    if act == "share":
        body = u16(len(effect.admitted)) + b"".join(u8(1) + opaque32(people[user].bytes) for user in sorted(effect.admitted))
        return GRANT, body + u8(wanted["role"]) + until + (u8(1) + epoch + name if effect.epoch else u8(0))
    if act == "revoke":
        return REMOVE, u16(len(effect.dismissed)) + b"".join(u8(1) + user for user in sorted(effect.dismissed)) + epoch
    return {"leave": (LEAVE, b""), "rotate": (EPOCH, epoch), "rename": (RENAME, name), "renew": (RENEW, opaque32(card))}[act]


def share_effect(effect, wanted, state):
    users, role, not_after = [chain.user for chain in wanted["people"]], wanted["role"], wanted["not_after"]
    require(users and len(set(users)) == len(users), "usage")
    require(not (role == OWNER and wanted["from_now"]), "usage")
    require(not_after is None or 0 < not_after <= 253402300799, "usage")
    for user in users:
        member = state.members.get(user)
        if member is None:
            effect.admitted.append(user)
            continue
        require(wanted["from_now"] == (member.history != 0), "usage")
        if (member.role, member.not_after) == (role, not_after or 0):
            effect.already.append(user)
        else:
            require(user != state.root.founder and (role != OWNER or member.history == 0), "usage")
            require(role == OWNER and not_after is None or state.lasting_owner_besides(user), "usage")
            effect.changed.append(user)
    require(len(state.members) + len(effect.admitted) <= 10000 and has_room(state, effect.admitted), "usage")
    require(state.root.founder not in effect.admitted or (role == OWNER and not_after is None), "usage")
    require(not effect.changed or (not effect.admitted and len(effect.changed) == 1), "usage")
    if wanted["from_now"] and effect.admitted:
        effect.epoch = state.epoch + 1


# 9.8 Heads, forks, evidence

def read_heads(data):
    reader, heads = Reader(data), []
    reader.preamble(b"tresorH2")
    own_time = reader.time()
    while reader.left():
        tresor, kinds = reader.digest(), reader.u8()
        require(1 <= kinds <= 3)
        pinned = read_head(reader) if kinds & 1 else None
        heads.append((tresor, pinned, read_head(reader) if kinds & 2 else None))
    require(all(a[0] < b[0] for a, b in zip(heads, heads[1:])))
    return own_time, heads


def read_head(reader):
    return reader.u64(), reader.digest()


def encode_heads(own_time, heads):
    """Of each tresor the pinned head and the told one; none for one that is not there."""
    rows = b""
    for tresor, pinned, told in heads:
        rows += tresor + u8((pinned is not None) + 2 * (told is not None))
        rows += b"".join(u64(head[0]) + head[1] for head in (pinned, told) if head is not None)
    return preamble(b"tresorH2") + u64(own_time) + rows


def read_kept_log(data):
    reader, entries = Reader(data), []
    reader.preamble(b"tresorL1")
    while reader.left():
        entries.append(reader.opaque32(1, 1048576))
    return entries


def encode_kept_log(entries):
    return preamble(b"tresorL1") + b"".join(opaque32(entry) for entry in entries)


# 11.1 Exports

def read_export(data):
    """The tresor, its entries, the chains by rising user, the wraps by rising user and epoch, the blobs by rising hash."""
    require(len(data) <= 1 << 28)
    reader = Reader(data)
    reader.preamble(b"tresorx1")
    tresor, entries, cards, wraps, blobs = reader.digest(), [], [], [], []
    count = reader.u32()
    require(count >= 1)
    for _ in range(count):
        entries.append(reader.opaque32(1, 1048576))
    for _ in range(reader.u32()):
        cards.append(read_chain(reader.opaque32(1, 524288)))
        require(len(cards) == 1 or cards[-2].user < cards[-1].user)
    for _ in range(reader.u32()):
        wraps.append(read_wrap(reader.opaque16(1, 65535)))
        require(wraps[-1].tresor == tresor)
        require(len(wraps) == 1 or (wraps[-2].user, wraps[-2].epoch) < (wraps[-1].user, wraps[-1].epoch))
    for _ in range(reader.u32()):
        blobs.append(reader.opaque32(1, 2 ** 28))
        require(len(blobs) == 1 or H("tresor/v1/blob-hash", blobs[-2]) < H("tresor/v1/blob-hash", blobs[-1]))
    reader.end()
    return tresor, entries, cards, wraps, blobs


def encode_export(tresor, entries, cards, wraps, blobs):
    parts = [[opaque32(entry) for entry in entries], [opaque32(encode_chain(chain)) for chain in cards]]
    parts.append([opaque16(encode_wrap(w.tresor, w.epoch, w.user, w.generation, w.enc, w.ct)) for w in wraps])
    parts.append([opaque32(blob) for blob in blobs])
    return preamble(b"tresorx1") + tresor + b"".join(u32(len(part)) + b"".join(part) for part in parts)


def read_evidence(data):
    reader = Reader(data)
    reader.preamble(b"tresorV1")
    evidence = (reader.digest(), reader.u64(), reader.digest(), reader.opaque32(0, 1048576), reader.opaque32(0, 1048576))
    reader.end()
    return evidence


def encode_evidence(tresor, sequence, hash_, verified, shown):
    return preamble(b"tresorV1") + tresor + u64(sequence) + hash_ + opaque32(verified) + opaque32(shown)


def evidence_name(data):
    return H("tresor/v1/evidence-hash", data)


class Store:
    """The operations of §11 that a reader needs. `logs`: tresor → entries; `wraps`: (tresor, user, epoch) → wrap."""

    def __init__(self):
        self.logs, self.wraps = {}, {}

    def entries(self, tresor, first):
        return self.logs.get(tresor, [])[first:]

    def own_wraps(self, tresor, user):
        """(epoch, wrap), by rising epoch."""
        return sorted((key[2], wrap) for key, wrap in self.wraps.items() if key[:2] == (tresor, user))

    def append(self, tresor, sequence, previous, entry, wraps, removes):
        """`previous` is the hash of the entry before, as the new one names it."""
        log = self.logs.setdefault(tresor, [])
        if len(log) != sequence or (log and H("tresor/v1/entry-hash", log[-1]) != previous):
            return "conflict"
        log.append(entry)
        for key in [key for key in self.wraps if key[0] == tresor and key[1] in removes]:
            del self.wraps[key]
        for user, epoch, wrap in wraps:
            self.wraps[tresor, user, epoch] = wrap
        return "done"


class Home:
    """What one person keeps: identity, pins, heads, kept logs, own wraps as (tresor, epoch, wrap), evidence."""

    def __init__(self, store, identity, pins):
        self.store, self.identity, self.pins = store, identity, pins
        self.heads, self.logs, self.wraps, self.evidence = {}, {}, [], []

    def kept(self, tresor, head):
        """The kept log up to the pinned head, and its state: none without a head, or unless it folds and ends there."""
        if head is None:
            return [], None
        try:
            log = self.logs.get(tresor, [])[:head[0] + 1]
            state = fold(tresor, log)
        except Refused:
            return [], None
        return (log, state) if (state.sequence, state.hash) == head else ([], None)

    def read_log(self, tresor):
        head = self.heads.get(tresor)                                                               # 1
        log, state = self.kept(tresor, head)
        answer = self.store.entries(tresor, max(len(log) - 1, 0))                                   # 2
        if log and answer[:1] != log[-1:] or head is not None and not answer:                       # 3
            return self.disagree(tresor, head)
        log = log + answer[1:] if log else answer
        if not log:                                                                                 # 5
            raise Refused("not_found")
        state = fold(tresor, log)                                                                   # 4
        if head is not None and not state.contains(*head):
            return self.disagree(tresor, head)
        if head is None:                                                                            # 6
            try:
                if self.founder_trust(state) in ("changed", "unverified"):
                    return state
            except Refused:
                return state
        self.logs[tresor], self.heads[tresor] = log, (state.sequence, state.hash)
        return state

    def disagree(self, tresor, head):                                                               # 7
        log, kept = self.store.entries(tresor, 0), self.kept(tresor, head)[0]
        if log:
            fold(tresor, log)
        shown = log[min(head[0], len(log) - 1)] if log else b""
        self.evidence.append(encode_evidence(tresor, *head, kept[-1] if kept else b"", shown))
        raise Refused("forked")

    def founder_trust(self, state):
        """§7.5."""
        return founder_trust(self.identity.chain, self.pins, state, marked=True, pinned=state.tresor in self.heads)

    def keys_of(self, state, epoch):
        kept = [(e, wrap) for tresor, e, wrap in self.wraps if tresor == state.tresor]
        own_wraps = lambda: self.store.own_wraps(state.tresor, self.identity.user)
        return keys_of(state, self.identity, own_wraps, kept, epoch, self.logs.get(state.tresor, ()))

    def open_file(self, data, expected=None):
        """§10.5 whole; nothing unverified is accepted."""
        seen = {}

        def state_of(tresor):                                                                       # 3
            seen["pinned"] = tresor in self.heads
            try:
                seen["state"] = self.read_log(tresor)
            except Refused as refused:
                raise Refused("no_access" if refused.name == "not_found" else refused.name) from None
            return seen["state"]

        def member():                                                                               # 4
            require(self.identity.user in seen["state"].members, "waiting" if self.identity.user in seen["state"].waiting else "no_access")

        def admitted(header):                                                                       # 5
            state = seen["state"]
            founder, result = state.chains[state.root.founder], self.founder_trust(state)
            if result == "renewed":
                own = self.identity.chain
                compared = own if own.user == founder.user else next(pin.chain for pin in self.pins if pin.chain.user == founder.user)
                require(state.generation_at(founder.user, header.head_sequence) <= compared.newest.generation, "unverified")
            elif not (seen["pinned"] and result == "unverified" and is_behind(self.pins, founder)):
                require(result in ("me", "verified"), "unverified")

        def believed(said):                                                                         # 14a
            author_trust(self.identity.chain, self.pins, seen["state"].chains[said.author], said.generation)

        def compared(user):                                                                         # 16
            return compared_chain(self.identity.chain, self.pins, user)

        return open_file(data, state_of, lambda epoch: self.keys_of(seen["state"], epoch)[0], expected, member=member, admitted=admitted,
                         believed=believed, compared=compared)


# 9.10 Kept state

KIND_OF_CHANGE = {ADMITTED: 1, CHANGED: 2, REMOVED: 3, LEFT: 4, GRANTED: 5, REFUSED: 6}


KNOWN_ADDITIVE = CHECKPOINT                                 # the greatest additive body type that this release knows


def state_tag(identity, body):
    return derive(identity.keys[-1].state_key, "tresor/v1/state-tag", body)


def encode_counted(elements):
    return u32(len(elements)) + b"".join(elements)


def keep_state(state, identity):
    name, _, name_sequence = state.name
    turned = [False] + [mark for _, mark in state.rotate_history]
    marks = [u64(sequence) for (sequence, mark), before in zip(state.rotate_history, turned) if mark != before]

    def person(user):
        generations = [u64(sequence) + u64(when) + u32(generation) for sequence, when, generation in state.generations[user]]
        changes = [u64(c.sequence) + u64(c.time) + c.author + u8(KIND_OF_CHANGE[c.change]) + u8(c.role or 0) + u64(c.not_after or 0)
                   for c in state.changes.get(user, [])]
        last = u8(1) + u64(state.last_times[user]) if user in state.last_times else u8(0)
        history = (state.members.get(user) or state.waiting[user]).history if state.is_in(user) else 0
        return opaque32(state.chains[user].bytes) + encode_counted(generations) + encode_counted(changes) + last + u64(history)

    body = preamble(b"tresorS2") + u16(KNOWN_ADDITIVE) + state.root.bytes + u64(state.time) + u64(state.owner_time)
    body += u32(state.founder_generation) + u64(state.floor) + u64(state.checkpoint)
    body += u16(len(state.approvers)) + b"".join(state.approvers) + u64(state.approvers_since) + encode_counted(state.hashes)
    body += encode_counted([state.epochs[e].encode() + u64(state.epochs[e].sequence) for e in sorted(state.epochs)])
    body += name + u64(name_sequence) + encode_counted(marks) + encode_counted([person(user) for user in sorted(state.chains)])
    return body + state_tag(identity, body)


class KeptStateReader(Reader):
    """A reader that knows how many entries the log has."""

    entries = 0

    def counted(self, least, size, read):
        """At least `least` elements, each of at least `size` bytes."""
        count = self.u32()
        require(count >= least and count * size <= self.left())
        return [read() for _ in range(count)]

    def rising(self):
        """A function that reads sequence numbers, each greater than the one before it."""
        last = [-1]

        def sequence():
            value = self.u64()
            require(last[0] < value < self.entries)
            last[0] = value
            return value
        return sequence


def open_kept_state(data, tresor, identity):
    body, tag = data[:-32], data[-32:]
    require(len(data) >= 32 and equal(tag, state_tag(identity, body)))                              # 1
    reader, state = KeptStateReader(body), object.__new__(State)                                    # 2, 3
    reader.preamble(b"tresorS2")
    require(reader.u16() >= KNOWN_ADDITIVE, "unsupported")
    state.root, state.time, state.owner_time, state.founder_generation = read_root(reader), reader.time(), reader.time(), reader.u32()
    state.floor, state.checkpoint = reader.u64(), reader.u64()
    state.tresor = H("tresor/v1/tresor-id", state.root.bytes)
    approver_count = reader.u16()
    require(approver_count * 32 <= reader.left())
    state.approvers, state.approvers_since = [reader.digest() for _ in range(approver_count)], reader.u64()
    state.hashes = reader.counted(1, 32, reader.digest)
    reader.entries = len(state.hashes)
    require((state.floor, state.checkpoint) == (0, 0) or 0 < state.floor < state.checkpoint < reader.entries)
    require(state.approvers_since < reader.entries)
    state.sequence, state.hash = reader.entries - 1, state.hashes[-1]
    sequence = reader.rising()

    def epoch():
        found = read_epoch(reader)
        found.sequence = sequence()
        return found
    epochs = reader.counted(1, 84, epoch)
    require(epochs[0].sequence == 0)
    require(all(found.number == place and (found.back_link == b"") == (place == 1) for place, found in enumerate(epochs, 1)))
    state.epochs = {found.number: found for found in epochs}
    name, name_sequence = reader.take(588), reader.rising()()
    state.name = (name, state.epoch_at(name_sequence), name_sequence)
    marks = reader.counted(0, 8, reader.rising())
    state.rotate_history = [(mark, place % 2 == 0) for place, mark in enumerate(marks)]
    state.rotate_first = len(marks) % 2 == 1
    people = reader.counted(1, 42, lambda: read_kept_person(reader, len(epochs)))
    reader.end()
    state.members, state.waiting, state.chains, state.last_times, state.changes, state.generations = {}, {}, {}, {}, {}, {}
    users = []
    for chain, generations, changes, last, history in people:                                       # 4
        chain = read_chain(chain)
        require(chain.newest.generation == generations[-1][2])
        users.append(chain.user)
        state.chains[chain.user], state.generations[chain.user], state.changes[chain.user] = chain, generations, changes
        if last is not None:
            state.last_times[chain.user] = last
        require(changes or chain.user != state.root.founder)
        if changes and changes[-1].change in (ADMITTED, CHANGED, GRANTED):
            place = [place for place, change in enumerate(changes) if change.change in (ADMITTED, GRANTED)][-1]
            admission, asked = changes[place], changes[place - 1] if place and changes[place - 1].change == GRANTED else None
            found = state.waiting if changes[-1].change == GRANTED else state.members
            found[chain.user] = Member(changes[-1].role, history, changes[-1].not_after, admission.sequence, admission.time,
                                       asked.author if asked else admission.author, admission.author if asked else None)
    require(all(a < b for a, b in zip(users, users[1:])))
    require(state.root.founder in state.chains and len(state.members) + len(state.waiting) <= 10000)
    require(len(state.chains) <= 16384)
    require(state.founder_generation <= state.chains[state.root.founder].newest.generation)
    require(len(state.approvers) <= 16 and all(a < b for a, b in zip(state.approvers, state.approvers[1:])))
    require(all(user in state.chains and not state.is_in(user) for user in state.approvers))
    require(state.tresor == tresor)                                                                 # 5
    return state


def read_kept_person(reader, epoch_count):
    chain = reader.opaque32(1, 524288)
    sequence = reader.rising()
    generations = reader.counted(1, 20, lambda: (sequence(), reader.time(), reader.u32()))
    require(all(a[2] <= b[2] for a, b in zip(generations, generations[1:])))
    at, before = reader.rising(), [None]

    def change():
        place, when, author, kind, role, not_after = at(), reader.time(), reader.digest(), reader.u8(), reader.u8(), reader.time()
        require(1 <= kind <= 6)
        what = next(name for name, number_ in KIND_OF_CHANGE.items() if number_ == kind)
        stays = what in (ADMITTED, CHANGED, GRANTED)
        require(role in (OWNER, WRITER, READER) if stays else (role, not_after) == (0, 0))
        last = before[0]
        is_in, waits = last is not None and last.change in (ADMITTED, CHANGED, GRANTED), last is not None and last.change == GRANTED
        as_asked = waits and (last.role, last.not_after) == (role, not_after)
        require({GRANTED: not is_in, ADMITTED: as_asked if waits else not is_in, CHANGED: is_in and not waits, REMOVED: is_in, LEFT: is_in,
                 REFUSED: waits}[what])
        before[0] = Change(place, when, author, what, role, not_after) if stays else Change(place, when, author, what)
        return before[0]
    changes = reader.counted(0, 58, change)
    last = reader.time() if reader.mark() else None
    history = reader.u64()
    is_in = bool(changes) and changes[-1].change in (ADMITTED, CHANGED, GRANTED)
    require(history == 0 or is_in and 2 <= history <= epoch_count)
    return chain, generations, changes, last, history


# ---------------------------------------------------------------------------------------------------------------------
# 10. Sealed file
# ---------------------------------------------------------------------------------------------------------------------

class Header:
    pass


def read_header(reader):
    header, start = Header(), reader.at
    reader.preamble(b"tresorF1")
    header.tresor, header.epoch, header.head_sequence, header.head_hash = reader.digest(), reader.u64(), reader.u64(), reader.digest()
    header.bytes = reader.data[start:reader.at]
    return header


def encode_header(tresor, epoch, head_sequence, head_hash):
    return preamble(b"tresorF1") + tresor + u64(epoch) + u64(head_sequence) + head_hash


class Statement:
    """Who says it: header, author, generation, time, signature, and the Fields that are signed."""


def read_fields(reader):
    fields, start = Statement(), reader.at
    fields.author, fields.generation, fields.time = reader.digest(), reader.u32(), reader.time()
    fields.type, fields.record = reader.name(), reader.name()
    fields.origin = None
    if reader.mark():
        origin = Statement()
        try:
            origin.header = read_header(reader)
        except Refused:
            raise Refused("altered") from None
        origin.author, origin.generation, origin.time, origin.signature = reader.digest(), reader.u32(), reader.time(), reader.take(64)
        origin.fields = encode_fields(origin.author, origin.generation, origin.time, fields.type, fields.record)
        fields.origin = origin
    fields.fields = reader.data[start:reader.at]
    return fields


def encode_fields(author, generation, time_, type_, record, origin=None):
    fields = author + u32(generation) + u64(time_) + opaque16(type_) + opaque16(record)
    if origin is None:
        return fields + u8(0)
    return fields + u8(1) + encode_origin(*origin)


def encode_origin(header, author, generation, time_, signature):
    return header + author + u32(generation) + u64(time_) + signature


# 10.3 Padding

def padded_size(unpadded):
    size = max(unpadded, 512)
    E = size.bit_length() - 1
    S = E.bit_length()
    m = 2 ** (E - S) - 1
    return (size + m) & ~m


# 10.4 Signature and sealing

def content_hash(content, trace=None):
    parts = [content[i:i + 65536] for i in range(0, len(content), 65536)]
    d = [blake2b(use("tresor/v1/content-part", "hash") + u64(i) + part) for i, part in enumerate(parts)]
    D = blake2b(use("tresor/v1/content-hash", "hash") + u64(len(content)) + b"".join(d), 64)
    note(trace, d=d, D=D)
    return D


def seal_payload(keys, TK, header, fields, content, salt=None):
    signature = sign(keys.sign_seed, "tresor/v1/file-signature", header + fields + content_hash(content))
    size = padded_size(len(fields) + len(content) + 72)
    padding = bytes(size - len(fields) - len(content) - 72)
    payload = fields + content + padding + u64(len(content)) + signature
    return header + tc1_seal(TK, "tresor/v1/file-seal", header, payload, salt)


# 10.5 Reading

def open_file(data, state_of, keys, expected=None, trace=None, member=None, admitted=None, believed=None, compared=None):
    """`state_of(tresor)` is step 3, `member()` the membership of step 4, `admitted(header)` is step 5, `keys(epoch)` is step 6 and gives
    TK, `believed(statement)` is step 14a, `compared(user)` the chain that step 16 asks for. The content, the Fields and the state."""
    expected = expected or {}
    if is_armour(data):                                                                             # 1
        data = dearmour(data, FILE_ARMOUR)
    header = read_header(Reader(data[:90]))
    require(len(data) <= MOST and tc1_opened_size(len(data) - 90) >= 512)                           # 2
    state = state_of(header.tresor)                                                                 # 3
    if member is not None:                                                                          # 4
        member()
    if header.head_sequence > state.sequence:
        raise Refused("store" if header.epoch >= state.epoch else "altered")
    require(header.epoch <= state.epoch, "no_access")
    if admitted is not None:                                                                        # 5
        admitted(header)
    require(header.epoch >= 1, "no_access")                                                         # 6, keysOf step 1
    TK = keys(header.epoch)
    payload = tc1_open(TK, "tresor/v1/file-seal", header.bytes, data[90:], trace)                   # 7
    reader = Reader(payload)                                                                        # 8
    fields = read_fields(reader)
    fields.header = header
    require(reader.left() >= 72)
    length, fields.signature = int.from_bytes(payload[-72:-64], "big"), payload[-64:]
    padding_size = reader.left() - 72 - length
    require(padding_size >= 0)
    content = reader.take(length)
    require(len(payload) == padded_size(len(fields.fields) + length + 72))
    require(not any(payload[reader.at:-72]))
    D = content_hash(content, trace)
    note(trace, header=header.bytes, fields=fields.fields, M=header.bytes + fields.fields + D, signature=fields.signature,
         padding_size=u64(padding_size))
    judge_statement(state, fields, D)
    if fields.origin is not None:                                                                   # 14
        require(fields.origin.header.tresor == header.tresor and fields.origin.header.head_sequence <= header.head_sequence)
        judge_statement(state, fields.origin, D)
    if believed is not None:                                                                        # 14a
        believed(fields)
        if fields.origin is not None:
            believed(fields.origin)
    first = fields.origin or fields
    require("tresor" not in expected or expected["tresor"] == header.tresor)                        # 15
    require("record" not in expected or expected["record"] == fields.record)
    require("author" not in expected or expected["author"] == first.author)
    require(not fields.type.startswith(b"tresor/"), "usage")
    if expected.get("current"):                                                                     # 16
        chain = None if compared is None else compared(first.author)
        require(standing(state, first.author, first.generation, first.header.head_sequence, chain)[0] == "current", "no_access")
    return content, fields, state


def judge_statement(state, said, D):
    """§10.5 steps 9 to 13."""
    header = said.header
    card = state.card(said.author, said.generation)
    require(card is not None, "no_access")                                                          # 9
    verify_label(card.signing_key, "tresor/v1/file-signature", header.bytes + said.fields + D, said.signature)   # 10
    if not state.contains(header.head_sequence, header.head_hash):                                  # 11
        raise Refused("forked" if state.ever_wrote(said.author) else "no_access")
    at = header.head_sequence
    require(state.generation_at(said.author, at) == said.generation, "no_access")                   # 12
    require(state.role_at(said.author, at) in (OWNER, WRITER), "no_access")
    require(not state.rotate_first_at(at), "no_access")
    not_after = state.change_at(said.author, at).not_after
    require(not_after == 0 or not_after >= said.time, "no_access")
    require(state.epoch_at(at) == header.epoch)                                                     # 13


# 10.6 Standing

def compared_chain(own, pins, user):
    """What this home has compared of somebody, or none."""
    if own is not None and own.user == user:
        return own
    return next((pin.chain for pin in pins if pin.chain.user == user and not pin.replaced), None)


def ends_writing(change):
    return change.change in (REMOVED, LEFT) or change.role == READER


def standing(state, user, generation, h, compared=None):
    """("current",) or ("former", why, when). `h` is the head's sequence, `compared` the chain this home has compared of the user."""
    changes = [change for change in state.changes[user] if change.change not in (GRANTED, REFUSED)]
    ending = [i for i, change in enumerate(changes) if ends_writing(change)]
    if ending:
        last = changes[ending[-1]]
        why = "role changed" if last.role == READER else last.change
        if last is changes[-1] or changes[ending[-1] + 1].sequence > h:
            return "former", why, last.time
    newest = state.chains[user].newest.generation
    if newest != generation:
        return "former", "key renewed", next(when for _, when, g in state.generations[user] if g == newest)
    if compared is not None and compared.newest.generation > generation:
        return "former", "key renewed", compared.card(generation + 1).time
    return ("current",)


# ---------------------------------------------------------------------------------------------------------------------
# 12. Errors
# ---------------------------------------------------------------------------------------------------------------------

EXIT_CODES = {"failed": 1, "not_found": 10, "busy": 11, "wrong_password": 12, "no_access": 13, "altered": 14, "forked": 15,
              "unverified": 16, "waiting": 17, "store": 18, "unsupported": 19, "usage": 64, "interrupted": 130}


# ---------------------------------------------------------------------------------------------------------------------
# 16. Registries
# ---------------------------------------------------------------------------------------------------------------------

# 16.1 Labels: use and bytes of output (none: the size follows from the input).

REGISTRY = {
    b"tresor/v1/" + name.encode(): (how, size) for name, how, size in [
        ("seal", "derive", 64), ("derive", "derive", 32), ("user-id", "hash", 32), ("card-hash", "hash", 32), ("card-signature", "sign", 64),
        ("card-succession", "sign", 64), ("number", "hash", 32), ("identity-sign", "derive", 32), ("identity-kem", "derive", 32),
        ("identity-previous", "derive", 32), ("identity-file", "derive", 32), ("identity-tag", "derive", 32), ("previous-seal", "seal", 104),
        ("home-key", "derive", 32), ("names-seal", "seal", None), ("marks-seal", "seal", None), ("outbox-seal", "seal", None),
        ("home-cache", "derive", 32), ("state-tag", "derive", 32),
        ("slot-seal", "seal", 104), ("slot-device", "derive", 32), ("kit-slot", "derive", 32), ("kit-locator", "derive", 32),
        ("device-code", "hash", 32), ("device-locator", "derive", 32), ("device-tag", "derive", 32), ("device-wrap", "wrap", None),
        ("device-answer", "derive", 32), ("device-number", "derive", 32), ("device-receipt", "derive", 32),
        ("tresor-id", "hash", 32), ("entry-hash", "hash", 32), ("entry-signature", "sign", 64), ("name-seal", "seal", 588),
        ("commit-tk", "hash", 32), ("commit-hk", "hash", 32), ("backlink-seal", "seal", None), ("epoch-wrap", "wrap", None),
        ("approval-key", "derive", 32), ("approval-member", "derive", 32), ("approval-seal", "seal", None), ("approval-wrap", "wrap", None),
        ("approval-release", "wrap", None),
        ("evidence-hash", "hash", 32), ("file-seal", "seal", None), ("file-signature", "sign", 64), ("content-hash", "hash", 64),
        ("content-part", "hash", 32), ("blob-hash", "hash", 32), ("volume-key", "derive", 32), ("volume-seal", "seal", None),
        ("server-id", "hash", 32), ("audience", "hash", 32), ("session-signature", "sign", 64), ("session-hash", "hash", 32),
        ("device-sign", "derive", 32), ("request-body", "hash", 32), ("request-signature", "sign", 64), ("login-signature", "sign", 64),
        ("invitation", "hash", 32)]}


# ---------------------------------------------------------------------------------------------------------------------
# 18. Service
# ---------------------------------------------------------------------------------------------------------------------

# 18.1 Server

class Fields:
    """What was read of a fixed object, by the names of SPEC's struct."""


def read_server_fields(reader):
    reader.preamble(b"tresorN1")
    server = Fields()
    server.key, server.memory_kib, server.passes = reader.digest(), reader.u32(), reader.u32()
    return server


def read_server(data):
    reader = Reader(data)
    server = read_server_fields(reader)
    reader.end()
    return server


def encode_server(server):
    return preamble(b"tresorN1") + server.key + u32(server.memory_kib) + u32(server.passes)


def server_id(data):
    return H("tresor/v1/server-id", data)


# 18.2 Sessions

def audience(scheme, host, port):
    return H("tresor/v1/audience", u8(len(scheme)) + scheme + u8(len(host)) + host + u16(port))


DAY = 86400
FIRST_ERA = bytes(16)
IDENTITY_SESSION, DEVICE_SESSION = 1, 2


def read_session(data):
    require(len(data) == 255)
    reader, session = Reader(data), Fields()
    reader.preamble(b"tresorT1")
    session.kind = reader.u8()
    require(session.kind in (IDENTITY_SESSION, DEVICE_SESSION))
    session.server, session.audience, session.user, session.generation = reader.digest(), reader.digest(), reader.digest(), reader.u32()
    session.device, session.era, session.key = reader.take(16), reader.take(16), reader.digest()
    session.since, session.until = reader.time(), reader.time()
    require(session.since <= session.until <= session.since + DAY)
    require(session.kind == IDENTITY_SESSION or (session.device != bytes(16) and session.generation == 0))
    session.signature = reader.take(64)
    reader.end()
    return session


def encode_session(session):
    head = preamble(b"tresorT1") + u8(session.kind) + session.server + session.audience + session.user + u32(session.generation)
    return head + session.device + session.era + session.key + u64(session.since) + u64(session.until) + session.signature


def session_hash(data):
    return H("tresor/v1/session-hash", data)


def device_key_seed(D):
    return derive(D, "tresor/v1/device-sign")


def make_session(seed, kind, server, where, user, generation, device, era, key, since, until):
    session = Fields()
    session.kind, session.server, session.audience, session.user, session.generation = kind, server, where, user, generation
    session.device, session.era = device, era
    session.key, session.since, session.until, session.signature = key, since, until, b""
    session.signature = sign(seed, "tresor/v1/session-signature", encode_session(session))
    return session


# 18.3 Requests

def base64url(data):
    return base64.urlsafe_b64encode(data).rstrip(b"=")


def read_base64url(text):
    """There is one text for given bytes: decode, make it again, compare."""
    try:
        data = base64.b64decode(text + b"=" * (-len(text) % 4), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise Refused("altered") from None
    require(base64url(data) == text)
    return data


def request_statement(session, id_, time_, operation_name, body):
    return session + id_ + u64(time_) + u8(len(operation_name)) + operation_name + H("tresor/v1/request-body", body)


def authorization(session, key_seed, operation_name, body, id_, time_):
    request = request_statement(session_hash(session), id_, time_, operation_name, body)
    signature = sign(key_seed, "tresor/v1/request-signature", request)
    return b"Tresor " + base64url(session) + b"." + base64url(id_ + u64(time_) + signature)


def read_authorization(text):
    require(len(text) == 466 and text[:7] == b"Tresor " and text[347:348] == b".")
    first, second = read_base64url(text[7:347]), read_base64url(text[348:])
    session, reader = read_session(first), Reader(second)
    id_, time_, signature = reader.take(16), reader.time(), reader.take(64)
    reader.end()
    return session, id_, time_, signature


# 18.4 Operations: whether it changes something, and its longest body

SHORT, MEDIUM, LONG = 64 << 10, 4 << 20, 16 << 20
CHANGES_AT_A_SERVICE = set("put-card append put-wraps put-blob delete-blobs put-server-share delete-server-shares put-kit-copy delete-kit-copy register "
                           "finish end-sessions admit invite delete-tresor delete-account".split())
TARGETS = {
    name.encode(): (name in CHANGES_AT_A_SERVICE, longest) for longest, names in [
        (SHORT, "server card cards users entries wraps tresors news put-server-share server-share delete-server-shares kit-copy "
                "delete-kit-copy account end-sessions inbox admit invite delete-tresor delete-account blob blobs delete-blobs "
                "put-offer"),
        (MEDIUM, "put-card put-kit-copy register finish put-blob"), (LONG, "append put-wraps")] for name in names.split()}


# Messages: how each field is read, and how its value is written.

class Field:
    def __init__(self, read, write):
        self.read, self.write = read, write


def sized(width, least, most):
    """opaque8, opaque16 or opaque32."""
    def read(reader):
        length = reader.number(width)
        require(least <= length <= most)
        return reader.take(length)
    return Field(read, lambda value: len(value).to_bytes(width, "big") + value)


def none_or(size):
    """opaque8 of one size, or of none."""
    def read(reader):
        length = reader.u8()
        require(length in (0, size))
        return reader.take(length)
    return Field(read, lambda value: u8(len(value)) + value)


def among(*values):
    def read(reader):
        value = reader.u8()
        require(value in values)
        return value
    return Field(read, u8)


def raw(size): return Field(lambda reader: reader.take(size), lambda value: value)
def integer(width): return Field(lambda reader: reader.number(width), lambda value: value.to_bytes(width, "big"))


def counted(width, element, least=0, most=None, rising=False):
    """A count and that many elements."""
    def read(reader):
        count = reader.number(width)
        require(count >= least and (most is None or count <= most) and count <= reader.left() + (count == 0))
        values = [element.read(reader) for _ in range(count)]
        require(not rising or all(a < b for a, b in zip(values, values[1:])))
        return values
    return Field(read, lambda values: len(values).to_bytes(width, "big") + b"".join(map(element.write, values)))


def several(*fields):
    """A struct."""
    return Field(lambda reader: [field.read(reader) for field in fields],
                 lambda values: b"".join(field.write(value) for field, value in zip(fields, values)))


def read_login_fields(reader):
    reader = Reader(reader.take(222))
    reader.preamble(b"tresorQ1")
    login = Fields()
    login.server, login.user, login.generation, login.revision = reader.digest(), reader.digest(), reader.u32(), reader.u64()
    login.record, login.copy, login.time = reader.digest(), reader.digest(), reader.time()
    require(login.revision > 0 and (login.record == ZERO) == (login.copy == ZERO))
    login.signature = reader.take(64)
    return login


def encode_login(login):
    head = preamble(b"tresorQ1") + login.server + login.user + u32(login.generation) + u64(login.revision)
    return head + login.record + login.copy + u64(login.time) + login.signature


def more_has_something(values):
    """A page that goes on is not empty: more is the first field, the elements are the last."""
    require(values[0] == 0 or values[-1])


def finish_is_whole(values):
    record, login, copy = values
    require((not record) == (not copy) and (not record) == (login.record == ZERO))


def blobs_have_their_sizes(values):
    for _, size, data in values[-1]:
        require(not data or len(data) == size)


DIGEST, FLAG, TIME_FIELD = raw(32), among(0, 1), Field(Reader.time, u64)
CHAIN, CHAIN_OR_NONE = sized(4, 1, 524288), sized(4, 0, 524288)
COPY, COPY_OR_NONE = sized(4, 1, 1 << 20), sized(4, 0, 1 << 20)
ENTRY, NAME = sized(4, 1, 1 << 20), Field(lambda reader: reader.name(), opaque16)
WRAP, STATE_FIELD, CURSOR = sized(2, 1, 1359), among(1, 2, 3, 4), sized(1, 0, 64)
MANY_WRAPS = counted(4, WRAP, most=10000)
MANY_BLOBS = counted(4, DIGEST, least=1, most=1024)
SECONDS = Field(lambda reader: reader.u16(), u16)


def at_most(field, most):
    def read(reader):
        value = field.read(reader)
        require(value <= most)
        return value
    return Field(read, field.write)


# name: the fields, and what must hold of them together
MESSAGES = {
    "ServerRequest": ([],),
    "ServerAnswer": ([Field(read_server_fields, encode_server), among(0, 1, 2), counted(2, CHAIN)],),
    "CardRequest": ([DIGEST],),
    "ChainAnswer": ([CHAIN_OR_NONE],),
    "CardsRequest": ([sized(2, 0, 256)],),
    "ChainsAnswer": ([counted(2, CHAIN)],),
    "UsersRequest": ([sized(1, 3, 32)],),
    "UsersAnswer": ([counted(2, DIGEST, most=64, rising=True)],),
    "PutCardRequest": ([CHAIN, CHAIN_OR_NONE],),
    "OutcomeAnswer": ([FLAG],),
    "DoneAnswer": ([],),
    "EntriesRequest": ([DIGEST, integer(8), integer(4)],),
    "EntriesAnswer": ([FLAG, counted(4, ENTRY)], more_has_something),
    "AppendRequest": ([DIGEST, integer(8), DIGEST, ENTRY, MANY_WRAPS, counted(4, DIGEST, most=10000),
                       counted(2, several(DIGEST, integer(8), sized(4, 0, 1081762)), most=10000)], blobs_have_their_sizes),
    "PutBlobRequest": ([DIGEST, DIGEST, integer(4), sized(4, 1, 262144)],),
    "BlobRequest": ([DIGEST, DIGEST, integer(4)],),
    "BlobAnswer": ([sized(4, 0, 262144)],),
    "BlobsRequest": ([DIGEST, MANY_BLOBS],),
    "BlobsAnswer": ([counted(4, sized(4, 0, 4194304), least=1, most=1024)],),
    "DeleteBlobsRequest": ([DIGEST, MANY_BLOBS],),
    "WrapsRequest": ([DIGEST, FLAG, integer(8), counted(4, DIGEST, least=1, most=2000)],),
    "WrapsAnswer": ([counted(4, counted(4, WRAP), least=1)],),
    "PutWrapsRequest": ([DIGEST, MANY_WRAPS],),
    "TresorsRequest": ([DIGEST],),
    "TresorsAnswer": ([FLAG, counted(4, DIGEST, most=4096, rising=True)], more_has_something),
    "NewsRequest": ([CURSOR, at_most(SECONDS, 55)],),
    "NewsAnswer": ([FLAG, CURSOR, counted(2, DIGEST, most=4096)], more_has_something),
    "DeleteTresorRequest": ([DIGEST],),
    "PutServerShareRequest": ([raw(16), raw(32), raw(32)],),
    "ServerShareRequest": ([raw(16)],),
    "ServerShareAnswer": ([none_or(32)],),
    "DeleteServerSharesRequest": ([counted(2, raw(16))],),
    "PutKitCopyRequest": ([DIGEST, COPY],),
    "KitCopyRequest": ([DIGEST],),
    "KitCopyAnswer": ([COPY_OR_NONE],),
    "DeleteKitCopyRequest": ([DIGEST],),
    "PutOfferRequest": ([DIGEST, raw(1266)],),
    "PutOfferAnswer": ([at_most(integer(1), 2)],),
    "RegisterRequest": ([CHAIN, none_or(16), none_or(32)],),
    "RegisterAnswer": ([STATE_FIELD, none_or(32)],),
    "FinishRequest": ([none_or(192), Field(read_login_fields, encode_login), COPY_OR_NONE], finish_is_whole),
    "FinishAnswer": ([STATE_FIELD],),
    "AccountRequest": ([],),
    "AccountAnswer": ([STATE_FIELD] + [integer(8)] * 6,),
    "EndSessionsRequest": ([],),
    "DeleteAccountRequest": ([],),
    "InviteRequest": ([DIGEST, NAME, TIME_FIELD],),
    "InboxRequest": ([DIGEST],),
    "InboxAnswer": ([FLAG, counted(4, several(at_most(STATE_FIELD, 2), CHAIN, NAME, TIME_FIELD))], more_has_something),
    "AdmitRequest": ([DIGEST, DIGEST, FLAG],),
}


def read_message(name, data):
    fields, *rules = MESSAGES[name]
    reader = Reader(data)
    values = [field.read(reader) for field in fields]
    for rule in rules:
        rule(values)
    reader.end()
    return values


def encode_message(name, values):
    return b"".join(field.write(value) for field, value in zip(MESSAGES[name][0], values))


# 18.5 Refusals

REFUSAL_STATUS = {"no_access": 403, "waiting": 403, "busy": 429, "store": 503}
REFUSAL_CODES = ("failed", "busy", "no_access", "altered", "unverified", "waiting", "store", "unsupported")


def read_refusal(data):
    """The error and the era."""
    reader = Reader(data)
    reader.preamble(b"tresorX1")
    code, era = reader.u8(), reader.take(16)
    names = [name for name in REFUSAL_CODES if EXIT_CODES[name] == code]
    require(names)
    reader.end()
    return names[0], era


def encode_refusal(name, era=FIRST_ERA):
    return preamble(b"tresorX1") + u8(EXIT_CODES[name]) + era


def refuse(error):
    said = error if error in REFUSAL_CODES else "failed"
    return REFUSAL_STATUS.get(said, 400), encode_refusal(said)


# 18.6 Registration

def read_login(data):
    reader = Reader(data)
    login = read_login_fields(reader)
    reader.end()
    return login


def verify_login(login, chain):
    require(login.user == chain.user and login.generation <= chain.newest.generation)
    signed = encode_login(login)[:-64]
    verify_label(chain.card(login.generation).signing_key, "tresor/v1/login-signature", signed, login.signature)


def read_invitation(typed):
    try:
        text = typed.decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("altered") from None
    text = "".join(c for c in text if c not in " \t\r\n-")
    require(len(text) == 26)
    try:
        digits = read_id(text)
    except Refused:
        raise Refused("altered") from None
    value = 0
    for digit in digits:
        value = value << 5 | ALPHABET.index(digit)
    require(value & 3 == 0)
    return (value >> 2).to_bytes(16, "big")


def invitation_hash(code):
    return H("tresor/v1/invitation", code)


# ---------------------------------------------------------------------------------------------------------------------
# 19. Records
# ---------------------------------------------------------------------------------------------------------------------

# 19.1 Items and packs

class Item:
    """What a revision says: record, replaces, time, kind, type, content, blob; `bytes` is its encoding."""


GREATEST_CONTENT = 1048576


def read_item(reader, limit, blobs=None):
    """`limit` is the greatest revision that can be replaced, `blobs` how many the commit names, if that is known."""
    item, start = Item(), reader.at
    item.record, item.type, item.content, item.blob = reader.name(1), None, None, None
    n = reader.u8()
    require(n <= 16)
    item.replaces = [reader.u64() for _ in range(n)]
    require(all(a < b for a, b in zip(item.replaces, item.replaces[1:])) and all(r <= limit for r in item.replaces))
    item.time, item.kind = reader.time(), reader.u8()
    require(item.kind <= 2, "unsupported")
    if item.kind != 0:
        item.type = reader.name()
    if item.kind == 1:
        item.content = reader.opaque32(0, 65536)
    if item.kind == 2:
        item.blob = reader.u16()
        require(item.blob >= 1 and (blobs is None or item.blob < blobs))
    item.bytes = reader.data[start:reader.at]
    return item


def read_pack(data, head, blobs):
    require(len(data) <= GREATEST_CONTENT)
    reader = Reader(data)
    require(reader.u8() == 0, "unsupported")
    n = reader.u16()
    require(n >= 1)
    items = [read_item(reader, head, blobs) for _ in range(n)]
    require(all(a.record < b.record for a, b in zip(items, items[1:])))
    reader.end()
    return items


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


# 19.8 Own tresors

def read_statement(user, content):
    reader = Reader(content)
    pin = read_pin(reader)
    reader.end()
    require(pin.chain.user == user)
    return pin


def comparable(one, other): return one.extends(other) or other.extends(one)


def said_of(statements, user):
    """The newest statement about a person, whether they are disputed, and the latest statement; None where there is none."""
    said = [pin for pin in statements if pin.chain.user == user]
    ends = [pin for pin in said if pin.replaced]
    given_up = max(ends, key=lambda pin: (pin.time, pin.chain.newest.generation)) if ends else None
    compared = [pin for pin in said if not pin.replaced and (given_up is None or pin.is_later(given_up))]
    if not compared:
        return None if given_up is None else (given_up, False, given_up)
    newest = max(compared, key=lambda pin: (pin.chain.newest.generation, pin.time))
    disputed = not all(comparable(pin.chain, newest.chain) for pin in compared)
    return newest, disputed, max(compared, key=lambda pin: pin.time)


def judge_known(stands, pins):
    """Step 3: what the newest statement about a person brings about."""
    said, disputed, latest = stands
    user = said.chain.user
    here = next((pin for pin in pins if pin.chain.user == user), None)
    own = here is not None and here.how != KNOWN
    if disputed:                                                                                    # 3.1
        return "nothing" if own and here.is_later(latest) else "conflict"
    if here is not None:                                                                            # 3.2
        one = comparable(said.chain, here.chain)
        beside = not one and not said.replaced and not here.replaced and said.time == here.time
        if not said.is_newer(here) and not beside:
            return "nothing"
        if own:                                                                                     # 3.3
            differ = here.replaced != said.replaced or not one and not said.replaced
            return "conflict" if differ else "nothing"
    holders = [pin for pin in pins if pin.how != KNOWN and not pin.replaced and pin.chain.user != user]
    taken = not said.replaced and any(pin.chain.handle == said.chain.handle for pin in holders)     # 3.4
    return "conflict" if taken else "put"


def take_known(pins, statements, own, now):
    stored, pins = pins, counting(pins, own)                                                        # 2
    ends = [pin for pin in stored if pin not in pins]
    conflicts = []
    for user in sorted({pin.chain.user for pin in statements} - {own.user}):                        # 3
        stands = said_of(statements, user)                                                         # 1
        said, _, latest = stands
        result = judge_known(stands, pins)
        here = next((pin for pin in pins if pin.chain.user == user), None)
        if result == "conflict":
            conflicts.append(user)
            if here is not None and here.how != KNOWN and latest.time > now:                        # 3.6
                here.time = max(here.time, latest.time - here.replaced)
        if result != "put":
            continue
        known = Pin(said.time, said.replaced, said.chain, KNOWN, own.newest.hash)                   # 3.5
        pins = [known if pin is here else pin for pin in pins] if here is not None else pins + [known]
    users = {pin.chain.user for pin in pins}
    ended = sorted(pin.chain.user for pin in ends if not pin.replaced and pin.chain.user not in users)      # 4
    return pins, conflicts, ended


def known_news(pins, statements):
    news = []
    for pin in pins:
        stands, own = said_of(statements, pin.chain.user), pin.how != KNOWN
        if stands is None:
            more = True
        elif stands[1]:
            more = own and pin.is_later(stands[2])
        else:
            said = stands[0]
            more = pin.is_newer(said) and not pin.says(said) and (own or comparable(pin.chain, said.chain))
        if more:
            news.append(pin)
    return sorted(news, key=lambda pin: (not pin.replaced, pin.chain.user))


def take_heads(heads, statements):
    """`statements` are pairs of a tresor and a head."""
    rows = {tresor: [pinned, told] for tresor, pinned, told in heads}
    for tresor, row in rows.items():
        if row[1] is not None and (tresor, row[1]) not in statements:
            row[1] = None
    for tresor in {tresor for tresor, _ in statements}:
        highest = None
        for said in [head for other, head in statements if other == tresor]:
            if highest is None or said[0] > highest[0]:
                highest = said
        row = rows.setdefault(tresor, [None, None])
        if all(head is None or head[0] < highest[0] for head in row):
            row[1] = highest
    return [(tresor, *row) for tresor, row in sorted(rows.items()) if row != [None, None]]


# ---------------------------------------------------------------------------------------------------------------------
# 20. Log-in
# ---------------------------------------------------------------------------------------------------------------------

# 20.1 Parameters: the group ristretto255 by its arithmetic on the curve of Ed25519 (RFC 9496 §4), on plain integers

ROOT_M1 = pow(2, (P25519 - 1) // 4, P25519)


def absolute(x):
    """Of x and -x the one that is even below p."""
    x %= P25519
    return P25519 - x if x & 1 else x


def ratio_root(u, v):
    """SQRT_RATIO_M1 of RFC 9496 §4.2: whether u / v is a square, and a root of u / v or of i·u / v that is not negative."""
    root = u * pow(v, 3, P25519) * pow(u * pow(v, 7, P25519), (P25519 - 5) // 8, P25519) % P25519
    check = v * root * root % P25519
    if check in (-u % P25519, -u * ROOT_M1 % P25519):
        root = root * ROOT_M1 % P25519
    return check in (u % P25519, -u % P25519), absolute(root)


INVERSE_ROOT_AMD = ratio_root(1, (-1 - D25519) % P25519)[1]
ROOT_AD_1 = P25519 - ratio_root((-D25519 - 1) % P25519, 1)[1]       # the negative root, as RFC 9496 §4.1 gives it
BASE_RISTRETTO = bytes.fromhex("e2f2ae0a6abc4e71a884a961c500515f58e30b6aa582dd8db6a65945e08d2d76")
IDENTITY = (0, 1, 1, 0)


def read_element(data):
    """A point of the element, as x, y, z and t. The identity is refused, and every encoding that is not the one of its element."""
    require(len(data) == 32)
    s = number_le(data)
    require(s < P25519 and s % 2 == 0)
    u1, u2 = (1 - s * s) % P25519, (1 + s * s) % P25519
    v = (-D25519 * u1 * u1 - u2 * u2) % P25519
    square, inverse = ratio_root(1, v * u2 * u2)
    x = absolute(2 * s * inverse * u2)
    y = u1 * inverse * inverse * u2 * v % P25519
    t = x * y % P25519
    require(square and t % 2 == 0 and y != 0 and s != 0)
    return x, y, 1, t


def encode_element(point):
    x, y, z, t = point
    u1, u2 = (z + y) * (z - y) % P25519, x * y % P25519
    inverse = ratio_root(1, u1 * u2 * u2)[1]
    one, two = u1 * inverse % P25519, u2 * inverse % P25519
    z_inverse = one * two * t % P25519
    turn = t * z_inverse % P25519 % 2 == 1
    if turn:
        x, y = y * ROOT_M1 % P25519, x * ROOT_M1 % P25519
    two = one * INVERSE_ROOT_AMD % P25519 if turn else two
    if x * z_inverse % P25519 % 2 == 1:
        y = -y
    return absolute(two * (z - y)).to_bytes(32, "little")


def add_points(p, q):
    """On the curve -x^2 + y^2 = 1 + d·x^2·y^2, complete."""
    a, b = (p[1] - p[0]) * (q[1] - q[0]) % P25519, (p[1] + p[0]) * (q[1] + q[0]) % P25519
    c, d = 2 * p[3] * D25519 * q[3] % P25519, 2 * p[2] * q[2] % P25519
    e, f, g, h = b - a, d - c, d + c, b + a
    return e * f % P25519, g * h % P25519, f * g % P25519, e * h % P25519


def point_times(scalar, point):
    result = IDENTITY
    for bit in bin(scalar)[2:]:
        result = add_points(result, result)
        if bit == "1":
            result = add_points(result, point)
    return result


def multiply_element(element, scalar):
    """An element times a scalar, both as bytes; the identity is no result."""
    product = encode_element(point_times(read_scalar(scalar), read_element(element)))
    require(product != ZERO)
    return product


def read_scalar(data):
    require(len(data) == 32)
    return number_le(data) % L25519


def public_element(scalar):
    return multiply_element(BASE_RISTRETTO, scalar)


def map_to_point(data):
    """MAP of RFC 9496 §4.3.4."""
    r = ROOT_M1 * pow(number_le(data) % 2 ** 255, 2, P25519) % P25519
    u = (r + 1) * (1 - D25519 * D25519) % P25519
    v = (-1 - r * D25519) * (r + D25519) % P25519
    square, s = ratio_root(u, v)
    if not square:
        s = -absolute(s * (number_le(data) % 2 ** 255)) % P25519
    c = -1 if square else r
    n = (c * (r - 1) * (D25519 - 1) ** 2 - v) % P25519
    w0, w1 = 2 * s * v % P25519, n * ROOT_AD_1 % P25519
    w2, w3 = (1 - s * s) % P25519, (1 + s * s) % P25519
    return w0 * w3 % P25519, w2 * w1 % P25519, w1 * w3 % P25519, w0 * w2 % P25519


def number_le(data): return int.from_bytes(data, "little")
def sha512(data): return hashlib.sha512(data).digest()
def hmac512(key, data): return hmac.digest(key, data, "sha512")


def extract512(data): return hmac512(b"", data)


def expand512(key, info, size):
    out, block = b"", b""
    for i in range(1, -(-size // 64) + 1):
        block = hmac512(key, block + info + u8(i))
        out += block
    return out[:size]


def V(x):
    require(len(x) < 2 ** 16, "usage")
    return opaque16(x)


# 20.2 The function

OPRF_SUITE = b"OPRFV1-\0-ristretto255-SHA512"


def expand_message(x, domain):
    domain += u8(len(domain))
    first = sha512(bytes(128) + x + u16(64) + b"\0" + domain)
    return sha512(first + b"\1" + domain)


def hash_to_group(x, domain):
    uniform = expand_message(x, domain)
    return encode_element(add_points(map_to_point(uniform[:32]), map_to_point(uniform[32:])))


def hash_to_scalar(x, domain):
    return (number_le(expand_message(x, domain)) % L25519).to_bytes(32, "little")


def derive_scalar(seed, info):
    for counter in range(256):
        scalar = hash_to_scalar(seed + V(info) + u8(counter), b"DeriveKeyPair" + OPRF_SUITE)
        if scalar != ZERO:
            return scalar
    raise Refused("failed")


def blind_input(input_, blind, trace=None):
    element = hash_to_group(input_, b"HashToGroup-" + OPRF_SUITE)
    note(trace, input_element=element)
    return multiply_element(element, blind)


def finalize(input_, blind, evaluated, trace=None):
    element = multiply_element(evaluated, pow(read_scalar(blind), -1, L25519).to_bytes(32, "little"))
    output = sha512(V(input_) + V(element) + b"Finalize")
    note(trace, unblinded=element, oprf_output=output)
    return output


class LoginServer:
    def __init__(self, seed, private_key):
        require(len(seed) == 64)
        self.seed, self.private_key, self.public_key = seed, private_key, public_element(private_key)

    def evaluate(self, blinded, identifier, trace=None):
        seed = expand512(self.seed, identifier + b"OprfKey", 32)
        key = derive_scalar(seed, b"OPAQUE-DeriveKeyPair")
        note(trace, function_seed=seed, function_key=key)
        return multiply_element(blinded, key)

    def answer(self, first, record, identifier, names, context, drawn, trace=None):
        """The answer, the last message that it expects, and the session key."""
        require(len(first) == 96 and len(record) == 192)
        masking_nonce, nonce, share_seed = drawn
        share = derive_scalar(share_seed, KEY_PAIR)
        pad = expand512(record[32:96], masking_nonce + b"CredentialResponsePad", 128)
        shown = self.evaluate(first[:32], identifier, trace) + masking_nonce + xor(pad, self.public_key + record[96:])
        shown += nonce + public_element(share)
        note(trace, pad=pad)
        products = [multiply_element(first[64:], share), multiply_element(first[64:], self.private_key),
                    multiply_element(record[:32], share)]
        server_code, last, session_key = exchange_keys(products, transcript_of(context, names, first, shown), trace)
        return shown + server_code, last, session_key


# 20.3 Record and envelope

KEY_PAIR = b"OPAQUE-DeriveDiffieHellmanKeyPair"


def xor(one, other): return bytes(a ^ b for a, b in zip(one, other, strict=True))


def randomized_password(output, memory_kib, passes, trace=None):
    """With any cost: SPEC's bounds hold for the parameters of a service, and the vectors lie below them."""
    stretched = Argon2id(salt=bytes(16), length=64, iterations=passes, lanes=1, memory_cost=memory_kib).derive(output)
    password = extract512(output + stretched)
    note(trace, stretched=stretched, randomized_password=password, masking_key=expand512(password, b"MaskingKey", 64))
    return password


class LoginEnvelope:
    def __init__(self, password, server_key, names, nonce, trace=None):
        seed = expand512(password, nonce + b"PrivateKey", 32)
        self.private_key = derive_scalar(seed, KEY_PAIR)
        self.public_key = public_element(self.private_key)
        auth_key = expand512(password, nonce + b"AuthKey", 64)
        self.export_key = expand512(password, nonce + b"ExportKey", 64)
        self.bytes = nonce + hmac512(auth_key, nonce + server_key + V(names[1]) + V(names[0]))
        self.record = self.public_key + expand512(password, b"MaskingKey", 64) + self.bytes
        note(trace, client_seed=seed, client_private_key=self.private_key, client_public_key=self.public_key, auth_key=auth_key,
             envelope=self.bytes)


# 20.4 Messages of a log-in

def transcript_of(context, names, first, shown):
    return b"OPAQUEv1-" + V(context) + V(names[0]) + first + V(names[1]) + shown


def expand_label(secret, label, context):
    label = b"OPAQUE-" + label
    return expand512(secret, u16(64) + u8(len(label)) + label + u8(len(context)) + context, 64)


def exchange_keys(products, transcript, trace=None):
    """The code of the server, the last message, and the session key."""
    secret, hash_ = extract512(b"".join(products)), sha512(transcript)
    handshake, session_key = expand_label(secret, b"HandshakeSecret", hash_), expand_label(secret, b"SessionKey", hash_)
    server_key, client_key = expand_label(handshake, b"ServerMAC", b""), expand_label(handshake, b"ClientMAC", b"")
    server_code = hmac512(server_key, hash_)
    note(trace, transcript=transcript, transcript_hash=hash_, products=b"".join(products), secret=secret, handshake_secret=handshake,
         server_code_key=server_key, client_code_key=client_key, server_code=server_code)
    return server_code, hmac512(client_key, sha512(transcript + server_code)), session_key


def finish_login(input_, blind, nonce, share_seed, answer, names, context, cost, trace=None):
    share = derive_scalar(share_seed, KEY_PAIR)
    first = blind_input(input_, blind, trace) + nonce + public_element(share)
    note(trace, client_private_share=share)
    require(len(answer) == 320)
    password = randomized_password(finalize(input_, blind, answer[:32], trace), *cost, trace)
    pad = expand512(expand512(password, b"MaskingKey", 64), answer[32:64] + b"CredentialResponsePad", 128)
    shown = xor(pad, answer[64:192])
    note(trace, pad=pad)
    envelope = LoginEnvelope(password, shown[:32], names, shown[32:64], trace)
    require(equal(envelope.bytes, shown[32:]), "wrong_password")
    products = [multiply_element(answer[224:256], share), multiply_element(shown[:32], share),
                multiply_element(answer[224:256], envelope.private_key)]
    server_code, last, session_key = exchange_keys(products, transcript_of(context, names, first, answer[:256]), trace)
    require(equal(server_code, answer[256:]))
    return first, last, envelope, session_key


# ---------------------------------------------------------------------------------------------------------------------
# 29. The vectors
# ---------------------------------------------------------------------------------------------------------------------

# An operation takes the `in` of a test as bytes, and a trace that it fills with intermediate values. The trace begins with the `mid`
# that are drawn at random (seeds), so that an operation can check them. It returns `out`, or raises Refused.

OPERATIONS = {}


def operation(name):
    def enter(function):
        OPERATIONS[name] = function
        return function
    return enter


def number_in(data): return int.from_bytes(data, "big")


def one_epoch(data):
    reader = Reader(data)
    epoch = read_epoch(reader)
    reader.end()
    return epoch


# encoding, text

def encode_pieces(wanted, data):
    """Decodes and encodes again, from the decoded fields."""
    if wanted == b"tresorC1":
        return b"".join(encode_card(card) for card in read_chain(data).cards)
    if wanted == b"tresorE1":
        return encode_entry(read_entry(data))
    if wanted == b"tresorW1":
        wrap = read_wrap(data)
        return encode_wrap(wrap.tresor, wrap.epoch, wrap.user, wrap.generation, wrap.enc, wrap.ct)
    if wanted == b"tresorF1":
        reader = Reader(data)
        header = read_header(reader)
        require(len(data) <= MOST and tc1_opened_size(reader.left()) >= 512)
        return encode_header(header.tresor, header.epoch, header.head_sequence, header.head_hash) + reader.take(reader.left())
    if wanted == b"tresorP2":
        return encode_pins(read_pins(data))
    if wanted == b"tresorH2":
        return encode_heads(*read_heads(data))
    if wanted == b"tresorL1":
        return encode_kept_log(read_kept_log(data))
    if wanted == b"tresorV1":
        return encode_evidence(*read_evidence(data))
    if wanted == b"tresorB1":
        return encode_approval_evidence(*read_approval_evidence(data))
    if wanted == b"tresorD1":
        half = read_device_half(data)
        return preamble(b"tresorD1") + half.user + half.device + half.half
    if wanted == b"tresorO1":
        return encode_leftovers(read_leftovers(data))
    if wanted == b"tresorK1":
        return encode_kept_wraps(read_kept_wraps(data))
    if wanted == b"tresorY1":
        return encode_marks(read_marks(data))
    if wanted == b"tresorn1":
        return encode_noted_stores(read_noted_stores(data))
    if wanted == b"tresora1":
        return encode_known_services(read_known_services(data))
    if wanted == b"tresorR1":
        return encode_kept_packs(read_kept_packs(data))
    if wanted == b"tresorG1":
        return encode_outbox(*read_outbox(data))
    if wanted == b"tresorx1":
        return encode_export(*read_export(data))
    if wanted == b"tresorI1":
        return encode_identity_file(read_identity_file(data))
    if wanted == b"tresorN1":
        return encode_server(read_server(data))
    if wanted == b"tresorT1":
        return encode_session(read_session(data))
    if wanted == b"tresorQ1":
        return encode_login(read_login(data))
    if wanted == b"tresorb1":
        return encode_mailbox(*read_mailbox(data))
    raise AssertionError("no such object")


def encode_card(card):
    body = preamble(b"tresorC1") + opaque16(card.handle) + u32(card.generation) + card.user + card.previous
    return body + card.signing_key + card.kem_key + u64(card.time) + card.self_signature + card.succession


def encode_chain(chain):
    return b"".join(encode_card(card) for card in chain.cards)


def encode_entry(entry):
    signed = preamble(b"tresorE1") + entry.tresor + u64(entry.sequence) + entry.previous + entry.author + u32(entry.generation)
    return signed + u64(entry.time) + u16(entry.type) + opaque32(entry.body_bytes) + entry.signature


def encode_slot_fields(slot):
    fields = u8(slot.kind) + slot.id + u64(slot.since)
    if slot.kind == PASSWORD:
        return fields + u32(slot.memory_kib) + u32(slot.passes) + slot.salt
    if slot.kind == KIT:
        return fields + slot.locator
    return fields + opaque16(slot.name) + u64(slot.until)


def encode_identity_file(file):
    slots = b"".join(encode_slot_fields(slot) + slot.sealed for slot in file.slots)
    head = preamble(b"tresorI1") + opaque32(encode_chain(file.chain)) + b"".join(file.previous)
    return head + u16(len(file.slots)) + slots + file.tag


@operation("reencode")
def test_reencode(i, trace):
    return {"object": encode_pieces(i["magic"], i["object"])}


@operation("evidence")
def test_evidence(i, trace):
    data = encode_evidence(i["tresor"], number_in(i["sequence"]), i["hash"], i["verified"], i["shown"])
    assert encode_evidence(*read_evidence(data)) == data
    return {"evidence": data, "evidence hash": evidence_name(data)}


@operation("dearmour")
def test_dearmour(i, trace):
    data = dearmour(i["text"], i["kind"])
    assert armour(data, i["kind"], b"\r\n" if b"\r\n" in i["text"] else b"\n") == i["text"]
    return {"bytes": data}


@operation("id")
def test_id(i, trace):
    return {"text": id_text(i["id"]).encode()}


@operation("namedBy")
def test_named_by(i, trace):
    try:
        typed = i["typed"].decode("utf-8")
    except UnicodeDecodeError:
        raise Refused("not_found") from None
    require(id_text(i["id"]).startswith(read_id(typed)), "not_found")
    return {"id": i["id"]}


@operation("readName")
def test_read_name(i, trace):
    check_name(i["name"])
    return {"name": i["name"]}


@operation("typeName")
def test_type_name(i, trace):
    return {"name": typed_name(i["typed"])}


@operation("typeNumber")
def test_type_number(i, trace):
    try:
        digits = read_number(i["typed"].decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("usage") from None
    return {"digits": digits.encode(), "number-shown": " ".join(digits[j:j + 5] for j in range(0, 30, 5)).encode()}


@operation("readKit")
def test_read_kit(i, trace):
    K = read_kit(i["words"])
    return {"K": K, "words": " ".join(kit_words(K)).encode()}


@operation("exitCode")
def test_exit_code(i, trace):
    name = i["error"].decode("utf-8", "replace")
    require(name in EXIT_CODES, "usage")
    return {"exit code": u8(EXIT_CODES[name])}


# tc1

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


# accumulated

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


# identity

def trace_keys(keys, trace):
    note(trace, S=keys.seed, signing_key=keys.signing_key, kem_key=keys.kem_key)
    trace["identity-sign"], trace["identity-kem"] = keys.sign_seed, keys.kem_seed
    trace["identity-previous"], trace["identity-file"] = keys.previous_key, keys.tag_key


@operation("readChain")
def test_read_chain(i, trace):
    chain = read_chain(i["chain"])
    newest = chain.newest
    note(trace, body=newest.body, card=newest.bytes, number_hash=H("tresor/v1/number", chain.user + newest.hash))
    if "S" in trace:
        keys = Keys(trace["S"])
        trace_keys(keys, trace)
        assert (keys.signing_key, keys.kem_key) == (newest.signing_key, newest.kem_key), "S is not the seed of this card"
    digits = number(chain).replace(" ", "").encode()
    return {"user": chain.user, "handle": chain.handle, "generation": u32(newest.generation), "card hash": newest.hash, "number": digits}


@operation("compareNumber")
def test_compare_number(i, trace):
    chain = read_chain(i["chain"])
    try:
        compare_number(chain, i["typed"].decode("utf-8"))
    except UnicodeDecodeError:
        raise Refused("usage") from None
    return {"number": number(chain).replace(" ", "").encode()}


@operation("trust")
def test_trust(i, trace):
    own = read_identity_file(i["identity file"]).chain if "identity file" in i else None
    result = trust(own, counting(read_pins(i["pins"]), own), read_chain(i["chain"]))
    require(result in ("me", "verified"), "unverified")
    return {"trust": result.encode()}


@operation("founderTrust")
def test_founder_trust(i, trace):
    state = fold(i["tresor"], i["log"])
    own = read_identity_file(i["identity file"]).chain
    return {"trust": founder_trust(own, counting(read_pins(i["pins"]), own), state).encode()}


@operation("pin")
def test_pin(i, trace):
    pins = put_pin(read_pins(i["pins"]), read_chain(i["chain"]), i["replacing"] == b"\1", i.get("beside") == b"\1", number_in(i["now"]))
    return {"pins": encode_pins(pins)}


@operation("takeKnown")
def test_take_known(i, trace):
    statements = [read_statement(user, content) for user, content in zip(i["users"], i["contents"])]
    pins, conflicts, ended = take_known(read_pins(i["pins"]), statements, read_chain(i["chain"]), number_in(i["now"]))
    return {"pins": encode_pins(pins), "conflicts": conflicts, "ended": ended,
            "news": [pin.chain.user for pin in known_news(pins, statements)]}


@operation("takeHeads")
def test_take_heads(i, trace):
    statements = []
    for tresor, content in zip(i["tresors"], i["contents"]):
        reader = Reader(content)
        statements.append((tresor, read_head(reader)))
        reader.end()
    own_time, heads = read_heads(i["heads"])
    return {"heads": encode_heads(own_time, take_heads(heads, statements))}


@operation("giveUp")
def test_give_up(i, trace):
    return {"pins": encode_pins(give_up(read_pins(i["pins"]), i["user"], number_in(i["now"])))}


# slots, password

@operation("readIdentityFile")
def test_read_identity_file(i, trace):
    return {"file": encode_identity_file(read_identity_file(i["file"]))}


def opened(identity):
    return {"user": identity.user, "generation": u32(identity.chain.newest.generation)}


def trace_slots(file, trace):
    if "K" in trace:
        note(trace, locator=kit_locator(trace["K"]))
        trace["kit-slot"] = kit_slot_key(trace["K"])
        assert file.slot(KIT) is None or file.slot(KIT).locator == trace["locator"]
    if "tag key" in trace:
        trace["identity-file"] = trace["tag key"]


@operation("openWithKit")
def test_open_with_kit(i, trace):
    K, file = read_kit(i["words"]), read_identity_file(i["file"])
    identity = open_with_kit(file, i["words"], trace)
    assert K == trace["K"]
    if len(file.slots) == 1:
        assert open_kit_copy(i["file"], i["words"]).user == identity.user
    trace_slots(file, trace)
    return opened(identity)


@operation("openWithDevice")
def test_open_with_device(i, trace):
    file = read_identity_file(i["file"])
    identity = open_with_device(file, i["device half"], i["store half"], number_in(i["now"]), trace)
    trace["slot-device"] = trace["slot key"]
    trace_slots(file, trace)
    return opened(identity)


@operation("readCode")
def test_read_code(i, trace):
    code = read_code(i["typed"])
    note(trace, K=code_key(code))
    return {"code": code, "text": show_code(code).encode(), "locator": code_locator(code_key(code))}


@operation("readOffer")
def test_read_offer(i, trace):
    K = code_key(i["code"])
    note(trace, K=K, tag=offer_tag(K, i["offer"][:-32]))
    kem_key, until = read_offer(K, i["offer"])
    return {"kem key": kem_key, "until": u64(until), "number": offer_number(K, i["offer"]).encode()}


@operation("openAnswer")
def test_open_answer(i, trace):
    K = code_key(i["code"])
    read_offer(K, i["offer"])
    note(trace, K=K)
    identity, file, store, objects = open_answer(K, i["offer"], i["seed"], i["answer"], trace)
    assert encode_identity_file(read_identity_file(file)) == file
    return {**opened(identity), "file": file, "store": store, "objects": objects, "receipt": receipt(K, i["offer"], i["answer"])}


@operation("prepare")
def test_prepare(i, trace):
    return {"prepared": prepare(i["typed"])}


@operation("setPassword")
def test_set_password(i, trace):
    return {"prepared": set_password(i["typed"])}


@operation("openNames")
def test_open_names(i, trace):
    chain = read_chain(i["chain"])
    identity = Identity(chain, open_previous(chain, i["S"], i["previous"]))
    note(trace, home_key=identity.keys[-1].home_key)
    names = open_names(identity, i["sealed names"])
    return {"tresors": [tresor for tresor, _ in names], "names": [name for _, name in names]}


@operation("openMarks")
def test_open_marks(i, trace):
    identity = identity_in(i)
    note(trace, home_key=identity.keys[-1].home_key)
    marks = open_marks(identity, i["sealed marks"])
    return {"tresors": [tresor for tresor, _ in marks], "flags": [u8(flags) for _, flags in marks]}


@operation("openOutbox")
def test_open_outbox(i, trace):
    identity = identity_in(i)
    note(trace, home_key=identity.keys[-1].home_key)
    return {"outbox": encode_outbox(*open_outbox(identity, i["tresor"], i["sealed outbox"]))}


@operation("openPiece")
def test_open_piece(i, trace):
    identity = identity_in(i)
    note(trace, home_key=identity.keys[-1].home_key)
    number, mark, place = (number_in(i[name]) for name in ("number", "mark", "place"))
    return {"piece": open_piece(identity, i["tresor"], number, mark, place, i["sealed piece"])}


@operation("openWithPassword")
def test_open_with_password(i, trace):
    file = read_identity_file(i["file"])
    identity = open_with_password(file, i["typed"], trace)
    note(trace, slot_context=trace["context"])
    trace_slots(file, trace)
    return opened(identity)


# log

@operation("fold")
def test_fold(i, trace):
    entries = i["log"] + [i["entry"]]
    try:
        before = fold(i["tresor"], i["log"]) if i["log"] else None
    except Refused as refused:
        raise AssertionError("the log before the entry does not fold: %s" % refused.name) from None
    entry = judge(before, i["tresor"], i["entry"])
    state = apply(before, entry)
    assert state.hashes == fold(i["tresor"], entries).hashes
    assert encode_entry(entry) == i["entry"] and encode_body(entry.type, entry.body) == entry.body_bytes
    note(trace, signed=entry.signed, signature_input=LP("tresor/v1/entry-signature") + entry.signed, entry_hash=entry.hash)
    return {**state_out(state), "void": (entry.void or "").encode()}


@operation("keepState")
def test_keep_state(i, trace):
    identity = identity_in(i)
    note(trace, state_key=identity.keys[-1].state_key)
    kept = keep_state(fold(i["tresor"], i["log"]), identity)
    assert keep_state(open_kept_state(kept, i["tresor"], identity), identity) == kept
    return {"kept state": kept}


@operation("openKeptState")
def test_open_kept_state(i, trace):
    identity = identity_in(i)
    note(trace, state_key=identity.keys[-1].state_key)
    state = open_kept_state(i["kept state"], i["tresor"], identity)
    assert keep_state(state, identity)[12:-32] == i["kept state"][12:-32]                 # a later program knows more additive bodies
    return state_out(state)


def identity_in(i):
    chain = read_chain(i["chain"])
    return Identity(chain, open_previous(chain, i["S"], i["previous"]))


def state_out(state):
    def rows(people):
        return [user + u8(m.role) + u64(m.history) + u64(m.not_after) + u64(m.since) + u64(m.since_time) + m.admitted_by
                for user, m in sorted(people.items())]
    approved = [user + m.approved_by for user, m in sorted(state.members.items()) if m.approved_by is not None]
    return {"head": u64(state.sequence) + state.hash, "head time": u64(state.time), "epoch": u64(state.epoch),
            "rotate first": u8(state.rotate_first), "floor": u64(state.floor), "checkpoint": u64(state.checkpoint),
            "members": rows(state.members), "waiting": rows(state.waiting), "approved": approved, "approvers": state.approvers}


@operation("foldCrowd")
def test_fold_crowd(i, trace):
    crowd, founder, handle, kem_key = (i[name] for name in ("crowd", "founder", "handle", "kem_key"))
    count, at_once, when = number_in(i["count"]), number_in(i["people in a grant"]), number_in(i["time"])
    signing_key, chains = ed25519_public(crowd), []
    for j in range(count):
        body = preamble(b"tresorC1") + opaque16(handle) + u32(0) + ZERO + ZERO + signing_key + kem_key + u64(when + j)
        chains.append(body + sign(crowd, "tresor/v1/card-signature", body))
    chains.sort(key=lambda card: H("tresor/v1/user-id", card))
    entries, most = [i["genesis"]], number_in(i["most"])

    def add(type_, body):
        previous = H("tresor/v1/entry-hash", entries[-1])
        signed = preamble(b"tresorE1") + i["tresor"] + u64(len(entries)) + previous + i["author"] + u32(0) + u64(when) + u16(type_)
        signed += opaque32(body)
        entries.append(signed + sign(founder, "tresor/v1/entry-signature", signed))
    for first in range(0, count, most):
        house = chains[first:first + most]
        for j in range(0, len(house), at_once):
            people = house[j:j + at_once]
            add(GRANT, u16(len(people)) + b"".join(u8(1) + opaque32(chain) for chain in people) + u8(READER) + u64(0) + u8(0))
        if first + most < count:
            add(REMOVE, u16(len(house)) + b"".join(u8(1) + H("tresor/v1/user-id", card) for card in house) + i["epoch"])
    state = fold(i["tresor"], entries)
    return {"head": u64(state.sequence) + state.hash, "members": u64(len(state.members))}


# epoch

@operation("checkKeys")
def test_check_keys(i, trace):
    epoch = one_epoch(i["epoch"])
    require(len(i["keys"]) in (32, 64))
    TK, HK = i["keys"][:32], i["keys"][32:] or None
    check_keys(i["tresor"], epoch, TK, HK)
    content, history = commitments(i["tresor"], TK, HK)
    note(trace, content_commitment=content, history_commitment=history or epoch.history_commitment)
    return {"epoch": u64(epoch.number)}


@operation("openBackLink")
def test_open_back_link(i, trace):
    epochs = {epoch.number: epoch for epoch in map(one_epoch, i["epochs"])}
    assert sorted(epochs) == list(range(1, len(i["epochs"]) + 1))
    own = len(epochs)
    TK, HK = i["keys"][:32], i["keys"][32:]
    check_keys(i["tresor"], epochs[own], TK, HK)
    links = open_back_link(i["tresor"], epochs, own, HK, trace)
    return {"links": [u64(e) + tk + hk for e, tk, hk in links]}


@operation("openName")
def test_open_name(i, trace):
    name, kind = open_name(i["TK"], i["tresor"], number_in(i["epoch"]), number_in(i["sequence"]), i["sealed name"], trace)
    return {"name": name, "kind": kind}


# wrap

@operation("checkKEMKey")
def test_check_kem_key(i, trace):
    check_kem_key(i["pk"])
    return {"pk": i["pk"]}


def unwrap_unchecked(i, chain, identity):
    """What a program opens that takes zero for the X25519 secret instead of refusing a point of low order."""
    wrap = read_wrap(i["wrap"])
    mlkem, x25519 = xwing_secrets(identity.keys[wrap.generation].kem_seed)
    ct_m, ct_x = wrap.enc[:1088], wrap.enc[1088:]
    secret = xwing_combine(mlkem.decapsulate(ct_m), ZERO, ct_x, x25519.public_key().public_bytes_raw())
    key, nonce = key_schedule(secret, wrap_info(wrap.tresor, wrap.epoch, wrap.user, chain.card(wrap.generation)))
    return ChaCha20Poly1305(key).decrypt(nonce, wrap.ct, None)


@operation("openWrap")
def test_open_wrap(i, trace):
    chain, own = read_chain(i["chain"]), read_chain(i["own chain"])
    identity = Identity(own, open_previous(own, i["S"], i["previous"]))
    epoch = one_epoch(i["epoch"])
    if "plaintext without the check" in trace:
        assert unwrap_unchecked(i, chain, identity) == trace["plaintext without the check"]
    TK, HK = open_wrap(i["wrap"], i["tresor"], epoch, chain, number_in(i["history"]), identity, trace=trace)
    keys = TK + (HK or b"")
    if "eseed" in trace:
        wrap = read_wrap(i["wrap"])
        again = make_wrap(i["tresor"], epoch.number, wrap.user, chain.card(wrap.generation), keys, trace["eseed"])
        assert again == i["wrap"], "eseed does not give this wrap"
    return {"keys": keys}


@operation("keysOf")
def test_keys_of(i, trace):
    def from_store():
        require(i.get("store fails") != b"\1", "store")
        return [(number_in(row[:8]), row[8:]) for row in i["wraps"]]
    try:
        kept = read_kept_wraps(i["kept wraps"]) if "kept wraps" in i else []
    except Refused:
        kept = []
    from_home = [(epoch, wrap) for tresor, epoch, wrap in kept if tresor == i["tresor"]]
    TK, HK = keys_of(fold(i["tresor"], i["log"]), identity_in(i), from_store, from_home, number_in(i["e"]), i["log"])
    return {"keys": TK + (HK or b"")}


# approval

@operation("openApproval")
def test_open_approval(i, trace):
    state, epoch = fold(i["tresor"], i["log"]), number_in(i["e"])
    A = open_approver_wrap(i["wrap"], state, state.epochs[epoch], identity_in(i), trace)
    if "HK" in trace:
        assert approval_key(i["tresor"], epoch, trace["HK"]) == A
    return {"A": A, "A_u": approval_member(A, i["user"])}


@operation("openWaitingWrap")
def test_open_waiting_wrap(i, trace):
    state, identity = fold(i["tresor"], i["log"]), identity_in(i)
    me = state.members.get(identity.user)
    require(me is not None, "waiting" if identity.user in state.waiting else "no_access")
    TK, HK = open_waiting_wrap(i["wrap"], state, state.epochs[number_in(i["e"])], identity, i["log"][me.since], trace)
    return {"keys": TK + (HK or b"")}


# act

def carry_out(act, wanted, state, effect, own, now):
    """Steps 8 to 10: the entry that goes with an effect keeps every rule, and the state after it is what the effect says."""
    if effect.is_nothing():
        return
    TK, HK = os.urandom(32), os.urandom(32)                 # keys that nobody gets, and a link to keys that are none: fold judges none
    number_ = effect.epoch or state.epoch
    back_link = seal_back_link(state.tresor, number_, HK, [(number_ - 1, os.urandom(32), os.urandom(32))])
    epoch = Epoch(number_, *commitments(state.tresor, TK, HK), back_link).encode()
    name = seal_name(TK, state.tresor, number_, state.sequence + 1, wanted["name"] or b"a name", b"")
    card = own.chain.cards[effect.generation].bytes if effect.generation else b""
    type_, body = body_of_act(act, wanted, effect, epoch, name, card)
    newest = state.chains[own.user].newest.generation
    entry = make_entry(own.keys[newest], state.tresor, state.sequence + 1, state.hash, own.user, newest, now, type_, body)
    try:
        after = apply(state, judge(state, state.tresor, entry))
    except Refused as refused:
        raise AssertionError("the entry of this act breaks %s" % refused.rule) from None
    assert set(after.members) == (set(state.members) | set(effect.admitted)) - set(effect.dismissed)
    assert len(after.members) == effect.remaining and after.epoch == (effect.epoch or state.epoch)
    for user in effect.admitted + effect.changed:
        assert (after.members[user].role, after.members[user].not_after) == (wanted["role"], wanted["not_after"] or 0)
        assert after.members[user].history == (effect.epoch if user in effect.admitted else state.members[user].history)
    assert not effect.renames or after.name[1:] == (after.epoch, after.sequence)
    assert not effect.generation or after.chains[own.user].newest.generation == effect.generation


@operation("act")
def test_act(i, trace):
    chain = read_chain(i["chain"])
    own = Identity(chain, open_previous(chain, i["S"], i["previous"]))
    wanted = {"people": [read_chain(data) for data in i.get("people", [])], "users": i.get("users", []), "name": i.get("name", b""),
              "role": number_in(i.get("role", b"")), "from_now": i.get("from now") == b"\1",
              "not_after": number_in(i["not after"]) if "not after" in i else None}
    home = read_identity_file(i["identity file"]).chain
    act, state, now = i["act"].decode(), fold(i["tresor"], i["log"]), number_in(i["now"])
    effect = effect_of(act, wanted, state, chain, home, counting(read_pins(i["pins"]), home), now)
    carry_out(act, wanted, state, effect, own, now)
    return {"admitted": sorted(effect.admitted), "changed": sorted(effect.changed), "dismissed": sorted(effect.dismissed),
            "already": sorted(effect.already), "remaining": u64(effect.remaining), "epoch": u64(effect.epoch),
            "renames": u8(effect.renames), "generation": u32(effect.generation)}


@operation("superseded")
def test_superseded(i, trace):
    own = identity_in(i).chain
    return {"users": superseded(fold(i["tresor"], i["log"]), own, counting(read_pins(i["pins"]), own))}


@operation("settle")
def test_settle(i, trace):
    own, state, pins, now = identity_in(i), fold(i["tresor"], i["log"]), read_pins(i["pins"]), number_in(i["now"])
    assert read_identity_file(i["identity file"]).chain.bytes == own.chain.bytes
    heads = read_heads(i["heads"])[1] if "heads" in i else []
    head = next((pinned for tresor, pinned, _ in heads if tresor == i["tresor"]), None)
    require(head is None or state.contains(*head), "forked")
    cards, users = settle(state, own.chain, pins, head is not None, now, i.get("go on") == b"\1")
    for card in cards:
        entry = make_entry(own.keys[-1], state.tresor, state.sequence + 1, state.hash, own.user, own.chain.newest.generation, now, RENEW,
                           opaque32(card.bytes))
        state = apply(state, judge(state, state.tresor, entry))
    assert not cards or not superseded(state, own.chain, pins)
    if users:
        wanted = {"people": [], "users": users, "name": b"", "role": 0, "from_now": False, "not_after": None}
        effect = effect_of("revoke", wanted, state, own.chain, own.chain, pins, now, head is not None)
        assert effect.dismissed == users
        carry_out("revoke", wanted, state, effect, own, now)
    return {"cards": [card.bytes for card in cards], "removed": users}


# file

@operation("openFile")
def test_open_file(i, trace):
    def state_of(tresor):
        require(tresor == i["tresor"], "no_access")
        return fold(i["tresor"], i["log"])
    names = {"tresor": "expected tresor", "record": "expected record", "author": "expected author"}
    expected = {name: i[given] for name, given in names.items() if given in i}
    expected["current"] = i.get("current author") == b"\1"
    content, fields, _ = open_file(i["file"], state_of, lambda epoch: i["TK"], expected, trace)
    return {"content hash": blake2b(content), "content size": u64(len(content))}


@operation("standing")
def test_standing(i, trace):
    own = read_identity_file(i["identity file"]).chain if "identity file" in i else None
    compared = compared_chain(own, counting(read_pins(i["pins"]), own), i["user"]) if "pins" in i else None
    found = standing(fold(i["tresor"], i["log"]), i["user"], number_in(i["generation"]), number_in(i["sequence"]), compared)
    if found == ("current",):
        return {"standing": b"current"}
    _, reason, when = found
    return {"standing": b"former", "reason": reason.encode(), "time": u64(when)}


# pack, records, checkpoint

def judged(tresor, log):
    """The state of a log, and its entries of which each has been judged."""
    state, entries = None, []
    for data in log:
        entries.append(judge(state, tresor, data))
        state = apply(state, entries[-1])
    return state, entries


def keys_in(state, epoch, data):
    """TK, HK of one epoch, checked against the log."""
    require(data is not None, "no_access")
    TK, HK = data[:32], data[32:] or None
    require(len(data) in (32, 64))
    check_keys(state.tresor, state.epochs[epoch], TK, HK)
    return TK, HK


def by_number(rows):
    """A list of u64 ‖ bytes."""
    return {number_in(row[:8]): row[8:] for row in rows}


def history_in(i):
    return number_in(i["history"]) if "history" in i else None


def plain_hashes(items):
    return [blake2b(item.bytes) for item in items]


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


def numbers(values):
    return b"".join(u64(value) for value in values)


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


# labels

@operation("label")
def test_label(i, trace):
    try:
        how = i["use"].decode("ascii")
    except UnicodeDecodeError:
        raise Refused("usage") from None
    require(i["label"] in REGISTRY and REGISTRY[i["label"]][0] == how, "usage")
    return {"label": i["label"]}


@operation("hash")
def test_hash(i, trace):
    note(trace, input=LP(i["label"]) + i["x"])
    return {"hash": blake2b(LP(i["label"]) + i["x"], REGISTRY[i["label"]][1])}


@operation("verifyLabel")
def test_verify_label(i, trace):
    note(trace, input=LP(i["label"]) + i["x"])
    ed25519_verify(i["A"], LP(i["label"]) + i["x"], i["sig"])
    return {"A": i["A"]}


# service

@operation("readServer")
def test_read_server(i, trace):
    assert encode_server(read_server(i["server"])) == i["server"]
    return {"server id": server_id(i["server"])}


@operation("deviceKey")
def test_device_key(i, trace):
    half = read_device_half(i["device half"])
    return {"user": half.user, "device": half.device, "device key": ed25519_public(device_key_seed(half.half))}


@operation("audience")
def test_audience(i, trace):
    return {"audience": audience(i["scheme"], i["host"], int.from_bytes(i["port"], "big"))}


@operation("verifySession")
def test_verify_session(i, trace):
    session = read_session(i["session"])
    verify_label(i["signer"], "tresor/v1/session-signature", i["session"][:-64], session.signature)
    return {"kind": u8(session.kind), "server id": session.server, "audience": session.audience, "user": session.user,
            "generation": u32(session.generation), "device": session.device if session.device != bytes(16) else b"",
            "era": session.era, "key": session.key, "since": u64(session.since),
            "until": u64(session.until), "session hash": session_hash(i["session"])}


@operation("verifyRequest")
def test_verify_request(i, trace):
    require(i["operation"] in TARGETS, "failed")
    session, id_, time_, signature = read_authorization(i["authorization"])
    data = encode_session(session)
    request = request_statement(session_hash(data), id_, time_, i["operation"], i["body"])
    note(trace, request=request)
    verify_label(session.key, "tresor/v1/request-signature", request, signature)
    return {"session": data, "id": id_, "time": u64(time_)}


@operation("verifyLogin")
def test_verify_login(i, trace):
    login, chain = read_login(i["statement"]), read_chain(i["chain"])
    verify_login(login, chain)
    return {"server id": login.server, "user": login.user, "generation": u32(login.generation), "revision": u64(login.revision),
            "record": login.record, "copy": login.copy, "time": u64(login.time)}


@operation("readInvitation")
def test_read_invitation(i, trace):
    code = read_invitation(i["typed"])
    return {"code": code, "text": id_text(code).encode(), "hash": invitation_hash(code)}


@operation("readMessage")
def test_read_message(i, trace):
    name = i["message"].decode("ascii")
    return {"body": encode_message(name, read_message(name, i["body"]))}


@operation("readRefusal")
def test_read_refusal(i, trace):
    error, era = read_refusal(i["body"])
    return {"error": error.encode(), "era": era}


@operation("refuse")
def test_refuse(i, trace):
    status, body = refuse(i["error"].decode("ascii"))
    return {"status": u16(status), "body": body}


@operation("readTarget")
def test_read_target(i, trace):
    require(i["operation"] in TARGETS, "failed")
    changes, longest = TARGETS[i["operation"]]
    return {"change": u8(changes), "longest body": u64(longest)}


# opaque

def server_in(i):
    return LoginServer(i["oprf seed"], i["private key"])


def names_in(i):
    return i["client name"], i["server name"]


def cost_in(i):
    return number_in(i["memory_kib"]), number_in(i["passes"])


def answer_in(i, trace):
    drawn = i["masking nonce"], i["server nonce"], i["server share seed"]
    return server_in(i).answer(i["first message"], i["record"], i["identifier"], names_in(i), i["context"], drawn, trace)


@operation("readElement")
def test_read_element(i, trace):
    return {"element": encode_element(read_element(i["element"]))}


@operation("evaluate")
def test_evaluate(i, trace):
    return {"evaluated": server_in(i).evaluate(i["blinded"], i["identifier"], trace)}


@operation("makeRecord")
def test_make_record(i, trace):
    blinded = blind_input(i["input"], i["blind"], trace)
    read_element(i["server key"])
    password = randomized_password(finalize(i["input"], i["blind"], i["evaluated"], trace), *cost_in(i), trace)
    envelope = LoginEnvelope(password, i["server key"], names_in(i), i["envelope nonce"], trace)
    return {"blinded": blinded, "record": envelope.record, "export key": envelope.export_key}


@operation("answerLogin")
def test_answer_login(i, trace):
    answer, last, session_key = answer_in(i, trace)
    return {"answer": answer, "last message": last, "session key": session_key}


@operation("finishLogin")
def test_finish_login(i, trace):
    first, last, envelope, session_key = finish_login(
        i["input"], i["blind"], i["client nonce"], i["share seed"], i["answer"], names_in(i), i["context"], cost_in(i), trace)
    return {"first message": first, "last message": last, "record": envelope.record, "export key": envelope.export_key,
            "session key": session_key}


@operation("checkLogin")
def test_check_login(i, trace):
    _, last, session_key = answer_in(i, trace)
    require(equal(last, i["last message"]), "wrong_password")
    return {"session key": session_key}


# Running them

def unhex(value):
    if isinstance(value, list):
        return [unhex(x) for x in value]
    if value != value.lower():
        raise ValueError("not lower-case hexadecimal")
    return bytes.fromhex(value)


def unhex_all(values):
    return {name: unhex(value) for name, value in values.items()}


def spaced(name):
    return name.replace("_", " ")


class Run:
    """One file of vectors."""

    def __init__(self, name, verbose):
        self.name, self.verbose = name, verbose
        self.passed = self.failed = self.positives = self.negatives = 0
        self.derived, self.open_mids = {}, []

    def fail(self, test, why):
        self.failed += 1
        print("%s %s: %s" % (self.name, test, why), file=sys.stderr)

    def test(self, test, operation_name, inputs):
        """Why it failed, or none."""
        self.positives += test["result"] == "valid"
        self.negatives += test["result"] == "invalid"
        mid = unhex_all(test.get("mid", {}))
        trace = {name: mid[name] for name in ("S", "K", "HK", "eseed", "plaintext without the check") if name in mid}
        try:
            found, error = OPERATIONS[operation_name](inputs, trace), None
        except Refused as refused:
            found, error = None, refused
            assert error.name in EXIT_CODES
        if test["result"] == "valid":
            if error is not None:
                return "refused with %s %s" % (error.name, error.rule or "")
            if found != unhex_all(test["out"]):
                wrong = [name for name in {**found, **test["out"]} if found.get(name) != unhex_all(test["out"]).get(name)]
                return "out differs: %s" % ", ".join(wrong)
            if "error" in test or "rule" in test and test["rule"].encode() != found.get("void"):
                return "valid, and names an error"
        elif test["result"] == "invalid":
            if error is None:
                return "accepted"
            if error.name != test["error"]:
                return "refused with %s, not %s" % (error.name, test["error"])
            if "rule" in test and error.rule != test["rule"]:
                return "broke %s, not %s" % (error.rule, test["rule"])
            if test.get("out"):
                return "invalid, and gives something"
        else:
            return "no result"
        trace = {spaced(name): value for name, value in trace.items()}
        for name, value in mid.items():
            if spaced(name) not in trace:
                self.open_mids.append((test["id"], spaced(name), value))
            elif trace[spaced(name)] != value:
                return "mid differs: %s" % name
            else:
                self.derived.setdefault(spaced(name), []).append(value)
        return None

    def run(self, document):
        ins, ids = {}, set()
        for group in document["groups"]:
            for test in group["tests"]:
                inputs = dict(ins[test["base"]]) if "base" in test else {}
                inputs.update(test.get("in", {}))
                ins[test["id"]] = inputs
        for group in document["groups"]:
            if group.get("suite") != 1 or group["operation"] not in OPERATIONS:
                self.fail(group["operation"], "no such operation")
                continue
            for test in group["tests"]:
                try:
                    why = "an id twice" if test["id"] in ids else self.test(test, group["operation"], unhex_all(ins[test["id"]]))
                    unknown = [flag for flag in test["flags"] if flag not in document["notes"]]
                    why = why or ("no note on %s" % unknown if unknown else None)
                except Exception as problem:
                    why = "%s: %s" % (type(problem).__name__, problem)
                    if self.verbose:
                        traceback.print_exc()
                ids.add(test["id"])
                if why is None:
                    self.passed += 1
                else:
                    self.fail(test["id"], why)
        # A `mid` that its own test does not need (a device's slot key where the kit opens) is that of another test of the file.
        for test_id, name, value in self.open_mids:
            if value not in self.derived.get(name, []):
                self.fail(test_id, "mid not computed: %s" % name)
                self.passed -= 1
        if document["numberOfTests"] != len(ids):
            self.fail("numberOfTests", "%d, not %d" % (len(ids), document["numberOfTests"]))


# Changed bytes: whatever binary object is opened, folded or verified, a changed byte of it makes the test fail

OBJECTS = {"sealed", "chain", "own chain", "entry", "log", "wrap", "file", "TK", "K", "S", "previous", "sealed name", "sealed names",
           "sealed marks", "sealed piece", "kept state", "keys", "pack", "packs", "attachment", "volume", "volumes", "pk", "device half", "store half", "tresor", "A",
           "sig", "object", "server", "session", "signer", "authorization", "body", "statement", "element", "blinded", "evaluated",
           "server key", "first message", "record", "answer", "last message", "offer"}
SLOW = {"accumulate", "foldCrowd"}


class Mutation(Run):
    """Of every object in every valid test: the first byte, the last, and some between, so that the whole ends within a minute."""

    places = 40

    def run(self, document):
        ins = {}
        for group in document["groups"]:
            for test in group["tests"]:
                ins[test["id"]] = {**(ins[test["base"]] if "base" in test else {}), **test.get("in", {})}
                if test["result"] == "valid" and group["operation"] not in SLOW:
                    self.mutate(group["operation"], test, unhex_all(ins[test["id"]]))

    def mutate(self, operation_name, test, inputs):
        for name in sorted(OBJECTS & set(inputs)):
            if operation_name == "openNames" and name == "tresor" or name in self.unread(operation_name, test):
                continue
            value = inputs[name]
            objects = value if isinstance(value, list) else [value]
            whole = sum(map(len, objects))
            chosen = sorted({0, whole - 1} | {number_in(blake2b(b"%s %d %s %d" % (self.name.encode(), test["id"], name.encode(), i), 8)) % whole
                                              for i in range(self.places)}) if whole else []
            if whole > 100000:
                chosen = chosen[-1:]
            for place in chosen:
                self.change(operation_name, test, inputs, name, objects, place)

    def unread(self, operation_name, test):
        """Inputs of which a part is not read, as SPEC §19 says: a void body's pack, keys of other epochs, volumes beside packs."""
        out = test["out"]
        if operation_name == "openPack" and unhex(out["outcome"]) != b"items":
            return {"pack", "keys"}
        if operation_name == "readRecords":
            plain = not out["void"] and not out["missing"] and number_in(unhex(test["in"].get("history", "01"))) == 0
            return {"keys"} | (set() if out["by volumes"] == "01" else {"volumes"}) | (set() if plain and out["by volumes"] == "00" else {"packs"})
        return {"keys", "packs"} if operation_name == "comparePacks" else set()

    def change(self, operation_name, test, inputs, name, objects, place):
        changed, at = list(objects), place
        for i, data in enumerate(objects):
            if at < len(data):
                changed[i] = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
                break
            at -= len(data)
        changed = {**inputs, name: changed if isinstance(inputs[name], list) else changed[0]}
        try:
            noticed = OPERATIONS[operation_name](changed, {}) != unhex_all(test["out"])
        except (Refused, AssertionError):
            noticed = True
        if noticed:
            self.passed += 1
        else:
            self.fail(test["id"], "byte %d of %s was changed and nobody noticed" % (place, name))


def run_nightly(directory, verbose):
    """A million cases of each construction, which takes some minutes."""
    totals, document = Totals(), load(directory / "nightly.json")
    run = Run("nightly", verbose)
    run.run(document)
    section_line("6", "nightly", run.passed, run.failed)
    totals.passed, totals.failed = run.passed, run.failed
    return totals


def run_mutations(directory):
    totals, index = Totals(), load(directory / "index.json")
    for name, stated in index["files"].items():
        document = load(directory / name) if name.endswith(".json") and "/" not in name else {}
        if "groups" in document and document["file"] not in ("accumulated", "password", "text"):
            run = Mutation(document["file"], False)
            run.run(document)
            section_line(stated["spec"], document["file"], run.passed, run.failed)
            totals.passed, totals.failed = totals.passed + run.passed, totals.failed + run.failed
    return totals


# Scenarios: histories in which several homes look at one store

def view_of(home, tresor):
    try:
        state = home.read_log(tresor)
    except Refused as refused:
        return {"error": refused.name}
    me = state.members.get(home.identity.user)

    def outcome(function):
        try:
            return function()
        except Refused as refused:
            return refused.name
    return {"head": (u64(state.sequence) + state.hash).hex(), "epoch": u64(state.epoch).hex(), "rotate first": state.rotate_first,
            "role": {OWNER: "owner", WRITER: "writer", READER: "reader"}[me.role] if me else "none", "members": len(state.members),
            "keys": outcome(lambda: (home.keys_of(state, state.epoch), "ok")[1]), "founder": outcome(lambda: home.founder_trust(state))}


class Scenario(Run):
    def person(self, stated):
        """The identity, from the seeds given and from the identity file, which must belong together."""
        given = {name: unhex(stated[name]) for name in ("chain", "S", "previous", "identity file")}
        chain, file = read_chain(given["chain"]), read_identity_file(given["identity file"])
        assert file.chain.bytes == chain.bytes and file.previous == given["previous"], "the identity file is of another identity"
        keys = open_previous(chain, given["S"], given["previous"])
        assert identity_tag(keys[-1], file.before_tag) == file.tag, "the tag of the identity file"
        return Identity(chain, keys)

    def do(self, step):
        """What happens, as `expect` states it."""
        act, tresor = step["do"], self.tresor
        if act == "append":
            data = unhex(step["entry"])
            reader = Reader(data)
            reader.take(42)
            sequence, previous = reader.u64(), reader.digest()
            wraps = [(unhex(wrap["user"]), number_in(unhex(wrap["epoch"])), unhex(wrap["wrap"])) for wrap in step["wraps"]]
            return {"outcome": self.store.append(tresor, sequence, previous, data, wraps, unhex(step["removes"]))}
        if act == "show":
            self.store.logs[tresor] = unhex(step["log"])
        elif act == "wrap":
            key = (tresor, unhex(step["user"]), number_in(unhex(step["epoch"])))
            self.store.wraps.pop(key, None)
            if "wrap" in step:
                self.store.wraps[key] = unhex(step["wrap"])
        elif act == "open":
            try:
                content, _, _ = self.homes[step["by"]].open_file(unhex(step["file"]), {"current": step.get("current author", False)})
                return {"content hash": blake2b(content).hex()}
            except Refused as refused:
                return {"error": refused.name}
        elif act == "identity":
            self.homes[step["name"]].identity = self.person(step)
        elif act == "pin":
            home = self.homes[step["by"]]
            home.pins = put_pin(home.pins, read_chain(unhex(step["chain"])), False, False, 0)
            assert encode_pins(read_pins(encode_pins(home.pins))) == encode_pins(home.pins)
        else:
            raise AssertionError("no such step: %s" % act)
        return {}

    def run(self, document):
        self.tresor, self.store, self.homes = unhex(document["tresor"]), Store(), {}
        for person in document["people"]:
            self.homes[person["name"]] = Home(self.store, self.person(person), read_pins(unhex(person["pins"])))
        for i, step in enumerate(document["steps"]):
            wrong = []
            try:
                happened = self.do(step)
                if happened != step.get("expect", {}):
                    wrong.append("%s, not %s" % (happened, step.get("expect", {})))
                for name, stated in step["views"].items():
                    seen = view_of(self.homes[name], self.tresor)
                    if seen != stated:
                        differ = sorted(field for field in {**seen, **stated} if seen.get(field) != stated.get(field))
                        wrong.append("%s sees %s" % (name, {field: seen.get(field) for field in differ}))
            except Exception as problem:
                wrong.append("%s: %s" % (type(problem).__name__, problem))
                if self.verbose:
                    traceback.print_exc()
            # A step counts as negative if something is refused in it, other than keys to somebody who has no right to them.
            negative = "error" in step.get("expect", {}) or step.get("expect", {}).get("outcome") == "conflict"
            negative = negative or any("error" in v or v["keys"] not in ("ok", "no_access") for v in step["views"].values())
            self.negatives, self.positives = self.negatives + negative, self.positives + (not negative)
            if wrong:
                self.fail("step %d (%s)" % (i, step["comment"]), "; ".join(wrong))
            else:
                self.passed += 1
        if document["numberOfTests"] != len(document["steps"]):
            self.fail("numberOfTests", "%d, not %d" % (len(document["steps"]), document["numberOfTests"]))


# Test kit: whole sealed files

class TestKit(Run):
    def run(self, data):
        head, _, sealed = data.partition(b"\n\n")
        stated = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in head.decode("utf-8").split("\n"))
        tresor, entries, key = unhex(stated["tresor"]), read_kept_log(unhex(stated["log"])), unhex(stated["key"])

        def state_of(named):
            require(named == tresor, "no_access")
            return fold(tresor, entries)
        expected = {}
        if "record" in stated:
            expected["record"] = unhex(stated["record"])
        if "from" in stated:
            expected["author"] = unhex(stated["from"])
        try:
            content, _, _ = open_file(sealed, state_of, lambda epoch: key, expected)
            found = ("ok", blake2b(content).hex())
        except Refused as refused:
            found = (refused.name, "none")
        except Exception as problem:
            found = (type(problem).__name__, str(problem))
        self.positives, self.negatives = int(stated["expect"] == "ok"), int(stated["expect"] != "ok")
        if found == (stated["expect"], stated["content"]):
            self.passed += 1
        else:
            self.fail(stated.get("comment", ""), "%s, %s" % found)


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def section_line(spec, name, passed, failed):
    print("SPEC %-5s%-14s%d passed, %d failed" % (spec, name, passed, failed), flush=True)


class Totals:
    def __init__(self):
        self.passed = self.failed = 0

    def problem(self, text):
        self.failed += 1
        print(text, file=sys.stderr)


def refusal(function, *arguments):
    try:
        function(*arguments)
    except Refused as refused:
        return refused.name
    return None


def check_own(totals):
    """What no vector has: the names a home keeps sealed, its kept wraps, what settles a note of leftovers, bodies by number, dates of
    standing, keys where an epoch is withheld, what settle appends."""
    def holds(what, condition):
        if not condition:
            totals.problem("own check: %s" % what)

    one, two = bytes([1] * 32), bytes([2] * 32)
    identity = Identity(Chain([type("Card", (), {"bytes": b"", "handle": b""})]), [Keys(ZERO)])
    names = [(ZERO, b"a"), (one, b"b")]
    holds("names", open_names(identity, seal_names(identity, names)) == names)

    wrap = encode_wrap(one, 1, two, 0, bytes(1120), bytes(80))
    marks = [(one, 1), (two, 2)]
    holds("marks", open_marks(identity, seal_marks(identity, marks)) == marks)
    rows = [(one, 1, wrap), (one, 256, wrap), (two, 1, wrap)]
    kept = encode_kept_wraps(rows)
    holds("kept wraps", read_kept_wraps(kept) == rows and read_kept_wraps(preamble(b"tresorK1")) == [])
    for what, data, name in [
            ("cut", kept[:-1], "altered"), ("a byte behind", kept + b"\0", "altered"), ("nothing", b"", "altered"),
            ("ids that fall", encode_kept_wraps([(two, 1, wrap), (one, 2, wrap)]), "altered"),
            ("epochs that fall", encode_kept_wraps([(one, 256, wrap), (one, 1, wrap)]), "altered"),
            ("one epoch twice", encode_kept_wraps([(one, 1, wrap)] * 2), "altered"),
            ("a wrap of no bytes", encode_kept_wraps([(one, 1, b"")]), "altered"),
            ("version 2", kept[:8] + b"\2" + kept[9:], "unsupported"), ("suite 2", kept[:9] + b"\2" + kept[10:], "unsupported"),
            ("another object", b"tresorO1" + kept[8:], "unsupported"), ("no object of ours", b"Tresor" + kept[6:], "altered")]:
        holds("kept wraps, %s" % what, refusal(read_kept_wraps, data) == name)

    def slot(kind, id_, locator=None):
        made = Slot()
        made.kind, made.id, made.locator = kind, id_, locator
        return made
    here, gone, revoked, half = bytes([3] * 16), bytes([4] * 16), bytes([5] * 16), Slot()
    file = IdentityFile()
    file.chain, file.slots = identity.chain, [slot(KIT, bytes(16), one), slot(DEVICE, here), slot(DEVICE, gone)]
    user, half.user, half.device = identity.user, identity.user, here
    kits = [[user + one, user + two], [one + two]]
    note_ = [sorted(kits[0] + kits[1]), sorted([user + here, user + gone, user + revoked]), [gone], [u32(1)]]
    holds("leftovers", settle_ways_in(note_, file, half)
          == (False, [user + two], [user + gone, user + revoked], [kits[1], [], [gone], [u32(1)]]))
    half.device = revoked
    holds("leftovers, a half without slot", settle_ways_in(note_, file, half)
          == (True, [user + two], [user + here, user + gone, user + revoked], [kits[1], [], [here, gone], [u32(1)]]))
    holds("leftovers, no file", settle_ways_in(note_, None, None) == (False, [], note_[1], [note_[0], [], [], [u32(1)]]))
    data = preamble(b"tresorD1") + user + revoked + ZERO
    holds("a device that was ended", refusal(open_with_device, file, data, ZERO, 0, None, note_) == "not_found")
    holds("a device that nobody ended", refusal(open_with_device, file, data, ZERO, 0, None, [[], [], [], []]) == "no_access")

    for kind in [0, 11, 12, *range(14, 128)]:
        holds("body %d" % kind, refusal(read_body, kind, b"") == "unsupported")
    evidence = encode_approval_evidence(user, b"approve", b"wrap", b"")
    holds("evidence of an approval", encode_approval_evidence(*read_approval_evidence(evidence)) == evidence)
    holds("evidence of an approval without a wrap",
          refusal(read_approval_evidence, encode_approval_evidence(user, b"approve", b"", b"")) == "altered")
    for kind in (128, 129, 130, 65535):
        holds("body %d" % kind, encode_body(kind, read_body(kind, b"any bytes")) == b"any bytes" and read_body(kind, b"").epoch is None)
    check_own_standing(holds)
    check_own_keys(holds)
    check_own_settle(holds)


def check_own_standing(holds):
    user, other = bytes([1] * 32), bytes([2] * 32)
    card = lambda generation, time_=0: type("Card", (), {"generation": generation, "time": time_})
    chain = lambda *cards: type("Chain", (), {"newest": cards[-1], "card": lambda self, g: cards[g]})()
    state = object.__new__(State)
    state.generations, state.chains = {user: [(0, 10, 0), (1, 20, 1), (2, 30, 2), (3, 40, 2)]}, {user: chain(card(2))}

    def stands(changes, generation, h, compared=None):
        state.changes = {user: [Change(at, 10 * at, other, *change) for at, change in changes]}
        return standing(state, user, generation, h, compared)
    writer, reader = (ADMITTED, WRITER), (ADMITTED, READER)
    current, renewed = ("current",), ("former", "key renewed", 30)
    holds("standing", [stands([(0, writer)], g, 0) for g in (0, 2)] == [renewed, current])
    holds("standing, role of one who writes", stands([(0, writer), (4, (CHANGED, OWNER))], 2, 3) == current)
    back = [(0, writer), (4, (REMOVED,)), (7, writer)]
    holds("standing, back", [stands(back, 2, h) for h in (3, 6, 7)] == [("former", REMOVED, 40)] * 2 + [current])
    holds("standing, back with an older generation", [stands(back, 0, h) for h in (3, 7)] == [("former", REMOVED, 40), renewed])
    twice = back + [(8, (LEFT,)), (9, reader), (12, (CHANGED, WRITER))]
    holds("standing, back twice", [stands(twice, 2, h) for h in (3, 11, 12)] == [("former", "role changed", 90)] * 2 + [current])
    holds("standing, out", [stands(twice[:n], 2, 7)[1:] for n in (2, 4, 5)] == [(REMOVED, 40), (LEFT, 80), ("role changed", 90)])
    longer = chain(card(0, 1), card(1, 2), card(2, 3), card(3, 4), card(4, 5))
    holds("standing, compared", [stands([(0, writer)], 2, 0, compared) for compared in (longer, chain(card(0), card(1)))]
          == [("former", "key renewed", 4), current])
    holds("standing, compared, back", stands(back, 2, 3, longer) == ("former", REMOVED, 40))


class OwnLog:
    """A log that is made here, with people who have a card of every generation asked for."""

    def __init__(self, founder, time_):
        self.root = u8(1) + founder.user + founder.chain.newest.hash + bytes(32)
        self.tresor, self.entries, self.state, self.keys, self.began = tresor_id(self.root), [], None, {}, None
        epoch = self.epoch_of(1, *self.new_keys(1))
        self.say(founder, time_, GENESIS, self.root + opaque32(founder.chain.bytes) + u16(0) + bytes(588) + epoch)

    @staticmethod
    def person(handle, generations=1, time_=0):
        seed = H("tresor/v1/user-id", handle)
        chain, keys = read_chain(make_card(Keys(seed), handle, 0, ZERO, ZERO, time_)), [Keys(seed)]
        for g in range(1, generations):
            chain, _ = renew_card(chain, keys[-1].seed, H("tresor/v1/user-id", handle + u8(g)), time_ + g)
            keys.append(Keys(H("tresor/v1/user-id", handle + u8(g))))
        return Identity(chain, keys)

    @staticmethod
    def until(person, generations):
        """The person of an earlier day."""
        return Identity(Chain(person.chain.cards[:generations]), person.keys[:generations])

    def new_keys(self, number_):
        self.keys[number_] = (H("tresor/v1/user-id", u64(number_)), H("tresor/v1/number", u64(number_)))
        return self.keys[number_]

    def epoch_of(self, number_, TK, HK, links=None):
        back_link = b"" if links is None else seal_back_link(self.tresor, number_, HK, links)
        return Epoch(number_, *commitments(self.tresor, TK, HK), back_link).encode()

    def say(self, author, time_, type_, body):
        sequence, previous = (self.state.sequence + 1, self.state.hash) if self.state else (0, ZERO)
        entry = make_entry(author.keys[-1], self.tresor, sequence, previous, author.user, len(author.keys) - 1, time_, type_, body)
        self.entries.append(entry)
        self.state = fold(self.tresor, self.entries)
        if judge(fold(self.tresor, self.entries[:-1]) if sequence else None, self.tresor, entry).body.epoch is not None:
            self.began = author.user
        return self.state

    def grant(self, author, time_, people, role, not_after=0):
        chains = sorted((person.chain for person in people), key=lambda chain: chain.user)
        people = u16(len(chains)) + b"".join(u8(1) + opaque32(chain.bytes) for chain in chains)
        return self.say(author, time_, GRANT, people + u8(role) + u64(not_after) + u8(0))

    def begin(self, author, time_, links):
        """An epoch with these links, each named by its number."""
        number_ = self.state.epoch + 1
        epoch = self.epoch_of(number_, *self.new_keys(number_), links=[(e,) + self.keys[e] for e in links])
        return self.say(author, time_, EPOCH, epoch)

    def wrap(self, person, epoch):
        chain = self.state.chains[person.user]
        return epoch, make_wrap(self.tresor, epoch, person.user, chain.newest, b"".join(self.keys[epoch]))


def check_own_keys(holds):
    """keysOf where an epoch is withheld or its back-link spoiled; reachable, newEpoch and cutOff; the kept state with owner time."""
    anna, bert = OwnLog.person(b"anna"), OwnLog.person(b"bert")
    log = OwnLog(anna, 100)
    log.grant(anna, 200, [bert], WRITER)
    renewed = OwnLog.person(b"bert", 2)
    log.say(bert, 300, RENEW, opaque32(renewed.chain.newest.bytes))
    holds("owner time", (log.state.time, log.state.owner_time, log.state.rotate_first) == (300, 200, True))
    bert = renewed
    log.begin(bert, 400, [1])
    one, two = log.wrap(anna, 1), log.wrap(bert, 2)

    def failing():
        raise Refused("store")

    def finds(person, wanted, store, home=()):
        """What keysOf gives: yes, or the error; keys must be those of the epoch."""
        try:
            return keys_of(log.state, person, store if callable(store) else lambda: store, list(home), wanted) == log.keys[wanted]
        except Refused as refused:
            return refused.name
    spoiled = lambda wrap, at=1: (wrap[0], wrap[1][:-at] + bytes([wrap[1][-at] ^ 1]) + wrap[1][len(wrap[1]) - at + 1:])
    alien = lambda wrap: (wrap[0], wrap[1][:8] + b"\2" + wrap[1][9:])
    many = lambda wrap, count: [spoiled(wrap, at) for at in range(1, count + 1)]
    for what, wanted, store, home, result in [
            ("withheld: the one before", 1, [one], [], True), ("withheld", 2, [one], [], "no_access"),
            ("by the home's wrap", 1, [], [one], True), ("the store's is spoiled", 1, [spoiled(one)], [one], True),
            ("the home's is spoiled", 1, [one], [spoiled(one)], True), ("both are spoiled", 1, [spoiled(one)], [spoiled(one)], "altered"),
            ("the first error", 1, [alien(one)], [spoiled(one)], "unsupported"), ("no wrap", 1, [], [], "no_access"),
            ("the store fails, the home has it", 1, failing, [one], True), ("the store fails", 2, failing, [one], "store"),
            ("the store fails, and the home's is spoiled", 1, failing, [spoiled(one)], "store"),
            ("a wrap of another epoch in its place", 2, [(2, one[1])], [], "altered"),
            ("the newer wrap is spoiled", 1, [one, spoiled((2, one[1]))], [], True),
            ("the first error is that of the newest", 1, [spoiled(one), alien((2, one[1]))], [], "unsupported"),
            ("two of one epoch: the first that opens", 1, [spoiled(one), one], [], True),
            ("sixteen of one epoch", 1, [alien(one)] + many(one, 15) + many(one, 15) + [one], [], True),
            ("seventeen of one epoch", 1, many(one, 16) + [one], [], "altered"),
            ("two of one epoch: the first that fits", 1, [alien(one), (1, two[1]), one], [], True),
            ("two of one epoch, and the home's", 1, [spoiled(one), one], [one], True),
            ("epoch 0", 0, [one], [], "no_access"), ("beyond the current epoch", 3, [one], [], "no_access")]:
        holds("keysOf, %s" % what, finds(anna, wanted, store, home) == result)
    holds("keysOf, by the back-link", finds(bert, 1, [two]) is True and finds(bert, 1, [], [two]) is True)

    def cut(person, store, home=(), began=None):
        try:
            return cut_off(log.state, person, store if callable(store) else lambda: store, list(home), began or log.began)
        except Refused as refused:
            return refused.name
    holds("cutOff", [cut(anna, [one]), cut(anna, [one], [spoiled((2, one[1]))]), cut(anna, failing, [one]), cut(bert, []),
                     cut(anna, [one], began=anna.user), cut(anna, [log.wrap(anna, 2)])] == [True, True, "store", False, "store", False])

    links = lambda person, wraps: [link[0] for link in reachable(log.state, person, wraps)]
    made = lambda person, wraps: [link[0] for link in new_links(log.state, person, wraps)]

    def new_links(state, person, wraps):
        (TK, HK), epoch = new_epoch(state, person, wraps)
        check_keys(log.tresor, one_epoch(epoch.encode()), TK, HK)
        return open_back_link(log.tresor, {**state.epochs, epoch.number: epoch}, epoch.number, HK)
    holds("reachable, withheld", links(anna, [one]) == [1] and made(anna, [one]) == [1])
    holds("reachable, nothing", made(anna, []) == [] and links(anna, [spoiled(one), (9, one[1])]) == [])
    holds("newEpoch of a writer", made(bert, [log.wrap(bert, 1), two]) == [2]
          and refusal(new_epoch, log.state, bert, [log.wrap(bert, 1)]) == "no_access")
    log.begin(anna, 500, [1])                               # 3: goes past 2
    log.begin(anna, 600, [])                                # 4: reaches nothing
    log.keys[5], good = log.new_keys(5), log.keys[3]
    log.keys[3] = (ZERO, ZERO)
    log.begin(anna, 700, [3])                               # 5: a link that is none
    log.keys[3] = good
    own = {e: log.wrap(anna, e) for e in range(1, 6)}
    wraps = lambda *numbers: [own[e] for e in numbers]
    for what, wanted, numbers, result in [
            ("past a withheld epoch", 1, (3,), True), ("the epoch past which it goes", 2, (3,), "no_access"),
            ("no links", 3, (4,), "no_access"), ("a wrap behind no links", 1, (3, 4), True), ("a spoiled link", 3, (5,), "altered"),
            ("a wrap behind a spoiled link", 3, (3, 5), True), ("a wrap behind both", 1, (1, 5), True),
            ("every wrap", 2, (1, 2, 3, 4, 5), True)]:
        holds("keysOf, %s" % what, finds(anna, wanted, wraps(*numbers)) == result)
        holds("keysOf, %s, by the home" % what, finds(anna, wanted, [], wraps(*numbers)) == result)
    holds("reachable, links", links(anna, wraps(1, 2, 3, 4, 5)) == [5, 4, 3, 2] and links(anna, wraps(1, 3)) == [3]
          and links(anna, wraps(1, 3) + wraps(3, 4)) == [4, 3] and made(anna, wraps(1, 2, 4)) == [4, 2])
    holds("reachable, a wrap of the home alone", [link[0] for link in reachable(log.state, anna, [spoiled(own[5])], [own[5]])] == [5])
    holds("reachable, two of one epoch", links(anna, [spoiled(own[5]), own[5]]) == [5] and links(anna, many(own[5], 16) + [own[5]]) == []
          and links(anna, [alien(own[5]), own[5]]) == [5])
    holds("openBackLink, no links", open_back_link(log.tresor, log.state.epochs, 4, log.keys[4][1]) == [])
    holds("openBackLink, not to the epoch before", [link[0] for link in open_back_link(log.tresor, log.state.epochs, 3, good[1])] == [1])
    log.begin(anna, 750, [1])                               # 6
    log.begin(anna, 760, [6, 4])                            # 7: the lower of the two leads nowhere
    seven = [log.wrap(anna, 7)]
    holds("keysOf, by the higher of two links", [finds(anna, e, seven) for e in (1, 2, 4)] == [True, "no_access", True])
    used = log.epoch_of(8, log.keys[1][0], H("tresor/v1/number", b""), [])
    swapped = Epoch(8, log.state.epochs[1].history_commitment, ZERO, log.state.epochs[3].back_link).encode()
    for epoch in (used, swapped):
        entry = make_entry(anna.keys[0], log.tresor, log.state.sequence + 1, log.state.hash, anna.user, 0, 800, EPOCH, epoch)
        try:
            judge(log.state, log.tresor, entry)
            holds("a key that comes back", False)
        except Refused as refused:
            holds("a key that comes back", (refused.name, refused.rule) == ("altered", "R48"))

    state = open_kept_state(keep_state(log.state, anna), log.tresor, anna)
    holds("kept state", (state.owner_time, keep_state(state, anna)) == (760, keep_state(log.state, anna)))
    later = preamble(b"tresorS2") + u16(200) + keep_state(log.state, anna)[12:-32]
    state = open_kept_state(later + state_tag(anna, later), log.tresor, anna)
    holds("kept state of a later program", keep_state(state, anna) == keep_state(log.state, anna))
    before = b"tresorS1" + later[8:]
    holds("kept state of before", refusal(open_kept_state, before + state_tag(anna, before), log.tresor, anna) == "unsupported")


def check_own_settle(holds):
    """What settle appends: newer cards that were compared, and dates that passed, by a clock that is not far from the owners'."""
    day, now = 86400, 1000 * 86400
    anna, dora, house, cleo = (OwnLog.person(name, 3) for name in (b"anna", b"dora", b"dr-house", b"cleo"))
    first = lambda person: OwnLog.until(person, 1)
    log = OwnLog(first(anna), now)
    log.grant(first(anna), now, [first(dora)], OWNER)
    log.grant(first(anna), now, [first(cleo)], OWNER, now + 3 * day)
    log.grant(first(anna), now, [first(house)], READER, now + 2 * day)
    log.say(first(cleo), now + day, 200, b"no owner time: she has a date")
    holds("owner time of who has a date", (log.state.time, log.state.owner_time) == (now + day, now))

    pin = lambda person, generations=1, replaced=0: Pin(0, replaced, Chain(person.chain.cards[:generations]))
    me, founder = first(dora), pin(anna)

    def settled(pins, clock, was_pinned=True, go_on=False, by=me, state=None):
        try:
            cards, users = settle(state or log.state, by.chain, pins, was_pinned, clock, go_on)
            return [(card.user, card.generation) for card in cards], users
        except Refused as refused:
            return refused.name
    both = sorted([house.user, cleo.user])
    for what, clock, result in [
            ("on the day itself", now + 2 * day, []), ("a second later", now + 2 * day + 1, [house.user]),
            ("two dates", now + 3 * day + 1, both), ("the last second", now + 400 * day, both), ("too late", now + 400 * day + 1, "failed"),
            ("before any date", now - 2 * day, [])]:
        holds("settle, %s" % what, settled([founder], clock) == (result if result == "failed" else ([], result)))
    holds("settle, too late, and somebody says to go on", settled([founder], now + 401 * day, go_on=True) == ([], []))
    early = log.state.copy()
    early.owner_time = now + 4 * day
    holds("settle, a clock that is behind", [settled([founder], now + 3 * day + s, state=early) for s in (0, -1)]
          == [([], [house.user]), "failed"])
    for who in (first(house), OwnLog.person(b"x")):
        holds("settle, not by a reader or a stranger", settled([founder], now + 3 * day + 1, by=who) == ([], []))
    holds("settle, not with a card that the log has not", settled([founder], now + 3 * day + 1, by=dora) == ([], []))
    holds("settle, a founder nobody compared", settled([pin(house, 3)], now + 3 * day + 1) == ([], []))

    later = [(house.user, 1), (house.user, 2)]
    holds("settle, newer cards", settled([founder, pin(house, 3)], now) == (later, []))
    holds("settle, newer cards and a date", settled([founder, pin(house, 3)], now + 2 * day + 1) == (later, [house.user]))
    holds("settle, newer cards do not bring the clock nearer", settled([founder, pin(house, 3)], now + 400 * day + 1) == "failed")
    holds("settle, a pin that was replaced", settled([founder, pin(house, 3, 1)], now) == ([], []))
    holds("settle, the founder's newer card", [settled([pin(anna, 2)], now + 2 * day + 1, was) for was in (True, False)]
          == [([(anna.user, 1)], [house.user]), ([], [])])
    holds("superseded", superseded(log.state, first(house).chain, [pin(anna, 2), pin(house, 3), pin(dora, 2)])
          == sorted([anna.user, dora.user]))

    log.say(me, now, RENEW, opaque32(house.chain.cards[1].bytes))       # what an owner says for somebody else
    holds("renew for a member", log.state.rotate_first and log.state.chains[house.user].newest.generation == 1)
    log.begin(me, now, [1])
    log.say(first(anna), now, LEAVE, b"")
    log.begin(me, now, [2])
    holds("settle, a founder who left and renewed", settled([pin(anna, 2)], now) == ([(anna.user, 1)], []))
    log.say(me, now, RENEW, opaque32(anna.chain.cards[1].bytes))
    holds("renew for who is out", not log.state.rotate_first and log.state.chains[anna.user].newest.generation == 1
          and settled([pin(anna, 2)], now) == ([], []))
    out = log.state.copy()
    del out.members[house.user]
    holds("settle, somebody else who is out", settled([pin(anna, 2), pin(house, 3)], now, state=out) == ([], []))

    # The founder's card has signed nothing here, and an owner put it in: whoever knows the tresor from before believes it.
    trusts = lambda pins, pinned: founder_trust(first(house).chain, pins, log.state, pinned=pinned)
    holds("founderTrust, a card that signed nothing", [trusts([pin(anna, n)], was) for n in (1, 2) for was in (True, False)]
          == ["renewed", "unverified", "verified", "unverified"])
    holds("founder generation", log.state.founder_generation == 0)
    log.grant(me, now, [OwnLog.until(anna, 2)], OWNER)
    log.say(OwnLog.until(anna, 2), now, 200, b"")
    holds("founderTrust, a card that signed", log.state.founder_generation == 1 and trusts([pin(anna, 2)], False) == "verified")

    # A writer rotates for nobody whose card this home knows to be superseded; the founder's is unverified anyway.
    log.grant(me, now, [first(OwnLog.person(b"walt"))], WRITER)
    walt = OwnLog.person(b"walt")
    log.say(OwnLog.until(house, 2), now, LEAVE, b"")
    rotates = lambda who, pins: refusal(effect_of, "rotate", {}, log.state, who.chain, who.chain, pins, now, True)
    holds("rotate by a writer", [rotates(walt, [pin(anna, 2), pin(dora, n)]) for n in (1, 2)] == [None, "unverified"])
    holds("rotate by an owner", rotates(me, [pin(anna, 2), pin(cleo, 2)]) is None)


def print_tables(path):
    """A line of facts for each line of items, for whoever wants to compare another table with this one."""
    for line in path.read_text().split("\n"):
        table = Table()
        for part in line.split():
            sequence, item = part.split(":")
            table.take(int(sequence), read_item(Reader(bytes.fromhex(item)), int(sequence) - 1))
        rows = [(name, [table.shown(name)], table.heads(name), table.put_aside(name)) for name in table.names()]
        print(" ".join(":".join([row[0].decode()] + [",".join(map(str, revisions)) for revisions in row[1:]]) for row in rows))
    return 0


def check_registry(document, totals):
    """The labels of labels.json are those of SPEC §16.1, and none is a prefix of another."""
    stated = {(unhex(test["in"]["label"]), unhex(test["in"]["use"]).decode()) for group in document["groups"]
              if group["operation"] == "label" for test in group["tests"] if test["result"] == "valid"}
    if stated != {(label_, how) for label_, (how, _) in REGISTRY.items()}:
        totals.problem("labels.json: not the registry of SPEC 16.1")
    if any(a != b and b.startswith(a) for a in REGISTRY for b in REGISTRY):
        totals.problem("a label is a prefix of another")


def specification(directory):
    """The pages of SPEC that lie beside the vectors, as one text."""
    pages = [directory.parent / "SPEC.md", *sorted((directory.parent / "spec").glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())


def check_tables(directory, totals):
    """Magics, errors and labels here are those of the tables of SPEC §4.1, §12 and §16.1, if SPEC lies beside."""
    text = specification(directory)
    if not text:
        return
    if set(re.findall(r"^\| `(tresor..)` \|", text, re.M)) != {magic.decode() for magic in MAGICS}:
        totals.problem("not the magics of SPEC 4.1")
    if dict(re.findall(r"^\| `([a-z_]+)` \| (\d+) \|", text, re.M)) != {name: str(code) for name, code in EXIT_CODES.items()}:
        totals.problem("not the errors of SPEC 12")
    labels = re.findall(r"^\| `(tresor/v1/[a-z-]+)` \| ([a-z]+) \| [^|]* \| ([^|]*) \|", text, re.M)
    if {label_.encode(): (how, int(size) if size.isdecimal() else None) for label_, how, size in labels} != REGISTRY:
        totals.problem("not the labels of SPEC 16.1")


def check_appendix(directory, totals):
    """The blocks of SPEC's Appendix A, if SPEC lies beside, are what the vectors have at the places named."""
    text, documents = specification(directory), {}
    for name, test, place, block in re.findall(r"^`([a-z/-]+\.json) (\d+) ([^`]+)`\n\n```hex\n(.*?)```", text, re.M | re.S):
        if name not in documents:
            documents[name] = {t["id"]: t for group in load(directory / name)["groups"] for t in group["tests"]}
        value = documents[name].get(int(test), {})
        for part in place.split("."):
            if isinstance(value, list):
                value = value[int(part)]
            else:
                value = value.get(part, "") if isinstance(value, dict) else ""
        value = "".join(value) if isinstance(value, list) else value
        if "".join(block.split()) != value or not value:
            totals.problem("SPEC, Appendix A: not %s %s %s" % (name, test, place))


def run_vectors(directory, ignore_sums, verbose, only):
    """A line for each file; the files of a directory (scenario, testkit) have one line together."""
    totals, index, sections = Totals(), load(directory / "index.json"), {}
    for name, stated in index["files"].items():
        sections.setdefault(name.split("/")[0] if "/" in name else name.rsplit(".", 1)[0], []).append((name, stated))
    for section, files in sections.items():
        if only and section not in only:
            continue
        passed = failed = 0
        for name, stated in files:
            try:
                data = (directory / name).read_bytes()
            except OSError:
                totals.problem("%s: not there" % name)
                continue
            if not ignore_sums and hashlib.sha256(data).hexdigest() != stated["sha256"]:
                totals.problem("%s: not the bytes that index.json names" % name)
            if section == "testkit":
                run = TestKit(name, verbose)
                run.run(data)
            else:
                document = json.loads(data)
                if "groups" not in document and "steps" not in document:
                    totals.problem("%s: of a form this program does not know" % name)
                    continue
                if document["file"] == "labels":
                    check_registry(document, totals)
                run = (Scenario if "steps" in document else Run)(document["file"], verbose)
                run.run(document)
            passed, failed = passed + run.passed, failed + run.failed
            if (run.positives, run.negatives) != (stated["positives"], stated["negatives"]):
                totals.problem("%s: %d valid and %d invalid tests, not those of index.json" % (name, run.positives, run.negatives))
        section_line(files[0][1]["spec"], section, passed, failed)
        totals.passed, totals.failed = totals.passed + passed, totals.failed + failed
    if not only:
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            counted = path.is_file() and (name.startswith("testkit/") or name.endswith(".json") and name != "nightly.json"
                                          and not name.startswith(("schema/", "archive/")))
            if counted and name not in index["files"] and name != "index.json":
                totals.problem("%s: not in index.json" % name)
        if totals.failed == 0 and totals.passed != index["numberOfTests"]:
            totals.problem("%d tests, not the %d of index.json" % (totals.passed, index["numberOfTests"]))
        check_appendix(directory, totals)
        check_tables(directory, totals)
        check_own(totals)
        for label_, how in sorted(USED):
            if REGISTRY.get(label_, (None,))[0] != how:
                totals.problem("used and not registered: %s for %s" % (label_.decode(), how))
        for label_ in sorted(set(REGISTRY) - {used for used, _ in USED}):
            totals.problem("registered and not used: %s" % label_.decode())
    return totals


# ---------------------------------------------------------------------------------------------------------------------
# 30. Live: what the command `tresor` makes is opened here, and what is made here is opened by the command
# ---------------------------------------------------------------------------------------------------------------------

class Command:
    """The command, with temporary homes, one store and one password."""

    def __init__(self, path, directory):
        self.path, self.directory, self.store = os.path.abspath(path), pathlib.Path(directory), pathlib.Path(directory, "store.db")
        self.password = b"a pass\xc3\xa9word of mine"
        self.file("password", self.password + b"\n")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def file(self, name, data):
        path = self.directory / name
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(data)
        return path

    def run(self, home, *arguments, password="password"):
        common = ["--home", str(self.directory / home), "--store", str(self.store), "--batch", "--quiet"]
        common += ["--password-file", str(self.directory / password)]
        result = subprocess.run([self.path, *map(str, arguments), *common], capture_output=True, env=self.environment,
                                cwd=self.directory, timeout=300, check=False)
        return result.returncode, result.stdout, result.stderr.decode("utf-8", "replace").strip()

    def must(self, home, *arguments, password="password"):
        code, out, error = self.run(home, *arguments, password=password)
        if code != 0:
            raise AssertionError("tresor %s ended with %d: %s" % (arguments[0], code, error))
        return out

    def blobs(self, magic):
        """All rows of the store, as lists of (column, value), of the table that holds objects with the magic, and its name."""
        connection = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        try:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                cursor = connection.execute('SELECT * FROM "%s"' % table)
                columns = [column[0] for column in cursor.description]
                rows = [dict(zip(columns, row)) for row in cursor.fetchall()]
                if any(isinstance(value, bytes) and value.startswith(magic) for row in rows for value in row.values()):
                    return table, rows
            return None, []
        finally:
            connection.close()

    def objects(self, magic):
        _, rows = self.blobs(magic)
        return [value for row in rows for value in row.values() if isinstance(value, bytes) and value.startswith(magic)]

    def put(self, magic, new_row):
        """A row like those that are there; `new_row` takes an old row and gives old values with the new ones in their place."""
        table, rows = self.blobs(magic)
        replaced = new_row(rows[0])
        row = {column: replaced.get(value, value) for column, value in rows[0].items()}
        connection = sqlite3.connect(self.store)
        try:
            names = ", ".join('"%s"' % column for column in row)
            connection.execute('INSERT INTO "%s" (%s) VALUES (%s)' % (table, names, ", ".join("?" * len(row))), list(row.values()))
            connection.commit()
        finally:
            connection.close()

    def blob(self, tresor, hash_):
        """The parts of a blob in the store, joined."""
        connection = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        try:
            rows = connection.execute("SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? ORDER BY part", (tresor, hash_))
            return b"".join(row[0] for row in rows.fetchall()) or None
        finally:
            connection.close()

    def put_blob(self, tresor, hash_, blob):
        connection = sqlite3.connect(self.store)
        try:
            for part in range(0, len(blob), 262144):
                row = (tresor, hash_, u64(part // 262144), blob[part:part + 262144])
                connection.execute("INSERT INTO blobs (tresor, hash, part, bytes) VALUES (?, ?, ?, ?)", row)
            connection.commit()
        finally:
            connection.close()

    def log(self, tresor):
        entries = [data for data in self.objects(b"tresorE1") if data[10:42] == tresor]
        return sorted(entries, key=lambda data: data[42:50])

    def own_wraps(self, tresor, user):
        found = [data for data in self.objects(b"tresorW1") if data[9:41] == tresor and data[49:81] == user]
        return sorted((number_in(data[41:49]), data) for data in found)

    def identity(self, home, password=None):
        return open_with_password(read_identity_file((self.directory / home / "identity").read_bytes()), password or self.password)


class Live:
    def __init__(self, command):
        self.command, self.totals, self.here = command, Totals(), [0, 0]

    def check(self, what, function):
        try:
            function()
            self.here[0] += 1
        except Exception as problem:
            self.here[1] += 1
            print("live, %s: %s: %s" % (what, type(problem).__name__, problem), file=sys.stderr)
            if not isinstance(problem, (AssertionError, Refused)):
                traceback.print_exc()

    def section(self, spec, name):
        section_line(spec, name, *self.here)
        self.totals.passed, self.totals.failed, self.here = self.totals.passed + self.here[0], self.totals.failed + self.here[1], [0, 0]

    def state(self, tresor):
        return fold(tresor, self.command.log(tresor))

    def keys(self, identity, tresor, epoch):
        return keys_of(self.state(tresor), identity, lambda: self.command.own_wraps(tresor, identity.user), [], epoch)

    def open(self, identity, path):
        data = pathlib.Path(path).read_bytes()
        tresor = read_header(Reader(dearmour(data, FILE_ARMOUR) if is_armour(data) else data)).tresor
        return open_file(data, self.state, lambda epoch: self.keys(identity, tresor, epoch)[0])

    def seal(self, identity, tresor, content, record=b"", type_=b"", origin=None, generation=None):
        state = self.state(tresor)
        generation = len(identity.keys) - 1 if generation is None else generation
        header = encode_header(tresor, state.epoch, state.sequence, state.hash)
        fields = encode_fields(identity.user, generation, int(time.time()), type_, record, origin)
        return seal_payload(identity.keys[generation], self.keys(identity, tresor, state.epoch)[0], header, fields, content)


def same(found, wanted, what="value"):
    if found != wanted:
        raise AssertionError("another %s" % what)


def refused_with(name, result):
    if result[0] != EXIT_CODES[name] or result[1]:
        raise AssertionError("ended with %d, not %s: %s" % (result[0], name, result[2]))


def live(path):
    with tempfile.TemporaryDirectory(prefix="tresor-live-") as directory:
        command = Command(path, directory)
        run = Live(command)
        try:
            live_all(run, command)
        except Exception as problem:
            run.totals.problem("live: %s: %s" % (type(problem).__name__, problem))
            traceback.print_exc()
        return run.totals


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
        same((state.epoch, state.rotate_first, state.chains[anna.user].bytes), (4, False, anna.chain.bytes), "state")
    run.check("the log folds", members)

    def kept():
        own_time, heads = read_heads((command.directory / "anna" / "heads").read_bytes())
        state = run.state(tresor)
        same(heads, [(tresor, (state.sequence, state.hash), None)], "head")
        same(own_time, state.last_times[anna.user], "own time")
        objects = [p.read_bytes() for p in (command.directory / "anna").rglob("*") if p.is_file()]
        logs = [data for data in objects if data[:8] == b"tresorL1"]
        same([read_kept_log(log) for log in logs], [command.log(tresor)], "kept log")
        states = [open_kept_state(data, tresor, anna) for data in objects if data[:8] == b"tresorS2"]
        same([keep_state(kept, anna) for kept in states], [keep_state(state, anna)], "kept state")
        names = open_names(anna, (command.directory / "anna" / "names").read_bytes())
        same(names, [(tresor, b"plans")], "kept name")
        rows = [row for data in objects if data[:8] == b"tresorK1" for row in read_kept_wraps(data)]
        same({row[0] for row in rows}, {tresor}, "kept wrap")
        home = [row[1:] for row in rows]
        same(keys_of(state, anna, lambda: [], home, 4), run.keys(anna, tresor, 4), "key by the kept wrap")
    run.check("heads, kept log, kept state, kept wraps and names of the home", kept)
    run.section("9.4", "live-log")

    def read_kept_state(home, wanted):
        objects = [p.read_bytes() for p in (command.directory / home).rglob("*") if p.is_file()]
        opened_ = []
        for data in objects:
            if data[:8] == b"tresorS2":
                try:
                    opened_.append(open_kept_state(data, wanted, people[home]))
                except Refused:
                    pass                                    # that of another tresor
        same(len(opened_), 1, "number of kept states")
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
        same(read_kept_state("anna", new).owner_time, state.owner_time, "owner time")
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
        same((state.chains[eve.user].bytes, state.rotate_first), (chain("eve").bytes, False), "state")
        same(run.open(people["eve"], command.directory / "7.tresor")[0], small, "content")
    run.check("a card that was compared is put into the log", newer_card)
    run.section("9.7", "live-make")
    live_attachments(run, command, people["anna"], house, tresor, put_entry)


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


# ---------------------------------------------------------------------------------------------------------------------
# The English word list of BIP-39 (8.2)
# ---------------------------------------------------------------------------------------------------------------------

WORDS = """
abandon ability able about above absent absorb abstract absurd abuse access accident account accuse achieve acid acoustic acquire
across act action actor actress actual adapt add addict address adjust admit adult advance advice aerobic affair afford afraid
again age agent agree ahead aim air airport aisle alarm album alcohol alert alien all alley allow almost alone alpha already also
alter always amateur amazing among amount amused analyst anchor ancient anger angle angry animal ankle announce annual another
answer antenna antique anxiety any apart apology appear apple approve april arch arctic area arena argue arm armed armor army
around arrange arrest arrive arrow art artefact artist artwork ask aspect assault asset assist assume asthma athlete atom attack
attend attitude attract auction audit august aunt author auto autumn average avocado avoid awake aware away awesome awful awkward
axis baby bachelor bacon badge bag balance balcony ball bamboo banana banner bar barely bargain barrel base basic basket battle
beach bean beauty because become beef before begin behave behind believe below belt bench benefit best betray better between
beyond bicycle bid bike bind biology bird birth bitter black blade blame blanket blast bleak bless blind blood blossom blouse blue
blur blush board boat body boil bomb bone bonus book boost border boring borrow boss bottom bounce box boy bracket brain brand
brass brave bread breeze brick bridge brief bright bring brisk broccoli broken bronze broom brother brown brush bubble buddy
budget buffalo build bulb bulk bullet bundle bunker burden burger burst bus business busy butter buyer buzz cabbage cabin cable
cactus cage cake call calm camera camp can canal cancel candy cannon canoe canvas canyon capable capital captain car carbon card
cargo carpet carry cart case cash casino castle casual cat catalog catch category cattle caught cause caution cave ceiling celery
cement census century cereal certain chair chalk champion change chaos chapter charge chase chat cheap check cheese chef cherry
chest chicken chief child chimney choice choose chronic chuckle chunk churn cigar cinnamon circle citizen city civil claim clap
clarify claw clay clean clerk clever click client cliff climb clinic clip clock clog close cloth cloud clown club clump cluster
clutch coach coast coconut code coffee coil coin collect color column combine come comfort comic common company concert conduct
confirm congress connect consider control convince cook cool copper copy coral core corn correct cost cotton couch country couple
course cousin cover coyote crack cradle craft cram crane crash crater crawl crazy cream credit creek crew cricket crime crisp
critic crop cross crouch crowd crucial cruel cruise crumble crunch crush cry crystal cube culture cup cupboard curious current
curtain curve cushion custom cute cycle dad damage damp dance danger daring dash daughter dawn day deal debate debris decade
december decide decline decorate decrease deer defense define defy degree delay deliver demand demise denial dentist deny depart
depend deposit depth deputy derive describe desert design desk despair destroy detail detect develop device devote diagram dial
diamond diary dice diesel diet differ digital dignity dilemma dinner dinosaur direct dirt disagree discover disease dish dismiss
disorder display distance divert divide divorce dizzy doctor document dog doll dolphin domain donate donkey donor door dose double
dove draft dragon drama drastic draw dream dress drift drill drink drip drive drop drum dry duck dumb dune during dust dutch duty
dwarf dynamic eager eagle early earn earth easily east easy echo ecology economy edge edit educate effort egg eight either elbow
elder electric elegant element elephant elevator elite else embark embody embrace emerge emotion employ empower empty enable enact
end endless endorse enemy energy enforce engage engine enhance enjoy enlist enough enrich enroll ensure enter entire entry
envelope episode equal equip era erase erode erosion error erupt escape essay essence estate eternal ethics evidence evil evoke
evolve exact example excess exchange excite exclude excuse execute exercise exhaust exhibit exile exist exit exotic expand expect
expire explain expose express extend extra eye eyebrow fabric face faculty fade faint faith fall false fame family famous fan
fancy fantasy farm fashion fat fatal father fatigue fault favorite feature february federal fee feed feel female fence festival
fetch fever few fiber fiction field figure file film filter final find fine finger finish fire firm first fiscal fish fit fitness
fix flag flame flash flat flavor flee flight flip float flock floor flower fluid flush fly foam focus fog foil fold follow food
foot force forest forget fork fortune forum forward fossil foster found fox fragile frame frequent fresh friend fringe frog front
frost frown frozen fruit fuel fun funny furnace fury future gadget gain galaxy gallery game gap garage garbage garden garlic
garment gas gasp gate gather gauge gaze general genius genre gentle genuine gesture ghost giant gift giggle ginger giraffe girl
give glad glance glare glass glide glimpse globe gloom glory glove glow glue goat goddess gold good goose gorilla gospel gossip
govern gown grab grace grain grant grape grass gravity great green grid grief grit grocery group grow grunt guard guess guide
guilt guitar gun gym habit hair half hammer hamster hand happy harbor hard harsh harvest hat have hawk hazard head health heart
heavy hedgehog height hello helmet help hen hero hidden high hill hint hip hire history hobby hockey hold hole holiday hollow home
honey hood hope horn horror horse hospital host hotel hour hover hub huge human humble humor hundred hungry hunt hurdle hurry hurt
husband hybrid ice icon idea identify idle ignore ill illegal illness image imitate immense immune impact impose improve impulse
inch include income increase index indicate indoor industry infant inflict inform inhale inherit initial inject injury inmate
inner innocent input inquiry insane insect inside inspire install intact interest into invest invite involve iron island isolate
issue item ivory jacket jaguar jar jazz jealous jeans jelly jewel job join joke journey joy judge juice jump jungle junior junk
just kangaroo keen keep ketchup key kick kid kidney kind kingdom kiss kit kitchen kite kitten kiwi knee knife knock know lab label
labor ladder lady lake lamp language laptop large later latin laugh laundry lava law lawn lawsuit layer lazy leader leaf learn
leave lecture left leg legal legend leisure lemon lend length lens leopard lesson letter level liar liberty library license life
lift light like limb limit link lion liquid list little live lizard load loan lobster local lock logic lonely long loop lottery
loud lounge love loyal lucky luggage lumber lunar lunch luxury lyrics machine mad magic magnet maid mail main major make mammal
man manage mandate mango mansion manual maple marble march margin marine market marriage mask mass master match material math
matrix matter maximum maze meadow mean measure meat mechanic medal media melody melt member memory mention menu mercy merge merit
merry mesh message metal method middle midnight milk million mimic mind minimum minor minute miracle mirror misery miss mistake
mix mixed mixture mobile model modify mom moment monitor monkey monster month moon moral more morning mosquito mother motion motor
mountain mouse move movie much muffin mule multiply muscle museum mushroom music must mutual myself mystery myth naive name napkin
narrow nasty nation nature near neck need negative neglect neither nephew nerve nest net network neutral never news next nice
night noble noise nominee noodle normal north nose notable note nothing notice novel now nuclear number nurse nut oak obey object
oblige obscure observe obtain obvious occur ocean october odor off offer office often oil okay old olive olympic omit once one
onion online only open opera opinion oppose option orange orbit orchard order ordinary organ orient original orphan ostrich other
outdoor outer output outside oval oven over own owner oxygen oyster ozone pact paddle page pair palace palm panda panel panic
panther paper parade parent park parrot party pass patch path patient patrol pattern pause pave payment peace peanut pear peasant
pelican pen penalty pencil people pepper perfect permit person pet phone photo phrase physical piano picnic picture piece pig
pigeon pill pilot pink pioneer pipe pistol pitch pizza place planet plastic plate play please pledge pluck plug plunge poem poet
point polar pole police pond pony pool popular portion position possible post potato pottery poverty powder power practice praise
predict prefer prepare present pretty prevent price pride primary print priority prison private prize problem process produce
profit program project promote proof property prosper protect proud provide public pudding pull pulp pulse pumpkin punch pupil
puppy purchase purity purpose purse push put puzzle pyramid quality quantum quarter question quick quit quiz quote rabbit raccoon
race rack radar radio rail rain raise rally ramp ranch random range rapid rare rate rather raven raw razor ready real reason rebel
rebuild recall receive recipe record recycle reduce reflect reform refuse region regret regular reject relax release relief rely
remain remember remind remove render renew rent reopen repair repeat replace report require rescue resemble resist resource
response result retire retreat return reunion reveal review reward rhythm rib ribbon rice rich ride ridge rifle right rigid ring
riot ripple risk ritual rival river road roast robot robust rocket romance roof rookie room rose rotate rough round route royal
rubber rude rug rule run runway rural sad saddle sadness safe sail salad salmon salon salt salute same sample sand satisfy satoshi
sauce sausage save say scale scan scare scatter scene scheme school science scissors scorpion scout scrap screen script scrub sea
search season seat second secret section security seed seek segment select sell seminar senior sense sentence series service
session settle setup seven shadow shaft shallow share shed shell sheriff shield shift shine ship shiver shock shoe shoot shop
short shoulder shove shrimp shrug shuffle shy sibling sick side siege sight sign silent silk silly silver similar simple since
sing siren sister situate six size skate sketch ski skill skin skirt skull slab slam sleep slender slice slide slight slim slogan
slot slow slush small smart smile smoke smooth snack snake snap sniff snow soap soccer social sock soda soft solar soldier solid
solution solve someone song soon sorry sort soul sound soup source south space spare spatial spawn speak special speed spell spend
sphere spice spider spike spin spirit split spoil sponsor spoon sport spot spray spread spring spy square squeeze squirrel stable
stadium staff stage stairs stamp stand start state stay steak steel stem step stereo stick still sting stock stomach stone stool
story stove strategy street strike strong struggle student stuff stumble style subject submit subway success such sudden suffer
sugar suggest suit summer sun sunny sunset super supply supreme sure surface surge surprise surround survey suspect sustain
swallow swamp swap swarm swear sweet swift swim swing switch sword symbol symptom syrup system table tackle tag tail talent talk
tank tape target task taste tattoo taxi teach team tell ten tenant tennis tent term test text thank that theme then theory there
they thing this thought three thrive throw thumb thunder ticket tide tiger tilt timber time tiny tip tired tissue title toast
tobacco today toddler toe together toilet token tomato tomorrow tone tongue tonight tool tooth top topic topple torch tornado
tortoise toss total tourist toward tower town toy track trade traffic tragic train transfer trap trash travel tray treat tree
trend trial tribe trick trigger trim trip trophy trouble truck true truly trumpet trust truth try tube tuition tumble tuna tunnel
turkey turn turtle twelve twenty twice twin twist two type typical ugly umbrella unable unaware uncle uncover under undo unfair
unfold unhappy uniform unique unit universe unknown unlock until unusual unveil update upgrade uphold upon upper upset urban urge
usage use used useful useless usual utility vacant vacuum vague valid valley valve van vanish vapor various vast vault vehicle
velvet vendor venture venue verb verify version very vessel veteran viable vibrant vicious victory video view village vintage
violin virtual virus visa visit visual vital vivid vocal voice void volcano volume vote voyage wage wagon wait walk wall walnut
want warfare warm warrior wash wasp waste water wave way wealth weapon wear weasel weather web wedding weekend weird welcome west
wet whale what wheat wheel when where whip whisper wide width wife wild will win window wine wing wink winner winter wire wisdom
wise wish witness wolf woman wonder wood wool word work world worry worth wrap wreck wrestle wrist write wrong yard year yellow
you young youth zebra zero zone zoo
""".split()
assert hashlib.sha256("".join(word + "\n" for word in WORDS).encode()).hexdigest() == (
    "2f5eed53a4727b4bf8880d8f3f199efc90e58503646d9ff8eff3a2ed3b24dbda")
WORD_NUMBERS = {word: number for number, word in enumerate(WORDS)}


# ---------------------------------------------------------------------------------------------------------------------
# 31. Live: the program `tresor-server` is started here, and asked by people who are made here
# ---------------------------------------------------------------------------------------------------------------------

ANSWERS = {
    "server": "ServerAnswer", "card": "ChainAnswer", "cards": "ChainsAnswer", "users": "UsersAnswer", "put-card": "OutcomeAnswer",
    "entries": "EntriesAnswer", "append": "OutcomeAnswer", "wraps": "WrapsAnswer", "tresors": "TresorsAnswer", "news": "NewsAnswer",
    "blob": "BlobAnswer", "blobs": "BlobsAnswer",
    "server-share": "ServerShareAnswer", "kit-copy": "KitCopyAnswer", "put-offer": "PutOfferAnswer",
    "register": "RegisterAnswer", "finish": "FinishAnswer",
    "account": "AccountAnswer", "inbox": "InboxAnswer"}
MEDIA_TYPE = "application/vnd.tresor"
ASKED, COMPLETE, ACTIVE = 1, 2, 3
BY_INVITATION = 1


class Service:
    """The program, with a database, a key and a certificate of its own, on a port of loopback."""

    def __init__(self, path, directory, operator):
        self.path, self.directory = os.path.abspath(path), pathlib.Path(directory)
        (self.directory / "operator.card").write_bytes(operator.chain.bytes)
        self.certify()
        self.must("init", "service.db", "--operator", "operator.card", "--argon2id", "65536,3")
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.path, "run", "service.db", "--listen", "127.0.0.1:0", "--certificate", "certificate.pem", "--key", "key.pem"],
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.port = self.find_port()

    def must(self, *arguments):
        result = subprocess.run([self.path, *arguments], cwd=self.directory, capture_output=True, timeout=60, check=False)
        if result.returncode != 0:
            raise AssertionError("tresor-server %s ended with %d: %s" % (arguments[0], result.returncode, result.stderr.decode()))
        return result.stdout

    def certify(self):
        """A certificate of the loopback address, which vouches for itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
        now = datetime.datetime.now(datetime.timezone.utc)
        public = key.public_key()
        usage = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign",
                               "encipher_only", "decipher_only"), False)
        made = x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now, now + datetime.timedelta(days=1))
        for extension, critical in [
                (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False),
                (x509.BasicConstraints(ca=True, path_length=0), True),
                (x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), True),
                (x509.SubjectKeyIdentifier.from_public_key(public), False)]:
            made = made.add_extension(extension, critical)
        pem = serialization.Encoding.PEM
        (self.directory / "certificate.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
        with open(os.open(self.directory / "key.pem", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
            out.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    def log(self):
        return [json.loads(line) for line in (self.directory / "log").read_bytes().split(b"\n")[:-1]]

    def find_port(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            ports = [line["port"] for line in self.log() if line["event"] == "listening"]
            if ports:
                return ports[0]
            time.sleep(0.05)
        raise AssertionError("tresor-server does not listen: %s" % (self.directory / "log").read_text())

    def stop(self):
        """Its exit code after SIGTERM."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()


class Wire:
    """Connections to one service."""

    def __init__(self, port, certificates):
        self.port, self.context, self.link, self.source = port, ssl.create_default_context(cafile=certificates), None, 1
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3

    def move(self):
        """From here on the connections come from another address of loopback, with limits of its own."""
        self.source += 1
        if self.link is not None:
            self.link.close()
            self.link = None

    def exchange(self, method, target, body=None, headers=()):
        """The answer and its body. A connection that has ended is made again, once."""
        for again in (False, True):
            if self.link is None:
                self.link = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=60, context=self.context, source_address=("127.0.0.%d" % self.source, 0))
            try:
                self.link.request(method, target, body, dict(headers))
                answer = self.link.getresponse()
                return answer, answer.read()
            except (http.client.HTTPException, OSError):
                self.link.close()
                self.link = None
                if again:
                    raise

    def send(self, name, body, text=None):
        """Status and body of the answer to a request."""
        headers = {"Content-Type": MEDIA_TYPE, **({"Authorization": text.decode("latin-1")} if text is not None else {})}
        answer, data = self.exchange("POST", "/v1/" + name, body, headers)
        same((answer.getheader("Content-Type"), answer.getheader("Content-Length")), (MEDIA_TYPE, str(len(data))), "type or length")
        same(abs(email.utils.parsedate_to_datetime(answer.getheader("Date")).timestamp() - time.time()) < 60, True, "date")
        return answer.status, data

    def ask(self, name, values=(), speaker=None, **other):
        """The values of the answer. A refusal is raised, with its status."""
        message = "".join(part.capitalize() for part in name.split("-")) + "Request"
        body = encode_message(message, list(values))
        status, data = self.send(name, body, speaker.authorization(name, body, **other) if speaker else None)
        if status == 200:
            return read_message(ANSWERS.get(name, "DoneAnswer"), data)
        name, era = read_refusal(data)
        error = Refused(name)
        error.status, error.body, error.era = status, data, era
        raise error

    def raw(self, data):
        """All that comes after these bytes, until the service ends the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as plain:
            with self.context.wrap_socket(plain, server_hostname="127.0.0.1") as link:
                link.sendall(data)
                found = b""
                while True:
                    try:
                        piece = link.recv(65536)
                    except ConnectionError:
                        piece = b""
                    if not piece:
                        return found
                    found += piece


class Spoken:
    """A session of a person, or of a device."""

    def __init__(self, place, identity, device=None, share=None, since=None, era=FIRST_ERA):
        server, where = place
        now = int(time.time()) if since is None else since
        self.seed, kind = os.urandom(32), IDENTITY_SESSION if share is None else DEVICE_SESSION
        seed = identity.keys[-1].sign_seed if share is None else device_key_seed(share)
        generation = identity.chain.newest.generation if share is None else 0
        self.session = encode_session(make_session(seed, kind, server, where, identity.user, generation, device or bytes(16), era,
                                                   ed25519_public(self.seed), now, now + 3600))

    def authorization(self, name, body, id_=None, later=0, signed=None):
        text = name.encode() if signed is None else signed
        return authorization(self.session, self.seed, text, body, id_ or os.urandom(16), int(time.time()) + later)


def refused(name, status, function, *arguments, **others):
    """That it is refused so; gives the body of the refusal."""
    try:
        function(*arguments, **others)
    except Refused as error:
        same((error.name, getattr(error, "status", None)), (name, status), "refusal")
        return error.body
    raise AssertionError("not refused")


def live_server(path):
    with tempfile.TemporaryDirectory(prefix="tresor-live-") as directory:
        run, now = Live(None), int(time.time())
        olga = OwnLog.person(b"olga", time_=now)
        try:
            service = Service(path, directory, olga)
            try:
                LiveService(run, service, olga, now).all()
            finally:
                code = service.stop()
            run.check("the end of the service", lambda: same(code, 0, "exit code"))
            run.check("the database agrees with the logs", lambda: service.must("check", "service.db"))
            run.check("the log of the service names nobody", lambda: check_log(service))
        except Exception as problem:
            run.totals.problem("live: %s: %s" % (type(problem).__name__, problem))
            traceback.print_exc()
        run.section("18", "service")
        return run.totals


def check_log(service):
    """18.8: the fields of docs/SERVER.md alone, and no address, since nobody asked for it."""
    lines = service.log()
    fields = {"at", "level", "event", "operation", "status", "error", "ms", "in", "out", "port", "process"}
    same([line for line in lines if not set(line) <= fields], [], "fields")
    words = {value for line in lines for field, value in line.items() if field != "at" and isinstance(value, str)}
    unknown = words - {name.decode() for name in TARGETS} - set(EXIT_CODES)
    same(unknown - {"info", "warning", "error", "health", "starting", "listening", "request", "stopping", "stopped"}, set(), "words")


class LiveService:
    """What people, devices and strangers ask of a service, and what it answers. Each check goes on where the one before ended."""

    def __init__(self, run, service, olga, now):
        self.run, self.now, self.olga = run, now, olga
        self.wire = Wire(service.port, service.directory / "certificate.pem")
        self.anna, self.bert, self.carl, self.dora = (OwnLog.person(name, time_=now) for name in (b"anna", b"bert", b"carl", b"dora"))
        self.server, self.registration, self.approvers = self.wire.ask("server")
        self.here = server_id(encode_server(self.server))
        self.place = self.here, audience(b"https", b"127.0.0.1", service.port)
        self.speaks = {person: Spoken(self.place, person) for person in (olga, self.anna, self.bert, self.carl, self.dora)}

    def ask(self, person, name, *values, **others):
        if name == "append" and len(values) == 6:
            values += ([],)
        return self.wire.ask(name, values, self.speaks[person], **others)

    def all(self):
        for check in (self.form, self.one_after_the_other, self.nobody_is_told, self.registrations, self.refused_registrations,
                      self.cards, self.renewal, self.sessions, self.a_tresor, self.wrong_entries, self.what_is_not_there, self.a_share,
                      self.news, self.wraps, self.blobs, self.a_removal, self.a_device, self.kit_copies, self.the_end):
            self.wire.move()
            self.run.check(check.__name__.replace("_", " "), check)

    def form(self):
        """18.3: a request that breaks one row is refused so, and nothing after it is read."""
        same((self.registration, self.approvers), (BY_INVITATION, []), "way to register")
        answer, data = self.wire.exchange("GET", "/health")
        same((answer.status, data), (200, b""), "health")
        head = {"Host": "127.0.0.1:%d" % self.wire.port, "Content-Type": MEDIA_TYPE, "Content-Length": "0"}
        long = str(SHORT + 1)

        def rows():
            yield 400, {}, {"start": "POST /v1/server HTTP/1.0"}
            yield 431, {"X-%d" % n: "1" for n in range(30)}, {}
            yield 431, {"X-Long": "x" * 4200}, {}
            yield 400, {"Host": None}, {}
            yield 400, {"host": "127.0.0.1"}, {}
            yield 421, {"Host": "tresor.example"}, {}
            yield 400, {"Host": "127.0.0.1:x"}, {}
            yield 411, {"Transfer-Encoding": "chunked", "Content-Length": None}, {}
            yield 400, {"Transfer-Encoding": "chunked"}, {}
            yield 400, {"X-Other": "w\u00f6rter"}, {}
            yield 415, {"Content-Encoding": "identity"}, {}
            for name in ("Upgrade", "Expect", "Trailer", "TE"):
                yield 400, {name: "x"}, {}
            yield 400, {"Connection": "x"}, {}
            yield 400, {"Connection": "close", "connection": "close"}, {}
            for method in ("PUT", "OPTIONS", "HEAD"):
                yield 405, {}, {"start": method + " /v1/server HTTP/1.1"}
            yield 405, {"Content-Length": None}, {"start": "GET /v1/server HTTP/1.1"}
            for target in ("/v1/nothing", "/v1/server/", "//v1/server", "/v1/%73erver", "/v1/server?", "/V1/server", "/v1/Server"):
                yield 400, {}, {"start": "POST %s HTTP/1.1" % target}
            yield 403, {"Origin": "null"}, {}
            yield 403, {"Sec-Fetch-Site": "same-origin"}, {}
            yield 411, {"Content-Length": None}, {}
            yield 413, {"Content-Length": long}, {}
            for digits in (9, 10, 18):
                yield 413, {"Content-Length": "9" * digits}, {}
            for length in ("00", "-0", "+0", "0x0", "0, 0", "9" * 19, "9" * 20, "9" * 21):
                yield 400, {"Content-Length": length}, {}
            yield 400, {"content-length": "0"}, {}
            yield 415, {"Content-Type": None}, {}
            yield 415, {"Content-Type": MEDIA_TYPE + "; charset=utf-8"}, {}
            yield 400, {"Authorization": "a", "authorization": "b"}, {}
        def judge(row):
            status, changes, other = row
            lines = [other.get("start", "POST /v1/server HTTP/1.1")]
            lines += ["%s: %s" % item for item in {**head, **changes}.items() if item[1] is not None]
            # A second request hides behind each: only one answer may come.
            request = "\r\n".join(lines + ["", ""]).encode()
            answer, _, body = self.wire.raw(request + request).partition(b"\r\n\r\n")
            first, *headers = answer.decode("ascii").split("\r\n")
            what = "answer to %s" % (other or changes)
            same(first[:12], "HTTP/1.1 %d" % status, what)
            same("Connection: close" in headers, True, what)
            if not lines[0].startswith("HEAD"):
                same(read_refusal(body)[0], "no_access" if status == 403 else "failed", what)
        # A refused connection ends after some seconds, so many are tried at once.
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(judge, rows()))

    def one_after_the_other(self):
        """18.3: a request that comes before the answer to the one before is not answered."""
        one = "POST /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 0\r\n" % MEDIA_TYPE
        found = self.wire.raw((one + "\r\n" + one + "\r\n").encode())
        same((found.count(b"HTTP/1.1 "), found[:12], b"\r\nConnection: close\r\n" in found), (1, b"HTTP/1.1 200", True), "answers")
        found = self.wire.raw((one + "Connection: close\r\n\r\n").encode())
        same(read_message("ServerAnswer", found.partition(b"\r\n\r\n")[2])[1], BY_INVITATION, "answer")

    def nobody_is_told(self):
        for name, values in [("card", [self.olga.user]), ("tresors", [ZERO]), ("entries", [ZERO, 0, 10]), ("account", []), ("inbox", [ZERO])]:
            refused("no_access", 401, self.wire.ask, name, values)
            refused("no_access", 401, self.ask, self.anna, name, *values)

    def statement(self, person, **changes):
        login = Fields()
        login.server, login.user, login.generation, login.revision, login.record, login.copy = self.here, person.user, 0, 1, ZERO, ZERO
        login.time, login.signature = self.now, b""
        for field, value in changes.items():
            setattr(login, field, value)
        login.signature = sign(person.keys[0].sign_seed, "tresor/v1/login-signature", encode_login(login))
        return login

    def register(self, person, code=b""):
        """Each step twice. The state of the account after it."""
        for _ in range(2):
            same(self.ask(person, "register", person.chain.bytes, code, b""), [ASKED, b""], "state")
        found = [self.ask(person, "finish", b"", self.statement(person), b"") for _ in range(2)]
        same(found[0], found[1], "state")
        same(self.ask(person, "account")[:2], [found[0][0], 1], "account")
        return found[0][0]

    def invite(self, label=b"ward 3", until=3600):
        code = os.urandom(16)
        self.ask(self.olga, "invite", invitation_hash(code), label, int(time.time()) + until)
        return code

    def registrations(self):
        code = self.invite()
        same(self.register(self.anna, code), ACTIVE, "state with an invitation")
        refused("no_access", 403, self.ask, self.bert, "register", self.bert.chain.bytes, code, b"")
        refused("failed", 400, self.ask, self.olga, "invite", invitation_hash(code), b"", int(time.time()) + 60)
        refused("failed", 400, self.invite, until=-60)
        refused("no_access", 403, self.ask, self.anna, "inbox", ZERO)
        same(self.register(self.bert), COMPLETE, "state without an invitation")
        refused("waiting", 403, self.ask, self.bert, "put-kit-copy", os.urandom(32), b"a copy")
        refused("waiting", 403, self.ask, self.bert, "tresors", ZERO)
        same(self.ask(self.anna, "card", self.bert.user), [b""], "chain of somebody who waits")
        same(self.ask(self.anna, "cards", b"bert"), [[]], "chains of somebody who waits")
        more, [[state, chain, label, asked]] = self.ask(self.olga, "inbox", ZERO)
        same((more, state, chain, label, abs(asked - self.now) < 600), (0, COMPLETE, self.bert.chain.bytes, b"", True), "inbox")
        same(self.ask(self.olga, "inbox", self.bert.user), [0, []], "inbox after bert")
        refused("unverified", 400, self.ask, self.olga, "admit", self.bert.user, self.anna.chain.newest.hash, 1)
        refused("no_access", 403, self.ask, self.olga, "admit", self.dora.user, self.dora.chain.newest.hash, 1)
        self.ask(self.olga, "admit", self.bert.user, self.bert.chain.newest.hash, 1)
        same((self.ask(self.bert, "account")[0], self.ask(self.bert, "tresors", ZERO)), (ACTIVE, [0, []]), "account of bert")
        refused("failed", 400, self.invite, until=15 * DAY)

    def refused_registrations(self):
        other = OwnLog.person(b"anna", generations=1, time_=self.now + 1)
        self.speaks[other] = Spoken(self.place, other)
        refused("unverified", 400, self.ask, other, "register", other.chain.bytes, b"", b"")
        refused("no_access", 403, self.ask, self.carl, "register", self.carl.chain.bytes, bytes(16), b"")
        refused("unsupported", 400, self.ask, self.carl, "register", self.carl.chain.bytes, b"", bytes(32))
        refused("no_access", 401, self.ask, self.carl, "register", self.dora.chain.bytes, b"", b"")
        refused("altered", 400, self.ask, self.carl, "register", self.carl.chain.bytes[:-1], b"", b"")
        refused("no_access", 401, self.ask, self.carl, "finish", b"", self.statement(self.carl), b"")
        self.ask(self.carl, "register", self.carl.chain.bytes, self.invite(b"carl"), b"")
        for changes in ({"server": ZERO}, {"user": self.dora.user}, {"revision": 2}, {"generation": 1}):
            refused("altered", 400, self.ask, self.carl, "finish", b"", self.statement(self.carl, **changes), b"")
        login = self.statement(self.carl, record=bytes([1]) * 32, copy=bytes([1]) * 32)
        refused("unsupported", 400, self.ask, self.carl, "finish", bytes(192), login, b"copy")
        same(self.ask(self.carl, "finish", b"", self.statement(self.carl), b""), [ACTIVE], "state")
        later = self.statement(self.carl, time=self.now + 1)
        refused("failed", 400, self.ask, self.carl, "finish", b"", later, b"")
        # A refusal frees the handle.
        same(self.register(self.dora), COMPLETE, "state")
        self.ask(self.olga, "admit", self.dora.user, self.dora.chain.newest.hash, 0)
        refused("no_access", 401, self.ask, self.dora, "account")
        same(self.ask(self.dora, "register", self.dora.chain.bytes, b"", b""), [ASKED, b""], "state")

    def cards(self):
        anna, bert = self.anna, self.bert
        same(self.ask(bert, "card", anna.user), [anna.chain.bytes], "chain")
        same(self.ask(bert, "cards", b"anna"), [[anna.chain.bytes]], "chains")
        same(self.ask(bert, "users", anna.user), [[anna.user]], "user ids")
        same(anna.user in self.ask(bert, "users", anna.user[:3])[0], True, "user ids")
        refused("altered", 400, self.ask, bert, "users", anna.user[:2])
        same(self.ask(bert, "card", ZERO), [b""], "chain of nobody")
        same(self.ask(anna, "put-card", anna.chain.bytes, b""), [0], "outcome of the same chain")
        refused("no_access", 403, self.ask, bert, "put-card", anna.chain.bytes, b"")

    def renewal(self):
        """The session of a newer generation is proved by the chain of put-card."""
        carl, renewed = self.carl, OwnLog.person(b"carl", 2, self.now)
        other, _ = renew_card(carl.chain, carl.keys[-1].seed, os.urandom(32), self.now + 5)
        self.speaks[renewed] = Spoken(self.place, renewed)
        refused("no_access", 401, self.ask, renewed, "tresors", ZERO)
        refused("no_access", 401, self.ask, renewed, "put-card", carl.chain.bytes, carl.chain.bytes)
        same(self.ask(renewed, "put-card", renewed.chain.bytes, b"?"), [1], "outcome where another chain is there")
        same(self.ask(renewed, "put-card", renewed.chain.bytes, carl.chain.bytes), [0], "outcome")
        same(self.ask(self.anna, "card", carl.user), [renewed.chain.bytes], "chain")
        refused("no_access", 401, self.ask, carl, "tresors", ZERO)
        refused("altered", 400, self.ask, renewed, "put-card", other.bytes, renewed.chain.bytes)
        same(self.ask(renewed, "tresors", ZERO), [0, []], "tresors")
        self.carl = renewed

    def sessions(self):
        wire, anna, ask = self.wire, self.anna, self.ask
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken((ZERO, self.place[1]), anna))
        for scheme, host, port in [(b"http", b"127.0.0.1", self.wire.port), (b"https", b"127.0.0.1", self.wire.port ^ 1),
                                   (b"https", b"localhost", self.wire.port), (b"https", b"tresor.example", self.wire.port)]:
            relayed = self.here, audience(scheme, host, port)
            refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(relayed, anna))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, since=self.now - 4000))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, since=self.now + 600))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, device=os.urandom(16)))
        body = refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, era=os.urandom(16)))
        same(body, encode_refusal("no_access"), "refusal of another era")
        for later in (-600, 600):
            refused("no_access", 401, ask, anna, "tresors", ZERO, later=later)
        same(ask(anna, "tresors", ZERO, later=-200), [0, []], "tresors")
        refused("no_access", 401, ask, anna, "tresors", ZERO, signed=b"news")
        text = self.speaks[anna].authorization("tresors", ZERO)
        last = text[-1:]
        unused = bytes([max(letter for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if bytes([letter]) != last)])
        for bad in (text + b"=", text[:-1], text[:-1] + unused, text.replace(b".", b","), b"Bearer " + text[7:], b"tresor" + text[6:]):
            same(wire.send("tresors", ZERO, bad), (401, encode_refusal("no_access")), "refusal")
        same(wire.send("tresors", ZERO[1:], self.speaks[anna].authorization("tresors", ZERO))[0], 401, "refusal of another body")
        for body in (b"", b"short", ZERO + b"\0"):
            status, data = wire.send("tresors", body, self.speaks[anna].authorization("tresors", body))
            same((status, read_refusal(data)[0]), (400, "altered"), "refusal")
        for name in ("inbox", "admit", "invite"):
            same(wire.send(name, b"", self.speaks[anna].authorization(name, b""))[0], 403, "refusal of the operator's work")

    def a_tresor(self):
        anna, ask = self.anna, self.ask
        self.log = log = OwnLog(anna, self.now)
        first, wrap, id_ = log.entries[0], log.wrap(anna, 1)[1], os.urandom(16)
        for _ in range(2):
            same(ask(anna, "append", log.tresor, 0, ZERO, first, [wrap], [], id_=id_), [0], "outcome")
        refused("failed", 400, ask, anna, "append", log.tresor, 0, ZERO, first, [], [], id_=id_)
        refused("failed", 400, ask, anna, "delete-tresor", log.tresor, id_=id_)
        same(ask(anna, "append", log.tresor, 0, ZERO, first, [wrap], []), [1], "outcome")
        same(ask(anna, "entries", log.tresor, 0, 10), [0, [first]], "log")
        same(ask(anna, "entries", log.tresor, 1, 10), [0, []], "log behind its end")
        same(ask(anna, "entries", log.tresor, 2**64 - 1, 2**32 - 1), [0, []], "log far behind its end")
        same(ask(anna, "entries", log.tresor, 0, 0), [0, []], "no entries")
        same(ask(anna, "tresors", ZERO), [0, [log.tresor]], "tresors")
        same(ask(anna, "tresors", log.tresor), [0, []], "tresors after the last")
        same(ask(anna, "wraps", log.tresor, 1, 0, [anna.user]), [[[wrap]]], "wraps")
        same(ask(anna, "wraps", log.tresor, 0, 1, [self.bert.user, anna.user]), [[[], [wrap]]], "wraps")
        for epoch in (2, 2**63, 2**64 - 1):
            same(ask(anna, "wraps", log.tresor, 0, epoch, [anna.user]), [[[]]], "wraps of an epoch that has not begun")
        state, _, tresors, used, *limits = ask(anna, "account")
        same((state, tresors, used >= len(first) + len(wrap), all(limits)), (ACTIVE, 1, True, True), "account")

    def wrong_entries(self):
        """Each is refused, and the log stays as it is."""
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        grant = u16(1) + u8(1) + opaque32(bert.chain.bytes) + u8(READER) + u64(0) + u8(0)
        entry = lambda author, type_, body, n=1: make_entry(
            author.keys[-1], log.tresor, n, log.state.hash, author.user, 0, self.now, type_, body)
        good, wrap = entry(anna, GRANT, grant), make_wrap(log.tresor, 1, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        history = make_wrap(log.tresor, 1, bert.user, bert.chain.newest, log.keys[1][0])
        elsewhere = make_wrap(mark_of(log.tresor), 1, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        own = log.wrap(anna, 1)[1]
        for person, error, status, sequence, previous, data, wraps, removing in [
                (anna, "altered", 400, 1, log.state.hash, good, [], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap, wrap], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap, own], []),
                (anna, "altered", 400, 1, log.state.hash, good, [history], []),
                (anna, "altered", 400, 1, log.state.hash, good, [elsewhere], []),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap], [anna.user]),
                (anna, "altered", 400, 1, log.state.hash, good, [wrap], [self.carl.user]),
                (anna, "altered", 400, 2, log.state.hash, good, [wrap], []),
                (anna, "altered", 400, 1, ZERO, good, [wrap], []),
                (anna, "altered", 400, 1, log.state.hash, good[:-1] + bytes([good[-1] ^ 1]), [wrap], []),
                (anna, "unsupported", 400, 1, log.state.hash, good, [wrap[:8] + b"\2" + wrap[9:]], []),
                (anna, "unsupported", 400, 1, log.state.hash, entry(anna, 11, bytes(32)), [], []),
                (anna, "no_access", 403, 1, log.state.hash, entry(bert, LEAVE, b""), [], [bert.user]),
                (bert, "no_access", 403, 1, log.state.hash, entry(bert, GRANT, grant), [wrap], []),
                (bert, "no_access", 403, 2, ZERO, make_entry(bert.keys[0], log.tresor, 2, ZERO, bert.user, 0, self.now, LEAVE, b""), [], []),
                (bert, "no_access", 403, 0, ZERO, log.entries[0], [own], [])]:
            refused(error, status, ask, person, "append", log.tresor, sequence, previous, data, wraps, removing)
        same(ask(anna, "entries", log.tresor, 0, 10), [0, log.entries], "log")

    def what_is_not_there(self):
        """What is not allowed and what is not there have the same answer, byte for byte."""
        bert, log = self.bert, self.log

        def tries(tresor):
            leave = make_entry(bert.keys[0], tresor, 1, log.state.hash, bert.user, 0, self.now, LEAVE, b"")
            for name, values in [("entries", [0, 10]), ("wraps", [1, 0, [self.anna.user]]), ("put-wraps", [[]]), ("delete-tresor", []),
                                 ("append", [1, log.state.hash, leave, [], []]), ("put-blob", [ZERO, 0, b"1"]), ("blob", [ZERO, 0]),
                                 ("blobs", [[ZERO]]), ("delete-blobs", [[ZERO]])]:
                yield refused("no_access", 403, self.ask, bert, name, tresor, *values)
        same(set(tries(log.tresor)) | set(tries(mark_of(log.tresor))), {encode_refusal("no_access")}, "refusal")

    def append(self, person, wraps=(), removing=()):
        """Sends the newest entry of the log."""
        entry = read_entry(self.log.entries[-1])
        return self.ask(person, "append", self.log.tresor, entry.sequence, entry.previous, self.log.entries[-1], list(wraps), list(removing))

    def a_share(self):
        anna, bert, log = self.anna, self.bert, self.log
        self.cursor = self.ask(bert, "news", b"", 0)[1]
        log.grant(anna, self.now, [bert], READER)
        wrap = log.wrap(bert, 1)[1]
        # The new member sends what the owner wrote, and may bring no wrap.
        refused("no_access", 403, self.append, bert, [wrap])
        same(self.append(anna, [wrap]), [0], "outcome")
        more, entries = self.ask(bert, "entries", log.tresor, 0, 10)
        state = fold(log.tresor, entries)
        same((more, state.hash), (0, log.state.hash), "head")
        same(self.ask(bert, "entries", log.tresor, 0, 1), [1, entries[:1]], "first page")
        [[found]] = self.ask(bert, "wraps", log.tresor, 1, 0, [bert.user])[0]
        same(keys_of(state, bert, lambda: [(1, found)], [], 1), log.keys[1], "keys")
        same(self.append(bert), [1], "outcome for an entry that is there")

    def news(self):
        anna, bert, log = self.anna, self.bert, self.log
        same(self.ask(bert, "news", self.cursor, 55)[2], [log.tresor], "news of a share")
        more, cursor, tresors = self.ask(anna, "news", b"", 55)
        same((more, tresors), (0, []), "news of the first request")
        begin = time.monotonic()
        more, cursor, tresors = self.ask(anna, "news", cursor, 1)
        same((more, tresors, 0.9 < time.monotonic() - begin < 20), (0, [], True), "news of nothing")
        refused("altered", 400, self.ask, anna, "news", b"\xff", 1)
        refused("altered", 400, self.ask, anna, "news", cursor, 56)
        log.say(anna, self.now, ADDITIVE, b"news")
        same(self.append(anna), [0], "outcome")
        same(self.ask(anna, "news", cursor, 55)[2], [log.tresor], "news of an entry")

    def wraps(self):
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        new, old = log.wrap(bert, 1)[1], ask(anna, "wraps", log.tresor, 0, 1, [bert.user])[0][0]
        ask(anna, "put-wraps", log.tresor, [new])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old]], "wrap that stays, since its receiver may open it")
        ask(bert, "put-wraps", log.tresor, [new])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old + [new]]], "wrap of one's own beside it")
        newer = log.wrap(bert, 1)[1]
        ask(bert, "put-wraps", log.tresor, [newer])
        same(ask(bert, "wraps", log.tresor, 0, 1, [bert.user]), [[old + [newer]]], "wrap in place of one's own")
        refused("no_access", 403, ask, bert, "put-wraps", log.tresor, [log.wrap(anna, 1)[1]])
        ask(bert, "put-wraps", log.tresor, ask(bert, "wraps", log.tresor, 0, 1, [anna.user])[0][0])
        early = make_wrap(log.tresor, 2, bert.user, bert.chain.newest, b"".join(log.keys[1]))
        for wrong in (early, make_wrap(log.tresor, 1, self.carl.user, self.carl.chain.newest, b"".join(log.keys[1])),
                      make_wrap(log.tresor, 1, bert.user, bert.chain.newest, log.keys[1][0]), new[:-1], new + b"\0"):
            refused("altered", 400, ask, anna, "put-wraps", log.tresor, [wrong])

    def blobs(self):
        """18.7: blobs with an entry and before it; who may put, read and delete them."""
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        pack, large = os.urandom(700), os.urandom(262144 + 5)
        named = [[H("tresor/v1/blob-hash", data), len(data), data] for data in (pack, large)]
        body = u64(log.state.epoch) + u16(2) + b"".join(hash_ + u64(size) for hash_, size, _ in named)
        entries = list(log.entries)
        log.say(anna, self.now, COMMIT, body)
        entry = read_entry(log.entries[-1])
        send = lambda person, blobs: ask(person, "append", log.tresor, entry.sequence, entry.previous, log.entries[-1], [], [], blobs)
        (hash_, size, _), (large_hash, large_size, _) = named
        put_before = [large_hash, large_size, b""]
        refused("no_access", 403, send, bert, named)
        for wrong in ([named[0]], [named[1], named[0]], [[ZERO, size, pack], named[1]], [[hash_, size, pack[:-1] + b"!"], named[1]]):
            refused("altered", 400, send, anna, wrong)
        same(send(anna, [named[0], put_before]), [1], "outcome without a blob")
        refused("no_access", 403, ask, bert, "put-blob", log.tresor, large_hash, 0, large[:262144])
        ask(anna, "put-blob", log.tresor, large_hash, 0, large[:262144])
        same(send(anna, [named[0], put_before]), [1], "outcome without a part of a blob")
        same(ask(anna, "entries", log.tresor, 0, 100), [0, entries], "log")
        ask(anna, "put-blob", log.tresor, large_hash, 1, large[262144:])
        same(send(anna, [named[0], put_before]), [0], "outcome")
        same(ask(bert, "blobs", log.tresor, [large_hash, ZERO, hash_]), [[large, b"", pack]], "blobs")
        same(ask(bert, "blob", log.tresor, large_hash, 1), [large[262144:]], "part of a blob")
        same(ask(bert, "blob", log.tresor, large_hash, 2), [b""], "part behind the last")
        refused("no_access", 403, ask, bert, "delete-blobs", log.tresor, [hash_])
        refused("altered", 400, ask, anna, "delete-blobs", log.tresor, [ZERO, hash_])
        ask(anna, "put-blob", log.tresor, ZERO, 0, b"orphan")
        ask(anna, "delete-blobs", log.tresor, [ZERO])
        same(ask(anna, "blobs", log.tresor, [ZERO, hash_]), [[b"", pack]], "blobs after a deletion")
        same(ask(anna, "account")[3] >= len(pack) + len(large), True, "bytes of an account")

    def a_removal(self):
        anna, bert, log, ask = self.anna, self.bert, self.log, self.ask
        number_ = log.state.epoch + 1
        epoch = log.epoch_of(number_, *log.new_keys(number_), links=[(1,) + log.keys[1]])
        log.say(anna, self.now, REMOVE, u16(1) + u8(1) + bert.user + epoch)
        wrap = log.wrap(anna, number_)[1]
        refused("altered", 400, self.append, anna, [wrap])
        refused("altered", 400, self.append, anna, [], [bert.user])
        same(self.append(anna, [wrap], [bert.user]), [0], "outcome")
        same(ask(anna, "wraps", log.tresor, 1, 0, [anna.user, bert.user])[0][1], [], "wraps of a removed member")
        log.say(anna, self.now, ADDITIVE, b"later")
        same(self.append(anna), [0], "outcome")
        same(ask(bert, "entries", log.tresor, 0, 10), [0, log.entries[:-1]], "log of a removed member")
        same(ask(bert, "tresors", ZERO), [0, []], "tresors of a removed member")
        for name, values in [("wraps", [1, 0, [bert.user]]), ("put-wraps", [[]]), ("delete-tresor", []), ("put-blob", [ZERO, 0, b"1"]),
                             ("blob", [ZERO, 0]), ("blobs", [[ZERO]]), ("delete-blobs", [[ZERO]])]:
            refused("no_access", 403, ask, bert, name, log.tresor, *values)
        refused("no_access", 403, self.append, bert)

    def a_device(self):
        anna, speaks, ask = self.anna, self.speaks, self.ask
        device, other, share, T = os.urandom(16), os.urandom(16), os.urandom(32), os.urandom(32)
        for one in (device, other):
            ask(anna, "put-server-share", one, T, ed25519_public(device_key_seed(share)))
        speaks["device"], id_ = Spoken(self.place, anna, device, share), os.urandom(16)
        same(ask("device", "server-share", device, id_=id_), [T], "server share")
        refused("no_access", 403, ask, "device", "server-share", device, id_=id_)
        refused("failed", 400, ask, "device", "server-share", other, id_=id_)
        for name, values in [("server-share", [other]), ("delete-server-shares", [[other]]), ("delete-server-shares", [[]]),
                             ("tresors", [ZERO]), ("account", []), ("inbox", [ZERO]), ("put-server-share", [device, T, T])]:
            refused("no_access", 403, ask, "device", name, *values)
        refused("no_access", 401, self.wire.ask, "server-share", [device], Spoken(self.place, anna, device, os.urandom(32)))
        same(self.wire.ask("server-share", [device], Spoken(self.place, anna, device)), [T], "server share for the person")
        ask("device", "delete-server-shares", [device])
        for name, values in [("server-share", [device]), ("delete-server-shares", [[device]])]:
            refused("no_access", 401, ask, "device", name, *values)
        refused("no_access", 401, self.wire.ask, "tresors", [ZERO], Spoken(self.place, anna, device))
        ask(anna, "delete-server-shares", [])
        same(ask(anna, "server-share", other), [b""], "server share that was deleted")

    def kit_copies(self):
        anna, bert, ask, locator = self.anna, self.bert, self.ask, os.urandom(32)
        ask(anna, "put-kit-copy", locator, b"a copy")
        ask(bert, "delete-kit-copy", locator)
        refused("no_access", 403, ask, bert, "put-kit-copy", locator, b"another")
        same(self.wire.ask("kit-copy", [locator]), [b"a copy"], "kit copy")
        ask(anna, "put-kit-copy", locator, b"a newer copy")
        same(self.wire.ask("kit-copy", [locator]), [b"a newer copy"], "kit copy")
        ask(anna, "delete-kit-copy", locator)
        same(self.wire.ask("kit-copy", [locator]), [b""], "kit copy")
        offer, other = os.urandom(1266), os.urandom(1266)
        same(self.wire.ask("put-offer", [locator, offer]), [2], "offer where nothing is")
        until = int(time.time()) + 600
        ask(anna, "put-kit-copy", locator, encode_mailbox(until, []))
        for outcome, letter in (0, offer), (0, offer), (1, other):
            same(self.wire.ask("put-offer", [locator, letter]), [outcome], "outcome of an offer")
        same(self.wire.ask("kit-copy", [locator]), [encode_mailbox(until, [offer])], "mailbox")
        refused("altered", 400, ask, anna, "put-kit-copy", locator, encode_mailbox(until + 1000, []))
        ask(anna, "delete-kit-copy", locator)
        same(self.wire.ask("put-offer", [locator, offer]), [2], "offer where nothing is any more")

    def the_end(self):
        anna, bert, ask = self.anna, self.bert, self.ask
        id_ = os.urandom(16)
        for _ in range(2):
            same(ask(bert, "end-sessions", id_=id_), [], "answer, which is kept after the session has ended")
        _, era = read_refusal(refused("no_access", 401, ask, bert, "tresors", ZERO))
        same(era != FIRST_ERA, True, "another era")
        self.speaks[bert] = Spoken(self.place, bert, era=era)
        refused("no_access", 403, ask, bert, "delete-tresor", self.log.tresor)
        ask(anna, "delete-tresor", self.log.tresor)
        refused("no_access", 403, ask, anna, "entries", self.log.tresor, 0, 10)
        wrap = self.log.wrap(anna, self.log.state.epoch)[1]
        refused("no_access", 403, ask, anna, "append", self.log.tresor, 0, ZERO, self.log.entries[0], [wrap_of_first(self.log, anna)], [])
        refused("altered", 400, ask, anna, "append", self.log.tresor, 0, ZERO, self.log.entries[0], [wrap], [])
        refused("no_access", 403, ask, self.olga, "delete-account")
        ask(bert, "delete-account")
        refused("no_access", 401, ask, bert, "tresors", ZERO)
        refused("no_access", 401, ask, bert, "register", bert.chain.bytes, b"", b"")
        same(ask(anna, "card", bert.user), [bert.chain.bytes], "chain of a closed account")
        same((ask(anna, "cards", b"bert"), ask(anna, "users", bert.user)), ([[]], [[]]), "names of a closed account")
        other = OwnLog.person(b"bert", time_=self.now + 1)
        refused("unverified", 400, self.wire.ask, "register", [other.chain.bytes, b"", b""], Spoken(self.place, other))


def mark_of(tresor):
    """The id of a tresor that is not there."""
    return H("tresor/v1/tresor-id", tresor)


def wrap_of_first(log, person):
    return make_wrap(log.tresor, 1, person.user, person.chain.newest, b"".join(log.keys[1]))


def main():
    parser = argparse.ArgumentParser(description="Runs every vector of SPEC.")
    parser.add_argument("--vectors", type=pathlib.Path, default=HERE, help="the directory of the vectors; that of this file if left out")
    parser.add_argument("--ignore-sums", action="store_true", help="do not compare the files with the SHA-256 in index.json")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this file of vectors alone; may be repeated")
    parser.add_argument("--nightly", action="store_true", help="run a million random cases of each construction instead")
    parser.add_argument("--mutate", action="store_true", help="change bytes of every object, and count what is noticed")
    parser.add_argument("--live", metavar="PATH", help="exchange objects with the command tresor at PATH, instead of running vectors")
    parser.add_argument("--live-server", metavar="PATH", help="start the program tresor-server at PATH and ask it, instead of running vectors")
    parser.add_argument("--verbose", action="store_true", help="tell where an unexpected failure happened")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE", help="print the tables of the items in FILE, instead of running vectors")
    options = parser.parse_args()
    if options.tables:
        return print_tables(options.tables)
    if MISSING is not None:
        print("this needs cryptography 50 or later, with HPKE and X-Wing, and PyNaCl: %s" % MISSING, file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    try:
        start_up_check()
    except (Refused, AssertionError):
        print("the cryptographic libraries do not judge as SPEC 5.1 wants", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    if options.nightly:
        totals = run_nightly(options.vectors, options.verbose)
    elif options.mutate:
        totals = run_mutations(options.vectors)
    elif options.live:
        totals = live(options.live)
    elif options.live_server:
        totals = live_server(options.live_server)
    else:
        totals = run_vectors(options.vectors, options.ignore_sums, options.verbose, options.only)
    print("%d passed, %d failed" % (totals.passed, totals.failed))
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

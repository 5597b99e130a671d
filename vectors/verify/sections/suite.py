# SPDX-License-Identifier: Apache-2.0
"""SPEC §5: Ed25519, X-Wing, HPKE and Argon2id, with the start-up check. labels.json, wrap.json, password.json."""
import functools
import hashlib
import hmac
import os

from verify.libraries import (
    XWING_SUITE, Argon2id, ChaCha20Poly1305, Ed25519PrivateKey, Ed25519PublicKey, InvalidSignature, InvalidTag, MLKEM768PrivateKey,
    X25519PrivateKey, X25519PublicKey, library_hpke, nacl)
from verify.sections.conventions import ZERO, Refused, note, require, u16, u8, use


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

# SPDX-License-Identifier: Apache-2.0
"""SPEC §20: the log-in. opaque.json."""
import hashlib
import hmac

from verify.libraries import Argon2id
from verify.sections.conventions import ZERO, Refused, equal, note, require, u16, u8
from verify.sections.encoding import opaque16
from verify.sections.suite import D25519, L25519, P25519


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

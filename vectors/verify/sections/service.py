# SPDX-License-Identifier: Apache-2.0
"""SPEC §18.1 to §18.3: servers, sessions, requests. service.json."""
import base64
import binascii

from verify.sections.conventions import H, Refused, require, u16, u32, u64, u8
from verify.sections.encoding import Reader, preamble
from verify.sections.suite import sign
from verify.sections.tc1 import derive


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

# SPDX-License-Identifier: Apache-2.0
"""SPEC §18.6: registration. service.json."""
from verify.sections.conventions import H, Refused, require
from verify.sections.encoding import ALPHABET, Reader, read_id
from verify.sections.suite import verify_label
from verify.sections.messages import encode_login, read_login_fields


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

# SPDX-License-Identifier: Apache-2.0
"""SPEC §20.5: login copies, and the log-ins that a home knows of. opaque.json."""
from verify.sections.conventions import H, require, u64, u8
from verify.sections.encoding import Reader, preamble
from verify.sections.tc1 import derive
from verify.sections.identity_file import LOGIN, open_slot
from verify.sections.messages import LOGIN_OR_NONE


# The login copy

def login_slot_key(export_key, server):
    return derive(export_key[:32], "tresor/v1/slot-login", server)


def open_with_export_key(file, export_key, trace=None):
    slot = file.slot(LOGIN)
    require(slot is not None)                                                                     # 1
    return open_slot(file, slot, login_slot_key(export_key, slot.server), trace)                  # 2


def record_hash(record): return H("tresor/v1/login-record", record)
def copy_hash(copy): return H("tresor/v1/login-copy", copy)


# Known log-ins

def read_known_logins(data):
    """(server id, statement or none, failures, failed), by rising server id."""
    reader, logins = Reader(data), []
    reader.preamble(b"tresorU1")
    while reader.left():
        server, login = reader.digest(), LOGIN_OR_NONE.read(reader)
        require(login is None or login.server == server)
        logins.append((server, login, reader.u8(), reader.time()))
    require(all(a[0] < b[0] for a, b in zip(logins, logins[1:])))
    return logins


def encode_known_logins(logins):
    return preamble(b"tresorU1") + b"".join(
        server + LOGIN_OR_NONE.write(login) + u8(failures) + u64(failed) for server, login, failures, failed in logins)

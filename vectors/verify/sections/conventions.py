# SPDX-License-Identifier: Apache-2.0
"""SPEC §2: integers, hashes with a label, refusals."""
import hashlib
import hmac


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

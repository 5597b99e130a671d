# SPDX-License-Identifier: Apache-2.0
"""The operations of labels.json."""
from verify.sections.conventions import LP, Refused, blake2b, note, require
from verify.sections.suite import ed25519_verify
from verify.sections.registries import REGISTRY
from verify.operations.operation import operation


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

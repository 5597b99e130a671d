# SPDX-License-Identifier: Apache-2.0
"""The operations of file.json."""
from verify.sections.conventions import blake2b, require, u64
from verify.sections.pins import counting, read_pins
from verify.sections.identity_file import read_identity_file
from verify.sections.fold import fold
from verify.sections.sealed_file import compared_chain, open_file, standing
from verify.operations.operation import number_in, operation


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

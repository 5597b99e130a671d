# SPDX-License-Identifier: Apache-2.0
"""The operations of slots.json, device.json and password.json."""
from verify.sections.conventions import note, u64, u8
from verify.sections.identity import read_chain
from verify.sections.identity_file import (
    KIT, Identity, encode_identity_file, kit_locator, kit_slot_key, open_kit_copy, open_previous, open_with_device, open_with_kit,
    open_with_password, prepare, read_identity_file, read_kit, set_password)
from verify.sections.heads import encode_heads, read_heads
from verify.sections.home import (
    encode_known_services, encode_noted_stores, encode_outbox, open_marks, open_names, open_outbox, open_piece, read_known_services,
    read_noted_stores)
from verify.sections.login_copy import encode_known_logins, read_known_logins
from verify.sections.pins import encode_pins, read_pins
from verify.sections.second_machine import (
    code_key, code_locator, offer_number, offer_tag, open_answer, read_code, read_offer, receipt, show_code)
from verify.operations.operation import identity_in, number_in, opened, operation


@operation("readIdentityFile")
def test_read_identity_file(i, trace):
    return {"file": encode_identity_file(read_identity_file(i["file"]))}


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
    identity = open_with_device(file, i["device share"], i["server share"], number_in(i["now"]), trace)
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
    assert not all(objects) or reread(identity, *objects) == objects
    return {**opened(identity), "file": file, "store": store, "objects": objects, "receipt": receipt(K, i["offer"], i["answer"])}


def reread(identity, pins, heads, stores, services, marks, logins):
    """The objects of a bundle, read and written again: what the home that gets it does in step 3 of takeIdentity. Marks stay sealed."""
    assert open_marks(identity, marks)
    known = read_known_logins(logins)
    assert all(login.user == identity.user for _, login, _, _ in known)
    return [
        encode_pins(read_pins(pins)), encode_heads(*read_heads(heads)), encode_noted_stores(read_noted_stores(stores)),
        encode_known_services(read_known_services(services)), marks, encode_known_logins(known)]


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

# SPDX-License-Identifier: Apache-2.0
"""The operations of encoding.json and text.json."""
from verify.sections.conventions import Refused, require, u8
from verify.sections.encoding import Reader, armour, check_name, dearmour, id_text, preamble, read_id, typed_name
from verify.sections.tc1 import MOST, tc1_opened_size
from verify.sections.identity import encode_card, read_chain, read_number
from verify.sections.pins import encode_pins, read_pins
from verify.sections.identity_file import encode_identity_file, kit_words, read_device_share, read_identity_file, read_kit
from verify.sections.home import (
    encode_cleanup_journal, encode_kept_packs, encode_kept_wraps, encode_known_services, encode_marks, encode_noted_stores, encode_outbox,
    read_cleanup_journal, read_kept_packs, read_kept_wraps, read_known_services, read_marks, read_noted_stores, read_outbox)
from verify.sections.second_machine import encode_mailbox, read_mailbox
from verify.sections.bodies import encode_entry, read_entry
from verify.sections.epochs import encode_wrap, read_wrap
from verify.sections.approval import encode_approval_evidence, read_approval_evidence
from verify.sections.heads import (
    encode_evidence, encode_export, encode_heads, encode_kept_log, evidence_name, read_evidence, read_export, read_heads, read_kept_log)
from verify.sections.sealed_file import encode_header, read_header
from verify.sections.registries import EXIT_CODES
from verify.sections.service import encode_server, encode_session, read_server, read_session
from verify.sections.messages import encode_login
from verify.sections.registration import read_login
from verify.sections.login_copy import encode_known_logins, read_known_logins
from verify.operations.operation import number_in, operation


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
        share = read_device_share(data)
        return preamble(b"tresorD1") + share.user + share.device + share.secret
    if wanted == b"tresorO1":
        return encode_cleanup_journal(read_cleanup_journal(data))
    if wanted == b"tresorK1":
        return encode_kept_wraps(read_kept_wraps(data))
    if wanted == b"tresorY1":
        return encode_marks(read_marks(data))
    if wanted == b"tresorn1":
        return encode_noted_stores(read_noted_stores(data))
    if wanted == b"tresora1":
        return encode_known_services(read_known_services(data))
    if wanted == b"tresorU1":
        return encode_known_logins(read_known_logins(data))
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

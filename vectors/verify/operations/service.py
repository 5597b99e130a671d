# SPDX-License-Identifier: Apache-2.0
"""The operations of service.json."""
from verify.sections.conventions import note, require, u16, u32, u64, u8
from verify.sections.encoding import id_text
from verify.sections.suite import ed25519_public, verify_label
from verify.sections.identity import read_chain
from verify.sections.identity_file import read_device_share
from verify.sections.service import (
    audience, device_key_seed, encode_server, encode_session, read_authorization, read_server, read_session, request_statement, server_id,
    session_hash)
from verify.sections.messages import TARGETS, encode_message, read_message, read_refusal, refuse
from verify.sections.registration import invitation_hash, read_invitation, read_login, verify_login
from verify.operations.operation import operation


@operation("readServer")
def test_read_server(i, trace):
    assert encode_server(read_server(i["server"])) == i["server"]
    return {"server id": server_id(i["server"])}


@operation("deviceKey")
def test_device_key(i, trace):
    share = read_device_share(i["device share"])
    return {"user": share.user, "device": share.device, "device key": ed25519_public(device_key_seed(share.secret))}


@operation("audience")
def test_audience(i, trace):
    return {"audience": audience(i["scheme"], i["host"], int.from_bytes(i["port"], "big"))}


@operation("verifySession")
def test_verify_session(i, trace):
    session = read_session(i["session"])
    verify_label(i["signer"], "tresor/v1/session-signature", i["session"][:-64], session.signature)
    return {"kind": u8(session.kind), "server id": session.server, "audience": session.audience, "user": session.user,
            "generation": u32(session.generation), "device": session.device if session.device != bytes(16) else b"",
            "era": session.era, "key": session.key, "since": u64(session.since),
            "until": u64(session.until), "session hash": session_hash(i["session"])}


@operation("verifyRequest")
def test_verify_request(i, trace):
    require(i["operation"] in TARGETS, "failed")
    session, id_, time_, signature = read_authorization(i["authorization"])
    data = encode_session(session)
    request = request_statement(session_hash(data), id_, time_, i["operation"], i["body"])
    note(trace, request=request)
    verify_label(session.key, "tresor/v1/request-signature", request, signature)
    return {"session": data, "id": id_, "time": u64(time_)}


@operation("verifyLogin")
def test_verify_login(i, trace):
    login, chain = read_login(i["statement"]), read_chain(i["chain"])
    verify_login(login, chain)
    return {"server id": login.server, "user": login.user, "generation": u32(login.generation), "revision": u64(login.revision),
            "record": login.record, "copy": login.copy, "time": u64(login.time)}


@operation("readInvitation")
def test_read_invitation(i, trace):
    code = read_invitation(i["typed"])
    return {"code": code, "text": id_text(code).encode(), "hash": invitation_hash(code)}


@operation("readMessage")
def test_read_message(i, trace):
    name = i["message"].decode("ascii")
    return {"body": encode_message(name, read_message(name, i["body"]))}


@operation("readRefusal")
def test_read_refusal(i, trace):
    error, era = read_refusal(i["body"])
    return {"error": error.encode(), "era": era}


@operation("refuse")
def test_refuse(i, trace):
    status, body = refuse(i["error"].decode("ascii"))
    return {"status": u16(status), "body": body}


@operation("readTarget")
def test_read_target(i, trace):
    require(i["operation"] in TARGETS, "failed")
    changes, longest = TARGETS[i["operation"]]
    return {"change": u8(changes), "longest body": u64(longest)}

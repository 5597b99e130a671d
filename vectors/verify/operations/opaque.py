# SPDX-License-Identifier: Apache-2.0
"""The operations of opaque.json."""
from verify.sections.conventions import equal, require, u64
from verify.sections.identity_file import LOGIN, read_identity_file
from verify.sections.login import (
    LoginEnvelope, LoginServer, blind_input, encode_element, finalize, finish_login, randomized_password, read_element)
from verify.sections.login_copy import copy_hash, open_with_export_key, record_hash
from verify.operations.operation import number_in, opened, operation


def server_in(i):
    return LoginServer(i["oprf seed"], i["private key"])


def names_in(i):
    return i["client name"], i["server name"]


def cost_in(i):
    return number_in(i["memory_kib"]), number_in(i["passes"])


def answer_in(i, trace):
    drawn = i["masking nonce"], i["server nonce"], i["server share seed"]
    return server_in(i).answer(i["first message"], i["record"], i["identifier"], names_in(i), i["context"], drawn, trace)


@operation("readElement")
def test_read_element(i, trace):
    return {"element": encode_element(read_element(i["element"]))}


@operation("evaluate")
def test_evaluate(i, trace):
    return {"evaluated": server_in(i).evaluate(i["blinded"], i["identifier"], trace)}


@operation("makeRecord")
def test_make_record(i, trace):
    blinded = blind_input(i["input"], i["blind"], trace)
    read_element(i["server key"])
    password = randomized_password(finalize(i["input"], i["blind"], i["evaluated"], trace), *cost_in(i), trace)
    envelope = LoginEnvelope(password, i["server key"], names_in(i), i["envelope nonce"], trace)
    return {"blinded": blinded, "record": envelope.record, "export key": envelope.export_key}


@operation("answerLogin")
def test_answer_login(i, trace):
    answer, last, session_key = answer_in(i, trace)
    return {"answer": answer, "last message": last, "session key": session_key}


@operation("finishLogin")
def test_finish_login(i, trace):
    first, last, envelope, session_key = finish_login(
        i["input"], i["blind"], i["client nonce"], i["share seed"], i["answer"], names_in(i), i["context"], cost_in(i), trace)
    return {"first message": first, "last message": last, "record": envelope.record, "export key": envelope.export_key,
            "session key": session_key}


@operation("checkLogin")
def test_check_login(i, trace):
    _, last, session_key = answer_in(i, trace)
    require(equal(last, i["last message"]), "wrong_password")
    return {"session key": session_key}


@operation("openLogin")
def test_open_login(i, trace):
    file = read_identity_file(i["file"])
    identity = open_with_export_key(file, i["export key"], trace)
    trace["slot-login"] = trace["slot key"]
    slot = file.slot(LOGIN)
    return {**opened(identity), "server id": slot.server, "revision": u64(slot.revision), "record hash": record_hash(i["record"]),
            "copy hash": copy_hash(i["file"])}

# SPDX-License-Identifier: Apache-2.0
"""OPAQUE of SPEC §20 beside packages of other projects, each as client and as server: --peers PYTHON."""
import os
import pathlib
import subprocess

from verify.sections.conventions import Refused
from verify.sections.login import (
    KEY_PAIR, LoginEnvelope, LoginServer, blind_input, derive_scalar, finalize, finish_login, public_element, randomized_password,
    read_element, xor)
from verify.case import Totals
from verify.live_program import same

PEER = pathlib.Path(__file__).with_name("peer.py")
RUNS = ["right password", "wrong password", "record opened by the other client", "changed server code"]
PACKAGES = ["opaque-ke-py", "opaque-snake", "opaquepy"]
# The packages have these, and let nobody choose: memory_kib and passes, the context, and the public keys as names.
COST, CONTEXT = (19456, 2), b""
NAME, PASSWORD, OTHER = "änna".encode(), "correct horse bättery staple".encode(), "correct horse bättery stable".encode()


def live_peers(python):
    print("every run: Argon2id of %d KiB and %d passes, an empty context, the public keys as names; no package lets one set them" % COST)
    totals = Totals()
    for package in PACKAGES:
        for run in RUNS:
            judge(totals, python, package, "client", peer_is_client, run)
        for run in [*RUNS, "changed client code"]:
            judge(totals, python, package, "server", peer_is_server, run)
    return totals


def judge(totals, python, package, side, check, run):
    with Peer(python, package) as peer:
        if peer.greeting.startswith("missing: "):
            print(peer.greeting, flush=True)
            return
        what = "%s as %s, the second implementation as %s: %s" % (
            peer.greeting, side, "server" if side == "client" else "client", run)
        try:
            check(peer, run)
            totals.passed += 1
            print("passed: %s" % what, flush=True)
        except Exception as problem:
            totals.problem("failed: %s: %s: %s" % (what, type(problem).__name__, problem))


class Peer:
    """A package in a process of its own, which peer.py is."""

    def __init__(self, python, package):
        self.process = subprocess.Popen([python, "-I", "-B", str(PEER), package], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.greeting = self.process.stdout.readline().strip()

    def __enter__(self): return self
    def __exit__(self, *_): self.process.communicate()

    def ask(self, name, *values):
        print(name, *[data.hex() for data in values], file=self.process.stdin, flush=True)
        kind, *words = self.process.stdout.readline().split()
        if kind == "refused":
            raise Refused("wrong_password")
        same(kind, "ok", "answer to %s: %s" % (name, " ".join(words)))
        return [bytes.fromhex(word) for word in words]


class Login:
    """A log-in of the client here."""

    def __init__(self, password):
        self.drawn = password, scalar(), os.urandom(32), os.urandom(32)
        password, blind, nonce, seed = self.drawn
        self.first = blind_input(password, blind) + nonce + public_element(derive_scalar(seed, KEY_PAIR))

    def finish(self, answer, names):
        """The last message, the session key, and the envelope."""
        first, last, envelope, session_key = finish_login(*self.drawn, answer, names, CONTEXT, COST)
        same(first, self.first, "first message")
        return last, session_key, envelope


def peer_is_client(peer, run):
    server = LoginServer(os.urandom(64), scalar())
    request, = peer.ask("register", PASSWORD)
    record, *export_key = peer.ask("finish_registration", PASSWORD, server.evaluate(request, NAME) + server.public_key)
    read_element(record[:32])
    names, drawn = (record[:32], server.public_key), (os.urandom(32), os.urandom(32), os.urandom(32))
    if run == "record opened by the other client":
        login = Login(PASSWORD)
        answer, last, session_key = server.answer(login.first, record, NAME, names, CONTEXT, drawn)
        shown, key, envelope = login.finish(answer, names)
        same((shown, key, envelope.record), (last, session_key, record), "last message, key or record")
        same([envelope.export_key] if export_key else [], export_key, "export key")
        return
    password = OTHER if run == "wrong password" else PASSWORD
    first, = peer.ask("login", password)
    answer, last, session_key = server.answer(first, record, NAME, names, CONTEXT, drawn)
    if run == "right password":
        same(peer.ask("finish_login", password, answer), [last, session_key, *export_key], "last message or key")
    else:
        refused("wrong_password", lambda: peer.ask("finish_login", password, answer if password == OTHER else changed(answer)))


def peer_is_server(peer, run):
    blind = scalar()
    response, = peer.ask("answer_registration", blind_input(PASSWORD, blind), NAME)
    server_key = response[32:]
    read_element(server_key)
    envelope = make_envelope(randomized_password(finalize(PASSWORD, blind, response[:32]), *COST), server_key)
    names = envelope.public_key, server_key
    peer.ask("take", envelope.record)
    if run == "record opened by the other client":
        answer, = peer.ask("answer_login", *peer.ask("login", PASSWORD), NAME)
        last, session_key, *export_key = peer.ask("finish_login", PASSWORD, answer)
        same(peer.ask("check_login", last), [session_key], "session key")
        same([envelope.export_key] if export_key else [], export_key, "export key")
        return
    login = Login(OTHER if run == "wrong password" else PASSWORD)
    answer, = peer.ask("answer_login", login.first, NAME)
    if run == "wrong password":
        refused("wrong_password", lambda: login.finish(answer, names))
        return
    if run == "changed server code":
        refused("altered", lambda: login.finish(changed(answer), names))
        return
    last, session_key, opened = login.finish(answer, names)
    same((opened.record, opened.export_key), (envelope.record, envelope.export_key), "record or export key")
    if run == "changed client code":
        refused("wrong_password", lambda: peer.ask("check_login", changed(last)))
    else:
        same(peer.ask("check_login", last), [session_key], "session key")


def make_envelope(password, server_key):
    """The client's name is its public key, on which no name has an influence."""
    nonce = os.urandom(32)
    client_key = LoginEnvelope(password, server_key, (b"", b""), nonce).public_key
    return LoginEnvelope(password, server_key, (client_key, server_key), nonce)


def scalar(): return derive_scalar(os.urandom(32), b"")
def changed(message): return xor(message, bytes(len(message) - 1) + b"\1")


def refused(name, function):
    try:
        function()
    except Refused as error:
        same(error.name, name, "refusal")
        return
    raise AssertionError("not refused")

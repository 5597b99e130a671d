# SPDX-License-Identifier: Apache-2.0
"""Starts the program `tresor-server` and asks it: --live-server PATH."""
import os
import tempfile
import time
import traceback

from verify.sections.conventions import ZERO
from verify.sections.suite import sign
from verify.sections.registries import EXIT_CODES
from verify.sections.service import FIRST_ERA, Fields, audience, encode_server, server_id
from verify.sections.messages import TARGETS, encode_login, read_refusal
from verify.sections.registration import invitation_hash
from verify.own_log import OwnLog
from verify.live_program import Live, same
from verify.live_service import ASKED, Service, Spoken, Wire, refused, wrap_of_first
from verify.live_accounts import AccountChecks
from verify.live_logins import LoginChecks
from verify.live_tresors import TresorChecks


def live_server(path):
    with tempfile.TemporaryDirectory(prefix="tresor-live-") as directory:
        run, now = Live(None), int(time.time())
        olga = OwnLog.person(b"olga", time_=now)
        try:
            service = Service(path, directory, olga)
            try:
                LiveService(run, service, olga, now).all()
            finally:
                code = service.stop()
            run.check("the end of the service", lambda: same(code, 0, "exit code"))
            run.check("the database agrees with the logs", lambda: service.must("check", "service.db"))
            run.check("the log of the service names nobody", lambda: check_log(service))
        except Exception as problem:
            run.totals.problem("live: %s: %s" % (type(problem).__name__, problem))
            traceback.print_exc()
        run.section("18", "service")
        return run.totals


def check_log(service):
    """18.8: the fields of docs/SERVER.md alone, and no address, since nobody asked for it."""
    lines = service.log()
    fields = {"at", "level", "event", "operation", "status", "error", "cause", "ms", "in", "out", "port", "process"}
    same([line for line in lines if not set(line) <= fields], [], "fields")
    words = {value for line in lines for field, value in line.items() if field != "at" and isinstance(value, str)}
    unknown = words - {name.decode() for name in TARGETS} - set(EXIT_CODES)
    same(unknown - {"info", "warning", "error", "health", "starting", "listening", "request", "stopping", "stopped", "name", "http-version"}, set(), "words")


class LiveService(AccountChecks, LoginChecks, TresorChecks):
    """What people, devices and strangers ask of a service, and what it answers. Each check goes on where the one before ended."""

    def __init__(self, run, service, olga, now):
        self.run, self.now, self.olga = run, now, olga
        self.wire = Wire(service.port, service.directory / "certificate.pem")
        self.anna, self.bert, self.carl, self.dora = (OwnLog.person(name, time_=now) for name in (b"anna", b"bert", b"carl", b"dora"))
        self.nobody = OwnLog.person(b"nora", time_=now)
        self.server, self.registration, self.approvers = self.wire.ask("server")
        self.here = server_id(encode_server(self.server))
        self.place = self.here, audience(b"https", b"127.0.0.1", service.port)
        self.speaks = {person: Spoken(self.place, person) for person in (olga, self.anna, self.bert, self.carl, self.dora)}

    def ask(self, person, name, *values, **others):
        if name == "append" and len(values) == 6:
            values += ([],)
        return self.wire.ask(name, values, self.speaks[person], **others)

    def all(self):
        for check in (self.form, self.one_after_the_other, self.nobody_is_told, self.registrations, self.refused_registrations,
                      self.logins, self.refused_records, self.the_end_of_a_login,
                      self.cards, self.renewal, self.sessions, self.a_tresor, self.wrong_entries, self.what_is_not_there, self.a_share,
                      self.news, self.wraps, self.blobs, self.a_removal, self.a_device, self.kit_copies, self.the_end):
            self.wire.move()
            self.run.check(check.__name__.replace("_", " "), check)

    def statement(self, person, **changes):
        login = Fields()
        login.server, login.user, login.generation, login.revision, login.record, login.copy = self.here, person.user, 0, 1, ZERO, ZERO
        login.time, login.signature = self.now, b""
        for field, value in changes.items():
            setattr(login, field, value)
        login.signature = sign(person.keys[0].sign_seed, "tresor/v1/login-signature", encode_login(login))
        return login

    def register(self, person, code=b""):
        """Each step twice. The state of the account after it."""
        for _ in range(2):
            same(self.ask(person, "register", person.chain.bytes, code, b""), [ASKED, b""], "state")
        found = [self.ask(person, "finish", b"", self.statement(person), b"") for _ in range(2)]
        same(found[0], found[1], "state")
        state, login, *rest = self.ask(person, "account")
        same((state, encode_login(login), rest[:3]), (found[0][0], encode_login(self.statement(person)), [0, 0, 0]), "account")
        return found[0][0]

    def invite(self, label=b"ward 3", until=3600):
        code = os.urandom(16)
        self.ask(self.olga, "invite", invitation_hash(code), label, int(time.time()) + until)
        return code

    def the_end(self):
        anna, bert, ask = self.anna, self.bert, self.ask
        id_ = os.urandom(16)
        for _ in range(2):
            same(ask(bert, "end-sessions", id_=id_), [], "answer, which is kept after the session has ended")
        _, era = read_refusal(refused("no_access", 401, ask, bert, "tresors", ZERO))
        same(era != FIRST_ERA, True, "another era")
        self.speaks[bert] = Spoken(self.place, bert, era=era)
        refused("no_access", 403, ask, bert, "delete-tresor", self.log.tresor)
        ask(anna, "delete-tresor", self.log.tresor)
        refused("no_access", 403, ask, anna, "entries", self.log.tresor, 0, 10)
        wrap = self.log.wrap(anna, self.log.state.epoch)[1]
        refused("no_access", 403, ask, anna, "append", self.log.tresor, 0, ZERO, self.log.entries[0], [wrap_of_first(self.log, anna)], [])
        refused("altered", 400, ask, anna, "append", self.log.tresor, 0, ZERO, self.log.entries[0], [wrap], [])
        refused("no_access", 403, ask, self.olga, "delete-account")
        ask(bert, "delete-account")
        refused("no_access", 401, ask, bert, "tresors", ZERO)
        refused("no_access", 401, ask, bert, "register", bert.chain.bytes, b"", b"")
        same(ask(anna, "card", bert.user), [bert.chain.bytes], "chain of a closed account")
        same((ask(anna, "cards", b"bert"), ask(anna, "users", bert.user)), ([[]], [[]]), "names of a closed account")
        other = OwnLog.person(b"bert", time_=self.now + 1)
        refused("unverified", 400, self.wire.ask, "register", [other.chain.bytes, b"", b""], Spoken(self.place, other))

# SPDX-License-Identifier: Apache-2.0
"""Questions of people and strangers about a service, accounts, cards and sessions."""
import concurrent.futures
import os
import time

from verify.sections.conventions import ZERO
from verify.sections.pins import renew_card
from verify.sections.service import DAY, audience
from verify.sections.messages import SHORT, encode_refusal, read_message, read_refusal
from verify.sections.registration import invitation_hash
from verify.own_log import OwnLog
from verify.live_program import same
from verify.live_service import ACTIVE, ASKED, BY_INVITATION, COMPLETE, MEDIA_TYPE, Spoken, refused


class AccountChecks:
    """Questions about the service itself, accounts, cards and sessions."""

    def form(self):
        """18.3: a request that breaks one row is refused so, and nothing after it is read."""
        same((self.registration, self.approvers), (BY_INVITATION, []), "way to register")
        answer, data = self.wire.exchange("GET", "/health")
        same((answer.status, data), (200, b""), "health")
        head = {"Host": "127.0.0.1:%d" % self.wire.port, "Content-Type": MEDIA_TYPE, "Content-Length": "0"}
        long = str(SHORT + 1)

        def rows():
            yield 505, {}, {"start": "POST /v1/server HTTP/1.0"}
            yield 400, {}, {"start": "POST /v1/server HTTP/1.2"}
            yield 431, {"X-%d" % n: "1" for n in range(30)}, {}
            yield 431, {"X-Long": "x" * 4200}, {}
            yield 400, {"Host": None}, {}
            yield 400, {"host": "127.0.0.1"}, {}
            yield 421, {"Host": "tresor.example"}, {}
            yield 400, {"Host": "127.0.0.1:x"}, {}
            yield 411, {"Transfer-Encoding": "chunked", "Content-Length": None}, {}
            yield 400, {"Transfer-Encoding": "chunked"}, {}
            yield 400, {"X-Other": "w\u00f6rter"}, {}
            yield 415, {"Content-Encoding": "identity"}, {}
            for name in ("Upgrade", "Expect", "Trailer", "TE"):
                yield 400, {name: "x"}, {}
            yield 400, {"Connection": "x"}, {}
            yield 400, {"Connection": "close", "connection": "close"}, {}
            for method in ("PUT", "OPTIONS", "HEAD"):
                yield 405, {}, {"start": method + " /v1/server HTTP/1.1"}
            yield 405, {"Content-Length": None}, {"start": "GET /v1/server HTTP/1.1"}
            for target in ("/v1/nothing", "/v1/server/", "//v1/server", "/v1/%73erver", "/v1/server?", "/V1/server", "/v1/Server"):
                yield 400, {}, {"start": "POST %s HTTP/1.1" % target}
            yield 403, {"Origin": "null"}, {}
            yield 403, {"Sec-Fetch-Site": "same-origin"}, {}
            yield 411, {"Content-Length": None}, {}
            yield 413, {"Content-Length": long}, {}
            for digits in (9, 10, 18):
                yield 413, {"Content-Length": "9" * digits}, {}
            for length in ("00", "-0", "+0", "0x0", "0, 0", "9" * 19, "9" * 20, "9" * 21):
                yield 400, {"Content-Length": length}, {}
            yield 400, {"content-length": "0"}, {}
            yield 415, {"Content-Type": None}, {}
            yield 415, {"Content-Type": MEDIA_TYPE + "; charset=utf-8"}, {}
            yield 400, {"Authorization": "a", "authorization": "b"}, {}
        def judge(row):
            status, changes, other = row
            lines = [other.get("start", "POST /v1/server HTTP/1.1")]
            lines += ["%s: %s" % item for item in {**head, **changes}.items() if item[1] is not None]
            # A second request hides behind each: only one answer may come.
            request = "\r\n".join(lines + ["", ""]).encode()
            answer, _, body = self.wire.raw(request + request).partition(b"\r\n\r\n")
            first, *headers = answer.decode("ascii").split("\r\n")
            what = "answer to %s" % (other or changes)
            same(first[:12], "HTTP/1.1 %d" % status, what)
            same("Connection: close" in headers, True, what)
            if not lines[0].startswith("HEAD"):
                same(read_refusal(body)[0], "no_access" if status == 403 else "failed", what)
        # A refused connection ends after some seconds, so many are tried at once.
        with concurrent.futures.ThreadPoolExecutor(32) as pool:
            list(pool.map(judge, rows()))

    def one_after_the_other(self):
        """18.3: a request that comes before the answer to the one before is not answered."""
        one = "POST /v1/server HTTP/1.1\r\nHost: localhost\r\nContent-Type: %s\r\nContent-Length: 0\r\n" % MEDIA_TYPE
        found = self.wire.raw((one + "\r\n" + one + "\r\n").encode())
        same((found.count(b"HTTP/1.1 "), found[:12], b"\r\nConnection: close\r\n" in found), (1, b"HTTP/1.1 200", True), "answers")
        found = self.wire.raw((one + "Connection: close\r\n\r\n").encode())
        same(read_message("ServerAnswer", found.partition(b"\r\n\r\n")[2])[1], BY_INVITATION, "answer")

    def nobody_is_told(self):
        for name, values in [("card", [self.olga.user]), ("tresors", [ZERO]), ("entries", [ZERO, 0, 10]), ("account", []), ("inbox", [ZERO])]:
            refused("no_access", 401, self.wire.ask, name, values)
            refused("no_access", 401, self.ask, self.anna, name, *values)

    def registrations(self):
        code = self.invite()
        same(self.register(self.anna, code), ACTIVE, "state with an invitation")
        refused("no_access", 403, self.ask, self.bert, "register", self.bert.chain.bytes, code, b"")
        refused("failed", 400, self.ask, self.olga, "invite", invitation_hash(code), b"", int(time.time()) + 60)
        refused("failed", 400, self.invite, until=-60)
        refused("no_access", 403, self.ask, self.anna, "inbox", ZERO)
        same(self.register(self.bert), COMPLETE, "state without an invitation")
        refused("waiting", 403, self.ask, self.bert, "put-kit-copy", os.urandom(32), b"a copy")
        refused("waiting", 403, self.ask, self.bert, "tresors", ZERO)
        same(self.ask(self.anna, "card", self.bert.user), [b""], "chain of somebody who waits")
        same(self.ask(self.anna, "cards", b"bert"), [[]], "chains of somebody who waits")
        more, [[state, chain, label, asked]] = self.ask(self.olga, "inbox", ZERO)
        same((more, state, chain, label, abs(asked - self.now) < 600), (0, COMPLETE, self.bert.chain.bytes, b"", True), "inbox")
        same(self.ask(self.olga, "inbox", self.bert.user), [0, []], "inbox after bert")
        refused("unverified", 400, self.ask, self.olga, "admit", self.bert.user, self.anna.chain.newest.hash, 1)
        refused("no_access", 403, self.ask, self.olga, "admit", self.dora.user, self.dora.chain.newest.hash, 1)
        self.ask(self.olga, "admit", self.bert.user, self.bert.chain.newest.hash, 1)
        same((self.ask(self.bert, "account")[0], self.ask(self.bert, "tresors", ZERO)), (ACTIVE, [0, []]), "account of bert")
        refused("failed", 400, self.invite, until=15 * DAY)

    def refused_registrations(self):
        other = OwnLog.person(b"anna", generations=1, time_=self.now + 1)
        self.speaks[other] = Spoken(self.place, other)
        refused("unverified", 400, self.ask, other, "register", other.chain.bytes, b"", b"")
        refused("no_access", 403, self.ask, self.carl, "register", self.carl.chain.bytes, bytes(16), b"")
        refused("altered", 400, self.ask, self.carl, "register", self.carl.chain.bytes, b"", bytes(32))
        refused("no_access", 401, self.ask, self.carl, "register", self.dora.chain.bytes, b"", b"")
        refused("altered", 400, self.ask, self.carl, "register", self.carl.chain.bytes[:-1], b"", b"")
        refused("no_access", 401, self.ask, self.carl, "finish", b"", self.statement(self.carl), b"")
        self.ask(self.carl, "register", self.carl.chain.bytes, self.invite(b"carl"), b"")
        for changes in ({"server": ZERO}, {"user": self.dora.user}, {"generation": 1}):
            refused("altered", 400, self.ask, self.carl, "finish", b"", self.statement(self.carl, **changes), b"")
        refused("failed", 400, self.ask, self.carl, "finish", b"", self.statement(self.carl, revision=2), b"")
        login = self.statement(self.carl, record=bytes([1]) * 32, copy=bytes([1]) * 32)
        refused("altered", 400, self.ask, self.carl, "finish", bytes(192), login, b"copy")
        same(self.ask(self.carl, "finish", b"", self.statement(self.carl), b""), [ACTIVE], "state")
        later = self.statement(self.carl, time=self.now + 1)
        refused("busy", 429, self.ask, self.carl, "finish", b"", later, b"")
        # A refusal frees the handle.
        same(self.register(self.dora), COMPLETE, "state")
        self.ask(self.olga, "admit", self.dora.user, self.dora.chain.newest.hash, 0)
        refused("no_access", 401, self.ask, self.dora, "account")
        same(self.ask(self.dora, "register", self.dora.chain.bytes, b"", b""), [ASKED, b""], "state")

    def cards(self):
        anna, bert = self.anna, self.bert
        same(self.ask(bert, "card", anna.user), [anna.chain.bytes], "chain")
        same(self.ask(bert, "cards", b"anna"), [[anna.chain.bytes]], "chains")
        same(self.ask(bert, "users", anna.user), [[anna.user]], "user ids")
        same(anna.user in self.ask(bert, "users", anna.user[:3])[0], True, "user ids")
        refused("altered", 400, self.ask, bert, "users", anna.user[:2])
        same(self.ask(bert, "card", ZERO), [b""], "chain of nobody")
        same(self.ask(anna, "put-card", anna.chain.bytes, b""), [0], "outcome of the same chain")
        refused("no_access", 403, self.ask, bert, "put-card", anna.chain.bytes, b"")

    def renewal(self):
        """The session of a newer generation is proved by the chain of put-card."""
        carl, renewed = self.carl, OwnLog.person(b"carl", 2, self.now)
        other, _ = renew_card(carl.chain, carl.keys[-1].seed, os.urandom(32), self.now + 5)
        self.speaks[renewed] = Spoken(self.place, renewed)
        refused("no_access", 401, self.ask, renewed, "tresors", ZERO)
        refused("no_access", 401, self.ask, renewed, "put-card", carl.chain.bytes, carl.chain.bytes)
        same(self.ask(renewed, "put-card", renewed.chain.bytes, b"?"), [1], "outcome where another chain is there")
        same(self.ask(renewed, "put-card", renewed.chain.bytes, carl.chain.bytes), [0], "outcome")
        same(self.ask(self.anna, "card", carl.user), [renewed.chain.bytes], "chain")
        refused("no_access", 401, self.ask, carl, "tresors", ZERO)
        refused("altered", 400, self.ask, renewed, "put-card", other.bytes, renewed.chain.bytes)
        same(self.ask(renewed, "tresors", ZERO), [0, []], "tresors")
        self.carl = renewed

    def sessions(self):
        wire, anna, ask = self.wire, self.anna, self.ask
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken((ZERO, self.place[1]), anna))
        for scheme, host, port in [(b"http", b"127.0.0.1", self.wire.port), (b"https", b"127.0.0.1", self.wire.port ^ 1),
                                   (b"https", b"localhost", self.wire.port), (b"https", b"tresor.example", self.wire.port)]:
            relayed = self.here, audience(scheme, host, port)
            refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(relayed, anna))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, since=self.now - 4000))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, since=self.now + 600))
        refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, device=os.urandom(16)))
        body = refused("no_access", 401, wire.ask, "tresors", [ZERO], Spoken(self.place, anna, era=os.urandom(16)))
        same(body, encode_refusal("no_access"), "refusal of another era")
        for later in (-600, 600):
            refused("no_access", 401, ask, anna, "tresors", ZERO, later=later)
        same(ask(anna, "tresors", ZERO, later=-200), [0, []], "tresors")
        refused("no_access", 401, ask, anna, "tresors", ZERO, signed=b"news")
        text = self.speaks[anna].authorization("tresors", ZERO)
        last = text[-1:]
        unused = bytes([max(letter for letter in b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz" if bytes([letter]) != last)])
        for bad in (text + b"=", text[:-1], text[:-1] + unused, text.replace(b".", b","), b"Bearer " + text[7:], b"tresor" + text[6:]):
            same(wire.send("tresors", ZERO, bad), (401, encode_refusal("no_access")), "refusal")
        same(wire.send("tresors", ZERO[1:], self.speaks[anna].authorization("tresors", ZERO))[0], 401, "refusal of another body")
        for body in (b"", b"short", ZERO + b"\0"):
            status, data = wire.send("tresors", body, self.speaks[anna].authorization("tresors", body))
            same((status, read_refusal(data)[0]), (400, "altered"), "refusal")
        for name in ("inbox", "admit", "invite"):
            same(wire.send(name, b"", self.speaks[anna].authorization(name, b""))[0], 403, "refusal of the operator's work")

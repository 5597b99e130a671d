# SPDX-License-Identifier: Apache-2.0
"""Log-ins by password at a service, with the client's side of SPEC §20 here."""
import os

from verify.sections.conventions import u16, u64
from verify.sections.encoding import opaque16
from verify.sections.login import (
    KEY_PAIR, LoginEnvelope, blind_input, derive_scalar, finalize, finish_login, public_element, randomized_password)
from verify.sections.login_copy import copy_hash, record_hash
from verify.sections.messages import encode_login
from verify.sections.registration import verify_login
from verify.live_program import same
from verify.live_service import ACTIVE, refused

PASSWORD, OTHER = "correct horse bättery staple".encode(), "correct horse bättery stable".encode()


class LoginChecks:
    """What the service answers to people who have a name and a password."""

    def input_of(self, person, password):
        """20.1: what a password is bound to."""
        return u16(len(password)) + password + opaque16(person.chain.handle) + self.here

    def names_of(self, person):
        return person.chain.handle, self.here

    def set_password(self, person, password, revision):
        """Registers a record of a password, and the statement of this revision about it. What opens and what is kept."""
        input_, blind = self.input_of(person, password), derive_scalar(os.urandom(32), b"")
        state, evaluated = self.ask(person, "register", person.chain.bytes, b"", blind_input(input_, blind))
        same((state, len(evaluated)), (ACTIVE, 32), "answer to register")
        stretched = randomized_password(finalize(input_, blind, evaluated), self.server.memory_kib, self.server.passes)
        envelope = LoginEnvelope(stretched, self.server.key, self.names_of(person), os.urandom(32))
        copy = b"the copy of revision " + u64(revision)
        login = self.statement(person, revision=revision, record=record_hash(envelope.record), copy=copy_hash(copy))
        for _ in range(2):
            same(self.ask(person, "finish", envelope.record, login, copy), [ACTIVE], "state")
        found = self.ask(person, "account")
        same((encode_login(found[1]), found[2]), (encode_login(login), 1), "account")
        return envelope, login, copy

    def begin(self, person, password):
        """The last message of a log-in, its attempt, and what the password opens; no message for a password that opens nothing."""
        drawn = self.input_of(person, password), derive_scalar(os.urandom(32), b""), os.urandom(32), os.urandom(32)
        input_, blind, nonce, seed = drawn
        first = blind_input(input_, blind) + nonce + public_element(derive_scalar(seed, KEY_PAIR))
        attempt, answer = self.wire.ask("login", [person.chain.handle, first])
        context = b"tresor/v1/opaque" + self.here
        finish = lambda: finish_login(*drawn, answer, self.names_of(person), context, (self.server.memory_kib, self.server.passes))
        return attempt, answer, finish

    def log_in(self, person, password, kept):
        """With the right password: what the service gives is what the person left there."""
        envelope, login, copy = kept
        attempt, _, finish = self.begin(person, password)
        _, last, opened, _ = finish()
        same((opened.record, opened.export_key), (envelope.record, envelope.export_key), "record or export key")
        found, shown = self.wire.ask("finish-login", [attempt, last])
        verify_login(found, person.chain)
        same((encode_login(found), shown), (encode_login(login), copy), "statement or copy")
        # An attempt is good once.
        refused("no_access", 403, self.wire.ask, "finish-login", [attempt, last])

    def fail(self, person, password):
        attempt, _, finish = self.begin(person, password)
        try:
            finish()
        except Exception as error:
            same(getattr(error, "name", repr(error)), "wrong_password", "end of a wrong password")
        else:
            raise AssertionError("a wrong password opens the envelope")
        refused("no_access", 403, self.wire.ask, "finish-login", [attempt, bytes(64)])

    def logins(self):
        """20: a record that is made here, and log-ins with the right password, a wrong one, a former one, and under no name."""
        anna = self.anna
        kept = self.set_password(anna, PASSWORD, 2)
        self.log_in(anna, PASSWORD, kept)
        self.fail(anna, OTHER)
        self.wire.move()
        # Somebody without a record, and somebody whom the service does not know, are answered alike.
        self.fail(self.olga, PASSWORD)
        self.fail(self.nobody, PASSWORD)
        self.wire.move()
        changed = self.set_password(anna, OTHER, 3)
        self.log_in(anna, OTHER, changed)
        self.fail(anna, PASSWORD)
        refused("altered", 400, self.wire.ask, "login", [b"anna", bytes(96)])

    def refused_records(self):
        """18.6: what is no element, and a record or a copy of which the statement does not have the hash."""
        bert, copy = self.bert, b"a copy"
        record = blind_input(b"something", derive_scalar(os.urandom(32), b"")) + os.urandom(160)
        broken = bytes(32) + record[32:]
        refused("altered", 400, self.ask, bert, "register", bert.chain.bytes, b"", bytes(32))
        for sent, record_, copy_ in [(record, bytes([1]) * 32, copy_hash(copy)), (record, record_hash(record), bytes([1]) * 32),
                                     (broken, record_hash(broken), copy_hash(copy))]:
            login = self.statement(bert, revision=2, record=record_, copy=copy_)
            refused("altered", 400, self.ask, bert, "finish", sent, login, copy)

    def the_end_of_a_login(self):
        """18.6: a statement without a record ends the log-in by password."""
        olga = self.olga
        self.log_in(olga, PASSWORD, self.set_password(olga, PASSWORD, 1))
        same(self.ask(olga, "finish", b"", self.statement(olga, revision=2), b""), [ACTIVE], "state")
        self.fail(olga, PASSWORD)

# SPDX-License-Identifier: Apache-2.0
"""OPAQUE by the package of another project, client and server with one record, for whoever speaks to it over pipes.

    python -I peer.py PACKAGE

The first line is the package and its version, or "missing: " and the reason. Then each line is a method of `Peer` and its bytes in
hexadecimal. Its answer is "ok" and bytes, "refused" where the package refuses a log-in, or "failed" and the reason.
"""
import base64
import importlib.metadata
import sys


class RefusedLogin(Exception):
    """The package refuses a log-in. It gives no other reason."""


class Peer:
    """One person on both sides. A package draws what is random, and keeps its own state between two messages."""

    def register(self, password):
        """The request, 32 bytes."""

    def finish_registration(self, password, response):
        """The record, and the export key if the package shows it."""

    def login(self, password):
        """The first message."""

    def finish_login(self, password, answer):
        """The last message, the session key, and the export key if the package shows it."""

    def answer_registration(self, request, name):
        """The evaluated element and the server's public key."""

    def take(self, record):
        """Keeps the record of the person."""

    def answer_login(self, first, name):
        """The server's message."""

    def check_login(self, last):
        """The session key."""


class OpaqueKePy(Peer):
    def __init__(self):
        import opaque_ke_py
        self.library = opaque_ke_py
        self.setup = self.library.server_setup()

    @staticmethod
    def is_refusal(error): return isinstance(error, ValueError) and str(error).endswith("finish failed: InvalidLoginError")

    def register(self, password):
        self.client = self.library.client_registration_start(password)
        return [self.client.get_message()]

    def finish_registration(self, password, response):
        result = self.library.client_registration_finish(password, self.client.get_state(), response)
        return [result.get_message(), result.get_export_key()]

    def login(self, password):
        self.client = self.library.client_login_start(password)
        return [self.client.get_message()]

    def finish_login(self, password, answer):
        result = self.library.client_login_finish(password, self.client.get_state(), answer)
        return [result.get_message(), result.get_session_key(), result.get_export_key()]

    def answer_registration(self, request, name):
        return [self.library.server_registration_start(self.setup, request, name).get_message()]

    def take(self, record):
        self.file = self.library.server_registration_finish(record).get_password_file()
        return []

    def answer_login(self, first, name):
        self.server = self.library.server_login_start(self.setup, self.file, first, name)
        return [self.server.get_message()]

    def check_login(self, last):
        return [self.library.server_login_finish(self.server.get_state(), last).get_session_key()]


class OpaqueSnake(Peer):
    def __init__(self):
        import opaque_snake
        self.library = opaque_snake
        self.client, self.server = opaque_snake.OpaqueClient(), opaque_snake.OpaqueServer()

    def is_refusal(self, error): return isinstance(error, self.library.AuthenticationError)

    def register(self, password):
        request, self.client_state = self.client.start_registration(password.decode())
        return [request.to_bytes()]

    def finish_registration(self, password, response):
        response = self.library.RegistrationResponse.from_bytes(response)
        result = self.client.finish_registration(response, self.client_state, password.decode())
        return [result.upload.to_bytes(), result.export_key]

    def login(self, password):
        first, self.client_state = self.client.start_login(password.decode())
        return [first.to_bytes()]

    def finish_login(self, password, answer):
        answer = self.library.CredentialResponse.from_bytes(answer)
        result = self.client.finish_login(answer, self.client_state, password.decode())
        return [result.finalization.to_bytes(), result.session_keys.session_key, result.session_keys.export_key]

    def answer_registration(self, request, name):
        request = self.library.RegistrationRequest.from_bytes(request)
        return [self.server.create_registration_response(request, name.decode()).to_bytes()]

    def take(self, record):
        self.file = self.server.finish_registration(self.library.RegistrationUpload.from_bytes(record))
        return []

    def answer_login(self, first, name):
        first = self.library.CredentialRequest.from_bytes(first)
        answer, self.server_state = self.server.create_credential_response(first, name.decode(), self.file)
        return [answer.to_bytes()]

    def check_login(self, last):
        return [self.server.finish_login(self.library.CredentialFinalization.from_bytes(last), self.server_state).session_key]


class OpaquePy(Peer):
    """Bytes are base64url without padding. The client shows no export key."""

    def __init__(self):
        from opaquepy import lib
        self.library, self.setup = lib, lib.create_setup()

    @staticmethod
    def is_refusal(error): return isinstance(error, ValueError) and str(error) == "InvalidLoginError"

    def register(self, password):
        request, self.client_state = self.library.register_client(password.decode())
        return [from_text(request)]

    def finish_registration(self, password, response):
        return [from_text(self.library.register_client_finish(self.client_state, password.decode(), to_text(response)))]

    def login(self, password):
        first, self.client_state = self.library.login_client(password.decode())
        return [from_text(first)]

    def finish_login(self, password, answer):
        return map(from_text, self.library.login_client_finish(self.client_state, password.decode(), to_text(answer)))

    def answer_registration(self, request, name):
        return [from_text(self.library.register(self.setup, to_text(request), name.decode()))]

    def take(self, record):
        self.file = self.library.register_finish(to_text(record))
        return []

    def answer_login(self, first, name):
        answer, self.server_state = self.library.login(self.setup, self.file, to_text(first), name.decode())
        return [from_text(answer)]

    def check_login(self, last):
        return [from_text(self.library.login_finish(to_text(last), self.server_state))]


def to_text(data): return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
def from_text(text): return base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))


PEERS = {"opaque-ke-py": OpaqueKePy, "opaque-snake": OpaqueSnake, "opaquepy": OpaquePy}


def answer(peer, line):
    name, *values = line.split()
    try:
        return " ".join(["ok"] + [data.hex() for data in getattr(peer, name)(*map(bytes.fromhex, values))])
    except Exception as error:
        return "refused" if peer.is_refusal(error) else "failed %s: %s" % (type(error).__name__, " ".join(str(error).split()))


def main(package):
    try:
        peer = PEERS[package]()
    except ImportError as error:
        print("missing: %s is not installed (%s); vectors/requirements-peers.txt says where it can be" % (package, error), flush=True)
        return
    print(package, importlib.metadata.version(package), flush=True)
    for line in sys.stdin:
        print(answer(peer, line), flush=True)


main(*sys.argv[1:])

# SPDX-License-Identifier: Apache-2.0
"""The program `tresor-server` with a database of its own, and who speaks to it."""
import datetime
import email.utils
import http.client
import ipaddress
import json
import os
import pathlib
import socket
import ssl
import subprocess
import time

from verify.libraries import ec, hashes, serialization, x509
from verify.sections.conventions import H, Refused
from verify.sections.suite import ed25519_public
from verify.sections.epochs import make_wrap
from verify.sections.service import (
    DEVICE_SESSION, FIRST_ERA, IDENTITY_SESSION, authorization, device_key_seed, encode_session, make_session)
from verify.sections.messages import encode_message, read_message, read_refusal
from verify.live_program import same

ANSWERS = {
    "server": "ServerAnswer", "card": "ChainAnswer", "cards": "ChainsAnswer", "users": "UsersAnswer", "put-card": "OutcomeAnswer",
    "entries": "EntriesAnswer", "append": "OutcomeAnswer", "wraps": "WrapsAnswer", "tresors": "TresorsAnswer", "news": "NewsAnswer",
    "blob": "BlobAnswer", "blobs": "BlobsAnswer",
    "server-share": "ServerShareAnswer", "kit-copy": "KitCopyAnswer", "put-offer": "PutOfferAnswer",
    "register": "RegisterAnswer", "finish": "FinishAnswer", "login": "LoginAnswer", "finish-login": "FinishLoginAnswer",
    "account": "AccountAnswer", "inbox": "InboxAnswer"}
MEDIA_TYPE = "application/vnd.tresor"
ASKED, COMPLETE, ACTIVE = 1, 2, 3
BY_INVITATION = 1


class Service:
    """The program, with a database, a key and a certificate of its own, on a port of loopback."""

    def __init__(self, path, directory, operator):
        self.path, self.directory = os.path.abspath(path), pathlib.Path(directory)
        (self.directory / "operator.card").write_bytes(operator.chain.bytes)
        self.certify()
        self.must("init", "service.db", "--operator", "operator.card", "--argon2id", "65536,3")
        with open(self.directory / "log", "wb") as log:
            self.process = subprocess.Popen(
                [self.path, "run", "service.db", "--listen", "127.0.0.1:0", "--certificate", "certificate.pem", "--key", "key.pem"],
                cwd=self.directory, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=log)
        self.port = self.find_port()

    def must(self, *arguments):
        result = subprocess.run([self.path, *arguments], cwd=self.directory, capture_output=True, timeout=60, check=False)
        if result.returncode != 0:
            raise AssertionError("tresor-server %s ended with %d: %s" % (arguments[0], result.returncode, result.stderr.decode()))
        return result.stdout

    def certify(self):
        """A certificate of the loopback address, which vouches for itself."""
        key = ec.generate_private_key(ec.SECP256R1())
        name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "loopback")])
        now = datetime.datetime.now(datetime.timezone.utc)
        public = key.public_key()
        usage = dict.fromkeys(("content_commitment", "key_encipherment", "data_encipherment", "key_agreement", "crl_sign",
                               "encipher_only", "decipher_only"), False)
        made = x509.CertificateBuilder(name, name, public, x509.random_serial_number(), now, now + datetime.timedelta(days=1))
        for extension, critical in [
                (x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))]), False),
                (x509.BasicConstraints(ca=True, path_length=0), True),
                (x509.KeyUsage(digital_signature=True, key_cert_sign=True, **usage), True),
                (x509.SubjectKeyIdentifier.from_public_key(public), False)]:
            made = made.add_extension(extension, critical)
        pem = serialization.Encoding.PEM
        (self.directory / "certificate.pem").write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem))
        with open(os.open(self.directory / "key.pem", os.O_WRONLY | os.O_CREAT, 0o600), "wb") as out:
            out.write(key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()))

    def log(self):
        return [json.loads(line) for line in (self.directory / "log").read_bytes().split(b"\n")[:-1]]

    def find_port(self):
        end = time.monotonic() + 30
        while time.monotonic() < end and self.process.poll() is None:
            ports = [line["port"] for line in self.log() if line["event"] == "listening"]
            if ports:
                return ports[0]
            time.sleep(0.05)
        raise AssertionError("tresor-server does not listen: %s" % (self.directory / "log").read_text())

    def stop(self):
        """Its exit code after SIGTERM."""
        self.process.terminate()
        try:
            return self.process.wait(30)
        finally:
            self.process.kill()


class Wire:
    """Connections to one service."""

    def __init__(self, port, certificates):
        self.port, self.context, self.link, self.source = port, ssl.create_default_context(cafile=certificates), None, 1
        self.context.minimum_version = ssl.TLSVersion.TLSv1_3

    def move(self):
        """From here on the connections come from another address of loopback, with limits of its own."""
        self.source += 1
        if self.link is not None:
            self.link.close()
            self.link = None

    def exchange(self, method, target, body=None, headers=()):
        """The answer and its body. A connection that has ended is made again, once."""
        for again in (False, True):
            if self.link is None:
                self.link = http.client.HTTPSConnection(
                    "127.0.0.1", self.port, timeout=60, context=self.context, source_address=("127.0.0.%d" % self.source, 0))
            try:
                self.link.request(method, target, body, dict(headers))
                answer = self.link.getresponse()
                return answer, answer.read()
            except (http.client.HTTPException, OSError):
                self.link.close()
                self.link = None
                if again:
                    raise

    def send(self, name, body, text=None):
        """Status and body of the answer to a request."""
        headers = {"Content-Type": MEDIA_TYPE, **({"Authorization": text.decode("latin-1")} if text is not None else {})}
        answer, data = self.exchange("POST", "/v1/" + name, body, headers)
        same((answer.getheader("Content-Type"), answer.getheader("Content-Length")), (MEDIA_TYPE, str(len(data))), "type or length")
        same(abs(email.utils.parsedate_to_datetime(answer.getheader("Date")).timestamp() - time.time()) < 60, True, "date")
        return answer.status, data

    def ask(self, name, values=(), speaker=None, **other):
        """The values of the answer. A refusal is raised, with its status."""
        message = "".join(part.capitalize() for part in name.split("-")) + "Request"
        body = encode_message(message, list(values))
        status, data = self.send(name, body, speaker.authorization(name, body, **other) if speaker else None)
        if status == 200:
            return read_message(ANSWERS.get(name, "DoneAnswer"), data)
        name, era = read_refusal(data)
        error = Refused(name)
        error.status, error.body, error.era = status, data, era
        raise error

    def raw(self, data):
        """All that comes after these bytes, until the service ends the connection."""
        with socket.create_connection(("127.0.0.1", self.port), 30) as plain:
            with self.context.wrap_socket(plain, server_hostname="127.0.0.1") as link:
                link.sendall(data)
                found = b""
                while True:
                    try:
                        piece = link.recv(65536)
                    except ConnectionError:
                        piece = b""
                    if not piece:
                        return found
                    found += piece


class Spoken:
    """A session of a person, or of a device."""

    def __init__(self, place, identity, device=None, share=None, since=None, era=FIRST_ERA):
        server, where = place
        now = int(time.time()) if since is None else since
        self.seed, kind = os.urandom(32), IDENTITY_SESSION if share is None else DEVICE_SESSION
        seed = identity.keys[-1].sign_seed if share is None else device_key_seed(share)
        generation = identity.chain.newest.generation if share is None else 0
        self.session = encode_session(make_session(seed, kind, server, where, identity.user, generation, device or bytes(16), era,
                                                   ed25519_public(self.seed), now, now + 3600))

    def authorization(self, name, body, id_=None, later=0, signed=None):
        text = name.encode() if signed is None else signed
        return authorization(self.session, self.seed, text, body, id_ or os.urandom(16), int(time.time()) + later)


def refused(name, status, function, *arguments, **others):
    """That it is refused so; gives the body of the refusal."""
    try:
        function(*arguments, **others)
    except Refused as error:
        same((error.name, getattr(error, "status", None)), (name, status), "refusal")
        return error.body
    raise AssertionError("not refused")


def mark_of(tresor):
    """The id of a tresor that is not there."""
    return H("tresor/v1/tresor-id", tresor)


def wrap_of_first(log, person):
    return make_wrap(log.tresor, 1, person.user, person.chain.newest, b"".join(log.keys[1]))

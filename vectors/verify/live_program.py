# SPDX-License-Identifier: Apache-2.0
"""The command `tresor`, which the live tests run, and how they count."""
import os
import pathlib
import sqlite3
import subprocess
import sys
import time
import traceback

from verify.sections.conventions import Refused, u64
from verify.sections.encoding import FILE_ARMOUR, Reader, dearmour, is_armour
from verify.sections.identity_file import open_with_password, read_identity_file
from verify.sections.fold import fold
from verify.sections.keys import keys_of
from verify.sections.sealed_file import encode_fields, encode_header, open_file, read_header, seal_payload
from verify.sections.registries import EXIT_CODES
from verify.operations.operation import number_in
from verify.case import Totals, section_line


class Command:
    """The command, with temporary homes, one store and one password."""

    def __init__(self, path, directory):
        self.path, self.directory, self.store = os.path.abspath(path), pathlib.Path(directory), pathlib.Path(directory, "store.db")
        self.password = b"a pass\xc3\xa9word of mine"
        self.file("password", self.password + b"\n")
        self.environment = {"PATH": "/usr/bin:/bin", "HOME": str(directory), "TERM": "dumb", "LC_ALL": "C.UTF-8"}

    def file(self, name, data):
        path = self.directory / name
        with open(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as out:
            out.write(data)
        return path

    def run(self, home, *arguments, password="password"):
        common = ["--home", str(self.directory / home), "--store", str(self.store), "--batch", "--quiet"]
        common += ["--password-file", str(self.directory / password)]
        result = subprocess.run([self.path, *map(str, arguments), *common], capture_output=True, env=self.environment,
                                cwd=self.directory, timeout=300, check=False)
        return result.returncode, result.stdout, result.stderr.decode("utf-8", "replace").strip()

    def must(self, home, *arguments, password="password"):
        code, out, error = self.run(home, *arguments, password=password)
        if code != 0:
            raise AssertionError("tresor %s ended with %d: %s" % (arguments[0], code, error))
        return out

    def blobs(self, magic):
        """All rows of the store, as lists of (column, value), of the table that holds objects with the magic, and its name."""
        connection = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        try:
            for (table,) in connection.execute("SELECT name FROM sqlite_master WHERE type = 'table'").fetchall():
                cursor = connection.execute('SELECT * FROM "%s"' % table)
                columns = [column[0] for column in cursor.description]
                rows = [dict(zip(columns, row)) for row in cursor.fetchall()]
                if any(isinstance(value, bytes) and value.startswith(magic) for row in rows for value in row.values()):
                    return table, rows
            return None, []
        finally:
            connection.close()

    def objects(self, magic):
        _, rows = self.blobs(magic)
        return [value for row in rows for value in row.values() if isinstance(value, bytes) and value.startswith(magic)]

    def put(self, magic, new_row):
        """A row like those that are there; `new_row` takes an old row and gives old values with the new ones in their place."""
        table, rows = self.blobs(magic)
        replaced = new_row(rows[0])
        row = {column: replaced.get(value, value) for column, value in rows[0].items()}
        connection = sqlite3.connect(self.store)
        try:
            names = ", ".join('"%s"' % column for column in row)
            connection.execute('INSERT INTO "%s" (%s) VALUES (%s)' % (table, names, ", ".join("?" * len(row))), list(row.values()))
            connection.commit()
        finally:
            connection.close()

    def blob(self, tresor, hash_):
        """The parts of a blob in the store, joined."""
        connection = sqlite3.connect("file:%s?mode=ro" % self.store, uri=True)
        try:
            rows = connection.execute("SELECT bytes FROM blobs WHERE tresor = ? AND hash = ? ORDER BY part", (tresor, hash_))
            return b"".join(row[0] for row in rows.fetchall()) or None
        finally:
            connection.close()

    def put_blob(self, tresor, hash_, blob):
        connection = sqlite3.connect(self.store)
        try:
            for part in range(0, len(blob), 262144):
                row = (tresor, hash_, u64(part // 262144), blob[part:part + 262144])
                connection.execute("INSERT INTO blobs (tresor, hash, part, bytes) VALUES (?, ?, ?, ?)", row)
            connection.commit()
        finally:
            connection.close()

    def log(self, tresor):
        entries = [data for data in self.objects(b"tresorE1") if data[10:42] == tresor]
        return sorted(entries, key=lambda data: data[42:50])

    def own_wraps(self, tresor, user):
        found = [data for data in self.objects(b"tresorW1") if data[9:41] == tresor and data[49:81] == user]
        return sorted((number_in(data[41:49]), data) for data in found)

    def identity(self, home, password=None):
        return open_with_password(read_identity_file((self.directory / home / "identity").read_bytes()), password or self.password)


class Live:
    def __init__(self, command):
        self.command, self.totals, self.here = command, Totals(), [0, 0]

    def check(self, what, function):
        try:
            function()
            self.here[0] += 1
        except Exception as problem:
            self.here[1] += 1
            print("live, %s: %s: %s" % (what, type(problem).__name__, problem), file=sys.stderr)
            if not isinstance(problem, (AssertionError, Refused)):
                traceback.print_exc()

    def section(self, spec, name):
        section_line(spec, name, *self.here)
        self.totals.passed, self.totals.failed, self.here = self.totals.passed + self.here[0], self.totals.failed + self.here[1], [0, 0]

    def state(self, tresor):
        return fold(tresor, self.command.log(tresor))

    def keys(self, identity, tresor, epoch):
        return keys_of(self.state(tresor), identity, lambda: self.command.own_wraps(tresor, identity.user), [], epoch)

    def open(self, identity, path):
        data = pathlib.Path(path).read_bytes()
        tresor = read_header(Reader(dearmour(data, FILE_ARMOUR) if is_armour(data) else data)).tresor
        return open_file(data, self.state, lambda epoch: self.keys(identity, tresor, epoch)[0])

    def seal(self, identity, tresor, content, record=b"", type_=b"", origin=None, generation=None):
        state = self.state(tresor)
        generation = len(identity.keys) - 1 if generation is None else generation
        header = encode_header(tresor, state.epoch, state.sequence, state.hash)
        fields = encode_fields(identity.user, generation, int(time.time()), type_, record, origin)
        return seal_payload(identity.keys[generation], self.keys(identity, tresor, state.epoch)[0], header, fields, content)


def same(found, wanted, what="value"):
    if found != wanted:
        raise AssertionError("another %s" % what)


def refused_with(name, result):
    if result[0] != EXIT_CODES[name] or result[1]:
        raise AssertionError("ended with %d, not %s: %s" % (result[0], name, result[2]))

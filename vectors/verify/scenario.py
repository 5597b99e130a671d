# SPDX-License-Identifier: Apache-2.0
"""SPEC Appendix E.5, E.6: histories in which several homes look at one store, and the test kit."""
import traceback

from verify.sections.conventions import Refused, blake2b, require, u64
from verify.sections.encoding import Reader
from verify.sections.identity import read_chain
from verify.sections.pins import encode_pins, put_pin, read_pins
from verify.sections.identity_file import Identity, identity_tag, open_previous, read_identity_file
from verify.sections.bodies import OWNER, READER, WRITER
from verify.sections.fold import fold
from verify.sections.heads import read_kept_log
from verify.sections.client import Home, Store
from verify.sections.sealed_file import open_file
from verify.operations.operation import number_in
from verify.case import Run, unhex


def view_of(home, tresor):
    try:
        state = home.read_log(tresor)
    except Refused as refused:
        return {"error": refused.name}
    me = state.members.get(home.identity.user)

    def outcome(function):
        try:
            return function()
        except Refused as refused:
            return refused.name
    return {"head": (u64(state.sequence) + state.hash).hex(), "epoch": u64(state.epoch).hex(), "rekey pending": state.rekey_pending,
            "role": {OWNER: "owner", WRITER: "writer", READER: "reader"}[me.role] if me else "none", "members": len(state.members),
            "keys": outcome(lambda: (home.keys_of(state, state.epoch), "ok")[1]), "founder": outcome(lambda: home.founder_trust(state))}


class Scenario(Run):
    def person(self, stated):
        """The identity, from the seeds given and from the identity file, which must belong together."""
        given = {name: unhex(stated[name]) for name in ("chain", "S", "previous", "identity file")}
        chain, file = read_chain(given["chain"]), read_identity_file(given["identity file"])
        assert file.chain.bytes == chain.bytes and file.previous == given["previous"], "the identity file is of another identity"
        keys = open_previous(chain, given["S"], given["previous"])
        assert identity_tag(keys[-1], file.before_tag) == file.tag, "the tag of the identity file"
        return Identity(chain, keys)

    def do(self, step):
        """What happens, as `expect` states it."""
        act, tresor = step["do"], self.tresor
        if act == "append":
            data = unhex(step["entry"])
            reader = Reader(data)
            reader.take(42)
            sequence, previous = reader.u64(), reader.digest()
            wraps = [(unhex(wrap["user"]), number_in(unhex(wrap["epoch"])), unhex(wrap["wrap"])) for wrap in step["wraps"]]
            return {"outcome": self.store.append(tresor, sequence, previous, data, wraps, unhex(step["removes"]))}
        if act == "show":
            self.store.logs[tresor] = unhex(step["log"])
        elif act == "wrap":
            key = (tresor, unhex(step["user"]), number_in(unhex(step["epoch"])))
            self.store.wraps.pop(key, None)
            if "wrap" in step:
                self.store.wraps[key] = unhex(step["wrap"])
        elif act == "open":
            try:
                content, _, _ = self.homes[step["by"]].open_file(unhex(step["file"]), {"current": step.get("current author", False)})
                return {"content hash": blake2b(content).hex()}
            except Refused as refused:
                return {"error": refused.name}
        elif act == "identity":
            self.homes[step["name"]].identity = self.person(step)
        elif act == "pin":
            home = self.homes[step["by"]]
            home.pins = put_pin(home.pins, read_chain(unhex(step["chain"])), False, False, 0)
            assert encode_pins(read_pins(encode_pins(home.pins))) == encode_pins(home.pins)
        else:
            raise AssertionError("no such step: %s" % act)
        return {}

    def run(self, document):
        self.tresor, self.store, self.homes = unhex(document["tresor"]), Store(), {}
        for person in document["people"]:
            self.homes[person["name"]] = Home(self.store, self.person(person), read_pins(unhex(person["pins"])))
        for i, step in enumerate(document["steps"]):
            wrong = []
            try:
                happened = self.do(step)
                if happened != step.get("expect", {}):
                    wrong.append("%s, not %s" % (happened, step.get("expect", {})))
                for name, stated in step["views"].items():
                    seen = view_of(self.homes[name], self.tresor)
                    if seen != stated:
                        differ = sorted(field for field in {**seen, **stated} if seen.get(field) != stated.get(field))
                        wrong.append("%s sees %s" % (name, {field: seen.get(field) for field in differ}))
            except Exception as problem:
                wrong.append("%s: %s" % (type(problem).__name__, problem))
                if self.verbose:
                    traceback.print_exc()
            # A step counts as negative if something is refused in it, other than keys to somebody who has no right to them.
            negative = "error" in step.get("expect", {}) or step.get("expect", {}).get("outcome") == "conflict"
            negative = negative or any("error" in v or v["keys"] not in ("ok", "no_access") for v in step["views"].values())
            self.negatives, self.positives = self.negatives + negative, self.positives + (not negative)
            if wrong:
                self.fail("step %d (%s)" % (i, step["comment"]), "; ".join(wrong))
            else:
                self.passed += 1
        if document["numberOfTests"] != len(document["steps"]):
            self.fail("numberOfTests", "%d, not %d" % (len(document["steps"]), document["numberOfTests"]))


class TestKit(Run):
    def run(self, data):
        head, _, sealed = data.partition(b"\n\n")
        stated = dict(line.split(": ", 1) if ": " in line else (line.rstrip(":"), "") for line in head.decode("utf-8").split("\n"))
        tresor, entries, key = unhex(stated["tresor"]), read_kept_log(unhex(stated["log"])), unhex(stated["key"])

        def state_of(named):
            require(named == tresor, "no_access")
            return fold(tresor, entries)
        expected = {}
        if "record" in stated:
            expected["record"] = unhex(stated["record"])
        if "from" in stated:
            expected["author"] = unhex(stated["from"])
        try:
            content, _, _ = open_file(sealed, state_of, lambda epoch: key, expected)
            found = ("ok", blake2b(content).hex())
        except Refused as refused:
            found = (refused.name, "none")
        except Exception as problem:
            found = (type(problem).__name__, str(problem))
        self.positives, self.negatives = int(stated["expect"] == "ok"), int(stated["expect"] != "ok")
        if found == (stated["expect"], stated["content"]):
            self.passed += 1
        else:
            self.fail(stated.get("comment", ""), "%s, %s" % found)

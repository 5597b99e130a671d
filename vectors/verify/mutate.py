# SPDX-License-Identifier: Apache-2.0
"""Changes bytes of every object in the vectors, and counts what is noticed."""
from verify.sections.conventions import Refused, blake2b
from verify.operations.operation import OPERATIONS, number_in
from verify.case import Run, Totals, load, section_line, unhex, unhex_all

OBJECTS = {"sealed", "chain", "own chain", "entry", "log", "wrap", "file", "TK", "K", "S", "previous", "sealed name", "sealed names",
           "sealed marks", "sealed piece", "snapshot", "keys", "pack", "packs", "attachment", "volume", "volumes", "pk", "device share", "server share", "tresor", "A",
           "sig", "object", "server", "session", "signer", "authorization", "body", "statement", "element", "blinded", "evaluated",
           "server key", "first message", "record", "answer", "last message", "offer"}
SLOW = {"accumulate", "foldCrowd"}


class Mutation(Run):
    """Of every object in every valid test: the first byte, the last, and some between, so that the whole ends within a minute."""

    places = 40

    def run(self, document):
        ins = {}
        for group in document["groups"]:
            for test in group["tests"]:
                ins[test["id"]] = {**(ins[test["base"]] if "base" in test else {}), **test.get("in", {})}
                if test["result"] == "valid" and group["operation"] not in SLOW:
                    self.mutate(group["operation"], test, unhex_all(ins[test["id"]]))

    def mutate(self, operation_name, test, inputs):
        for name in sorted(OBJECTS & set(inputs)):
            if operation_name == "openNames" and name == "tresor" or name in self.unread(operation_name, test):
                continue
            value = inputs[name]
            objects = value if isinstance(value, list) else [value]
            whole = sum(map(len, objects))
            chosen = sorted({0, whole - 1} | {number_in(blake2b(b"%s %d %s %d" % (self.name.encode(), test["id"], name.encode(), i), 8)) % whole
                                              for i in range(self.places)}) if whole else []
            if whole > 100000:
                chosen = chosen[-1:]
            for place in chosen:
                self.change(operation_name, test, inputs, name, objects, place)

    def unread(self, operation_name, test):
        """Inputs of which a part is not read, as SPEC §19 says: a void body's pack, keys of other epochs, volumes beside packs."""
        out = test["out"]
        if operation_name == "openPack" and unhex(out["outcome"]) != b"items":
            return {"pack", "keys"}
        if operation_name == "readRecords":
            plain = not out["void"] and not out["missing"] and number_in(unhex(test["in"].get("history", "01"))) == 0
            return {"keys"} | (set() if out["by volumes"] == "01" else {"volumes"}) | (set() if plain and out["by volumes"] == "00" else {"packs"})
        return {"keys", "packs"} if operation_name == "comparePacks" else set()

    def change(self, operation_name, test, inputs, name, objects, place):
        changed, at = list(objects), place
        for i, data in enumerate(objects):
            if at < len(data):
                changed[i] = data[:at] + bytes([data[at] ^ 4]) + data[at + 1:]
                break
            at -= len(data)
        changed = {**inputs, name: changed if isinstance(inputs[name], list) else changed[0]}
        try:
            noticed = OPERATIONS[operation_name](changed, {}) != unhex_all(test["out"])
        except (Refused, AssertionError):
            noticed = True
        if noticed:
            self.passed += 1
        else:
            self.fail(test["id"], "byte %d of %s was changed and nobody noticed" % (place, name))


def run_mutations(directory):
    totals, index = Totals(), load(directory / "index.json")
    for name, stated in index["files"].items():
        document = load(directory / name) if name.endswith(".json") and "/" not in name else {}
        if "groups" in document and document["file"] not in ("accumulated", "password", "text"):
            run = Mutation(document["file"], False)
            run.run(document)
            section_line(stated["spec"], document["file"], run.passed, run.failed)
            totals.passed, totals.failed = totals.passed + run.passed, totals.failed + run.failed
    return totals

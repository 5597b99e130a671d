# SPDX-License-Identifier: Apache-2.0
"""One file of vectors, and how results are counted and printed."""
import json
import sys
import traceback

from verify.sections.conventions import Refused
from verify.sections.registries import EXIT_CODES
from verify.operations.operation import OPERATIONS


def unhex(value):
    if isinstance(value, list):
        return [unhex(x) for x in value]
    if value != value.lower():
        raise ValueError("not lower-case hexadecimal")
    return bytes.fromhex(value)


def unhex_all(values):
    return {name: unhex(value) for name, value in values.items()}


def spaced(name):
    return name.replace("_", " ")


class Run:
    """One file of vectors."""

    def __init__(self, name, verbose):
        self.name, self.verbose = name, verbose
        self.passed = self.failed = self.positives = self.negatives = 0
        self.derived, self.open_mids = {}, []

    def fail(self, test, why):
        self.failed += 1
        print("%s %s: %s" % (self.name, test, why), file=sys.stderr)

    def test(self, test, operation_name, inputs):
        """Why it failed, or none."""
        self.positives += test["result"] == "valid"
        self.negatives += test["result"] == "invalid"
        mid = unhex_all(test.get("mid", {}))
        trace = {name: mid[name] for name in ("S", "K", "HK", "eseed", "plaintext without the check") if name in mid}
        try:
            found, error = OPERATIONS[operation_name](inputs, trace), None
        except Refused as refused:
            found, error = None, refused
            assert error.name in EXIT_CODES
        if test["result"] == "valid":
            if error is not None:
                return "refused with %s %s" % (error.name, error.rule or "")
            if found != unhex_all(test["out"]):
                wrong = [name for name in {**found, **test["out"]} if found.get(name) != unhex_all(test["out"]).get(name)]
                return "out differs: %s" % ", ".join(wrong)
            if "error" in test or "rule" in test and test["rule"].encode() != found.get("void"):
                return "valid, and names an error"
        elif test["result"] == "invalid":
            if error is None:
                return "accepted"
            if error.name != test["error"]:
                return "refused with %s, not %s" % (error.name, test["error"])
            if "rule" in test and error.rule != test["rule"]:
                return "broke %s, not %s" % (error.rule, test["rule"])
            if test.get("out"):
                return "invalid, and gives something"
        else:
            return "no result"
        trace = {spaced(name): value for name, value in trace.items()}
        for name, value in mid.items():
            if spaced(name) not in trace:
                self.open_mids.append((test["id"], spaced(name), value))
            elif trace[spaced(name)] != value:
                return "mid differs: %s" % name
            else:
                self.derived.setdefault(spaced(name), []).append(value)
        return None

    def run(self, document):
        ins, ids = {}, set()
        for group in document["groups"]:
            for test in group["tests"]:
                inputs = dict(ins[test["base"]]) if "base" in test else {}
                inputs.update(test.get("in", {}))
                ins[test["id"]] = inputs
        for group in document["groups"]:
            if group.get("suite") != 1 or group["operation"] not in OPERATIONS:
                self.fail(group["operation"], "no such operation")
                continue
            for test in group["tests"]:
                try:
                    why = "an id twice" if test["id"] in ids else self.test(test, group["operation"], unhex_all(ins[test["id"]]))
                    unknown = [flag for flag in test["flags"] if flag not in document["notes"]]
                    why = why or ("no note on %s" % unknown if unknown else None)
                except Exception as problem:
                    why = "%s: %s" % (type(problem).__name__, problem)
                    if self.verbose:
                        traceback.print_exc()
                ids.add(test["id"])
                if why is None:
                    self.passed += 1
                else:
                    self.fail(test["id"], why)
        # A `mid` that its own test does not need (a device's slot key where the kit opens) is that of another test of the file.
        for test_id, name, value in self.open_mids:
            if value not in self.derived.get(name, []):
                self.fail(test_id, "mid not computed: %s" % name)
                self.passed -= 1
        if document["numberOfTests"] != len(ids):
            self.fail("numberOfTests", "%d, not %d" % (len(ids), document["numberOfTests"]))


def load(path):
    with open(path, encoding="utf-8") as file:
        return json.load(file)


def section_line(spec, name, passed, failed):
    print("SPEC %-5s%-14s%d passed, %d failed" % (spec, name, passed, failed), flush=True)


class Totals:
    def __init__(self):
        self.passed = self.failed = 0

    def problem(self, text):
        self.failed += 1
        print(text, file=sys.stderr)


def refusal(function, *arguments):
    try:
        function(*arguments)
    except Refused as refused:
        return refused.name
    return None

# SPDX-License-Identifier: Apache-2.0
"""Runs every file of vectors, and compares SPEC's tables with those here."""
import hashlib
import json
import re

from verify.sections.conventions import USED
from verify.sections.encoding import MAGICS, Reader
from verify.sections.registries import EXIT_CODES, REGISTRY
from verify.sections.items import read_item
from verify.sections.records import Table
from verify.case import Run, Totals, load, section_line, unhex
from verify.scenario import Scenario, TestKit
from verify.own_checks import check_own


def run_nightly(directory, verbose):
    """A million cases of each construction, which takes some minutes."""
    totals, document = Totals(), load(directory / "nightly.json")
    run = Run("nightly", verbose)
    run.run(document)
    section_line("6", "nightly", run.passed, run.failed)
    totals.passed, totals.failed = run.passed, run.failed
    return totals


def print_tables(path):
    """A line of facts for each line of items, for whoever wants to compare another table with this one."""
    for line in path.read_text().split("\n"):
        table = Table()
        for part in line.split():
            sequence, item = part.split(":")
            table.take(int(sequence), read_item(Reader(bytes.fromhex(item)), int(sequence) - 1))
        rows = [(name, [table.shown(name)], table.heads(name), table.put_aside(name)) for name in table.names()]
        print(" ".join(":".join([row[0].decode()] + [",".join(map(str, revisions)) for revisions in row[1:]]) for row in rows))
    return 0


def check_registry(document, totals):
    """The labels of labels.json are those of SPEC §16.1, and none is a prefix of another."""
    stated = {(unhex(test["in"]["label"]), unhex(test["in"]["use"]).decode()) for group in document["groups"]
              if group["operation"] == "label" for test in group["tests"] if test["result"] == "valid"}
    if stated != {(label_, how) for label_, (how, _) in REGISTRY.items()}:
        totals.problem("labels.json: not the registry of SPEC 16.1")
    if any(a != b and b.startswith(a) for a in REGISTRY for b in REGISTRY):
        totals.problem("a label is a prefix of another")


def specification(directory):
    """The pages of SPEC that lie beside the vectors, as one text."""
    pages = [directory.parent / "SPEC.md", *sorted((directory.parent / "spec").glob("*.md"))]
    return "\n".join(page.read_text(encoding="utf-8") for page in pages if page.is_file())


def check_tables(directory, totals):
    """Magics, errors and labels here are those of the tables of SPEC §4.1, §12 and §16.1, if SPEC lies beside."""
    text = specification(directory)
    if not text:
        return
    if set(re.findall(r"^\| `(tresor..)` \|", text, re.M)) != {magic.decode() for magic in MAGICS}:
        totals.problem("not the magics of SPEC 4.1")
    if dict(re.findall(r"^\| `([a-z_]+)` \| (\d+) \|", text, re.M)) != {name: str(code) for name, code in EXIT_CODES.items()}:
        totals.problem("not the errors of SPEC 12")
    labels = re.findall(r"^\| `(tresor/v1/[a-z-]+)` \| ([a-z]+) \| [^|]* \| ([^|]*) \|", text, re.M)
    if {label_.encode(): (how, int(size) if size.isdecimal() else None) for label_, how, size in labels} != REGISTRY:
        totals.problem("not the labels of SPEC 16.1")


def check_appendix(directory, totals):
    """The blocks of SPEC's Appendix A, if SPEC lies beside, are what the vectors have at the places named."""
    text, documents = specification(directory), {}
    for name, test, place, block in re.findall(r"^`([a-z/-]+\.json) (\d+) ([^`]+)`\n\n```hex\n(.*?)```", text, re.M | re.S):
        if name not in documents:
            documents[name] = {t["id"]: t for group in load(directory / name)["groups"] for t in group["tests"]}
        value = documents[name].get(int(test), {})
        for part in place.split("."):
            if isinstance(value, list):
                value = value[int(part)]
            else:
                value = value.get(part, "") if isinstance(value, dict) else ""
        value = "".join(value) if isinstance(value, list) else value
        if "".join(block.split()) != value or not value:
            totals.problem("SPEC, Appendix A: not %s %s %s" % (name, test, place))


def run_vectors(directory, ignore_sums, verbose, only):
    """A line for each file; the files of a directory (scenario, testkit) have one line together."""
    totals, index, sections = Totals(), load(directory / "index.json"), {}
    for name, stated in index["files"].items():
        sections.setdefault(name.split("/")[0] if "/" in name else name.rsplit(".", 1)[0], []).append((name, stated))
    for section, files in sections.items():
        if only and section not in only:
            continue
        passed = failed = 0
        for name, stated in files:
            try:
                data = (directory / name).read_bytes()
            except OSError:
                totals.problem("%s: not there" % name)
                continue
            if not ignore_sums and hashlib.sha256(data).hexdigest() != stated["sha256"]:
                totals.problem("%s: not the bytes that index.json names" % name)
            if section == "testkit":
                run = TestKit(name, verbose)
                run.run(data)
            else:
                document = json.loads(data)
                if "groups" not in document and "steps" not in document:
                    totals.problem("%s: of a form this program does not know" % name)
                    continue
                if document["file"] == "labels":
                    check_registry(document, totals)
                run = (Scenario if "steps" in document else Run)(document["file"], verbose)
                run.run(document)
            passed, failed = passed + run.passed, failed + run.failed
            if (run.positives, run.negatives) != (stated["positives"], stated["negatives"]):
                totals.problem("%s: %d valid and %d invalid tests, not those of index.json" % (name, run.positives, run.negatives))
        section_line(files[0][1]["spec"], section, passed, failed)
        totals.passed, totals.failed = totals.passed + passed, totals.failed + failed
    if not only:
        for path in sorted(directory.rglob("*")):
            name = path.relative_to(directory).as_posix()
            counted = path.is_file() and (name.startswith("testkit/") or name.endswith(".json") and name != "nightly.json"
                                          and not name.startswith(("schema/", "archive/")))
            if counted and name not in index["files"] and name != "index.json":
                totals.problem("%s: not in index.json" % name)
        if totals.failed == 0 and totals.passed != index["numberOfTests"]:
            totals.problem("%d tests, not the %d of index.json" % (totals.passed, index["numberOfTests"]))
        check_appendix(directory, totals)
        check_tables(directory, totals)
        check_own(totals)
        for label_, how in sorted(USED):
            if REGISTRY.get(label_, (None,))[0] != how:
                totals.problem("used and not registered: %s for %s" % (label_.decode(), how))
        for label_ in sorted(set(REGISTRY) - {used for used, _ in USED}):
            totals.problem("registered and not used: %s" % label_.decode())
    return totals

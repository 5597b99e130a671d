#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Lets the tests in a copy of the sources disable checks: scripts/attacks.py COPY.

Each row of Tests/Attacks/attacks.tsv that names a file puts its line after in the place of its line before. The line before
stands in the file exactly once, or takes lines beside it along that make it the only one. A row that names a patch is left to
scripts/attacks. The names of all checks go into Sources/TresorCrypto/Mutation+Checks.swift.
"""

import collections
import csv
import os
import sys

TABLE = "Tests/Attacks/attacks.tsv"
NAMES = "Sources/TresorCrypto/Mutation+Checks.swift"
# Stands between the lines of one field.
BREAK = "↵"


def rows():
    """The rows that say how a check is disabled."""
    with open(TABLE, encoding="utf-8", newline="") as table:
        reader = csv.DictReader(table, delimiter="\t", quoting=csv.QUOTE_NONE, strict=True)
        return [row for row in reader if row["file"]]


def name(row):
    return row["check"].removeprefix("+")


def change(lines, row):
    """What a row changes in the lines of its file: from where to where, and the new lines."""
    before, after = row["before"].split(BREAK), row["after"].split(BREAK)
    bare = [line.strip() for line in lines]
    places = [place for place in range(len(lines)) if bare[place:place + len(before)] == before]
    if len(places) != 1:
        sys.exit(f"scripts/attacks: {TABLE}: {name(row)} no longer applies: {row['file']} has the line before "
                 f"{len(places)} times")
    start, end = places[0], places[0] + len(before)
    # Lines that stay may be beside those of another row.
    while before and after and before[0] == after[0]:
        before, after, start = before[1:], after[1:], start + 1
    while before and after and before[-1] == after[-1]:
        before, after, end = before[:-1], after[:-1], end - 1
    model = lines[start] if before or start == len(lines) else lines[start - 1]
    indent = model[:len(model) - len(model.lstrip())]
    return start, end, [indent + line if line else line for line in after]


def apply(copy, path, rows):
    if not os.path.exists(f"{copy}/{path}"):
        sys.exit(f"scripts/attacks: {TABLE}: {name(rows[0])} no longer applies: there is no {path}")
    with open(f"{copy}/{path}", encoding="utf-8") as source:
        lines = source.read().split("\n")
    # Each row is found in the file as it is, whatever the others change.
    changes = sorted((change(lines, row) for row in rows), key=lambda change: change[:2])
    for (_, end, _), (start, _, _) in zip(changes, changes[1:]):
        if start < end:
            sys.exit(f"scripts/attacks: {TABLE}: two rows change line {start + 1} of {path}")
    for start, end, new in reversed(changes):
        lines[start:end] = new
    with open(f"{copy}/{path}", "w", encoding="utf-8") as source:
        source.write("\n".join(lines))


def main(copy):
    files = collections.defaultdict(list)
    names = []
    for row in rows():
        names.append(name(row))
        if row["before"]:
            files[row["file"]].append(row)
    for path in files:
        apply(copy, path, files[path])
    with open(f"{copy}/{NAMES}", "w", encoding="utf-8") as source:
        source.write("// SPDX-License-Identifier: Apache-2.0\n\nextension Mutation {\n")
        source.writelines(f'    package static let {name} = Mutation(rawValue: "{name}")\n' for name in names)
        source.write("}\n")
    print(f"{sum(map(len, files.values()))} rows apply")


if __name__ == "__main__":
    main(sys.argv[1])

# SPDX-License-Identifier: Apache-2.0
"""Reads the public symbols of the libraries, as the compiler lists them."""

import json
import os
import subprocess
import tempfile

# Each library.
MODULES = ["TresorCrypto", "TresorCore", "Tresor", "TresorRecords", "TresorStore", "TresorSQLite", "TresorRemote", "TresorTesting"]


def output(*command):
    """Returns the output of a command."""
    return subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip()


def build_folder():
    """Returns the folder of the debug build."""
    return os.path.realpath(output("swift", "build", "--show-bin-path"))


def module_map_flags(build):
    """Returns the search paths for the C modules that the libraries import."""
    folders = set()
    for root in ("Sources", os.path.join(build, "..", "..", "checkouts"), build):
        for folder, folders_below, names in os.walk(root):
            folders_below[:] = [name for name in folders_below if name != "Tests" and not name.endswith("-tool.build")]
            if "module.modulemap" in names:
                folders.add(folder)
    return [flag for folder in sorted(folders) for flag in ("-I", folder)]


def extract(module, build, folder):
    """Writes the symbol graph of a module; returns its public symbols, without those whose text is inherited."""
    os.makedirs(folder, exist_ok=True)
    triple = json.loads(output("swift", "-print-target-info"))["target"]["triple"]
    subprocess.run(
        [
            "swift", "symbolgraph-extract", "-module-name", module, "-target", triple, "-I", os.path.join(build, "Modules"),
            *module_map_flags(build), "-minimum-access-level", "public", "-skip-synthesized-members",
            "-output-dir", folder,
        ],
        check=True)
    found = []
    for name in os.listdir(folder):
        with open(os.path.join(folder, name), encoding="utf-8") as file:
            graph = json.load(file)
        inherited = {edge["source"] for edge in graph["relationships"] if "sourceOrigin" in edge}
        found += [
            symbol for symbol in graph["symbols"]
            if symbol["identifier"]["precise"] not in inherited and "location" in symbol
        ]
    return found


def public_names(module, build):
    """Returns the kind and the name of each public symbol of a module, sorted."""
    with tempfile.TemporaryDirectory() as folder:
        symbols = extract(module, build, folder)
    return sorted(
        (symbol["kind"]["identifier"].removeprefix("swift."), ".".join(symbol["pathComponents"])) for symbol in symbols)

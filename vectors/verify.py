#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A second implementation of the formats of SPEC, written from that text alone, and a run of every vector against it.

    python3 -m venv venv && venv/bin/pip install -r requirements.txt
    venv/bin/python verify.py                      every vector
    venv/bin/python verify.py --live PATH          instead: exchange objects with the command `tresor` at PATH
    venv/bin/python verify.py --live-server PATH   instead: start the program `tresor-server` at PATH, and ask it
    venv/bin/python verify.py --peers PYTHON       instead: speak OPAQUE with the packages that the program PYTHON has

This is the door. verify/sections has a file for each part of SPEC, verify/operations what the vectors ask of it.
"""
import argparse
import pathlib
import sys

sys.dont_write_bytecode = True

from verify.libraries import MISSING
from verify.sections.conventions import Refused
from verify.sections.suite import start_up_check
from verify.run import print_tables, run_nightly, run_vectors
from verify.mutate import run_mutations
from verify.live_command import live
from verify.live_server import live_server
from verify.live_peers import live_peers

HERE = pathlib.Path(__file__).resolve().parent


def main():
    parser = argparse.ArgumentParser(description="Runs every vector of SPEC.")
    parser.add_argument("--vectors", type=pathlib.Path, default=HERE, help="the directory of the vectors; that of this file if left out")
    parser.add_argument("--ignore-sums", action="store_true", help="do not compare the files with the SHA-256 in index.json")
    parser.add_argument("--only", action="append", metavar="NAME", help="run this file of vectors alone; may be repeated")
    parser.add_argument("--nightly", action="store_true", help="run a million random cases of each construction instead")
    parser.add_argument("--mutate", action="store_true", help="change bytes of every object, and count what is noticed")
    parser.add_argument("--live", metavar="PATH", help="exchange objects with the command tresor at PATH, instead of running vectors")
    parser.add_argument("--live-server", metavar="PATH", help="start the program tresor-server at PATH and ask it, instead of running vectors")
    parser.add_argument("--peers", metavar="PYTHON", help="speak OPAQUE with the packages of requirements-peers.txt, which PYTHON has, instead of running vectors")
    parser.add_argument("--verbose", action="store_true", help="tell where an unexpected failure happened")
    parser.add_argument("--tables", type=pathlib.Path, metavar="FILE", help="print the tables of the items in FILE, instead of running vectors")
    options = parser.parse_args()
    if options.tables:
        return print_tables(options.tables)
    if MISSING is not None:
        print("this needs cryptography 50 or later, with HPKE and X-Wing, and PyNaCl: %s" % MISSING, file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    try:
        start_up_check()
    except (Refused, AssertionError):
        print("the cryptographic libraries do not judge as SPEC 5.1 wants", file=sys.stderr)
        print("0 passed, 1 failed")
        return 1
    if options.nightly:
        totals = run_nightly(options.vectors, options.verbose)
    elif options.mutate:
        totals = run_mutations(options.vectors)
    elif options.live:
        totals = live(options.live)
    elif options.live_server:
        totals = live_server(options.live_server)
    elif options.peers:
        totals = live_peers(options.peers)
    else:
        totals = run_vectors(options.vectors, options.ignore_sums, options.verbose, options.only)
    print("%d passed, %d failed" % (totals.passed, totals.failed))
    return 0 if totals.failed == 0 and totals.passed > 0 else 1


if __name__ == "__main__":
    sys.exit(main())

# SPDX-License-Identifier: Apache-2.0
"""Exchanges objects with the command `tresor`: --live PATH."""
import tempfile
import traceback

from verify.live_program import Command, Live
from verify.live_homes import live_all


def live(path):
    with tempfile.TemporaryDirectory(prefix="tresor-live-") as directory:
        command = Command(path, directory)
        run = Live(command)
        try:
            live_all(run, command)
        except Exception as problem:
            run.totals.problem("live: %s: %s" % (type(problem).__name__, problem))
            traceback.print_exc()
        return run.totals

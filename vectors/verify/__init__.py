# SPDX-License-Identifier: Apache-2.0
"""A second implementation of SPEC, in Python. The door is verify.py, beside this folder.

sections    SPEC, a file for each part; the first line of a file says its sections and the files of vectors that test them
operations  what the vectors ask of the sections
run.py      runs every file of vectors; case.py, scenario.py and own_checks.py are its parts
mutate.py   changes bytes and counts what is noticed
live_*.py   exchange objects with the programs
"""

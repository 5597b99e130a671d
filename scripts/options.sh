# SPDX-License-Identifier: Apache-2.0
# The options of every build in .build. Where they differ, all is compiled again.

# BoringSSL without optimization would take a quarter of the tests' time. Debug information, which no check reads, takes a
# seventh of the time to compile.
options=(-Xcxx -O2 --traits "default,Server" -debug-info-format none)
# The package manager passes the traits in the order of their hashes, which differs from run to run: without this, builds
# begin anew by chance.
export SWIFT_DETERMINISTIC_HASHING=1

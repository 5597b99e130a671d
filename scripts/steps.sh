# SPDX-License-Identifier: Apache-2.0
# What scripts/test and scripts/long share: one build, steps with their seconds, and how tests are run.

# BoringSSL without optimization would take a quarter of the tests' time. The options must be the same in every build,
# or it is compiled again.
options=(-Xcxx -O2 --traits "default,Server")
programs=.build/debug
# The tests that start programs.
with_programs='^(CLITests|AttackTests)\.'
export SWIFT_DETERMINISTIC_HASHING=1 NO_COLOR=1

# Tests write thousands of times to stable storage. In memory that costs nothing, and the calls are the same.
memory=/dev/shm
if [ -z "${TMPDIR:-}" ] && [ -w "$memory" ] && [ "$(df --output=avail --block-size=M "$memory" | tr -dc 0-9)" -ge 1024 ] &&
    ! grep " $memory " /proc/mounts | grep -qw noexec; then
    export TMPDIR=$memory
fi
# Tests find the packages of the second implementation.
export PATH=$PWD/.venv/bin:$PATH
place=$(mktemp -d)
# Parts of the tests run as an unprivileged user, who has to pass.
chmod 711 "$place"
trap 'rm -rf "$place"' EXIT

steps=() step_start=0
step() { # step NAME: ends the step before, and begins this one
    end_step
    steps+=("$1")
    step_start=$SECONDS
    echo "== $1"
}
end_step() {
    [ ${#steps[@]} -eq 0 ] || steps[-1]="$((SECONDS - step_start)) s  ${steps[-1]}"
}
end_steps() {
    end_step
    echo "== all of it: $SECONDS s, temporary files in ${TMPDIR:-/tmp}"
    printf '%s\n' "${steps[@]}"
}

run_tests() { # run_tests NAME ARGUMENTS: runs tests in a process and a temporary folder of their own
    local name=$1 seconds=$SECONDS
    shift
    mkdir -m 711 "$place/$name.tmp"
    if TMPDIR=$place/$name.tmp "$programs/tresorPackageTests.xctest" --testing-library swift-testing --no-parallel "$@" \
        >"$place/$name" 2>&1 </dev/null; then
        echo "$name: $((SECONDS - seconds)) s, $(tail -n 1 "$place/$name")"
        grep -a -e ' skipped' "$place/$name" | sed 's/^. /  /' || true
    else
        return 1
    fi
}

fail() { # fail NAME: shows what its output says of failures
    echo "what failed in $1:"
    grep -a -A 8 -e '^✘' -e '^error:' -e 'Fatal error' "$place/$1" | grep -av -e '^✔' -e '^◇' | tail -n 120 || true
    tail -n 3 "$place/$1"
    exit 1
}

# Tests leave neither files nor processes behind.
clean_up_after_tests() {
    local left
    left=$(find "$place"/*.tmp -mindepth 1 -maxdepth 1)
    left+=$(pgrep -af "$place/" || true)
    [ -z "$left" ] || {
        echo "tests left behind: $left"
        exit 1
    }
}

second_implementation() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r vectors/requirements.txt
}

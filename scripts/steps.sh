# SPDX-License-Identifier: Apache-2.0
# What scripts/test and scripts/long share: one build, steps with their seconds, and how tests are run.

. scripts/options.sh
programs=.build/debug
# Tests write thousands of times to stable storage. In memory that costs nothing, and the calls are the same.
memory=/dev/shm
if [ -n "${TMPDIR:-}" ] || [ ! -w "$memory" ] || grep " $memory " /proc/mounts | grep -qw noexec ||
    [ "$(df --output=avail --block-size=M "$memory" | tr -dc 0-9)" -lt 1024 ]; then
    memory=${TMPDIR:-/tmp}
fi
place=$(mktemp -d -p "$memory" tresor-tests.XXXXXX)
# Parts of the tests run as an unprivileged user, who has to pass.
chmod 711 "$place"
trap 'rm -rf "$place"' EXIT
logs=.build/logs
mkdir -p "$logs"

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
    echo "== passed in $SECONDS s; temporary files of tests were in $memory"
    printf '%s\n' "${steps[@]}"
}

# The tests in groups, the longest first. What is in no other group is in the last one. The scripts are two groups: alone
# they would take as long as all others in the two other places.
declare -A groups=(
    [scripts]='--filter ^CLITests\.ScriptTests'
    [more_scripts]='--filter ^CLITests\.ScriptTests'
    [attacks]='--filter ^AttackTests\.'
    [client]='--filter ^TresorTests\.'
    [service]='--filter ^TresorServiceTests\.'
    [vectors]='--filter ^VectorTests\.'
    [commands]='--filter ^CLITests\. --skip ^CLITests\.ScriptTests'
    [others]='--skip ^(CLITests|AttackTests|TresorTests|TresorServiceTests|VectorTests)\.'
)
declare -A part=([scripts]=1/2 [more_scripts]=2/2)
group_order=(scripts more_scripts client attacks service commands vectors others)
# Those that judge no key of Argon2id: there it costs nothing, and was most of their time.
cheap=" client service scripts more_scripts schedules histories simulations slots "

run_tests() { # run_tests NAME ARGUMENTS: runs tests one after another, in a process and a temporary folder of their own
    local name=$1 start=$SECONDS log=$logs/$1.log variables=()
    shift
    mkdir -p -m 711 "$place/$name"
    if [[ $cheap = *" $name "* ]]; then
        clang -shared -fPIC -O1 -o "$place/$name.so" scripts/cheap-passwords.c -ldl
        variables+=("LD_PRELOAD=$place/$name.so")
    fi
    # Tests find the packages of the second implementation. A build has another environment: it would begin anew.
    [ -z "${part[$name]:-}" ] || variables+=("TRESOR_SCRIPT_PART=${part[$name]}")
    variables+=("TMPDIR=$place/$name" "PATH=$PWD/.venv/bin:$PATH" NO_COLOR=1)
    if env "${variables[@]}" "$programs/tresorPackageTests.xctest" --testing-library swift-testing --no-parallel "$@" \
        >"$log" 2>&1 </dev/null
    then
        echo "$name: $((SECONDS - start)) s, $(tail -n 1 "$log")"
        grep -a -e '^. .* skipped' -e '^missing: ' "$log" | sed 's/^. /  /' || true
        # Tests leave neither files nor processes behind.
        local left
        left=$(find "$place/$name" -mindepth 1 -maxdepth 1; pgrep -af "$place/$name/" || true)
        [ -n "$left" ] || return 0
        echo "$name left behind: $left"
    else
        echo "$name failed after $((SECONDS - start)) s (all of it: $log):"
        grep -a -A 8 -e '^✘' -e '^error:' -e 'Fatal error' "$log" | grep -av -e '^✔' -e '^◇' | tail -n 120
        tail -n 3 "$log"
    fi
    return 1
}

run_groups() { # run_groups [FUNCTION...]: runs all groups and these, one process more than there are cores: tests wait
    local name running=0 red=0
    for name in "${group_order[@]}" "$@"; do
        if [ "$running" -gt "$(nproc)" ]; then
            wait -n || red=1
            running=$((running - 1))
        fi
        # shellcheck disable=SC2086 # the words of a group
        if [ -n "${groups[$name]:-}" ]; then run_tests "$name" ${groups[$name]} & else "$name" & fi
        running=$((running + 1))
    done
    while [ "$running" -gt 0 ]; do
        wait -n || red=1
        running=$((running - 1))
    done
    return "$red"
}

second_implementation() {
    [ -x .venv/bin/python ] || python3 -m venv .venv
    .venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes -r vectors/requirements.txt
}

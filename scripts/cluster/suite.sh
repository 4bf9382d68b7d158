# shellcheck shell=bash
# Sourced by the suites beside it: a folder for each test, a line for each result, and what an output
# has to be compared with. A test is a function; it fails where one of its commands fails. Every
# command is given the same words in its own folder, so that HISTORY is the same too; --quiet only where
# another command has begun the work.

passed=0 failed=0

# The binary under test, as `mmconv` on the PATH.
find_mmconv() {
    local root target
    root=$(cd "$(dirname "$0")/../.." && pwd)
    if [ -z "${MMCONV:-}" ]; then
        target=${CARGO_TARGET_DIR:-$root/target}
        (cd "$root" && cargo build --release)
        MMCONV=$target/release/mmconv
    fi
    mkdir -p "$work/bin"
    ln -sf "$(realpath "$MMCONV")" "$work/bin/mmconv"
    PATH=$work/bin:$PATH
}

# What every test must arrive at: the output of one run that nothing disturbed.
make_expected() {
    expected=$work/expected
    mkdir -p "$expected"
    python3 "$(dirname "$0")/cube.py" "$expected/cube.fits"
    # It is part of the job, and not every file system keeps parts of a second.
    touch -d '2026-01-01 12:00 UTC' "$expected/cube.fits"
    (cd "$expected" && mmconv smooth cube.fits --output out.fits >/dev/null 2>&1)
}

# Runs the function in a folder with the cube, and says how it went. Its output is shown if it fails.
check() {
    local name=$1 begun=$EPOCHREALTIME status=0
    mkdir -p "$work/$name"
    cp -p "$expected/cube.fits" "$work/$name"
    (
        set -eE
        trap 'echo "line $LINENO: $BASH_COMMAND" >&2' ERR
        cd "$work/$name"
        "$name"
    ) >"$work/$name.log" 2>&1 9>&- </dev/null &
    # In the background, since `set -e` means nothing on the left of ||.
    wait $! || status=$?
    local seconds
    seconds=$(echo "$EPOCHREALTIME $begun" | awk '{ printf "%.1f", $1 - $2 }')
    if [ $status = 0 ]; then
        passed=$((passed + 1))
        printf 'ok      %6s s  %s\n' "$seconds" "${name//_/ }"
    else
        failed=$((failed + 1))
        printf 'FAILED  %6s s  %s\n' "$seconds" "${name//_/ }"
        tail -n 40 "$work/$name.log" | sed 's/^/        | /'
    fi
}

# Says the sum, and fails where a test did.
conclude() {
    printf '%d passed, %d failed\n' "$passed" "$failed"
    [ "$failed" = 0 ]
}

smooth() { mmconv smooth cube.fits --output out.fits "$@"; }

# The output is what it should be, and nothing else is left.
complete() {
    cmp out.fits "$expected/out.fits"
    [ ! -e "$expected/beamlog.out.txt" ] || cmp beamlog.out.txt "$expected/beamlog.out.txt"
    local left
    left=$(find . -name 'out.fits?*')
    [ -z "$left" ] || { echo "left behind: $left"; return 1; }
}

# Nothing has the output's name.
unpublished() { [ ! -e out.fits ]; }

# The command ends with this status.
ends_with() {
    local expected=$1 status=0
    shift
    "$@" || status=$?
    [ $status = "$expected" ] || { echo "status $status, not $expected: $*"; return 1; }
}

# The command's standard output and error together hold these words.
says() {
    local words=$1 text
    shift
    text=$("$@" 2>&1) || true
    [[ $text == *"$words"* ]] || { echo "not said: $words"; echo "$text"; return 1; }
}

# Whether the command that is struck with SIGSTOP in this folder has been stopped. (That it is traced and
# not running may also mean that it is at any other system call.)
asleep() { grep -q 'stopped by SIGSTOP' struck.log 2>/dev/null; }

# Wakes a sleeper until it has ended: each of its threads is struck once.
awaken() {
    for _ in $(seq 400); do
        kill -CONT "$1" 2>/dev/null || return 0
        sleep 0.05
    done
    echo "$1 sleeps for ever"
    kill -KILL "$1"
    return 1
}

# Waits until the command succeeds, for twenty seconds.
until_so() {
    for _ in $(seq 400); do
        "$@" && return
        sleep 0.05
    done
    echo "in vain: $*"
    return 1
}

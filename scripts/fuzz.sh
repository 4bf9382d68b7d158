#!/usr/bin/env bash
# Runs every fuzz target and prints how many executions each had. None is in the workspace, nor run by CI.
#   scripts/fuzz.sh                one million executions a target
#   scripts/fuzz.sh 8000000        as many a target
#   scripts/fuzz.sh 60s            as long a target
#   scripts/fuzz.sh 60s bunit wcs  these targets only
# Needs a C++ compiler and cargo-fuzz, which is fetched to target/tools if it is missing; a nightly compiler is taken
# if there is one. The address sanitizer is off: there is no unsafe code behind these targets. A minute by the clock is
# a hang; less may be a machine that is busy with others. What is found lies in target/fuzz, and so do the inputs that a
# run adds to the seeds of the repository; the next run begins with them.
set -euo pipefail
cd "$(dirname "$0")/.."
amount=${1:-1000000}
shift || true
wanted=" $* "
case $amount in
    *[!0-9s]* | s*) echo "usage: scripts/fuzz.sh [RUNS|SECONDSs] [TARGET...]" >&2; exit 2 ;;
    *s) limit=-max_total_time=${amount%s} ;;
    *) limit=-runs=$amount ;;
esac
mkdir -p "${CARGO_TARGET_DIR:-target}"
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
PATH="$target/tools/bin:$PATH"
command -v cargo-fuzz >/dev/null || cargo install --quiet --root "$target/tools" cargo-fuzz
nightly=$(rustup toolchain list 2>/dev/null | sed -n 's/^\(nightly[^ ]*\).*/+\1/p' | head -1)
[ -n "$nightly" ] || export RUSTC_BOOTSTRAP=1

total=0
failed=0
# Runs one target; says what is left of its output if it fails.
run() {
    local folder=$1 name=$2 length=$3
    case $wanted in "  " | *" $name "*) ;; *) return 0 ;; esac
    local work=$target/fuzz/$name log=$target/fuzz/$name.log binary
    mkdir -p "$work"
    binary=$(find "$target/fuzz/build" -path "*/release/$name" -type f | head -1)
    [ -n "$binary" ] || { echo "no $name was built" >&2; exit 4; }
    nice -n 19 "$binary" -dict=tests/fuzz/words.dict -max_len="$length" -timeout=60 -rss_limit_mb=1024 \
        -malloc_limit_mb=64 "$limit" -artifact_prefix="$target/fuzz/$name-" \
        "$work" "$folder/corpus/$name" >"$log" 2>&1 || {
        grep -v '^#' "$log" | tail -25
        failed=$((failed + 1))
    }
    local runs seconds
    runs=$(sed -n 's/^Done \([0-9]*\) runs.*/\1/p' "$log")
    seconds=$(sed -n 's/^Done .* in \([0-9]*\) second.*/\1/p' "$log")
    [ -n "$runs" ] || runs=$(sed -n 's/^#\([0-9]*\).*/\1/p' "$log" | tail -1)
    total=$((total + ${runs:-0}))
    printf '%-18s %12s executions in %6s s\n' "$name" "${runs:-0}" "${seconds:--}"
}

for folder in fits-layout/fuzz tests/fuzz; do
    # The targets' own folder of builds: they are built unlike everything else.
    (cd "$folder" && CARGO_TARGET_DIR=$target/fuzz/build cargo $nightly fuzz build --fuzz-dir . -s none >&2)
done
run fits-layout/fuzz parse_edit_render 12000
run fits-layout/fuzz edits 3000
run tests/fuzz beam_table 1500
run tests/fuzz beam_log 600
run tests/fuzz beam_cards 800
run tests/fuzz bunit 200
run tests/fuzz wcs 800
printf '%-18s %12s executions, %s of the targets failed\n' all "$total" "$failed"
[ "$failed" = 0 ]

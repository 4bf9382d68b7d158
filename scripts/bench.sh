#!/usr/bin/env bash
# The command end to end on a synthetic cube, both stores, beside its floors, and what bounds it.
#   scripts/bench.sh [NX NY NCHAN DTYPE MODE]   2048 2048 32 f32 keep; MODE: keep racs interpolate wrap
#   scripts/bench.sh --record                   the standard set, into benches/records/
# From the environment: MMCONV_BENCH_DIR (a folder for the cubes, which stays; else a temporary one),
# MMCONV_BENCH_RUNS (5), MMCONV_BENCH_THREADS (all), MMCONV_BENCH_TARGET (20,17,20).
set -euo pipefail
cd "$(dirname "$0")/.."

cargo build --release --quiet --bin mmconv --example measure
built="${CARGO_TARGET_DIR:-target}/release"
export MMCONV="$built/mmconv"

if [ -z "${MMCONV_BENCH_DIR:-}" ]; then
    MMCONV_BENCH_DIR=$(mktemp -d "${TMPDIR:-/tmp}/mmconv-bench.XXXXXX")
    trap 'rm -rf "$MMCONV_BENCH_DIR"' EXIT
fi
mkdir -p "$MMCONV_BENCH_DIR"
export MMCONV_BENCH_DIR

if [ "${1:-}" = --record ]; then
    date=$(date +%F)
    commit=$(git rev-parse --short HEAD)
    git diff --quiet HEAD -- src fits-layout Cargo.lock || commit="$commit with changes"
    cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1 | tr -cs 'A-Za-z0-9\n' -)
    record="benches/records/$date-${cpu:-cpu}.md"
    "$built/examples/measure" record "$date" "$commit" >"$MMCONV_BENCH_DIR/record.md"
    mv "$MMCONV_BENCH_DIR/record.md" "$record"
    printf '%s\n' "$record"
else
    "$built/examples/measure" compare \
        "${1:-2048}" "${2:-2048}" "${3:-32}" "${4:-f32}" "${5:-keep}"
fi

#!/usr/bin/env bash
# How many times faster than convolve-rs, each with its own defaults, in turn on the same cubes.
#   scripts/beside-convolve-rs.sh [BMAJ,BMIN,BPA]        20,17,20 unless given
# `convolvers` is looked for on the path, or as CONVOLVERS says:
#   cargo install convolve-rs --version 2.1.0
# From the environment: MMCONV_BENCH_DIR (a folder with 20 GB free, TMPDIR otherwise), MMCONV_BENCH_RUNS (5),
# MMCONV_BENCH_THREADS (all), MMCONV_BENCH_IDLE (seconds of rest before each run, 0), MMCONV_BENCH_CUBES (names).
set -euo pipefail
cd "$(dirname "$0")/.."

convolvers=$(command -v "${CONVOLVERS:-convolvers}") || {
    echo "convolvers is not there: cargo install convolve-rs --version 2.1.0" >&2
    exit 1
}
IFS=, read -r bmaj bmin bpa <<<"${1:-20,17,20}"
target=(--mode total --bmaj "$bmaj" --bmin "$bmin" --bpa "$bpa")
runs=${MMCONV_BENCH_RUNS:-5}
threads=${MMCONV_BENCH_THREADS:-$(nproc)}
export RAYON_NUM_THREADS=$threads TIMEFORMAT=%R

cargo build --release --quiet --bin mmconv --example measure
built="${CARGO_TARGET_DIR:-target}/release"
folder=$(mktemp -d "${MMCONV_BENCH_DIR:-${TMPDIR:-/tmp}}/mmconv-bench.XXXXXX")
trap 'rm -rf "$folder"' EXIT
mkdir "$folder/ours" "$folder/theirs"

# Wall seconds of a command that is to be silent; what is in the folder of outputs goes first.
seconds() {
    local outputs=$1
    shift
    rm -rf "${outputs:?}"/*
    sleep "${MMCONV_BENCH_IDLE:-0}"
    { time "$@" >"$folder/said" 2>&1; } 2>&1 || {
        cat "$folder/said" >&2
        exit 1
    }
}

# The middle one of numbers, one a line.
median() { sort -n | awk '{ x[NR] = $1 } END { print x[int((NR + 1) / 2)] }'; }

# One line for a cube: wall of both, and theirs over ours, pair by pair.
beside() {
    local name=$1 cube="$folder/$1.fits"
    shift
    case " ${MMCONV_BENCH_CUBES:-A B C D E F G H} " in *" $name "*) ;; *) return ;; esac
    "$built/examples/measure" make "$@" "$cube"
    for ((run = 0; run <= runs; run++)); do
        ours=$(seconds "$folder/ours" "$built/mmconv" smooth -q "${target[@]}" \
            --threads "$threads" --outdir "$folder/ours" "$cube")
        theirs=$(seconds "$folder/theirs" "$convolvers" 3d "${target[@]}" -o "$folder/theirs" "$cube")
        # The first pair only warms up.
        [ "$run" = 0 ] || echo "$ours $theirs"
    done >"$folder/pairs"
    rm -rf "$cube" "$folder"/ours/* "$folder"/theirs/*
    awk -v m="$(awk '{ print $2 / $1 }' "$folder/pairs" | median)" \
        -v o="$(cut -d' ' -f1 "$folder/pairs" | median)" \
        -v t="$(cut -d' ' -f2 "$folder/pairs" | median)" \
        -v what="$name, $1 x $2 x $3 $4 $5" \
        'BEGIN { printf "| %-28s | %7.2f | %7.2f | %5.2f |\n", what, o, t, m }'
}

printf 'target %s, %s threads, %s runs in turn, medians\n\n' "$bmaj,$bmin,$bpa" "$threads" "$runs"
printf '| %-28s | %7s | %7s | %5s |\n' cube 'mmconv' 'theirs' times
printf '|---|---|---|---|\n'
beside A 1024 1024 64 f32 keep
beside B 2048 2048 32 f32 keep
beside C 4096 4096 8 f32 racs
beside D 10240 10240 6 f32 keep
beside E 2048 2048 16 f64 keep
beside F 3000 2600 24 f32 racs
beside G 512 512 512 f32 keep
beside H 5039 5039 6 f32 keep

#!/usr/bin/env bash
# What a GPU gains over the CPU at every size, or would gain: one table, and a verdict.
#   scripts/bench-gpu-vs-cpu.sh [--quick] [--record] [SIZE ...]    1024 2048 4096 10240
# --quick takes fewer planes, and 1024 and 2048 where no size is named; --record keeps the table in
# benches/records. Needs bash, sed, awk and the program: MMCONV, or mmconv from the PATH, or the one
# built here. From the environment too: MMCONV_BENCH_DIR (the disk that is measured; else that of
# temporary files; 10240 wants 4 GB), MMCONV_BENCH_THREADS (all), MMCONV_BENCH_BACKEND (auto).
set -euo pipefail

root=$(cd "$(dirname "${BASH_SOURCE[0]}")/.." && pwd)
pixels=$((64 * 1024 * 1024)) # of a cube, about
sizes=()
quick=no
record=no

while [ $# -gt 0 ]; do
    case $1 in
    --quick) quick=yes ;;
    --record) record=yes ;;
    *[!0-9]* | '' | 0*)
        sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}" >&2
        exit 2
        ;;
    *) sizes+=("$1") ;;
    esac
    shift
done
if [ $quick = yes ]; then
    pixels=$((pixels / 4))
    [ ${#sizes[@]} -gt 0 ] || sizes=(1024 2048)
fi
[ ${#sizes[@]} -gt 0 ] || sizes=(1024 2048 4096 10240)

# The program that is measured.
program() {
    if [ -n "${MMCONV:-}" ]; then
        printf '%s\n' "$MMCONV"
    elif ! command -v mmconv; then
        printf '%s\n' "${CARGO_TARGET_DIR:-$root/target}/release/mmconv"
    fi
}

mmconv=$(program)
"$mmconv" --version >/dev/null || {
    printf 'no mmconv to measure: name one in MMCONV, or cargo build --release\n' >&2
    exit 4
}

flags=(--json --backend "${MMCONV_BENCH_BACKEND:-auto}")
[ -z "${MMCONV_BENCH_DIR:-}" ] || flags+=(--dir "$MMCONV_BENCH_DIR")
[ -z "${MMCONV_BENCH_THREADS:-}" ] || flags+=(--threads "$MMCONV_BENCH_THREADS")

# The value of a key of the object in $found, as it stands there.
value() {
    sed -n "s/.*\"$1\":\(\"[^\"]*\"\|[^,}]*\)[,}].*/\1/p" <<<"$found" | tr -d '"'
}

# A time of the object in $found, in milliseconds; a dash where it was not measured.
milliseconds() {
    sed -n "s/.*\"$1\":{\"seconds_per_plane\":\([^,]*\),.*/\1/p" <<<"$found" |
        awk '{ if ($1 == "null") print "-"; else printf "%.3g\n", 1000 * $1 }'
}

# A number with two digits after the point.
short() {
    awk -v value="$1" 'BEGIN { printf "%.2f", value }'
}

# Planes of a cube of this size: as many as have about the same number of pixels, two at least.
planes_of() {
    local planes=$((pixels / ($1 * $1)))
    printf '%s\n' $((planes < 2 ? 2 : planes > 64 ? 64 : planes))
}

# The row of the object in $found.
row() {
    local gain taken resident=device_resident
    [ "$4" = 0 ] || resident=device_resident_masked
    gain=$(short "$(value gain)")
    [ "$(value gain_is_estimate)" = false ] || gain="$gain (est.)"
    taken=$(value auto_from_planes)
    [ "$taken" != null ] || taken=never
    printf '| %s² × %s %s | %s %% |' "$1" "$2" "$3" "$4"
    printf ' %s |' "$(milliseconds cpu_one_thread)" "$(milliseconds cpu_all_threads)" \
        "$(milliseconds $resident)" "$(milliseconds device_serial)" \
        "$(milliseconds device_overlapped)" "$(milliseconds file_cpu)" \
        "$(milliseconds file_device)" "$(milliseconds file_swapped)" \
        "$(milliseconds file_copied_to_disk)" "$(value bound_by)" "$gain" \
        "$(short "$(value most)")" "$taken"
    printf '\n'
}

heading() {
    printf '# %s, %s\n\n' "$(date +%F)" "$cpu"
    # shellcheck disable=SC2016
    printf '`scripts/bench-gpu-vs-cpu.sh`, %s; %s threads at most. Milliseconds a plane. ' \
        "$("$mmconv" --version)" "${MMCONV_BENCH_THREADS:-$(nproc)}"
    printf 'Load averages at the beginning: %s.\n\n' "$(cut -d ' ' -f 1-3 /proc/loadavg)"
    printf '| cube | blank | CPU, 1 thread | CPU, all | GPU, resident | GPU, serial | GPU, overlapped '
    printf '| file, CPU | file, GPU | copy floor | onto the disk | bound by | GPU gains | at most '
    printf '| auto from planes |\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n'
}

# Every case, a row each; what is bound by what, and the gains, go to $notes.
rows() {
    local size precision blank planes found reason
    for size in "${sizes[@]}"; do
        planes=$(planes_of "$size")
        for precision in f32 f64; do
            for blank in 0 25; do
                if ! found=$("$mmconv" bench "${flags[@]}" --nx "$size" --ny "$size" \
                    --planes "$planes" --precision $precision --blank $blank); then
                    printf '| %s² × %s %s | %s %% | failed |\n' \
                        "$size" "$planes" $precision $blank
                    printf 'failed\n' >>"$notes"
                    continue
                fi
                row "$size" "$planes" $precision $blank
                reason=$(value not_measured)
                printf '%s %s %s %s %s\n' "$(value bound_by)" "$(value gain)" "$(value most)" \
                    "$(value gain_is_estimate)" "$reason" >>"$notes"
            done
        done
    done
}

# The rows in words.
verdict() {
    awk '
        $1 == "failed" { failed++; next }
        {
            cases++; bound[$1]++
            if (cases == 1 || $2 < least) least = $2
            if (cases == 1 || $2 > most) most = $2
            if ($3 > limit) limit = $3
            if ($4 == "true") { estimated++; $1 = $2 = $3 = $4 = ""; reason = $0 }
        }
        END {
            printf "\nVerdict: of %d cases %d are bound by the FFT, %d by I/O and %d by neither. ", \
                cases, bound["fft"], bound["io"], bound["between"]
            sub(/^ +/, "", reason)
            if (estimated) printf "A GPU would make them %.1f to %.1f times faster (estimated, as none " \
                "was measured: %s); ", least, most, reason
            else printf "The GPU makes them %.1f to %.1f times faster; ", least, most
            printf "one that took no time %.1f times at most.\n", limit
            if (failed) printf "\n%d cases failed.\n", failed
        }' "$notes"
}

cpu=$(sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1)
cpu=${cpu:-unknown processor}
scratch=$(mktemp -d "${TMPDIR:-/tmp}/mmconv-rows.XXXXXX")
trap 'rm -rf "$scratch"' EXIT
trap 'exit 75' INT TERM HUP
notes=$scratch/notes
: >"$notes"

{
    heading
    rows
    verdict
} | tee "$scratch/record.md"
if [ $record = yes ]; then
    name=$(tr -cs 'A-Za-z0-9\n' - <<<"$cpu")
    kept=$root/benches/records/$(date +%F)-${name%-}-gpu.md
    mv "$scratch/record.md" "$kept"
    printf '%s\n' "$kept" >&2
fi
! grep -q '^failed' "$notes"

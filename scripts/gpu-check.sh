#!/usr/bin/env bash
# Everything to learn of a GPU on the day there is one, in one command:
#   scripts/gpu-check.sh BINARY OUTDIR MINUTES         8 minutes do for a release binary on a fast machine
# Right results, bits, every rung of memory, refusals, speed, and NVIDIA's compute-sanitizer where it is installed. One line
# a check: "ok" with the last thing it said, "FAIL" with what went wrong, or "SKIP" with the reason. It stops in the
# minutes given. Exit status: 0 if nothing failed and something was right, else 1.
# OUTDIR gets summary.txt, which is what is printed, and all.tgz, with all that every check said; nothing else stays.
# Needs bash, coreutils, grep, sed, tar, python3 with its own library, the binary (cargo build --release), a driver, and
# cuFFT in the loader's folders, in a toolkit, or in the packages of any Python here; no network, no compiler.
# From the environment: ONLY, a pattern of the names of checks, such as 'right-f64-*' or '@(memory|whole)-*': the others are
# passed over; GPU_CHECK_WORK, a folder to work in (/dev/shm if it has 8 GB free, else that of temporary files); QUICK=1
# takes small planes, for a rehearsal on the mock driver of tests/cuda/mock: see scripts/gpu/rehearse.sh.
set -uo pipefail
shopt -s extglob
root=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)

if [ $# != 3 ] || [[ ! $3 =~ ^[1-9][0-9]{0,3}$ ]]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
MMCONV=$(realpath -- "$1")
"$MMCONV" --version >/dev/null || {
    printf '%s is not mmconv, or does not run here\n' "$1" >&2
    exit 2
}
# Itself, not a script that looks for one.
PYTHON=$(python3 -c 'import sys; print(sys.executable)') || exit 2
mkdir -p -- "$2" || exit 2
outdir=$(cd -- "$2" && pwd)
end=$((SECONDS + 60 * $3))
summary=$outdir/summary.txt
: >"$summary" || exit 2

# The folder to work in: memory, where there is enough of it.
place() {
    local free
    if [ -n "${GPU_CHECK_WORK:-}" ]; then
        printf '%s\n' "$GPU_CHECK_WORK"
        return
    fi
    free=$(df --output=avail -BG /dev/shm 2>/dev/null | tail -n 1)
    if [ -w /dev/shm ] && [ "$(tr -dc 0-9 <<<"0$free")" -ge 8 ]; then
        echo /dev/shm
    else
        printf '%s\n' "${TMPDIR:-/tmp}"
    fi
}

WORK=$(mktemp -d "$(place)/mmconv-gpu.XXXXXX") || exit 2
said=$WORK/said
mkdir -p "$said" "$WORK/cubes"
QUICK=${QUICK:-}
ONLY=${ONLY:-*}
export MMCONV PYTHON WORK
# What this machine is said to be like must not choose for the checks.
unset MMCONV_BACKEND MMCONV_RATES
export XDG_CONFIG_HOME=$WORK/none
running=

leave() {
    [ -z "$running" ] || { kill -TERM "$running" && wait "$running"; } 2>/dev/null
    tar -C "$said" -czf "$outdir/all.tgz" . 2>/dev/null
    rm -rf "$WORK"
}
trap leave EXIT
trap 'exit 75' INT TERM HUP

passed=0
failed=0
skipped=0
reserve=0

say() {
    printf '%s\n' "$*" | tee -a "$summary"
}

quick() {
    [ -n "$QUICK" ]
}

# Whether this check was asked for.
wanted() {
    # shellcheck disable=SC2053
    [[ $1 == $ONLY ]]
}

skip() {
    skipped=$((skipped + 1))
    say "$(printf 'SKIP %-28s (%s)' "$1" "$2")"
}

# NAME SECONDS CHECK [ARGUMENT ...]: one of scripts/gpu/checks.sh, given that long at most.
check() {
    local name=$1 limit=$2 left begun status took last
    shift 2
    wanted "$name" || return 0
    left=$((end - SECONDS - reserve))
    if [ $left -lt 4 ]; then
        skip "$name" 'no time left'
        return
    fi
    [ $left -ge "$limit" ] || limit=$left
    rm -rf "$WORK/now"
    mkdir "$WORK/now"
    begun=${EPOCHREALTIME/[.,]/}
    timeout -k 3 "$limit" "$root/gpu/checks.sh" "$@" >"$said/$name.txt" 2>&1 &
    running=$!
    wait $running
    status=$?
    running=
    took=$(((${EPOCHREALTIME/[.,]/} - begun) / 100000))
    rm -rf "$WORK/now"
    last=$(tail -n 1 "$said/$name.txt" | cut -c 1-160)
    case $status in
    0)
        passed=$((passed + 1))
        say "$(printf 'ok   %-28s %4d.%d s  %s' "$name" $((took / 10)) $((took % 10)) "$last")"
        ;;
    77) skip "$name" "$last" ;;
    124 | 137)
        # It was cut short because the time for everything was up, or because it took longer than it may.
        if [ $((end - SECONDS - reserve)) -lt 2 ]; then
            skip "$name" "no time left after $limit s"
        else
            failed=$((failed + 1))
            say "$(printf 'FAIL %-28s exit %s: not done in %s s' "$name" $status "$limit")"
        fi
        ;;
    *)
        failed=$((failed + 1))
        last=$(grep -Ev '^(\{|note:)' "$said/$name.txt" | tail -n 3 | tr '\n' ' ' | cut -c 1-400)
        say "$(printf 'FAIL %-28s exit %s: %s' "$name" $status "$last")"
        ;;
    esac
    return $status
}

# --- cuFFT: as the program finds it, or in a Python's packages, or anywhere
cufft_folders() {
    local python
    for python in python3 python /opt/*/bin/python3 /opt/*/.venv/bin/python3 "$HOME"/*/bin/python3; do
        "$python" - 2>/dev/null <<'PYTHON'
import glob, os, site, sys
for folder in dict.fromkeys([*site.getsitepackages(), site.getusersitepackages(), *sys.path]):
    for found in glob.glob(folder + '/nvidia/cu13/lib/libcufft.so.1*') + glob.glob(folder + '/nvidia/cufft/lib/libcufft.so.1*'):
        print(os.path.dirname(found))
PYTHON
    done
}

find_cufft() {
    local folders
    "$MMCONV" devices 2>/dev/null | grep -q '^  device 0: ' && return
    folders=$(cufft_folders | sort -u | paste -sd :)
    if [ -z "$folders" ]; then
        folders=$(timeout 20 find / -name proc -prune -o -name 'libcufft.so.1[12]*' -printf '%h\n' 2>/dev/null | sort -u | paste -sd :)
    fi
    [ -z "$folders" ] || export MMCONV_CUDA_PATH=$folders${MMCONV_CUDA_PATH:+:$MMCONV_CUDA_PATH}
}

# --- right results, the CPU beside the device
correctness() {
    local kind fine loose odd=(129 255 9) prime=(1021 509 3) small=(96 64 9) row=4096 side=512 planes=70 large=(2048 2048 2)
    if quick; then
        odd=(33 57 5) prime=(61 127 2) small=(48 40 9) row=512 side=40 planes=40
    fi
    for kind in f32 f64; do
        fine=3e-6
        loose=3e-6
        if [ $kind = f64 ]; then
            fine=2e-12
            loose=2e-11
        fi
        check "right-$kind-small" 60 right $fine "${small[@]}" $kind 20
        check "right-$kind-small-racs" 60 right $fine "${small[@]}" $kind 20 --nan racs --edge wrap
        check "right-$kind-small-interpolate" 60 right $loose "${small[@]}" $kind 20 --nan interpolate
        check "right-$kind-odd-wrap" 60 right $fine "${odd[@]}" $kind 0 --edge wrap
        check "right-$kind-odd-racs" 60 right $fine "${odd[@]}" $kind 15 --nan racs
        check "right-$kind-prime-wrap" 60 right $fine "${prime[@]}" $kind 5 --edge wrap
        check "right-$kind-prime-interpolate" 60 right $loose "${prime[@]}" $kind 5 --nan interpolate --edge wrap
        check "right-$kind-one-row" 60 right $fine $row 1 3 $kind 0
        check "right-$kind-one-column" 60 right $fine 1 300 3 $kind 0 --edge wrap
        check "right-$kind-batched" 60 right $fine $side $((side + 8)) $planes $kind 3 --nan racs
    done
    check right-i16-racs 60 right 3e-6 "${small[@]}" i16 10 --nan racs
    check right-i16-to-f64 60 right 2e-12 "${odd[@]}" i16 10 --precision f64
    check right-f32-to-f64 60 right 2e-12 "${odd[@]}" f32 10 --precision f64 --nan racs
    check right-f64-to-f32 60 right 3e-6 "${odd[@]}" f64 10 --precision f32 --nan racs
    check right-f32-batched-interpolate 60 right 3e-6 $side $((side + 8)) $planes f32 3 --nan interpolate --edge wrap
    quick && return
    check right-f32-2048 60 right 3e-6 "${large[@]}" f32 10
    check right-f32-2048-racs-wrap 60 right 3e-6 "${large[@]}" f32 10 --nan racs --edge wrap
    check right-f64-2048-interpolate 90 right 2e-11 "${large[@]}" f64 10 --nan interpolate
    check right-f32-7200x6000-racs 90 right 3e-6 7200 6000 1 f32 10 --nan racs
    check right-f64-7200x6000-wrap 90 right 2e-12 7200 6000 1 f64 0 --edge wrap
}

# --- the same bits, whatever the run looks like
same_bits() {
    local cube=(512 640 70 f32 5) long=(1024 1000 300 f32 0) short=(600 400 9 f64 5)
    if quick; then
        cube=(64 48 40 f32 5) long=(64 48 400 f32 0) short=(60 40 5 f64 5)
    fi
    check bits-twice 60 bits "${cube[@]}" --nan racs --
    check bits-twice-f64 60 bits "${short[@]}" --nan interpolate --
    check bits-one-thread 60 bits "${cube[@]}" --nan racs -- --threads 1
    check bits-few-lanes 60 bits_lanes "${cube[@]}"
    check bits-one-by-one 90 bits_one_by_one "${cube[@]}"
    check bits-written-by-position 60 bits "${cube[@]}" -- --io write
    check bits-shards 60 bits_shards "${cube[@]}"
    check bits-stopped-and-resumed 90 bits_stopped "${long[@]}"
}

memory() {
    local side=2048
    quick && side=128
    check memory-rungs 120 rungs $side $side 8 f32 0
    check memory-none 30 no_memory $side $side 8 f32 0
}

refusals() {
    CUDA_VISIBLE_DEVICES='' check refused-no-device 30 refused 'no CUDA device'
    CUDA_VISIBLE_DEVICES='' check auto-without-device 30 auto cpu
    check refused-device-99 30 refused 'device' --device 99
    check auto-device-99 30 auto cpu --device 99
    check auto-takes-the-device 30 auto 'cuda ('
    check forced-to-the-cpu 30 forced
    check host-memory-registered 30 registered 256 256 8 f32 0
}

# --- speed. What matters most comes first, as the time may be up before the end.
speed() {
    local n planes type blank whole=('4096 4096 24 f32 0' '1024 1024 400 f32 0' '4096 4096 24 f32 20' '4096 4096 12 f64 0')
    local benches=('2048 f32 0' '4096 f32 0' '1024 f32 0' '2048 f64 0' '2048 f32 25' '4096 f64 0' '512 f32 0' '8192 f32 0'
        '10240 f32 0' '1024 f64 0' '2048 f64 25' '4096 f32 25' '10240 f64 0' '16384 f32 0' '512 f64 0' '16384 f64 0')
    local lanes='4096 4096 24 f32 0'
    if quick; then
        whole=('96 64 20 f32 0') benches=('48 f32 0' '32 f64 25') lanes='96 64 20 f32 0'
    fi
    CUDA_CACHE_DISABLE=1 check start-cold 60 start
    check start-warm 60 start
    for n in "${whole[@]}"; do
        # shellcheck disable=SC2086
        check "whole-${n// /-}" 90 whole $n
    done
    # shellcheck disable=SC2086
    check lanes-1-to-4 60 lanes $lanes
    for n in "${benches[@]}"; do
        read -r n type blank <<<"$n"
        planes=$((64 * 1024 * 1024 / (n * n)))
        planes=$((planes < 2 ? 2 : planes > 64 ? 64 : planes))
        quick && planes=4
        check "parts-$n-$type-$blank" 90 bench "$n" $planes "$type" "$blank"
    done
}

sanitizers() {
    local tool
    for tool in memcheck initcheck racecheck synccheck; do
        if [ -n "$SANITIZER" ]; then
            check "sanitizer-$tool" 90 sanitizer $tool
        elif wanted "sanitizer-$tool"; then
            skip "sanitizer-$tool" 'no compute-sanitizer here'
        fi
    done
}

find_cufft
say "$("$MMCONV" --version), in $(basename "$(dirname "$WORK")")"
"$MMCONV" devices | tee -a "$summary"
check machine 60 machine
if ! check devices 60 devices; then
    say 'no device: nothing else is tried'
    exit 1
fi

SANITIZER=$(PATH=$PATH:/usr/local/cuda/bin:/opt/cuda/bin:/usr/local/cuda/compute-sanitizer command -v compute-sanitizer)
export SANITIZER
correctness
same_bits
memory
refusals
# What the sanitizers are to have.
[ -z "$SANITIZER" ] || reserve=$((60 * $3 / 5))
speed
reserve=0
sanitizers

shopt -s nullglob
"$PYTHON" -S -E "$root/gpu/timings.py" table "$said"/parts-*.txt | tee -a "$summary"
say "$passed right, $failed wrong, $skipped not tried; $SECONDS s"
[ $failed = 0 ] && [ $passed -gt 0 ]

#!/usr/bin/env bash
# The checks of scripts/gpu-check.sh, one a call: scripts/gpu/checks.sh NAME [ARGUMENT ...]
# Needs from the environment: MMCONV, the binary; PYTHON, python3; WORK, a folder with folders "now" and "cubes" that are free
# to use; SANITIZER, compute-sanitizer, for its checks. What is seen goes to standard output, the figure in its last line.
# Status 0: right; 77: cannot be tried here, for the reason in the last line; else wrong.
set -uo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
now=$WORK/now
cubes=$WORK/cubes
# The beam that all cubes of cubes.py can be brought to.
target=(--bmaj 12 --bmin 10 --bpa 20)

cubes.py() { "$PYTHON" -S -E "$here/cubes.py" "$@"; }
timings.py() { "$PYTHON" -S -E "$here/timings.py" "$@"; }

fail() {
    printf '%s\n' "$*"
    exit 1
}

# Bytes of a plane.
plane_bytes() {
    local size=4
    case $3 in f64) size=8 ;; i16) size=2 ;; esac
    printf '%s\n' $(($1 * $2 * size))
}

# Gives up unless the working folder has room for so many bytes, of disk or of memory.
room() {
    local free memory
    free=$(df --output=avail -B1 "$WORK" | tail -n 1)
    memory=$(sed -n 's/^MemAvailable: *\([0-9]*\) kB/\1/p' /proc/meminfo)
    if [ "$1" -gt "$free" ] || [ "$1" -gt $((${memory:-0} * 1024 * 3 / 4)) ]; then
        printf 'no room for %s MB here\n' $(($1 / 1000000))
        exit 77
    fi
}

# The path of a cube: NX NY NCHAN TYPE BLANK_PERCENT. Small ones are kept for other checks.
cube() {
    local bytes folder=$cubes
    bytes=$(($(plane_bytes "$1" "$2" "$4") * $3))
    [ $bytes -lt 100000000 ] || folder=$now
    local path=$folder/$1x$2x$3-$4-$5.fits
    [ -e "$path" ] || { cubes.py make "$path.new" "$1" "$2" "$3" "$4" "$5" && mv "$path.new" "$path"; } || return
    printf '%s\n' "$path"
}

# Brings the cube $1 to the target, as $now/$2.fits, with the other flags; everything that is said goes to $now/$2.txt.
smooth() {
    local input=$1 name=$2 status
    shift 2
    printf '$ mmconv smooth %s\n' "$*"
    "$MMCONV" smooth "${target[@]}" --json --overwrite --output "$now/$name.fits" "$@" "$input" >"$now/$name.txt" 2>&1
    status=$?
    # A file of its own lets a run that is not the last be looked into.
    cat "$now/$name.txt"
    [ $status = 0 ] || printf 'exit status %s\n' $status
    return $status
}

# What the last run of this name has said is of these words.
says() {
    grep -q -- "$2" "$now/$1.txt"
}

# A machine whose processor is said to be so slow that auto takes any device.
rates() {
    printf '%s\n' 'device_start_seconds = 0.0001' 'cpu_f32_clean_seconds_per_gpixel = 1000000' \
        'cpu_f32_masked_seconds_per_gpixel = 1000000' >"$WORK/rates"
    export MMCONV_RATES=$WORK/rates
}

# --- what there is

machine() {
    uname -a
    printf '%s processors; ' "$(nproc)"
    sed -n 's/^model name[^:]*: //p' /proc/cpuinfo | head -n 1
    grep -E '^(MemTotal|MemAvailable)' /proc/meminfo
    df -h "$WORK" /dev/shm "${TMPDIR:-/tmp}" 2>/dev/null
    printf 'LD_LIBRARY_PATH=%s\nMMCONV_CUDA_PATH=%s\n' "${LD_LIBRARY_PATH:-}" "${MMCONV_CUDA_PATH:-}"
    "$MMCONV" --version
    if command -v nvidia-smi >/dev/null; then
        nvidia-smi
        nvidia-smi topo -m
        nvidia-smi -q -d PERFORMANCE,CLOCK,PCIE 2>/dev/null
        local facts=name,driver_version,memory.total,compute_cap,pcie.link.gen.max,pcie.link.width.max,pcie.link.gen.current
        nvidia-smi --query-gpu=$facts --format=csv,noheader
    else
        echo 'no nvidia-smi here'
    fi
}

devices() {
    "$MMCONV" devices --json
    "$MMCONV" devices | tee "$now/devices.txt"
    grep -q '^  device 0: ' "$now/devices.txt"
}

# --- right results: TOLERANCE NX NY NCHAN TYPE BLANK_PERCENT [FLAG ...]

right() {
    local tolerance=$1 alone=0 input
    local shape=("${@:2:5}")
    shift 6
    input=$(cube "${shape[@]}") || fail 'no cube'
    smooth "$input" cpu --backend cpu "$@" || fail 'the CPU has failed'
    smooth "$input" cuda --backend cuda "$@" || fail 'the device has failed'
    says cuda 'threads on cuda (' || fail 'it was not made by the device'
    grep -aq 'HISTORY mmconv.*backend cuda' "$now/cuda.fits" || fail 'its HISTORY does not name the device'
    # In single precision a smoothed mask may be a hair above the limit of racs here, and below it there.
    case "$*:$tolerance" in *racs*e-6) alone=3 ;; esac
    cubes.py compare "$now/cpu.fits" "$now/cuda.fits" "$tolerance" $alone
}

# --- the same bits: NX NY NCHAN TYPE BLANK_PERCENT, and the flags that must not matter behind "--"

bits() {
    local shape=("${@:1:5}") input common=() varied
    shift 5
    while [ $# -gt 0 ] && [ "$1" != -- ]; do
        common+=("$1")
        shift
    done
    varied=("${@:2}")
    input=$(cube "${shape[@]}") || fail 'no cube'
    smooth "$input" first --backend cuda "${common[@]}" || fail 'the device has failed'
    smooth "$input" second --backend cuda "${common[@]}" "${varied[@]}" || fail 'the device has failed'
    cubes.py same "$now/first.fits" "$now/second.fits"
}

# The --memory that makes so many lanes of this request: LANES CUBE [FLAG ...]
memory_for() {
    local lanes=$1 all fewer
    shift
    local plan=("$MMCONV" smooth "${target[@]}" --json --dry-run --output "$now/none.fits" --backend cuda "${@:2}" "$1")
    all=$("${plan[@]}" 2>/dev/null) || return
    fewer=$("${plan[@]}" --memory $(($(timings.py value memory_bytes <<<"$all") - 1)) 2>/dev/null) || return
    printf '%s\n%s\n' "$all" "$fewer" | timings.py memory "$lanes"
}

bits_lanes() {
    local input memory lanes
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda --nan racs || fail 'the device has failed'
    for lanes in 1 2; do
        memory=$(memory_for $lanes "$input" --nan racs) || fail "no memory for $lanes lanes to be found"
        smooth "$input" second --backend cuda --nan racs --memory "$memory" || fail 'the device has failed'
        says second "\"lanes\":$lanes," || fail "there were not $lanes lanes"
        cubes.py same "$now/first.fits" "$now/second.fits" || exit 1
    done
}

# A batch of one, which has to be in the device's memory by itself.
bits_one_by_one() {
    local input bytes
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda || fail 'the device has failed'
    bytes=$(($(plane_bytes "$1" "$2" "$4") * 512))
    while [ $bytes -gt 4096 ]; do
        smooth "$input" second --backend cuda --device-memory $bytes || fail 'it was never one plane at a time'
        if says second 'one plane at a time'; then
            cubes.py same "$now/first.fits" "$now/second.fits"
            return
        fi
        bytes=$((bytes * 2 / 3))
    done
    fail 'it was never one plane at a time'
}

bits_shards() {
    local input shard
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda --nan racs || fail 'the device has failed'
    rm -rf "$now"/second.fits*
    for shard in 0/2 1/2; do
        smooth "$input" second --backend cuda --nan racs --shard $shard || fail "shard $shard has failed"
    done
    cubes.py same "$now/first.fits" "$now/second.fits"
}

bits_stopped() {
    local input tries status pid
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda || fail 'the device has failed'
    local run=("$MMCONV" smooth "${target[@]}" --backend cuda --threads 1 --output "$now/second.fits")
    for tries in 1 2 3 4; do
        rm -rf "$now"/second.fits*
        "${run[@]}" "$input" >"$now/second.txt" 2>&1 &
        pid=$!
        until compgen -G "$now/second.fits.mmconv/j/*" >/dev/null || ! kill -0 $pid 2>/dev/null; do sleep 0.003; done
        sleep 0.0$((5 - tries))
        kill -TERM $pid 2>/dev/null
        wait $pid
        status=$?
        cat "$now/second.txt"
        [ $status = 0 ] || break
        echo 'it was done before the signal'
    done
    [ $status = 75 ] || fail "exit status $status instead of 75"
    "${run[@]}" --resume "$input" || fail 'it does not go on'
    cubes.py same "$now/first.fits" "$now/second.fits"
}

# --- memory: every rung of the ladder, down to the CPU

# Which rung the last run of this name was on.
rung() {
    local words
    for words in 'in and out in turns' 'without copies beside the computing' 'in and out in one place' 'the CPU goes on'; do
        if says "$1" "$words"; then
            printf '%s\n' "$words"
            return
        fi
    done
    if says "$1" 'threads on cuda ('; then echo plenty; else echo 'the CPU alone'; fi
}

rungs() {
    local input plane tenths seen=() last='' on
    rates
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda || fail 'the device has failed'
    smooth "$input" cpu --backend cpu || fail 'the CPU has failed'
    plane=$(plane_bytes "$1" "$2" "$4")
    # A rung needs at least a fifth more than the next one.
    for ((tenths = 400; tenths > 3; tenths = tenths * 21 / 25)); do
        smooth "$input" second --backend auto --device-memory $((plane * tenths / 10)) || fail 'auto has failed'
        on=$(rung second)
        case $on in
        *CPU*) cubes.py same "$now/cpu.fits" "$now/second.fits" || fail "other bits of $on" ;;
        *) cubes.py same "$now/first.fits" "$now/second.fits" || fail "other bits of $on" ;;
        esac
        [ "$on" = "$last" ] || seen+=("$on below $((tenths / 10)).$((tenths % 10)) planes")
        last=$on
        case $on in *CPU*) break ;; esac
    done
    printf 'seen: %s\n' "${seen[@]}"
    for on in plenty 'in turns' 'without copies' 'in one place' 'the CPU goes on'; do
        case "${seen[*]}" in *"$on"*) ;; *) fail "not seen: $on" ;; esac
    done
    printf '%s rungs, the last is the CPU; bits as with plenty\n' ${#seen[@]}
}

no_memory() {
    local input
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda --device-memory "$(plane_bytes "$1" "$2" "$4")"
    [ $? = 4 ] || fail 'exit status 4 was due'
    grep "of the device's memory" "$now/first.txt" | tail -n 1
}

# --- refusals, and what auto does instead

# The device is refused with status 4 and words such as $1.
refused() {
    local words=$1 input
    shift
    input=$(cube 32 24 2 f32 0) || fail 'no cube'
    smooth "$input" first --backend cuda "$@"
    [ $? = 4 ] || fail 'exit status 4 was due'
    grep -- "$words" "$now/first.txt" | tail -n 1 | grep . || fail "no word of \"$words\""
}

# auto takes $1, and makes the cube.
auto() {
    local takes=$1 input
    shift
    rates
    input=$(cube 96 64 9 f32 20) || fail 'no cube'
    smooth "$input" first --backend auto "$@" || fail 'auto has failed'
    says first "threads on $takes" || fail "it did not take $takes"
    grep '^backend' "$now/first.txt"
}

forced() {
    local input
    rates
    input=$(cube 96 64 9 f32 20) || fail 'no cube'
    smooth "$input" first --force-cpu || fail 'the CPU has failed'
    says first 'threads on cpu' || fail 'it did not take the CPU'
}

registered() {
    local input
    input=$(cube "$@") || fail 'no cube'
    smooth "$input" first --backend cuda || fail 'the device has failed'
    ! says first 'does not register' || fail "$(grep 'does not register' "$now/first.txt")"
    echo 'the driver takes the memory of the host'
}

# --- speed

# What a command takes that has next to nothing to do.
start() {
    local input begun ended
    input=$(cube 32 24 2 f32 0) || fail 'no cube'
    begun=${EPOCHREALTIME/[.,]/}
    smooth "$input" first --backend cuda || fail 'the device has failed'
    ended=${EPOCHREALTIME/[.,]/}
    printf 'the whole command took %s ms\n' $(((ended - begun) / 1000))
}

# NX NY NCHAN TYPE BLANK_PERCENT: from file to file, on both backends, each twice.
whole() {
    local input backend times=() flags=() bytes
    bytes=$(($(plane_bytes "$1" "$2" "$4") * $3))
    room $((bytes * 5 / 2))
    [ "$5" = 0 ] || flags=(--nan racs)
    input=$(cube "$@") || fail 'no cube'
    for backend in cuda cpu; do
        smooth "$input" first --backend $backend "${flags[@]}" || fail "$backend has failed"
        smooth "$input" first --backend $backend "${flags[@]}" || fail "$backend has failed"
        times+=("$backend $(timings.py whole $bytes <"$now/first.txt")") || fail 'no time is told'
    done
    printf '%s; ' "${times[@]}"
    printf 'of %s MB\n' $((bytes / 1000000))
}

# The same with fewer lanes than there are by default.
lanes() {
    local input lanes memory times=() bytes
    bytes=$(($(plane_bytes "$1" "$2" "$4") * $3))
    room $((bytes * 5 / 2))
    input=$(cube "$@") || fail 'no cube'
    for lanes in 1 2 3 4; do
        memory=$(memory_for $lanes "$input") || fail "no memory for $lanes lanes to be found"
        smooth "$input" first --backend cuda --memory "$memory" || fail 'the device has failed'
        says first "\"lanes\":$lanes," || fail "there were not $lanes lanes"
        times+=("$lanes: $(timings.py whole $bytes <"$now/first.txt")") || fail 'no time is told'
    done
    printf '%s; ' "${times[@]}"
    printf 'of %s MB\n' $((bytes / 1000000))
}

# SIZE PLANES PRECISION BLANK_PERCENT
bench() {
    local size=4
    [ "$3" = f32 ] || size=8
    room $(($1 * $1 * $2 * size * 4))
    "$MMCONV" bench --backend cuda --json --nx "$1" --ny "$1" --planes "$2" --precision "$3" --blank "$4" --dir "$now" |
        tee "$now/bench.json" || fail 'the bench has failed'
    timings.py line "$now/bench.json"
}

# --- the device's own checkers

sanitizer() {
    local input flags
    input=$(cube 50 60 9 f32 20) || fail 'no cube'
    for flags in '--nan racs' '--nan interpolate --edge wrap --precision f64'; do
        # shellcheck disable=SC2086
        "$SANITIZER" --tool "$1" --error-exitcode 9 "$MMCONV" smooth "${target[@]}" --overwrite --backend cuda $flags \
            --output "$now/first.fits" "$input" || fail "exit status $?"
    done
    printf '%s has nothing to say\n' "$1"
}

"$@"

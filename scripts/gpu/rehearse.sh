#!/usr/bin/env bash
# Rehearses scripts/gpu-check.sh on the mock driver of tests/cuda/mock: scripts/gpu/rehearse.sh BINARY
# As it should be all checks are right; with a device that fails after a while, and with one whose results are not waited
# for, they are not, and it says so. Both files are left each time. Needs what gpu-check.sh needs, and g++ for the mock; says
# that it was not rehearsed where there is none. A binary for tests will do; it takes about half a minute.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/../.." || exit 1
if [ $# != 1 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p;}' "${BASH_SOURCE[0]}" >&2
    exit 2
fi
binary=$(realpath -- "$1")
if ! command -v "${CXX:-g++}" >/dev/null; then
    echo "SKIPPED: there is no C++ compiler ${CXX:-g++}, so scripts/gpu-check.sh was not rehearsed"
    exit 0
fi
work=$(mktemp -d "${TMPDIR:-/tmp}/mmconv-rehearsal.XXXXXX") || exit 1
trap 'rm -rf "$work"' EXIT
trap 'exit 75' INT TERM HUP
mock=${CARGO_TARGET_DIR:-target}/tmp/mock-cuda
mkdir -p "$mock" || exit 1
mock=$(realpath "$mock")
tests/cuda/mock/build.sh "$mock" || exit 1
# It must not find anything but the mock.
unset "${!MOCK_@}" CUDA_VISIBLE_DEVICES MMCONV_CUDA_PATH
export LD_LIBRARY_PATH=$mock

fail() {
    printf 'rehearsal: %s\n' "$*" >&2
    exit 1
}

# NAME STATUS WORDS [KNOB=VALUE ...]: a rehearsal ends with this status, WORDS is in its last line, and both files are right.
rehearse() {
    local name=$1 due=$2 words=$3 out=$work/$1 status told kept
    shift 3
    env "$@" QUICK=1 scripts/gpu-check.sh "$binary" "$out" 5 >"$work/$name.txt" 2>&1
    status=$?
    cat "$work/$name.txt"
    [ $status = "$due" ] || fail "$name: exit status $status instead of $due"
    cmp -s "$work/$name.txt" "$out/summary.txt" || fail "$name: summary.txt is not what was printed"
    tail -n 1 "$out/summary.txt" | grep -q -- "$words" || fail "$name: its last line has no \"$words\""
    # What each check said has to be there, and nothing else.
    told=$(sed -n 's/^\(ok  \|FAIL\) \([^ ]*\) .*/\2.txt/p' "$out/summary.txt" | sort)
    kept=$(tar -tzf "$out/all.tgz" | sed -n 's/^\.\/\(.*\.txt\)$/\1/p' | sort)
    [ "$told" = "$kept" ] || fail "$name: all.tgz has other checks than summary.txt"
    [ "$(ls "$out")" = "$(printf 'all.tgz\nsummary.txt')" ] || fail "$name: more is left than two files"
}

rehearse sound 0 ', 0 wrong, 4 not tried'
printf '\n'
rehearse failing 1 '[1-9] wrong' MOCK_CUDA_FAIL=cuEventSynchronize:20+:700 ONLY='@(bits-one-by-one|right-f32-odd-*|parts-48-*)'
grep -q '^FAIL parts-48-f32-0 .*700' "$work/failing.txt" || fail 'a device that fails is not told of'
printf '\n'
rehearse hasty 1 '[1-9] wrong' MOCK_CUDA_SKIP=cuEventSynchronize:0/1:5 MOCK_CUDA_SLOW=d2h:20000 ONLY='@(right-f32-odd|bits-twice)*'
grep -q '^FAIL right-f32-odd-wrap .*off by' "$work/hasty.txt" || fail 'wrong pixels are not seen'
printf '\nrehearsed: what is right is right, and what is wrong is told\n'

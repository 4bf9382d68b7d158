#!/usr/bin/env bash
# Builds the device's kernels for the CPU: tests/cuda/build.sh OUT
#   OUT/libkernels.so   every kernel with a C entry: kernels_host.cpp, for check_kernels.py
#   OUT/smooth          whole planes through the kernels: smooth.cpp
# Needs g++ with C++17, or what CXX names; SANITIZE=address,undefined builds them so, and what is found then ends the program.
# Nothing is built if both are newer than the sources.
set -euo pipefail
if [ $# != 1 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
mkdir -p "$1"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# One at a time, as tests do not wait for each other.
exec 9>"$out/lock"
if command -v flock >/dev/null; then flock 9; fi
sources=(build.sh shim.h kernels_host.cpp smooth.cpp mock/fft.h ../../src/convolve/cuda/kernels.cu)
if [ -e "$out/done" ] && [ -z "$(find "${sources[@]}" -newer "$out/done")" ]; then
    exit 0
fi
rm -f "$out/done"

compiler=${CXX:-g++}
flags=(-std=c++17 -O2 -g1 -Wall -Wextra -ffp-contract=off -fvisibility=hidden)
[ -z "${SANITIZE:-}" ] || flags+=("-fsanitize=$SANITIZE" -fno-sanitize-recover=all -fno-omit-frame-pointer)

"$compiler" "${flags[@]}" -fPIC -shared -o "$out/libkernels.so" kernels_host.cpp &
library=$!
"$compiler" "${flags[@]}" -o "$out/smooth" smooth.cpp
wait "$library"
touch "$out/done"

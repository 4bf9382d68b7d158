#!/usr/bin/env bash
# Builds the mock CUDA driver and the mock cuFFT: tests/cuda/mock/build.sh OUT
#   OUT/libcuda.so.1, OUT/libcufft.so.12    a driver, and cuFFT as CUDA 13 has it
#   OUT/cuda12/libcufft.so.11               cuFFT as CUDA 12 has it
#   OUT/bare/libcuda.so.1                   a driver that lacks nearly all symbols
#   OUT/smoke                               a program that tries them: smoke.cpp
# Needs g++ with C++17, or what CXX names; SANITIZE=address, undefined or thread builds them so.
# Nothing is built if all is newer than the sources. README.md says how they are used.
set -euo pipefail
if [ $# != 1 ]; then
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
fi
mkdir -p "$1/cuda12" "$1/bare"
out=$(cd "$1" && pwd)
cd "$(dirname "$0")"

# One at a time, as tests do not wait for each other.
exec 9>"$out/lock"
if command -v flock >/dev/null; then flock 9; fi
sources=(build.sh ./*.cpp ./*.h ../shim.h ../../../src/convolve/cuda/kernels.cu)
if [ -e "$out/done" ] && [ -z "$(find "${sources[@]}" -newer "$out/done")" ]; then
    exit 0
fi
rm -f "$out/done"

compiler=${CXX:-g++}
flags=(-std=c++17 -O3 -g1 -Wall -Wextra -Wno-unknown-pragmas -ffp-contract=off -fPIC -fvisibility=hidden -pthread)
[ -z "${SANITIZE:-}" ] || flags+=("-fsanitize=$SANITIZE" -fno-omit-frame-pointer)

objects=()
jobs=()
for part in knobs driver memory streams modules cufft; do
    "$compiler" "${flags[@]}" -c -o "$out/$part.o" "$part.cpp" &
    jobs+=($!)
    [ $part = cufft ] || objects+=("$out/$part.o")
done
"$compiler" "${flags[@]}" -DMOCK_CUFFT_VERSION=11000 -c -o "$out/cuda12/cufft.o" cufft.cpp &
jobs+=($!)
for job in "${jobs[@]}"; do wait "$job"; done

"$compiler" "${flags[@]}" -shared -Wl,-soname,libcuda.so.1 -o "$out/libcuda.so.1" "${objects[@]}"
"$compiler" "${flags[@]}" -shared -Wl,-soname,libcufft.so.12 -o "$out/libcufft.so.12" "$out/cufft.o" "$out/libcuda.so.1"
"$compiler" "${flags[@]}" -shared -Wl,-soname,libcufft.so.11 -o "$out/cuda12/libcufft.so.11" "$out/cuda12/cufft.o" "$out/libcuda.so.1"
"$compiler" -fPIC -shared -Wl,-soname,libcuda.so.1 -o "$out/bare/libcuda.so.1" bare.cpp
"$compiler" "${flags[@]}" -no-pie -o "$out/smoke" smoke.cpp "$out/libcufft.so.12" "$out/libcuda.so.1" -Wl,-rpath,"$out"
rm -f "$out"/*.o "$out"/cuda12/*.o
touch "$out/done"

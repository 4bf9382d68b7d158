#!/usr/bin/env bash
# Makes src/convolve/cuda/kernels.ptx from kernels.cu: the text that every driver from CUDA 12.0 on takes.
#   scripts/gpu/ptx.sh           writes it
#   scripts/gpu/ptx.sh --check   compares it with what stands there; status 1 and the difference if they differ
# Needs python3 with pip, and a package index or the wheel at hand; no GPU, no driver, no toolkit.
# The compiler, NVRTC 12.0.140, goes to target/tools. A newer one would write a newer dialect, which older drivers refuse.
set -euo pipefail
cd "$(dirname "$0")/../.."
wheel=nvidia-cuda-nvrtc-cu12==12.0.140
tools=${CARGO_TARGET_DIR:-target}/tools/nvrtc-12.0.140
library=$tools/nvidia/cuda_nvrtc/lib/libnvrtc.so.12
source=src/convolve/cuda/kernels.cu
committed=src/convolve/cuda/kernels.ptx

case ${1:-} in
'' | --check) ;;
*)
    sed -n '2,/^set/{/^set/d;s/^# \{0,1\}//;p}' "$0" >&2
    exit 2
    ;;
esac

if [ ! -e "$library" ]; then
    rm -rf "$tools.new"
    PIP_ROOT_USER_ACTION=ignore python3 -m pip install --quiet --disable-pip-version-check --no-deps \
        --target "$tools.new" "$wheel"
    rm -rf "$tools"
    mv "$tools.new" "$tools"
fi

fresh=$(mktemp)
trap 'rm -f "$fresh"' EXIT
python3 scripts/gpu/nvrtc.py "$library" "$source" >"$fresh"

if [ "${1:-}" = --check ]; then
    if ! diff -u "$committed" "$fresh"; then
        echo "$committed is not what $source gives: run scripts/gpu/ptx.sh and commit what it writes" >&2
        exit 1
    fi
    echo "$committed is what $source gives"
else
    cp "$fresh" "$committed"
    echo "$committed: $(grep -c '^\.visible \.entry' "$committed") kernels, $(wc -c <"$committed") bytes"
fi

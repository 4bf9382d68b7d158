#!/usr/bin/env bash
# Everything that must hold before a change lands; .ci/run calls it, and so may you.
#   scripts/check.sh            all of it
#   scripts/check.sh --quick    without the docs and the outputs
set -euo pipefail
cd "$(dirname "$0")/.."

step() {
    printf '\n== %s\n' "$*"
    "$@"
}

step cargo fmt --all --check
# All targets, so that benches are compiled: nothing else here does that.
step cargo clippy --workspace --all-targets -- -D warnings
step cargo clippy --workspace --all-targets --no-default-features -- -D warnings
# The very command of the README. What the tests of the device would skip without a compiler or numpy fails here.
export MMFITS_CUDA_TOOLS=required
step cargo test --workspace
# The same contract in a build without the device.
step cargo test --no-default-features --features cli --test cuda_contract
if [ "${1:-}" = --quick ]; then
    printf '\nright, as far as --quick looks: docs and outputs were left out\n'
    exit 0
fi
RUSTDOCFLAGS='-D warnings' step cargo doc --workspace --no-deps
step scripts/gpu/ptx.sh --check
step cargo test --test cuda_mock -- --ignored
step scripts/gpu/rehearse.sh "${CARGO_TARGET_DIR:-target}/debug/mmconv"
step scripts/verify-outputs.sh
# Real launchers, a real Slurm and a real NFS; the limit is for what hangs.
step timeout -k 10 900 scripts/cluster/all.sh
printf '\nall right\n'

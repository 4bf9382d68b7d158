#!/usr/bin/env bash
# Spoils real headers from seeds and runs `mmconv smooth` on each: exit status, time, memory and what is left behind are
# judged by tests/hostile. Every fifth output is then read by astropy, if python3 has it.
#   scripts/hostile.sh              ten thousand cases
#   scripts/hostile.sh 500          as many
#   scripts/hostile.sh 1 4711       case 4711 alone
# MMFITS_SHARED names a folder with a corpus of more files.
set -euo pipefail
cd "$(dirname "$0")/.."
kept=$(mktemp -d)
trap 'rm -rf "$kept"' EXIT
cargo build --quiet --release
target=$(cd "${CARGO_TARGET_DIR:-target}" && pwd)
export MMFITS_HOSTILE_COMMAND=$target/release/mmconv MMFITS_HOSTILE_KEEP=$kept
export MMFITS_HOSTILE_CASES=${1:-10000} MMFITS_HOSTILE_FIRST=${2:-0}
cargo test --quiet --test hostile whatever -- --nocapture
python3 scripts/hostile-outputs.py "$kept"

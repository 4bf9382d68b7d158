#!/usr/bin/env bash
# The threads under ThreadSanitizer, and the code without files under Miri. Neither is run by CI: both need a nightly
# compiler with the components rust-src and miri, which `rustup component add` fetches, and build everything anew.
#   scripts/sanitize.sh threads   the lanes, the stores, write-behind, and whole commands of many threads
#   scripts/sanitize.sh miri      fits-layout, and the planes of mmfits
#   scripts/sanitize.sh           both
# A data race, undefined behaviour, or a failing test ends it with a status that is not 0.
set -euo pipefail
cd "$(dirname "$0")/.."
host=$(rustc +nightly -vV | sed -n 's/^host: //p')
target=${CARGO_TARGET_DIR:-target}
what=${1:-all}

# The standard library is instrumented too, or its locks would not be seen. What the layout of memory makes of addresses
# is no business of the sanitizer, which on some kernels cannot start with all of it random.
threads() {
    rustup component add --toolchain nightly rust-src
    # The commands that the tests run are instrumented too; this is what a process with a race exits with.
    export TSAN_OPTIONS="exitcode=66"
    RUSTFLAGS="-Zsanitizer=thread -Cunsafe-allow-abi-mismatch=sanitizer" CARGO_TARGET_DIR=$target/tsan \
        setarch -R cargo +nightly test -Zbuild-std --target "$host" -p mmfits \
        --lib --test convolve_lanes --test store_failures --test storage --test faults
}

# What needs files that were made elsewhere, or minutes, is left out by name: Miri runs some hundred times slower.
miri() {
    rustup component add --toolchain nightly miri rust-src
    export MIRIFLAGS="-Zmiri-disable-isolation" CARGO_TARGET_DIR=$target/miri
    cargo +nightly miri test -p fits-layout --lib --test cards --test sizes --test edit -- \
        --skip astropy --skip milliseconds --skip linear_time --skip end_of_the_file
    cargo +nightly miri test -p mmfits --no-default-features --lib -- plane:: --skip long_rows
}

case $what in
    threads) threads ;;
    miri) miri ;;
    all) threads; miri ;;
    *) echo "usage: scripts/sanitize.sh [threads|miri]" >&2; exit 2 ;;
esac

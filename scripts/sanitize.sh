#!/usr/bin/env bash
# The threads under ThreadSanitizer, and the code without files under Miri. Neither is run by CI: both need a nightly
# compiler with the components rust-src and miri, which `rustup component add` fetches, and build everything anew.
#   scripts/sanitize.sh threads   the lanes, the stores, write-behind, and whole commands of many threads
#   scripts/sanitize.sh miri      fits-layout, and plane, beam and sky of mmfits
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
    export TSAN_OPTIONS="halt_on_error=1 suppressions=$PWD/scripts/tsan.supp"
    RUSTFLAGS="-Zsanitizer=thread" RUST_TEST_THREADS=1 CARGO_TARGET_DIR=$target/tsan \
        setarch -R cargo +nightly test -Zbuild-std --target "$host" -p mmfits \
        --lib --test convolve_lanes --test store_failures --test storage --test faults
}

# Files and maps are the system's, which Miri is not: the tests that use them are left out by name.
miri() {
    rustup component add --toolchain nightly miri rust-src
    export MIRIFLAGS="-Zmiri-disable-isolation" CARGO_TARGET_DIR=$target/miri
    cargo +nightly miri test -p fits-layout --lib --test cards --test sizes --test edit
    cargo +nightly miri test -p mmfits --no-default-features --lib -- plane:: beam:: sky::units
}

case $what in
    threads) threads ;;
    miri) miri ;;
    all) threads && miri ;;
    *) echo "usage: scripts/sanitize.sh [threads|miri]" >&2; exit 2 ;;
esac

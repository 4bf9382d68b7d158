#!/usr/bin/env bash
# Sharing one cube among processes and machines, with the real things: launchers.sh beside nfs.sh, at
# the same time, since the one mostly waits. Installs what is missing.
#   MMCONV: the binary (default: a release build)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
if [ "$(id -u)" != 0 ]; then
    say "NOT ROOT: launchers and shared file systems WERE NOT TRIED (mounts and a Slurm need it)"
    exit 0
fi
"$here/packages.sh" || exit 1
if [ -z "${MMCONV:-}" ]; then
    cd "$here/../.." || exit
    cargo build --release || exit 1
    MMCONV=${CARGO_TARGET_DIR:-target}/release/mmconv
fi
MMCONV=$(realpath "$MMCONV")
export MMCONV

log=$(mktemp)
trap 'rm -f "$log"' EXIT
"$here/nfs.sh" >"$log" 2>&1 &
nfs=$!
"$here/launchers.sh"
launchers=$?
wait $nfs
nfs=$?
cat "$log"
[ $launchers = 0 ] && [ $nfs = 0 ]

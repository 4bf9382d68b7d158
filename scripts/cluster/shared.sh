#!/usr/bin/env bash
# One cube made by two nodes on a shared file system, which is mounted for them at /mnt/a and /mnt/b
# and lies at /mnt/server for us to look at. Called by nfs-init.sh and nfs.sh, in a mount namespace or
# machine of its own.
#   shared.sh TITLE nfs|fuse EXPECTED [TEST...]
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/suite.sh"
title=$1 kind=$2 expected=$3 work=/mnt/server
shift 3
printf '== %s\n' "$title"

# A node is a process that does nothing, in namespaces of its own: its network, its name, and the
# shared file system where every node has it.
declare -A holder
for node in a b; do
    enter=()
    [ ! -e "/run/netns/$node" ] || enter=(nsenter --net="/run/netns/$node")
    "${enter[@]}" unshare --mount --uts sh -c \
        'mount --bind "/mnt/$0" /mnt/data && hostname "node-$0" && touch "/mnt/$0.up" && exec sleep 600' $node &
    holder[$node]=$!
done
trap 'kill "${holder[@]}"' EXIT
until [ -e /mnt/a.up ] && [ -e /mnt/b.up ]; do sleep 0.02; done

# The words before a command that run it on a node, in its folder of this test: into `reach`. In the
# background the command itself is then our child, and can be signalled.
reach() {
    # shellcheck disable=SC2016
    reach=(nsenter --target="${holder[$1]}" --mount --uts --net sh -c 'cd "/mnt/data/$0" && exec "$@"' "${PWD##*/}")
}

on() {
    local reach
    reach "$1"
    shift
    "${reach[@]}" "$@"
}

on_smooth() {
    local node=$1
    shift
    on "$node" mmconv smooth cube.fits --output out.fits "$@"
}

# All shards at once, every other one on the other node.
alternating() {
    local count=$1 ids=() nodes=(a b) reach
    shift
    for shard in $(seq 0 $((count - 1))); do
        reach "${nodes[shard % 2]}"
        "${reach[@]}" mmconv smooth cube.fits --output out.fits --shard "$shard/$count" "$@" &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id"; done
}

### What a naive writer loses here

the_control() { python3 "$here/lost.py" /mnt/server /mnt/a /mnt/b "$kind"; }

### What mmconv does not

a_plane_a_process() {
    alternating 37 --no-finish
    unpublished
    on b mmconv finish out.fits
    complete
}

eight_shards() {
    alternating 8 --no-finish
    on a mmconv finish out.fits
    complete
}

# The last one gives the name; who saw too little of the others' journals leaves it to `finish`.
races_to_the_name() {
    for race in 1 2 3 4; do
        mkdir "../race-$race"
        cp -p cube.fits "../race-$race"
        cd "../race-$race"
        alternating 4
        on b mmconv finish out.fits
        complete
    done
}

killed_on_one_resumed_on_the_other() {
    on a mmconv plan cube.fits --output out.fits --shards 2 >/dev/null
    ends_with 137 on a "$here/struck.sh" KILL after-write mmconv smooth cube.fits --output out.fits --quiet --shard 0/2
    on_smooth b --shard 1/2 --no-finish
    ends_with 5 on b mmconv finish out.fits --wait 0
    on_smooth b --shard 0/3
    on_smooth b --shard 1/3
    complete
}

# Found dead by the other node, it wakes up when the output has its name, and writes its planes.
sleeper_that_wakes_too_late() {
    on a mmconv plan cube.fits --output out.fits --shards 2 >/dev/null
    local reach id child
    reach a
    "${reach[@]}" "$here/struck.sh" STOP before-write mmconv smooth cube.fits --output out.fits --quiet --shard 0/2 &
    id=$!
    # Asked there: the server has the log only when the node has time to send it.
    until_so on a grep -q 'stopped by SIGSTOP' struck.log
    child=$(ps -o pid= --ppid $id)
    on_smooth b --shard 0/2
    on_smooth b --shard 1/2
    cmp out.fits "$expected/out.fits"
    awaken "${child// /}"
    wait $id || true
    sync
    complete
}

[ $# -gt 0 ] || set -- the_control a_plane_a_process eight_shards races_to_the_name \
    killed_on_one_resumed_on_the_other sleeper_that_wakes_too_late
for test; do check "$test"; done
conclude

#!/usr/bin/env bash
# Ends what slurm-up.sh started, and only that, and removes its folder.
set -uo pipefail
. "$(dirname "$0")/common.sh"
box=${SLURM_SANDBOX:-${TMPDIR:-/tmp}/mmconv-slurm.$(id -u)}
[ -d "$box" ] || exit 0
[ -f "$box/slurm.conf" ] || die "$box was not made by slurm-up.sh"
export SLURM_CONF=$box/slurm.conf

if lives "$box/run" slurmctld; then
    timeout 5 scancel --partition=main 2>/dev/null
    for _ in $(seq 50); do
        [ -z "$(timeout 5 squeue -h 2>/dev/null)" ] && break
        sleep 0.1
    done
fi
for daemon in n0 n1 n2 n3 slurmctld munged; do
    quench "$box/run" "$daemon"
done
# The daemons of steps outlive those of nodes; ours have our configuration in their environment.
for process in /proc/[0-9]*; do
    [ "$(cat "$process/comm" 2>/dev/null)" = slurmstepd ] || continue
    { tr '\0' '\n' <"$process/environ"; } 2>/dev/null | grep -qx "SLURM_CONF=$SLURM_CONF" && kill -TERM "${process#/proc/}"
done
rm -rf "$box"

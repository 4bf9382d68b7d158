#!/usr/bin/env bash
# A real Slurm on this machine for tests: one controller and four nodes, all on the loopback device.
# Key, socket, state and logs lie in one folder, nothing is put into /etc. Run again, it starts what
# is missing. Afterwards:  . $SLURM_SANDBOX/env
#   SLURM_SANDBOX   the folder          (default: mmconv-slurm.UID in TMPDIR)
#   SLURM_PORT      the first of 5 ports (default: 27800)
set -euo pipefail
. "$(dirname "$0")/common.sh"
box=${SLURM_SANDBOX:-${TMPDIR:-/tmp}/mmconv-slurm.$(id -u)}
port=${SLURM_PORT:-27800}
nodes=(n0 n1 n2 n3)
PATH=$PATH:/usr/sbin:/sbin
need munged munge slurmctld slurmctld slurmd slurmd srun slurm-client

# munged refuses a socket whose folder others cannot enter, and a key that others can read.
mkdir -p "$box"/{munge,state,log,run}
chmod 755 "$box" "$box"/{state,log,run}
chmod 711 "$box/munge"
exec 9>"$box/lock"
flock -w 60 9

key=$box/munge/key
[ -s "$key" ] || (umask 077 && head -c 256 /dev/urandom >"$key")

# What one machine needs to be four nodes: no cgroups and no pinning, node names that all resolve
# to here, and more processors claimed than there are.
configuration() {
    local host user
    host=$(hostname -s) user=$(id -un)
    cat <<EOF
ClusterName=mmconv
SlurmctldHost=$host(127.0.0.1)
SlurmctldPort=$port
SlurmUser=$user
SlurmdUser=$user
AuthType=auth/munge
AuthInfo=socket=$box/munge/socket
CredType=cred/munge
StateSaveLocation=$box/state
SlurmctldPidFile=$box/run/slurmctld.id
SlurmctldLogFile=$box/log/slurmctld.log
SlurmdPidFile=$box/run/%n.id
SlurmdLogFile=$box/log/%n.log
SlurmdSpoolDir=$box/spool.%n
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_Core
SchedulerParameters=sched_interval=2,bf_interval=2,batch_sched_delay=1
SlurmdParameters=config_overrides
ReturnToService=2
JobRequeue=1
KillWait=2
SlurmctldTimeout=30
SlurmdTimeout=60
InactiveLimit=0
NodeName=n[0-3] NodeHostname=$host NodeAddr=127.0.0.1 Port=[$((port + 1))-$((port + 4))] CPUs=2 RealMemory=1024 State=UNKNOWN
PartitionName=main Nodes=n[0-3] Default=YES MaxTime=10:00 State=UP
EOF
}
configuration >"$box/slurm.conf"
printf 'export SLURM_CONF=%s SLURM_SANDBOX=%s\n' "$box/slurm.conf" "$box" >"$box/env"
export SLURM_CONF=$box/slurm.conf

launch "$box/run" "$box/log" munged munged --foreground --force --num-threads=2 --key-file="$key" \
    --socket="$box/munge/socket" --pid-file="$box/munge/id" --log-file="$box/log/munged.log" --seed-file="$box/munge/seed"
for _ in $(seq 100); do
    munge -n -S "$box/munge/socket" >/dev/null 2>&1 && break
    sleep 0.05
done
launch "$box/run" "$box/log" slurmctld slurmctld -D -f "$SLURM_CONF"
for node in "${nodes[@]}"; do
    mkdir -p "$box/spool.$node"
    launch "$box/run" "$box/log" "$node" slurmd -D -N "$node" -f "$SLURM_CONF"
done

# Idle, or busy where this is a second call; a node that an earlier run left down is put back.
ready() {
    [ "$(sinfo -h -N -o %t 2>/dev/null | grep -cxE 'idle|mix|alloc|comp')" = ${#nodes[@]} ]
}
for _ in $(seq 150); do
    ready && break
    for daemon in munged slurmctld "${nodes[@]}"; do
        lives "$box/run" "$daemon" || { tail -n 5 "$box"/log/* >&2; die "$daemon has ended"; }
    done
    down=$(sinfo -h -N -t down,drain,fail -o %N 2>/dev/null | paste -sd,)
    [ -z "$down" ] || scontrol update NodeName="$down" State=RESUME 2>/dev/null || true
    sleep 0.2
done
ready || { sinfo >&2; tail -n 5 "$box"/log/*.log >&2; die "the nodes are not ready"; }
say "four nodes; . $box/env"

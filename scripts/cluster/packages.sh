#!/usr/bin/env bash
# Installs, in one go, what the suites beside this need: Slurm, two MPIs, GNU parallel, and a
# user-mode Linux with an NFS server.
set -euo pipefail
. "$(dirname "$0")/common.sh"
PATH=$PATH:/usr/sbin:/sbin
need munged munge slurmctld slurmctld slurmd slurmd srun slurm-client \
    mpirun.openmpi openmpi-bin mpirun.mpich mpich parallel parallel strace strace python3 python3 \
    linux.uml user-mode-linux rpc.nfsd nfs-kernel-server modprobe kmod ip iproute2 bindfs bindfs fusermount3 fuse3

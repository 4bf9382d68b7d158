#!/usr/bin/env bash
# One cube made by two nodes on a shared file system: on two FUSE mounts of a folder, and on two real
# NFS clients in a user-mode Linux, which needs no privileges, no modules and no network of the host.
# Where that cannot run, this says so, and the FUSE mounts are all that was tried.
#   nfs.sh [TEST...]     MMCONV: the binary (default: a release build)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/suite.sh"
PATH=$PATH:/usr/sbin:/sbin
need linux.uml user-mode-linux rpc.nfsd nfs-kernel-server modprobe kmod ip iproute2 bindfs bindfs fusermount3 fuse3 python3 python3

tests=$(IFS=,; echo "$*")
work=$(mktemp -d "${TMPDIR:-/tmp}/mmconv-nfs.XXXXXX")
trap 'rm -rf "$work"' EXIT
find_mmconv
make_expected || die "the undisturbed run failed"
mkdir -p "$work/modules/lib"
ln -s /usr/lib/uml/modules "$work/modules/lib/modules"

# Whether both versions of NFS were right; 2 where UML does not come up.
on_nfs() {
    local log=$work/uml.log
    timeout -k 5 150 linux.uml mem=768M rootfstype=hostfs rootflags=/ rw quiet con=null con0=null,fd:1 con1=null ssl=null \
        umid="mmconv$$" init="$here/nfs-init.sh" here="$here" work="$work" tests="$tests" </dev/null >"$log" 2>&1
    grep -aE '^(==|ok|FAILED|  *\||uml:)' "$log"
    grep -aq 'uml: NFS 3 is right' "$log" && grep -aq 'uml: NFS 4.2 is right' "$log" && return
    tail -n 15 "$log" >&2
    grep -aq 'uml: up' "$log" && return 1
    return 2
}

# Two mounts of one folder, as two programs that cache on their own.
on_fuse() {
    [ -c /dev/fuse ] || { say "NO /dev/fuse: two FUSE mounts cannot be tried"; return 0; }
    unshare --mount bash -c '
        mount -t tmpfs tmpfs /mnt && mkdir /mnt/server /mnt/a /mnt/b /mnt/data &&
            bindfs /mnt/server /mnt/a && bindfs /mnt/server /mnt/b || exit 1
        bash "$0/shared.sh" "two FUSE mounts" fuse "$@"; status=$?
        umount /mnt/a /mnt/b; exit $status' "$here" "$work/expected" ${tests//,/ }
}

status=0
on_fuse || status=1
on_nfs
case $? in
    0) ;;
    2) say "USER-MODE LINUX DOES NOT RUN HERE: NFS WAS NOT TRIED, only the FUSE mounts were" ;;
    *) status=1 ;;
esac
exit $status

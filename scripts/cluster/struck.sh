#!/usr/bin/env bash
# Runs a shard of out.fits in this folder and strikes it with a signal at one moment, with no help
# from the program:
#   struck.sh KILL|STOP before-write|after-write|after-sync|after-record COMMAND...
# The moments are system calls, which the kernel is asked to answer with the signal. The job must
# exist and the command be quiet, so that the first write(2) is the journal's first line, and the second
# its records. What was traced is in struck.log.
set -u
signal=$1 moment=$2
shift 2
part=$PWD/out.fits.part
case $moment in
    before-write) at=(-P "$part" -e "inject=pwrite64:signal=$signal:when=3") ;;
    after-write) at=(-P "$part" -e "inject=fdatasync,fsync:signal=$signal:when=1") ;;
    after-sync) at=(-e "inject=write:signal=$signal:when=2") ;;
    after-record) at=(-e "inject=fdatasync:signal=$signal:when=2") ;;
    *) echo "no such moment: $moment" >&2; exit 2 ;;
esac
exec strace -f -qqq -e trace=write,pwrite64,fdatasync,fsync -o struck.log "${at[@]}" "$@"

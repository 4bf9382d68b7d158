#!/usr/bin/env bash
# One cube made by many processes, started by the real launchers: Open MPI, MPICH, Slurm, GNU
# parallel; killed, aborted, requeued, doubled and raced. The output must be that of a single
# undisturbed run, byte for byte, every time. A line for each test; two minutes at most.
#   launchers.sh [TEST...]     MMCONV: the binary (default: a release build)
set -uo pipefail
here=$(cd "$(dirname "$0")" && pwd)
. "$here/common.sh"
. "$here/suite.sh"
need mpirun.openmpi openmpi-bin mpirun.mpich mpich parallel parallel strace strace python3 python3

work=$(mktemp -d "${TMPDIR:-/tmp}/mmconv-launchers.XXXXXX")
export SLURM_SANDBOX=$work/slurm
trap '"$here/slurm-down.sh"; rm -rf "$work"' EXIT
find_mmconv
make_expected || die "the undisturbed run failed"
"$here/slurm-up.sh" || die "no Slurm"
. "$SLURM_SANDBOX/env"
# Four ranks on a machine of two processors, and perhaps as root: both must be asked for.
export OMPI_ALLOW_RUN_AS_ROOT=1 OMPI_ALLOW_RUN_AS_ROOT_CONFIRM=1
# Slurm puts the program's full path in its place, which HISTORY would tell; `env` does not.
openmpi() { mpirun.openmpi --oversubscribe "$@"; }

# Submits a script and waits until it, and an array of it, has left the queue.
submit() {
    local job
    job=$(sbatch --parsable --requeue --open-mode=append -o "$PWD/slurm-%A-%a.log" "$@")
    gone "$job"
    cat "$PWD"/slurm-"$job"-*.log
}

# Waits until the job, and all of an array, has left the queue. A busy controller may not answer.
gone() {
    local left
    for _ in $(seq 300); do
        left=$(squeue -h -j "$1") && [ -z "$left" ] && return
        sleep 0.1
    done
    squeue -j "$1"
    return 1
}

pending() { [ "$(squeue -h -j "$1" -o %t)" = PD ]; }

# Lets a requeued job begin, which is held back for two minutes from the moment it has ended. Told so
# too early it is held all the same, or finds its node still at clearing away what ran before it.
begin_again() {
    sleep 1
    for _ in $(seq 10); do
        [ "$(squeue -h -j "$1" -o %r)" != BeginTime ] || scontrol update JobId="$1" StartTime=now
        for _ in $(seq 20); do
            [ ! -e again ] || return 0
            sleep 0.1
        done
    done
    scontrol show job "$1"
    return 1
}

### Every launcher

Open_MPI() {
    openmpi -n 4 mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

MPICH() {
    mpirun.mpich -n 4 mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

srun_on_four_nodes() {
    srun -N 4 -n 4 env mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

srun_with_pmi2() {
    srun --mpi=pmi2 -N 2 -n 4 env mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

array_and_finish_job() {
    local array
    array=$(sbatch --parsable --array=0-7 -o array.%a.log --wrap 'mmconv smooth cube.fits --output out.fits --shard auto --no-finish')
    submit --dependency="afterany:$array" --wrap 'mmconv finish out.fits && touch finished'
    [ -e finished ]
    complete
}

array_of_steps() {
    submit --array=0-1 -n 2 --wrap 'srun env mmconv smooth cube.fits --output out.fits --shard auto'
    complete
}

Open_MPI_within_sbatch() {
    submit -N 2 -n 4 --wrap 'mpirun.openmpi -n 4 mmconv smooth cube.fits --output out.fits --shard auto'
    complete
}

MPICH_within_sbatch() {
    submit -N 2 -n 4 --wrap 'mpirun.mpich -n 4 mmconv smooth cube.fits --output out.fits --shard auto'
    complete
}

GNU_parallel() {
    parallel -j 4 --halt now,fail=1 mmconv smooth cube.fits --output out.fits --shard {}/16 ::: {0..15}
    complete
}

Snakemake() {
    snakemake --snakefile "$here/Snakefile" --cores 4 --config cube=cube.fits output=out.fits shards=6
    complete
}

more_shards_than_planes() {
    parallel -j 4 mmconv smooth cube.fits --output out.fits --shard {}/50 ::: {0..49}
    complete
}

what_plan_prints_can_be_run() {
    mmconv plan cube.fits --output out.fits --shards 5 >plan.txt
    unpublished
    grep -A 1 '^parallel ' plan.txt >lines.sh
    bash -e lines.sh
    complete
    mkdir slurm
    cd slurm
    cp -p ../cube.fits .
    mmconv plan cube.fits --output out.fits --shards 5 >plan.txt
    grep -A 1 '^J=' plan.txt >lines.sh
    bash -e lines.sh >finish.txt
    gone "$(awk '{ print $NF }' finish.txt)"
    complete
}

### What is refused

refusals() {
    submit -n 8 --wrap 'mmconv smooth cube.fits --output out.fits --shard auto; echo status $?' >batch.txt
    grep -q 'start it with srun' batch.txt
    grep -q 'status 2' batch.txt
    submit --array=2 --wrap 'mmconv smooth cube.fits --output out.fits --shard auto; echo status $?' >array.txt
    grep -qF 'say --shard $SLURM_ARRAY_TASK_ID/TOTAL' array.txt
    grep -q 'status 2' array.txt
    ends_with 2 srun -n 2 env mmconv smooth cube.fits --output out.fits
    says '2 tasks would each make the whole file; add --shard auto' srun -n 2 env mmconv smooth cube.fits --output out.fits
    ends_with 2 smooth --shard auto
    says 'no launcher found' smooth --shard auto
    ends_with 2 smooth --shard 16/16
    says 'shards count from 0' smooth --shard 16/16
    [ -z "$(find . -name 'out.fits*')" ]
}

another_plan_for_the_same_output() {
    smooth --shard 0/2
    ends_with 2 smooth --shard 1/2 --bmaj 40 --bmin 40 --bpa 0
    unpublished
    smooth --shard 1/2
    complete
}

### What dies

# One rank of srun dies; finish refuses and says what is missing; the same command goes on.
dies() {
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    cat >rank.sh <<EOF
[ \$SLURM_PROCID = 2 ] || exec mmconv smooth cube.fits --output out.fits --shard auto --quiet
exec $here/struck.sh KILL $1 mmconv smooth cube.fits --output out.fits --shard auto --quiet
EOF
    ends_with 137 srun -n 4 bash rank.sh
    unpublished
    ends_with 5 mmconv finish out.fits --wait 0
    says 'missing: 18-26' mmconv finish out.fits --wait 0
    srun -n 4 env mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

killed_before_all_is_written() { dies before-write; }
killed_after_the_write() { dies after-write; }
killed_after_the_sync() { dies after-sync; }

# The others leave the name to us: with the last record in its journal all is there.
dies_with_its_records() {
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    for shard in 0 1 3; do smooth --shard $shard/4 --no-finish; done
    ends_with 137 "$here/struck.sh" KILL after-record mmconv smooth cube.fits --output out.fits --shard 2/4 --quiet --no-finish
    unpublished
}

# Seven bytes short, as a write would have left it that was under way.
killed_within_a_record() {
    dies_with_its_records
    truncate -s -7 out.fits.mmconv/j/2of4.*
    ends_with 5 mmconv finish out.fits --wait 0
    says '(4 journals, 1 torn)' mmconv finish out.fits --wait 0
    smooth --shard 2/4
    complete
}

killed_after_the_record() {
    dies_with_its_records
    ends_with 0 mmconv finish out.fits
    complete
}

aborted_world_and_another_number() {
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    cat >rank.sh <<EOF
[ \$OMPI_COMM_WORLD_RANK = 1 ] || exec mmconv smooth cube.fits --output out.fits --shard auto --quiet
exec $here/struck.sh KILL after-write mmconv smooth cube.fits --output out.fits --shard auto --quiet
EOF
    ends_with 137 openmpi -n 4 bash rank.sh
    unpublished
    openmpi -n 3 mmconv smooth cube.fits --output out.fits --shard auto
    complete
}

requeued_array_task() {
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    cat >task.sh <<EOF
#!/bin/bash
command="mmconv smooth cube.fits --output out.fits --shard \$SLURM_ARRAY_TASK_ID/4 --quiet"
if [ \$SLURM_ARRAY_TASK_ID = 1 ] && [ -z "\${SLURM_RESTART_COUNT:-}" ]; then
    $here/struck.sh KILL after-write \$command
    touch died
    sleep 60
fi
[ -z "\${SLURM_RESTART_COUNT:-}" ] || touch again
exec \$command
EOF
    local array
    array=$(sbatch --parsable --requeue --open-mode=append --array=0-3 -o task.%a.log task.sh)
    until_so [ -e died ]
    scontrol requeue "${array}_1"
    until_so pending "${array}_1"
    begin_again "${array}_1"
    gone "$array"
    complete
}

node_that_goes_down() {
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    cat >job.sh <<EOF
#!/bin/bash
if [ -z "\${SLURM_RESTART_COUNT:-}" ]; then
    mmconv smooth cube.fits --output out.fits --shard 0/4
    $here/struck.sh KILL after-write mmconv smooth cube.fits --output out.fits --shard 1/4 --quiet
    echo \$SLURMD_NODENAME >node
    sleep 60
fi
touch again
for shard in 0 1 2 3; do mmconv smooth cube.fits --output out.fits --shard \$shard/4; done
EOF
    local job
    job=$(sbatch --parsable --requeue --open-mode=append -o job.log job.sh)
    until_so [ -s node ]
    scontrol update NodeName="$(cat node)" State=DOWN Reason=test
    until_so pending "$job"
    begin_again "$job"
    gone "$job"
    # It may have come back by itself.
    scontrol update NodeName="$(cat node)" State=RESUME || true
    complete
}

# As Slurm does with --signal=USR1@120 before the time limit: the step stops, and the job is put back.
interrupted_and_requeued() {
    python3 "$here/cube.py" cube.fits 1100 1019
    mkdir whole
    (cd whole && ln -s ../cube.fits . && smooth --threads 1)
    cat >job.sh <<'EOF'
#!/bin/bash
[ -z "${SLURM_RESTART_COUNT:-}" ] || touch again
srun -n 1 env mmconv smooth cube.fits --output out.fits --shard 0/1 --threads 1
status=$?
echo $status >>statuses
[ $status != 75 ] || scontrol requeue "$SLURM_JOB_ID"
EOF
    local job
    job=$(sbatch --parsable --requeue --open-mode=append -o job.log job.sh)
    until_so [ -e out.fits.part ]
    sleep 0.3
    scancel --signal=USR1 "$job"
    until_so [ -s statuses ]
    unpublished
    until_so pending "$job"
    begin_again "$job"
    gone "$job"
    [ "$(paste -sd ' ' statuses)" = '75 0' ] || { cat statuses job.log; return 1; }
    cmp out.fits whole/out.fits
}

killed_at_twenty_random_moments() {
    local shard id
    mmconv plan cube.fits --output out.fits --shards 4 >/dev/null
    for _ in $(seq 20); do
        shard=$((RANDOM % 4))
        smooth --shard $shard/4 --threads 1 --quiet --no-finish &
        id=$!
        sleep "0.0$((RANDOM % 10))$((RANDOM % 10))"
        kill -KILL $id 2>/dev/null || true
        wait $id || true
        unpublished
    done
    for shard in 0 1 2 3; do smooth --shard $shard/4; done
    complete
}

### What happens twice

the_same_shard_twice() {
    local ids=()
    for shard in 0 1 1 2 2 2 3; do
        smooth --shard $shard/4 &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id"; done
    complete
}

the_same_command_again() {
    for shard in 0 1; do smooth --shard $shard/2; done
    complete
    says 'skipped' smooth --shard 1/2
    ends_with 0 smooth --shard 1/2
    ends_with 0 mmconv finish out.fits
    complete
}

six_finish_at_once() {
    for shard in 0 1 2 3; do smooth --shard $shard/4 --no-finish; done
    unpublished
    local ids=()
    for _ in 1 2 3 4 5 6; do
        mmconv finish out.fits &
        ids+=($!)
    done
    for id in "${ids[@]}"; do wait "$id"; done
    complete
}

# A process that is stopped, taken for dead by everyone, and wakes up when the output has its name: then
# it writes its planes.
sleeper_that_wakes_too_late() {
    mmconv plan cube.fits --output out.fits --shards 2 >/dev/null
    "$here/struck.sh" STOP before-write mmconv smooth cube.fits --output out.fits --shard 0/2 --quiet &
    local id=$! child
    until_so asleep
    child=$(ps -o pid= --ppid $id)
    smooth --shard 0/2
    smooth --shard 1/2
    cmp out.fits "$expected/out.fits"
    awaken "${child// /}"
    wait $id || true
    complete
}

sixty_races_to_the_name() {
    for race in $(seq 60); do
        mkdir "$race"
        cp -p cube.fits "$race"
        (
            cd "$race"
            local ids=()
            for shard in 0 1 2 3; do
                smooth --shard $shard/4 &
                ids+=($!)
            done
            for id in "${ids[@]}"; do wait "$id"; done
            complete
        )
    done
}

tests=("$@")
if [ $# = 0 ]; then
    mapfile -t tests < <(sed -n 's/^\([A-Za-z][A-Za-z_0-9]*\)() {.*/\1/p' "$0" | grep -vxE 'openmpi|submit|gone|pending|begin_again|dies|dies_with_its_records|Snakemake')
    # Half of all that would be installed, so only where it is there.
    if command -v snakemake >/dev/null; then tests+=(Snakemake); else say 'no snakemake here, so that is not tried'; fi
fi
for test in "${tests[@]}"; do check "$test"; done
conclude

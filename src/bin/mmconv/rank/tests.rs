//! What is detected in environments that were recorded from Slurm 22.05, Open MPI 4.1 and MPICH
//! 4.0, with the command lines of the processes above.

use super::detect::{Surroundings, detect, tasks};
use super::{Shard, choose, count, note_of_bound};
use crate::failure::Status;
use crate::values::ShardWord;

const BATCH: [&str; 2] = [
    "/bin/sh\0/spool/job00004/slurm_script\0",
    "slurmstepd: [4.batch]\0",
];
const STEP: [&str; 1] = ["slurmstepd: [4.0]   \0"];
const HYDRA: &str = "/usr/bin/hydra_pmi_proxy\0--control-port\0host:42401\0--rmk\0slurm\0";
const ORTED: &str = "/usr/bin/orted\0-mca\0ess\0\"slurm\"\0";

const ARRAY_0_1: &str = "SLURM_ARRAY_JOB_ID=4 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 \
                         SLURM_ARRAY_TASK_MAX=1 SLURM_ARRAY_TASK_STEP=1 SLURM_JOB_ID=5";

/// Asks in an environment of `NAME=value` words below these ancestors.
fn with<T>(environment: &str, ancestors: &[&str], ask: impl FnOnce(&Surroundings<'_>) -> T) -> T {
    let variable = |name: &str| {
        let words = environment.split_whitespace();
        let mut pairs = words.filter_map(|word| word.split_once('='));
        pairs
            .find(|(key, _)| *key == name)
            .map(|(_, value)| value.to_owned())
    };
    let ancestors: Vec<String> = ancestors.iter().map(|line| (*line).to_owned()).collect();
    ask(&Surroundings {
        variable: &variable,
        ancestors: &ancestors,
    })
}

#[track_caller]
fn is(environment: &str, ancestors: &[&str], shard: (u64, u64)) {
    let found = with(environment, ancestors, detect).unwrap();
    assert_eq!(
        (found.index, found.count),
        shard,
        "{environment}: {}",
        found.because
    );
}

/// Refused in these words, and `running` tasks are thought to run the same command.
#[track_caller]
fn refused(environment: &str, ancestors: &[&str], words: &str, running: u64) {
    let refusal = with(environment, ancestors, detect).unwrap_err();
    assert!(
        refusal.text.contains(words),
        "{environment}: {}",
        refusal.text
    );
    assert_eq!(
        with(environment, ancestors, tasks),
        running,
        "{environment}"
    );
}

#[test]
fn mpi_launchers_by_themselves() {
    let ompi =
        "OMPI_COMM_WORLD_LOCAL_RANK=1 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMIX_RANK=1";
    is(ompi, &["mpirun.openmpi\0-n\x002\0"], (1, 2));
    let mpich = "MPI_LOCALNRANKS=2 MPI_LOCALRANKID=0 PMI_RANK=0 PMI_SIZE=2";
    is(mpich, &[HYDRA, "mpirun.mpich\0-n\x002\0"], (0, 2));
    is("PALS_RANKID=3 PMI_SIZE=8", &[], (3, 8));
    is("PALS_RANKID=3 PMI_RANK=3 PMI_SIZE=8", &[], (3, 8));
    is(
        "MV2_COMM_WORLD_RANK=5 MV2_COMM_WORLD_SIZE=6",
        &["mpirun_rsh"],
        (5, 6),
    );
}

#[test]
fn tasks_of_srun() {
    let srun = "SLURM_JOB_ID=4 SLURM_LOCALID=1 SLURM_NPROCS=2 SLURM_NTASKS=2 SLURM_PROCID=1 \
                SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2";
    is(srun, &STEP, (1, 2));
    // Where the processes of others are hidden, nothing above is seen.
    is(srun, &[], (1, 2));
    is(&format!("{srun} PMI_RANK=1 PMI_SIZE=2"), &STEP, (1, 2));
    is(&format!("{srun} PMIX_RANK=1"), &STEP, (1, 2));
}

#[test]
fn one_task_of_a_larger_job_makes_all() {
    let one = "SLURM_JOB_ID=4 SLURM_NTASKS=1 SLURM_PROCID=0 SLURM_STEP_NUM_TASKS=1";
    is(one, &STEP, (0, 1));
    assert_eq!(with(one, &STEP, tasks), 1);
}

#[test]
fn a_batch_script_is_one_process() {
    let batch = "SLURM_JOB_ID=4 SLURM_LOCALID=0 SLURM_NNODES=2 SLURM_NPROCS=4 SLURM_NTASKS=4 SLURM_PROCID=0";
    refused(batch, &BATCH, "start it with srun, or say --shard off", 1);
    let allocation = "SLURM_JOB_ID=4 SLURM_NTASKS=4 SLURM_NPROCS=4";
    refused(allocation, &["bash\0"], "SLURM_NTASKS=4", 1);
    refused(
        "SLURM_JOB_ID=4 SLURM_PROCID=0",
        &BATCH,
        "no launcher found",
        1,
    );
}

#[test]
fn mpirun_within_slurm_comes_before_its_daemons_step() {
    let daemons = "SLURM_JOB_ID=4 SLURM_LOCALID=0 SLURM_NNODES=2 SLURM_NPROCS=2 SLURM_PROCID=1 \
                   SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2";
    let ompi = format!("{daemons} SLURM_NTASKS=2 OMPI_COMM_WORLD_RANK=3 OMPI_COMM_WORLD_SIZE=4");
    is(&ompi, &[ORTED, STEP[0]], (3, 4));
    let mpich = format!("{daemons} SLURM_NTASKS=4 PMI_RANK=2 PMI_SIZE=4");
    is(&mpich, &[HYDRA, STEP[0]], (2, 4));
    // On the node of the script itself there may be no step at all.
    let local = "SLURM_JOB_ID=4 SLURM_NTASKS=4 SLURM_PROCID=0 OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=4";
    is(local, &["mpirun\0", BATCH[0], BATCH[1]], (1, 4));
}

#[test]
fn variables_left_by_the_step_a_job_was_submitted_from() {
    let equal =
        "SLURM_JOB_ID=13 SLURM_NTASKS=2 SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2";
    refused(equal, &BATCH, "its parent is slurmstepd: [4.batch]", 1);
    let other =
        "SLURM_JOB_ID=15 SLURM_NTASKS=3 SLURM_PROCID=0 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=2";
    refused(other, &[], "SLURM_NTASKS=3, SLURM_STEP_NUM_TASKS=2", 1);
    let beyond = "SLURM_JOB_ID=15 SLURM_NTASKS=2 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=2";
    refused(
        beyond,
        &[],
        "SLURM_PROCID=2, SLURM_STEP_NUM_TASKS=2 cannot be",
        1,
    );
    // A step of the new job has variables of its own.
    let step =
        "SLURM_JOB_ID=17 SLURM_NTASKS=3 SLURM_PROCID=2 SLURM_STEP_ID=0 SLURM_STEP_NUM_TASKS=3";
    is(step, &STEP, (2, 3));
}

#[test]
fn variables_left_by_the_world_a_job_was_submitted_from() {
    let batch = "PMI_RANK=0 PMI_SIZE=2 SLURM_JOB_ID=18 SLURM_NTASKS=3 SLURM_PROCID=0";
    refused(
        batch,
        &BATCH,
        "PMI_RANK=0, PMI_SIZE=2 came with the environment",
        1,
    );
    let step = "PMI_RANK=0 PMI_SIZE=2 SLURM_JOB_ID=19 SLURM_NTASKS=3 SLURM_PROCID=1 SLURM_STEP_NUM_TASKS=3";
    refused(step, &STEP, "came with the environment", 3);
}

#[test]
fn arrays_of_slurm() {
    let task = format!("{ARRAY_0_1} SLURM_ARRAY_TASK_ID=1 SLURM_PROCID=0");
    is(&task, &BATCH, (1, 2));
    assert_eq!(with(&task, &BATCH, tasks), 1);
    let srun = format!("{task} SLURM_NTASKS=3 SLURM_PROCID=2 SLURM_STEP_NUM_TASKS=3");
    let srun = srun.replace("SLURM_PROCID=0 ", "");
    is(&srun, &STEP, (5, 6));
    assert_eq!(with(&srun, &STEP, tasks), 3);
    let mpi = format!("{task} OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=4");
    is(&mpi, &["mpirun\0", BATCH[0], BATCH[1]], (4, 8));
}

#[test]
fn arrays_whose_numbers_are_no_shards() {
    let again = "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=1 SLURM_ARRAY_TASK_MIN=2 \
                 SLURM_ARRAY_TASK_MAX=2 SLURM_ARRAY_TASK_STEP=1 SLURM_JOB_ID=7 SLURM_PROCID=0";
    refused(again, &BATCH, "--shard $SLURM_ARRAY_TASK_ID/TOTAL", 1);
    let some = "SLURM_ARRAY_TASK_ID=9 SLURM_ARRAY_TASK_COUNT=5 SLURM_ARRAY_TASK_MIN=3 \
                SLURM_ARRAY_TASK_MAX=11 SLURM_ARRAY_TASK_STEP=1 SLURM_JOB_ID=7";
    refused(some, &BATCH, "the array is 3-11 in steps of 1, not 0-4", 1);
    let gap = "SLURM_ARRAY_TASK_ID=0 SLURM_ARRAY_TASK_COUNT=2 SLURM_ARRAY_TASK_MIN=0 \
               SLURM_ARRAY_TASK_MAX=2 SLURM_ARRAY_TASK_STEP=2 SLURM_JOB_ID=7";
    refused(gap, &BATCH, "in steps of 2", 1);
}

#[test]
fn arrays_that_do_not_say_how_many() {
    refused(
        "PBS_ARRAY_INDEX=3",
        &[],
        "--shard $PBS_ARRAY_INDEX/TOTAL",
        1,
    );
    refused("PBS_ARRAYID=3", &[], "--shard $PBS_ARRAYID/TOTAL", 1);
    refused("LSB_JOBINDEX=3", &[], "$((LSB_JOBINDEX - 1))/TOTAL", 1);
    refused("SGE_TASK_ID=1", &[], "$((SGE_TASK_ID - 1))/TOTAL", 1);
    // What they are set to outside an array.
    refused(
        "LSB_JOBINDEX=0 SGE_TASK_ID=undefined",
        &[],
        "no launcher found",
        1,
    );
    refused(
        "PBS_ARRAY_INDEX=3 PMI_RANK=0 PMI_SIZE=4",
        &[HYDRA],
        "PBS_ARRAY_INDEX=3",
        4,
    );
}

#[test]
fn worlds_that_disagree() {
    let both = "OMPI_COMM_WORLD_RANK=0 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=3 PMI_SIZE=4";
    refused(
        both,
        &[],
        "OMPI_COMM_WORLD_RANK=0, OMPI_COMM_WORLD_SIZE=2 disagrees with PMI_RANK=3",
        4,
    );
    is(
        "OMPI_COMM_WORLD_RANK=1 OMPI_COMM_WORLD_SIZE=2 PMI_RANK=1 PMI_SIZE=2",
        &[],
        (1, 2),
    );
}

#[test]
fn values_that_are_none() {
    refused("", &[], "no launcher found", 1);
    refused("PMIX_RANK=1", &[], "no launcher found", 1);
    refused("PMI_RANK= PMI_SIZE=", &[], "no launcher found", 1);
    refused("PMI_RANK=1", &[], "PMI_RANK=1 without PMI_SIZE", 1);
    refused("PMI_RANK=-1 PMI_SIZE=4", &[], "PMI_RANK=-1 is no count", 1);
    refused("PMI_RANK=4 PMI_SIZE=4", &[], "cannot be", 1);
    refused("PMI_RANK=x PMI_SIZE=4", &[], "is no count", 1);
}

#[test]
fn the_flag_decides_and_without_it_many_tasks_are_refused() {
    let many = |word| with("PMI_RANK=1 PMI_SIZE=8", &[HYDRA], |seen| choose(word, seen));
    assert_eq!(many(Some(ShardWord::Off)), Ok(None));
    let part = many(Some(ShardWord::Part { index: 3, count: 4 })).unwrap();
    assert_eq!(
        part,
        Some(Shard {
            index: 3,
            count: 4,
            because: None
        })
    );
    let auto = many(Some(ShardWord::Auto)).unwrap().unwrap();
    assert_eq!((auto.index, auto.count), (1, 8));
    assert_eq!(auto.because.as_deref(), Some("PMI_RANK=1, PMI_SIZE=8"));
    let failure = many(None).unwrap_err();
    assert_eq!(failure.status, Status::Request);
    let text = "8 tasks would each make the whole file; add --shard auto";
    assert!(failure.text.starts_with(text), "{}", failure.text);
}

#[test]
fn without_the_flag_one_task_makes_all() {
    for (environment, ancestors) in [
        ("", &[][..]),
        ("PMI_RANK=0 PMI_SIZE=1", &[HYDRA]),
        ("SLURM_JOB_ID=4 SLURM_NTASKS=4 SLURM_PROCID=0", &BATCH),
        (
            "SLURM_ARRAY_TASK_ID=2 SLURM_ARRAY_TASK_COUNT=8 SLURM_JOB_ID=4",
            &BATCH,
        ),
        ("PBS_ARRAY_INDEX=3", &[]),
    ] {
        assert_eq!(
            with(environment, ancestors, |seen| choose(None, seen)),
            Ok(None),
            "{environment}"
        );
    }
}

#[test]
fn one_processor_of_many_is_worth_a_note() {
    assert_eq!(count("0\n"), Some(1));
    assert_eq!(count("\t0-3,8,10-11\n"), Some(7));
    assert_eq!(count("3-1"), None);
    assert_eq!(count(""), None);
    assert!(
        note_of_bound(1, 64)
            .unwrap()
            .contains("may use 1 of 64 processors")
    );
    assert_eq!(note_of_bound(2, 64), None);
    assert_eq!(note_of_bound(1, 1), None);
}

//! Which shard a launcher means this process to make, from its environment and its ancestors:
//! decided over what was read, so nothing is read here.
//!
//! No MPI library is asked: one binary serves every launcher, and a program that is linked to one
//! MPI and started by another believes itself alone. What each launcher sets was recorded from
//! Slurm 22.05, Open MPI 4.1 and MPICH 4.0 (docs/cluster.md).

/// What can be seen of whatever launched this process.
#[derive(Clone, Copy)]
pub struct Surroundings<'a> {
    /// The value of an environment variable.
    pub variable: &'a dyn Fn(&str) -> Option<String>,
    /// The command lines of the ancestors, the parent first. It may stop early: other users'
    /// processes can be hidden.
    pub ancestors: &'a [String],
}

/// The share of one process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Detected {
    /// From 0, below `count`.
    pub index: u64,
    /// How many processes share the work.
    pub count: u64,
    /// The variables it follows from, with their values.
    pub because: String,
}

/// Why no shard follows, and what to type instead.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// The same command is run by this many processes, as far as can be told.
    pub tasks: u64,
    /// In words.
    pub text: String,
}

impl Refusal {
    fn of_one(text: String) -> Self {
        Self { tasks: 1, text }
    }
}

/// What `--shard auto` takes.
///
/// # Errors
///
/// Where no launcher is found, or what it says does not name one shard for certain.
pub fn detect(seen: &Surroundings<'_>) -> Result<Detected, Refusal> {
    let task = task(seen)?;
    if task.is_none() {
        refuse_batch_of_many(seen)?;
    }
    match (array(seen)?, task) {
        (Some(array), Some(task)) => both(&array, &task),
        (Some(one), None) | (None, Some(one)) => Ok(one),
        (None, None) => Err(Refusal::of_one(
            "no launcher found: neither srun, a job array of Slurm, Open MPI nor MPICH started \
             this process; say --shard I/N"
                .to_owned(),
        )),
    }
}

/// How many processes run this very command: those of an MPI world or of a step of Slurm.
///
/// The tasks of an array are not counted. They are as often given a file each.
pub fn tasks(seen: &Surroundings<'_>) -> u64 {
    match task(seen) {
        Ok(task) => task.map_or(1, |task| task.count),
        Err(refusal) => refusal.tasks,
    }
}

/// Tasks within an array: each array task shares its part out once more.
fn both(array: &Detected, task: &Detected) -> Result<Detected, Refusal> {
    let shard = || {
        let index = array
            .index
            .checked_mul(task.count)?
            .checked_add(task.index)?;
        Some((index, array.count.checked_mul(task.count)?))
    };
    let because = format!("{}, {}", array.because, task.because);
    match shard() {
        Some((index, count)) => Ok(Detected {
            index,
            count,
            because,
        }),
        None => Err(Refusal::of_one(format!(
            "no such number of shards: {because}"
        ))),
    }
}

/// The rank in an MPI world or a step of Slurm. A world comes first: `mpirun` inside a job starts
/// its daemons with `srun`, and the ranks inherit the daemons' variables.
fn task(seen: &Surroundings<'_>) -> Result<Option<Detected>, Refusal> {
    match world(seen)? {
        Some(world) if left_behind(seen, &world) => Err(Refusal {
            tasks: step(seen).ok().flatten().map_or(1, |step| step.count),
            text: format!(
                "{} came with the environment from where this job was submitted, not from its \
                 launcher; unset them, or say --shard I/N",
                world.because
            ),
        }),
        Some(world) => Ok(Some(world)),
        None => step(seen),
    }
}

/// The variables of the rank and of the size, by launcher. PMI is spoken by MPICH, Intel MPI and
/// `srun --mpi=pmi2`.
const WORLDS: [(&str, &str); 4] = [
    ("OMPI_COMM_WORLD_RANK", "OMPI_COMM_WORLD_SIZE"),
    ("PMI_RANK", "PMI_SIZE"),
    ("PALS_RANKID", "PMI_SIZE"),
    ("MV2_COMM_WORLD_RANK", "MV2_COMM_WORLD_SIZE"),
];

fn world(seen: &Surroundings<'_>) -> Result<Option<Detected>, Refusal> {
    let mut found: Option<Detected> = None;
    for (rank, size) in WORLDS {
        let Some(next) = pair(seen, rank, size)? else {
            continue;
        };
        match &found {
            None => found = Some(next),
            Some(first) if (first.index, first.count) == (next.index, next.count) => {}
            Some(first) => {
                return Err(Refusal {
                    tasks: first.count.max(next.count),
                    text: format!(
                        "{} disagrees with {}; say --shard I/N",
                        first.because, next.because
                    ),
                });
            }
        }
    }
    Ok(found)
}

/// What daemons of MPI launchers are called, where the rank's command is their child.
const DAEMONS: [&str; 12] = [
    "mpirun",
    "mpiexec",
    "orterun",
    "orted",
    "prterun",
    "prte",
    "prted",
    "hydra_pmi_proxy",
    "pmi_proxy",
    "mpispawn",
    "palsd",
    "aprun",
];

/// Whether the variables of an MPI world belong to some other process: we are in a job of Slurm,
/// no MPI launcher stands between us and its daemon, and Slurm itself says something else.
fn left_behind(seen: &Surroundings<'_>, world: &Detected) -> bool {
    let Some(stepd) = stepd(seen) else {
        return false;
    };
    let launched = seen.ancestors.iter().take(stepd.depth).any(|line| {
        let name = line.split([' ', '\0']).next().unwrap_or_default();
        let name = name.rsplit('/').next().unwrap_or_default();
        let name = name.split(['.', ':']).next().unwrap_or_default();
        DAEMONS.contains(&name)
    });
    let slurm = pair(seen, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS");
    let agrees =
        matches!(slurm, Ok(Some(step)) if (step.index, step.count) == (world.index, world.count));
    !launched && (stepd.batch || !agrees)
}

/// The task of a step of Slurm.
///
/// `SLURM_STEP_NUM_TASKS` tells a step from the batch script, which has `SLURM_PROCID=0` and
/// `SLURM_NTASKS=8` too and is one process. Both can have been inherited by a batch script that
/// was submitted from within a step; then only the process tree tells.
fn step(seen: &Surroundings<'_>) -> Result<Option<Detected>, Refusal> {
    if seen.get("SLURM_PROCID").is_none() || seen.get("SLURM_STEP_NUM_TASKS").is_none() {
        return Ok(None);
    }
    let inherited = |why: &str| {
        Refusal::of_one(format!(
            "the variables of a step of Slurm are here, but this process is not one of its tasks \
             ({why}); start it with srun, or say --shard I/N or --shard off"
        ))
    };
    if let Some(stepd) = stepd(seen).filter(|stepd| stepd.batch) {
        return Err(inherited(&format!("its parent is {}", stepd.name)));
    }
    let task = pair(seen, "SLURM_PROCID", "SLURM_STEP_NUM_TASKS")
        .map_err(|refusal| inherited(&refusal.text))?;
    let (tasks, step_tasks) = (seen.get("SLURM_NTASKS"), seen.get("SLURM_STEP_NUM_TASKS"));
    if tasks != step_tasks {
        let said = |tasks: Option<String>| tasks.unwrap_or_else(|| "unset".to_owned());
        let (tasks, step_tasks) = (said(tasks), said(step_tasks));
        return Err(inherited(&format!(
            "SLURM_NTASKS={tasks}, SLURM_STEP_NUM_TASKS={step_tasks}"
        )));
    }
    Ok(task)
}

/// A batch script or allocation of several tasks, in which this process is the only one: an eighth
/// of the work would be done, and success reported.
fn refuse_batch_of_many(seen: &Surroundings<'_>) -> Result<(), Refusal> {
    let tasks = seen.number("SLURM_NTASKS")?.unwrap_or(1);
    let in_job = seen.get("SLURM_JOB_ID").is_some();
    if !in_job || tasks < 2 || seen.get("SLURM_ARRAY_TASK_ID").is_some() {
        return Ok(());
    }
    Err(Refusal::of_one(format!(
        "this job has SLURM_NTASKS={tasks}, but this process is not one of so many tasks; start it \
         with srun, or say --shard off"
    )))
}

/// The task of an array. Only Slurm says how many there are, and only an array 0-(N-1) says it in
/// a way that holds when a part of it is submitted again.
fn array(seen: &Surroundings<'_>) -> Result<Option<Detected>, Refusal> {
    refuse_other_arrays(seen)?;
    let (Some(index), Some(count)) = (
        seen.number("SLURM_ARRAY_TASK_ID")?,
        seen.number("SLURM_ARRAY_TASK_COUNT")?,
    ) else {
        return Ok(None);
    };
    let because = format!("SLURM_ARRAY_TASK_ID={index}, SLURM_ARRAY_TASK_COUNT={count}");
    let min = seen.number("SLURM_ARRAY_TASK_MIN")?;
    let max = seen.number("SLURM_ARRAY_TASK_MAX")?;
    let step = seen.number("SLURM_ARRAY_TASK_STEP")?.unwrap_or(1);
    if min == Some(0)
        && step == 1
        && max.and_then(|max| max.checked_add(1)) == Some(count)
        && index < count
    {
        return Ok(Some(Detected {
            index,
            count,
            because,
        }));
    }
    let said =
        |number: Option<u64>| number.map_or_else(|| "?".to_owned(), |number| number.to_string());
    Err(Refusal::of_one(format!(
        "{because}, but the array is {}-{} in steps of {step}, not 0-{}; say \
         --shard $SLURM_ARRAY_TASK_ID/TOTAL",
        said(min),
        said(max),
        count.saturating_sub(1)
    )))
}

/// The index in an array of another engine, and what to say there. SGE sets its variable to
/// `undefined` and LSF to 0 outside an array.
const OTHER_ARRAYS: [(&str, &str); 4] = [
    (
        "PBS_ARRAY_INDEX",
        "--shard $PBS_ARRAY_INDEX/TOTAL in an array from 0",
    ),
    (
        "PBS_ARRAYID",
        "--shard $PBS_ARRAYID/TOTAL in an array from 0",
    ),
    (
        "LSB_JOBINDEX",
        "--shard $((LSB_JOBINDEX - 1))/TOTAL in an array from 1",
    ),
    (
        "SGE_TASK_ID",
        "--shard $((SGE_TASK_ID - 1))/TOTAL in an array from 1",
    ),
];

fn refuse_other_arrays(seen: &Surroundings<'_>) -> Result<(), Refusal> {
    for (name, say) in OTHER_ARRAYS {
        let index = seen.get(name).filter(|value| value != "undefined");
        let outside = name == "LSB_JOBINDEX" && index.as_deref() == Some("0");
        if let Some(index) = index.filter(|_| !outside) {
            return Err(Refusal::of_one(format!(
                "{name}={index} says which task of an array this is, but nothing says of how many; \
                 say {say}"
            )));
        }
    }
    Ok(())
}

/// A rank and the size it stands in, where the rank is set.
fn pair(seen: &Surroundings<'_>, rank: &str, size: &str) -> Result<Option<Detected>, Refusal> {
    let Some(index) = seen.number(rank)? else {
        return Ok(None);
    };
    let Some(count) = seen.number(size)? else {
        return Err(Refusal::of_one(format!(
            "{rank}={index} without {size}; say --shard I/N"
        )));
    };
    let because = format!("{rank}={index}, {size}={count}");
    if index < count {
        Ok(Some(Detected {
            index,
            count,
            because,
        }))
    } else {
        Err(Refusal::of_one(format!(
            "{because} cannot be; say --shard I/N"
        )))
    }
}

/// The daemon of Slurm that runs this process.
struct Stepd {
    /// How many ancestors stand below it.
    depth: usize,
    /// As in `slurmstepd: [4.batch]`.
    name: String,
    batch: bool,
}

/// The nearest one: a job that was submitted from within another's step has both above it only
/// until the step ends.
fn stepd(seen: &Surroundings<'_>) -> Option<Stepd> {
    seen.ancestors.iter().enumerate().find_map(|(depth, line)| {
        let step = line.strip_prefix("slurmstepd: [")?.split(']').next()?;
        Some(Stepd {
            depth,
            name: format!("slurmstepd: [{step}]"),
            batch: step.ends_with(".batch"),
        })
    })
}

impl Surroundings<'_> {
    /// The value of a variable that is set to something.
    fn get(&self, name: &str) -> Option<String> {
        (self.variable)(name).filter(|value| !value.is_empty())
    }

    fn number(&self, name: &str) -> Result<Option<u64>, Refusal> {
        let Some(value) = self.get(name) else {
            return Ok(None);
        };
        value
            .parse()
            .map(Some)
            .map_err(|_| Refusal::of_one(format!("{name}={value} is no count; say --shard I/N")))
    }
}

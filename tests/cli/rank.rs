//! Which share of the planes a launcher's environment gives, from outside. What follows from which
//! environment is tested beside the code; with real launchers, by `scripts/cluster/launchers.sh`.

use crate::harness::{Folder, Ran};

const BEAM: [f64; 3] = [12.0, 9.0, 30.0];

/// Runs the words in an environment in which only these variables of launchers are set.
fn run(folder: &Folder, words: &[&str], variables: &[(&str, &str)]) -> Ran {
    let mut command = folder.command(words);
    for (name, _) in std::env::vars() {
        if [
            "OMPI_", "PMI", "PALS_", "MV2_", "SLURM_", "PBS_", "LSB_", "SGE_",
        ]
        .iter()
        .any(|prefix| name.starts_with(prefix))
        {
            command.env_remove(name);
        }
    }
    command.envs(variables.iter().copied());
    Ran::from(command.output().unwrap())
}

#[test]
fn the_shard_and_its_reason_are_a_result() {
    let ran = run(
        &Folder::new(),
        &["rank"],
        &[("PMI_RANK", "3"), ("PMI_SIZE", "8")],
    );
    assert_eq!((ran.status, ran.stderr.as_str()), (0, ""));
    assert_eq!(ran.stdout, "3/8 from PMI_RANK=3, PMI_SIZE=8\n");
}

#[test]
fn outside_any_launcher_it_says_so() {
    let ran = run(&Folder::new(), &["rank"], &[]);
    assert_eq!((ran.status, ran.stdout.as_str()), (2, ""));
    assert!(ran.stderr.contains("no launcher found"), "{}", ran.stderr);
}

#[test]
fn two_tasks_do_not_both_make_the_whole_file() {
    let folder = Folder::new();
    folder.image("a.fits", BEAM);
    let two = [("OMPI_COMM_WORLD_RANK", "0"), ("OMPI_COMM_WORLD_SIZE", "2")];
    let ran = run(&folder, &["smooth", "a.fits"], &two);
    assert_eq!(ran.status, 2, "{}", ran.stderr);
    assert!(
        ran.stderr
            .contains("2 tasks would each make the whole file")
    );
    assert_eq!(folder.names(), ["a.fits"]);
    let ran = run(&folder, &["smooth", "--shard", "off", "a.fits"], &two);
    assert_eq!(ran.status, 0, "{}", ran.stderr);
    assert!(folder.names().contains(&"a.sm.fits".to_owned()));
}

#[test]
fn shards_count_from_nought() {
    let ran = run(
        &Folder::new(),
        &["smooth", "--shard", "16/16", "a.fits"],
        &[],
    );
    assert_eq!(ran.status, 2);
    assert!(
        ran.stderr.contains("the last of 16 is 15/16"),
        "{}",
        ran.stderr
    );
}

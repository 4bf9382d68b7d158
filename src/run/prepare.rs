//! From a request to a job: everything is looked at and refused here, before anything is made.

use std::path::{Path, PathBuf};

use fits_layout::{Cube, Hdu, Header, LayoutError, checksum};

use crate::beam::source::BeamFrom;
use crate::beam::{Beam, log};
use crate::convolve::{Backend, PlaneKind};
use crate::error::{Error, InputError, Interrupted, Stage};
use crate::image::{BEAM_FLOOR_PX, Image};
use crate::journal::{Job, is_listed};
use crate::map::{FileId, Io, Source};
use crate::output::name::{beamlog_of, check_place, part_of, refuse_collisions};
use crate::output::{Existing, HeaderEdit, OutputError};
use crate::plan::extents::Extents;
use crate::plan::target::{Wanted, reference, targets};
use crate::plan::{
    Facts, FilePlan, HduChoice, Mode, Note, PlanError, Spec, TargetChoice, Targets, Task,
};
use crate::run::choice::choose;
use crate::run::earlier::{self, Earlier};
use crate::run::parts::{beamlog, network_note, parts, scratch, table_bytes};
use crate::run::tuning::HELD_BY_HEADERS;
use crate::run::{Job as Work, Recovery, Request, Sharing, Stop, history, job, machine};

/// One file, ready to be worked on.
#[derive(Debug)]
pub(super) struct Prepared {
    pub image: Image,
    pub plan: FilePlan,
    pub existing: Existing,
    /// How its bytes are stored.
    pub io: Io,
    /// Whether they go to the disk at once and leave the page cache.
    pub writes_behind: bool,
    /// The output's image header; CHECKSUM and DATASUM, where it has them, are not right yet.
    pub header: Header,
    /// Whether they are to be made right.
    pub checksum: bool,
    /// The new BEAMS extension.
    pub table: Option<Vec<u8>>,
    /// Where everything lies in the output.
    pub extents: Extents,
    /// The output's planes.
    pub cube: Cube,
    /// The log of the target beams: its path and its text.
    pub beamlog: Option<(PathBuf, String)>,
    /// The folder that a lane's spectra go to; `None` if they stay in memory.
    pub scratch: Option<PathBuf>,
    /// What decides the bytes.
    pub job: Job,
    /// Whether an earlier run of it has stored planes already.
    pub continues: bool,
    pub recovery: Recovery,
    pub sharing: Option<Sharing>,
    /// Ends the work before its time.
    pub stop: Stop,
}

impl Prepared {
    /// Whether what is stored is written down, so that a later run can go on: where there is
    /// more than one plane.
    pub fn is_kept(&self) -> bool {
        self.plan.tasks.len() > 1
    }

    /// Whether its work may begin; a file that is only skipped has none.
    pub fn may_begin(&self) -> Result<(), Error> {
        if self.stop.is_asked() && !self.plan.facts.skipped {
            return Err(self.interrupted(0, self.plan.facts.planes));
        }
        Ok(())
    }

    /// What stood in the way of its output: the input, if it is about that.
    pub fn failed(&self, stage: Stage) -> Error {
        let facts = &self.plan.facts;
        let about_input = matches!(stage, Stage::Map(_));
        let path = if about_input {
            &facts.input
        } else {
            &facts.output
        };
        Error::new(path, stage)
    }

    /// That the work was stopped with so many of the planes to make stored.
    pub fn interrupted(&self, stored: u64, planes: u64) -> Error {
        let facts = &self.plan.facts;
        let interrupted = Interrupted { stored, planes };
        Error::new(&facts.input, interrupted.into())
    }
}

/// What every file of a request is prepared with.
#[derive(Clone, Copy)]
struct Context<'a> {
    request: &'a Request,
    backend: &'a dyn Backend,
    /// The target that is asked for.
    asked: &'a str,
    held_bytes: u64,
}

/// Checks a whole request and plans it. Inputs are mapped and their headers and beams read; no
/// file is made.
///
/// ```
/// # use fits_layout::Header;
/// # use mmfits::output::{Existing, NewImage};
/// # let folder = tempfile::tempdir()?;
/// # let path = folder.path().join("cube.fits");
/// # let mut header = Header::new();
/// # header.set("SIMPLE", true, None)?;
/// # for (keyword, value) in [("BITPIX", -32_i64), ("NAXIS", 3), ("NAXIS1", 6), ("NAXIS2", 5), ("NAXIS3", 4)] {
/// #     header.set(keyword, value, None)?;
/// # }
/// # for (axis, ctype, step) in [(1, "RA---SIN", -0.001), (2, "DEC--SIN", 0.001), (3, "FREQ", 1e6)] {
/// #     header.set(&format!("CTYPE{axis}"), ctype, None)?;
/// #     header.set(&format!("CDELT{axis}"), step, None)?;
/// # }
/// # header.set("BUNIT", "Jy/beam", None)?;
/// # header.set("BMAJ", 0.003, None)?;
/// # header.set("BMIN", 0.002, None)?;
/// # header.set("BPA", 30.0, None)?;
/// # let mut made = NewImage::create(&path, &header, Existing::Refuse)?;
/// # for (k, mut plane) in made.planes_mut()?.into_iter().enumerate() {
/// #     for y in 0..plane.ny() {
/// #         plane.write_row(y, &[k as f32; 6])?;
/// #     }
/// # }
/// # made.finish()?;
/// use std::sync::atomic::{AtomicU64, Ordering};
///
/// use mmfits::beam::Beam;
/// use mmfits::plan::{FilePlan, Spec, TargetChoice};
/// use mmfits::progress::Observer;
/// use mmfits::run::{Request, prepare};
///
/// #[derive(Default)]
/// struct Count(AtomicU64);
///
/// impl Observer for Count {
///     fn plane_stored(&self, _: &FilePlan, _: u64, bytes: u64) {
///         self.0.fetch_add(bytes, Ordering::Relaxed);
///     }
/// }
///
/// let target = Beam::new(15.0, 14.0, 20.0)?; // arcsec, arcsec, degrees north through east
/// let request = Request {
///     inputs: vec![path],
///     spec: Spec { target: TargetChoice::Beam(target), ..Spec::default() },
///     ..Request::default()
/// };
/// let job = prepare(&request)?; // all checked, nothing made
/// let count = Count::default();
/// let reports = job.run(&count)?;
/// assert_eq!(reports[0].output, folder.path().join("cube.sm.fits"));
/// assert_eq!(count.0.into_inner(), 4 * 5 * 6 * 4);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// # Errors
/// Anything that would fail later and can be known now: names, files, formats, beams, units,
/// targets, memory.
pub fn prepare(request: &Request) -> Result<Work, Error> {
    let outputs = output_names(request)?;
    let images = open_all(request)?;
    let existing = check_places(request, &images, &outputs)?;
    let earlier = earlier::find(request, outputs.iter().map(PathBuf::as_path))?;
    let held_bytes = hold(request, &images)?;
    let mut facts = Vec::with_capacity(images.len());
    for ((image, output), exists) in images.iter().zip(outputs).zip(existing) {
        let skipped = exists && request.naming.existing == Existing::Skip;
        facts.push(find_facts(image, output, skipped, &request.spec)?);
    }
    let wanted = wanted(request, floor_arcsec(&facts))?;
    let asked = job::asked(request, &wanted, &facts);
    let wanted = match earlier::targets(&earlier, &asked) {
        Some(targets) => Wanted::Given(targets),
        None => wanted,
    };
    let targets = targets(&facts, &request.spec, &wanted)
        .map_err(|(file, error)| plan_error(&request.inputs, file, error))?;
    let files = images.iter().zip(facts).zip(targets);
    let plans = files.map(|((image, facts), targets)| plan_file(request, image, facts, targets));
    let plans = plans.collect::<Result<Vec<_>, _>>()?;
    let begun = earlier::begun(request, &plans, &earlier);
    let chosen = choose((request, held_bytes), &plans, begun)?;
    let context = Context {
        request,
        backend: &*chosen.backend,
        asked: &asked,
        held_bytes,
    };
    let mut prepared = Vec::with_capacity(images.len());
    for ((image, plan), earlier) in images.into_iter().zip(plans).zip(&earlier) {
        prepared.push(context.tune_file(image, plan, earlier.as_ref())?);
    }
    Ok(Work {
        prepared,
        chosen,
        threads: request.resources.threads(),
    })
}

/// The output of each input, refusing what names alone forbid.
fn output_names(request: &Request) -> Result<Vec<PathBuf>, Error> {
    let inputs = &request.inputs;
    let naming = &request.naming;
    if let Some(output) = naming.output.as_ref().filter(|_| inputs.len() != 1) {
        return Err(Error::new(
            output,
            OutputError::OneName {
                inputs: inputs.len(),
            }
            .into(),
        ));
    }
    let name = |input: &PathBuf| {
        naming
            .output_of(input)
            .map_err(|error| Error::new(input, error.into()))
    };
    let outputs = inputs.iter().map(name).collect::<Result<Vec<_>, _>>()?;
    refuse_collisions(inputs, &outputs).map_err(|(number, error)| {
        Error::new(
            outputs.get(number).map_or(Path::new(""), PathBuf::as_path),
            error.into(),
        )
    })?;
    Ok(outputs)
}

/// Opens every input; headers that the memory has no room for are refused before they are kept.
fn open_all(request: &Request) -> Result<Vec<Image>, Error> {
    let mut left_bytes = request.resources.header_bytes();
    let mut images = Vec::with_capacity(request.inputs.len());
    for input in &request.inputs {
        let image = open(request, input, &request.spec.hdu, left_bytes)?;
        left_bytes = left_bytes.saturating_sub(header_bytes(&image));
        images.push(image);
    }
    Ok(images)
}

fn open(
    request: &Request,
    path: &Path,
    choice: &HduChoice,
    limit_bytes: u64,
) -> Result<Image, Error> {
    Image::open_within(path, choice, limit_bytes).map_err(|stage| match stage {
        Stage::Layout(LayoutError::HeadersTooLong { .. }) => {
            Error::new(path, request.resources.headers_refused().into())
        }
        stage => Error::new(path, stage),
    })
}

fn header_bytes(image: &Image) -> u64 {
    let headers = image.layout().hdus.iter().map(Hdu::header_range);
    headers.map(|range| range.end - range.start).sum()
}

/// Refuses outputs that would destroy something; tells for each whether it exists.
fn check_places(
    request: &Request,
    images: &[Image],
    outputs: &[PathBuf],
) -> Result<Vec<bool>, Error> {
    let read = files_read(request, images);
    let check =
        |path: &Path| check_place(path, &read).map_err(|error| Error::new(path, error.into()));
    let mut existing = Vec::with_capacity(outputs.len());
    for (image, output) in images.iter().zip(outputs) {
        check(&part_of(output))?;
        let exists = check(output)?;
        let log = beamlog_of(output);
        let has_log = has_log(image);
        if has_log {
            check(&part_of(&log))?;
        }
        let log_exists = has_log && check(&log)?;
        // With `resume` the output itself is looked at, once the plan is known.
        let looks_later = request.recovery.resume || request.sharing.is_some();
        let refuses = request.naming.existing == Existing::Refuse && !looks_later;
        // So is a log beside unfinished work: a run that ended after the log and before its output.
        let log_exists = log_exists && !earlier::is_there(output);
        if refuses && (exists || log_exists) {
            let taken = if exists { output } else { &log };
            return Err(Error::new(taken, OutputError::Exists.into()));
        }
        existing.push(exists);
    }
    Ok(existing)
}

/// Every file this request reads, so that none of them is written.
fn files_read(request: &Request, images: &[Image]) -> Vec<(FileId, PathBuf)> {
    let mut read: Vec<_> = images
        .iter()
        .map(|image| (image.source().id(), image.path().to_owned()))
        .collect();
    let others = [request.spec.beamlog.as_deref(), target_file(&request.spec)];
    for path in others.into_iter().flatten() {
        if let Ok(Some(id)) = FileId::at(path) {
            read.push((id, path.to_owned()));
        }
    }
    // The logs beside the inputs, by whichever name they are found.
    for path in images.iter().flat_map(|image| log::beside(image.path())) {
        if let Ok(Some(id)) = FileId::at(&path) {
            read.push((id, path));
        }
    }
    read
}

fn target_file(spec: &Spec) -> Option<&Path> {
    match &spec.target {
        TargetChoice::From(path) => Some(path),
        TargetChoice::Common(_) | TargetChoice::Beam(_) => None,
    }
}

/// Cubes get a beam log; a single image has its beam in its header.
pub(super) fn has_log(image: &Image) -> bool {
    image.axes().channels() > 1
}

fn find_facts(image: &Image, output: PathBuf, skipped: bool, spec: &Spec) -> Result<Facts, Error> {
    let beams = image.beams(spec.beam_from, spec.beamlog.as_deref())?;
    let cube = image.cube();
    let too_large = |number| Error::new(image.path(), InputError::TooLarge { number }.into());
    let length = |number: u64| usize::try_from(number).map_err(|_| too_large(number));
    let axes_notes = image.axes().notes().iter().cloned().map(Note::Sky);
    let mut facts = Facts {
        input: image.path().to_owned(),
        output,
        skipped,
        bitpix: cube.bitpix(),
        nx: length(cube.nx())?,
        ny: length(cube.ny())?,
        planes: cube.planes(),
        axes: image.axes().clone(),
        sky: image.pixel_to_sky()?,
        brightness: image.brightness()?,
        beams: beams.beams,
        beam_source: beams.source,
        notes: axes_notes
            .chain(beams.notes.into_iter().map(Note::Beam))
            .collect(),
    };
    if let Some(cutoff_arcsec) = spec.cutoff_arcsec {
        facts.cut_off(cutoff_arcsec);
    }
    Ok(facts)
}

/// An axis in a log of targets below this is a blank row: by the finest pixels of the inputs.
fn floor_arcsec(facts: &[Facts]) -> f64 {
    let finest = facts.iter().map(|facts| facts.sky.pixel_scale_arcsec());
    BEAM_FLOOR_PX * finest.fold(f64::INFINITY, f64::min)
}

/// What the planes are brought to; the beams of another file, FITS or beam log, are read.
fn wanted(request: &Request, floor_arcsec: f64) -> Result<Wanted, Error> {
    let path = match &request.spec.target {
        TargetChoice::Common(mode) => return Ok(Wanted::Common(*mode)),
        TargetChoice::Beam(beam) => return Ok(Wanted::Given(Targets::One(*beam))),
        TargetChoice::From(path) => path,
    };
    let beams = if is_fits(path)? {
        fits_targets(request, path)?
    } else {
        let log = log::read(path, None, floor_arcsec);
        log.map_err(|error| Error::new(path, error.into()))?.beams
    };
    Ok(Wanted::Given(Targets::from_list(beams)))
}

/// Whether a file of targets is FITS: the standard fixes its first bytes (FITS 4.0, 4.4.1.1).
fn is_fits(path: &Path) -> Result<bool, Error> {
    let source = Source::open(path).map_err(|error| Error::new(path, error.into()))?;
    Ok(source.bytes().starts_with(b"SIMPLE"))
}

fn fits_targets(request: &Request, path: &Path) -> Result<Vec<Option<Beam>>, Error> {
    let limit_bytes = request.resources.header_bytes();
    let image = open(request, path, &HduChoice::FirstImage, limit_bytes)?;
    let resolved = image.beams(BeamFrom::Auto, None)?;
    let stokes = usize::try_from(image.axes().stokes_count())
        .unwrap_or(usize::MAX)
        .max(1);
    let mut beams = Vec::new();
    for (channel, row) in (0..).zip(resolved.beams.chunks(stokes)) {
        let first = row.first().copied().flatten();
        if row.iter().any(|beam| *beam != first) {
            return Err(Error::new(path, PlanError::TargetStokes { channel }.into()));
        }
        beams.push(first);
    }
    // One beam for the whole file, however many channels it has, is one target.
    let all_equal = beams
        .iter()
        .all(|beam| beam.is_some() && Some(beam) == beams.first());
    beams.truncate(if all_equal { 1 } else { beams.len() });
    Ok(beams)
}

fn plan_error(inputs: &[PathBuf], file: usize, error: PlanError) -> Error {
    match (&error, inputs.get(file)) {
        (PlanError::NoBeams, _) if inputs.len() != 1 => Error::general(error.into()),
        (_, Some(path)) => Error::new(path, error.into()),
        (_, None) => Error::general(error.into()),
    }
}

/// What is kept in memory of all files, which is refused before it is made where it is too much.
fn hold(request: &Request, images: &[Image]) -> Result<u64, Error> {
    let sum = |numbers: &mut dyn Iterator<Item = u64>| numbers.fold(0, u64::saturating_add);
    let held_bytes = sum(&mut images.iter().map(held_bytes));
    let planes = sum(&mut images.iter().map(|image| image.cube().planes()));
    let held = request.resources.hold(planes, held_bytes);
    held.map_err(|error| match images {
        [image] => Error::new(image.path(), error.into()),
        _ => Error::general(error.into()),
    })?;
    Ok(held_bytes)
}

/// About what is kept in memory of one file, bytes: its headers, as read and as they will be, and
/// for each plane a task, its part of the workload, its beams, its slot and its line in the
/// journal.
fn held_bytes(image: &Image) -> u64 {
    const BESIDE_TASKS: u64 = 192;
    let headers = header_bytes(image);
    let plane = (size_of::<Task>() + size_of::<PlaneKind>()) as u64 + BESIDE_TASKS;
    let planes = image.cube().planes().saturating_mul(plane);
    headers
        .saturating_mul(HELD_BY_HEADERS)
        .saturating_add(planes)
}

fn plan_file(
    request: &Request,
    image: &Image,
    facts: Facts,
    targets: Targets,
) -> Result<FilePlan, Error> {
    let plan = FilePlan::new(facts, targets, &request.spec);
    let mut plan = plan.map_err(|error| Error::new(image.path(), error.into()))?;
    let alone = request.inputs.len() == 1 && plan.convolutions().next().is_none();
    if alone && request.spec.target == TargetChoice::Common(Mode::Natural) {
        plan.notes.push(Note::NaturalAlone);
    }
    Ok(plan)
}

impl Context<'_> {
    fn tune_file(
        &self,
        image: Image,
        mut plan: FilePlan,
        earlier: Option<&Earlier>,
    ) -> Result<Prepared, Error> {
        let path = image.path().to_owned();
        let failed = |stage: Stage| Error::new(&path, stage);
        let resources = &self.request.resources;
        if self.backend.whole_columns() {
            plan.make_whole();
        }
        resources
            .tune(&mut plan, self.backend, self.held_bytes)
            .map_err(|e| failed(e.into()))?;
        let mut job = self.job(&image, &plan, earlier.map(|earlier| &earlier.job));
        self.add_header(&image, &plan, &mut job).map_err(failed)?;
        let output = plan.facts.output.clone();
        let refused = |stage: Stage| Error::new(&output, stage);
        if !plan.facts.skipped {
            if let Some(earlier) = earlier {
                earlier
                    .check(&output, &job)
                    .map_err(|e| refused(e.into()))?;
                if earlier.stored > 0 {
                    plan.notes.push(Note::Continues {
                        stored: earlier.stored,
                        planes: plan.facts.planes,
                    });
                }
            }
            plan.facts.skipped = self.is_done(&output, &job).map_err(refused)?;
        }
        let mut prepared = self.lay_out(image, plan, job).map_err(failed)?;
        prepared.continues = earlier.is_some();
        Ok(prepared)
    }

    fn job(&self, image: &Image, plan: &FilePlan, earlier: Option<&Job>) -> Job {
        let backend = (self.backend.name(), self.backend.arithmetic());
        job::describe(self.request, image, plan, backend, (self.asked, earlier))
    }

    /// What the output says of itself but for its HISTORY, which names the job.
    fn add_header(&self, image: &Image, plan: &FilePlan, job: &mut Job) -> Result<(), Stage> {
        let header = self.edited_header(image, plan, &[])?.render();
        let table = table_bytes(image, plan)?.unwrap_or_default();
        job.set("header", job::hash(&[header, table].concat()));
        Ok(())
    }

    /// Whether the output is there already and may be left as it is, having been made by this very
    /// job: for a run that goes on, and for one that shares it with others.
    fn is_done(&self, output: &Path, job: &Job) -> Result<bool, Stage> {
        let refuses = self.request.naming.existing == Existing::Refuse;
        let is_shared = self.request.sharing.is_some();
        let looks = is_shared || (self.request.recovery.resume && refuses);
        let listed = || is_listed(output).map_err(|source| OutputError::Look { source });
        if !looks || !listed()? {
            return Ok(false);
        }
        if earlier::made_by(output, job) {
            Ok(true)
        } else if refuses {
            Err(OutputError::Exists.into())
        } else {
            Ok(false)
        }
    }

    /// The output's header, table, byte ranges and beam log.
    fn lay_out(&self, image: Image, mut plan: FilePlan, mut job: Job) -> Result<Prepared, Stage> {
        let request = self.request;
        let table = table_bytes(&image, &plan)?;
        let history = history::lines(request, &plan, &job, self.backend);
        let header = self.edited_header(&image, &plan, &history)?;
        let axes = image.cube().axes().to_vec();
        let relative = Cube::new(plan.precision.bitpix(), &axes, 0)?;
        let header_bytes = header.render().len() as u64;
        let data_bytes = relative.data_range().end;
        let parts = parts(&image, header_bytes, data_bytes, table.as_deref())?;
        let extents = Extents::new(parts)?;
        plan.bytes = extents.len_bytes();
        let data = extents.data().ok_or(PlanError::TooLarge)?;
        let cube = Cube::new(plan.precision.bitpix(), &axes, data.start)?;
        job::place(&mut job, &extents, cube.plane_bytes(), cube.planes());
        let scratch = scratch(request, &plan)?;
        plan.notes.extend(network_note(request, &plan.facts.output));
        let memory_bytes = machine::memory_bytes();
        let storage = &request.storage;
        Ok(Prepared {
            beamlog: beamlog(&image, &plan),
            checksum: checksum::is_present(&header),
            existing: request.naming.existing,
            io: storage.io,
            writes_behind: storage.writes_behind(extents.len_bytes(), memory_bytes),
            continues: false,
            recovery: request.recovery,
            sharing: request.sharing,
            stop: request.stop.clone(),
            image,
            plan,
            scratch,
            header,
            table,
            extents,
            cube,
            job,
        })
    }

    fn edited_header(
        &self,
        image: &Image,
        plan: &FilePlan,
        history: &[String],
    ) -> Result<Header, Stage> {
        let request = self.request;
        let crpix_channel = image.axes().reference_channel();
        let stored = plan.stored_by_channel();
        let reference = reference(&stored, request.spec.ref_channel, crpix_channel)?;
        let per_channel = matches!(plan.targets, Targets::PerChannel(_));
        let edit = HeaderEdit {
            precision: plan.precision,
            reference: reference.map(|(_, beam)| beam),
            table_channel: reference
                .map(|(channel, _)| channel)
                .filter(|_| per_channel),
            history,
        };
        let header = edit
            .apply(image.header())
            .map_err(|source| OutputError::Header { source })?;
        Ok(header)
    }
}

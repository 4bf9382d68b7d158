//! The kernels: their text for the driver, made from `kernels.cu` by `scripts/gpu/ptx.sh`, their
//! names, and what each takes. What they compute is written in `kernels.cu`.

use std::sync::Arc;

use cudarc::driver::{CudaFunction, CudaModule, LaunchConfig};
use cudarc::nvrtc::Ptx;

use super::super::device::Call;
use super::driver::Device;

/// PTX of the oldest kind that all drivers since CUDA 12.0 compile for their devices.
const PTX: &str = include_str!("kernels.ptx");

/// Threads of a block, along a row.
const BLOCK: u32 = 256;

/// The most blocks of a grid along y and z (CUDA C++ Programming Guide, "Compute Capabilities").
const MOST_BLOCKS: usize = 65_535;

/// What a kernel is given.
#[derive(Clone, Copy, Debug)]
pub(super) enum Argument {
    /// Memory of the device.
    Address(u64),
    /// A length, or flags.
    Count(i32),
    /// A limit.
    Real(f64),
}

impl Argument {
    fn bits(self) -> u32 {
        match self {
            Self::Count(_) => 32,
            Self::Address(_) | Self::Real(_) => 64,
        }
    }
}

/// A kernel, with the sizes of what it takes.
#[derive(Debug)]
pub(super) struct Kernel {
    name: &'static str,
    function: CudaFunction,
    /// Bits of each parameter.
    parameters: Vec<u32>,
}

impl Kernel {
    /// The function, for these arguments.
    pub fn function_for(&self, arguments: &[Argument]) -> Result<&CudaFunction, Call> {
        let given = arguments.iter().map(|argument| argument.bits());
        if given.eq(self.parameters.iter().copied()) {
            return Ok(&self.function);
        }
        Err(Call {
            function: "cuLaunchKernel",
            code: 1,
            name: format!("{} takes other arguments", self.name),
        })
    }

    /// How it is spread over the device; each is a map with loops, so any grid is right.
    pub fn config(&self, planes: usize, rows: usize, columns: usize) -> LaunchConfig {
        let blocks = |count: usize| count.clamp(1, MOST_BLOCKS) as u32;
        LaunchConfig {
            grid_dim: (
                blocks(columns.div_ceil(BLOCK as usize)),
                blocks(rows),
                blocks(planes),
            ),
            block_dim: (BLOCK, 1, 1),
            shared_mem_bytes: 0,
        }
    }
}

/// A kernel for samples of either length.
#[derive(Debug)]
pub(super) struct ByLength {
    single: Kernel,
    /// Only in a transform in `f64`: samples are never longer than its numbers.
    double: Option<Kernel>,
}

impl ByLength {
    pub fn of(&self, double: bool) -> Option<&Kernel> {
        if double {
            self.double.as_ref()
        } else {
            Some(&self.single)
        }
    }
}

/// The kernels of one precision of the transform.
#[derive(Debug)]
pub(super) struct Kernels {
    pub load: ByLength,
    pub filter: Kernel,
    pub blank: Kernel,
    /// Only where weights are divided by, which is in `f64`.
    pub weight: Option<Kernel>,
    pub store: ByLength,
}

impl Kernels {
    /// Has the driver compile them all: those of `f32`, and those of `f64`.
    pub fn load(device: &Device) -> Result<[Self; 2], Call> {
        let module = device.context().load_module(Ptx::from_src(PTX));
        let module = module.map_err(|error| failed("cuModuleLoadData", error))?;
        let kernel = |name| kernel(&module, name);
        let single = Self {
            load: ByLength {
                single: kernel("mm_load_f32_f32")?,
                double: None,
            },
            filter: kernel("mm_filter_f32")?,
            blank: kernel("mm_blank_f32")?,
            weight: None,
            store: ByLength {
                single: kernel("mm_store_f32_f32")?,
                double: None,
            },
        };
        let double = Self {
            load: ByLength {
                single: kernel("mm_load_f32_f64")?,
                double: Some(kernel("mm_load_f64_f64")?),
            },
            filter: kernel("mm_filter_f64")?,
            blank: kernel("mm_blank_f64")?,
            weight: Some(kernel("mm_weight_f64")?),
            store: ByLength {
                single: kernel("mm_store_f64_f32")?,
                double: Some(kernel("mm_store_f64_f64")?),
            },
        };
        Ok([single, double])
    }
}

fn kernel(module: &Arc<CudaModule>, name: &'static str) -> Result<Kernel, Call> {
    let function = module.load_function(name);
    let function = function.map_err(|error| failed("cuModuleGetFunction", error))?;
    let parameters = parameters(PTX, name).ok_or_else(|| Call {
        function: "cuModuleGetFunction",
        code: 500,
        name: format!("{name} is not in the kernels"),
    })?;
    Ok(Kernel {
        name,
        function,
        parameters,
    })
}

fn failed(function: &'static str, error: cudarc::driver::DriverError) -> Call {
    super::driver::call(function, error)
}

/// Bits of each parameter of an entry, from the text: `.entry NAME(` up to `)`, each line of which
/// has one `.param .u64 …` or the like (PTX ISA 8.0, "Kernel Function Parameter Attributes").
fn parameters(ptx: &str, name: &str) -> Option<Vec<u32>> {
    let (_, entry) = ptx.split_once(&format!(".entry {name}("))?;
    let (list, _) = entry.split_once(')')?;
    let lines = list.lines().filter(|line| line.contains(".param"));
    lines
        .map(|line| {
            let kind = line.split_whitespace().nth(1)?;
            kind.get(2..)?.parse().ok()
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parameters_are_read_from_the_text() {
        let ptx = ".visible .entry a_b(\n\t.param .u64 a_b_param_0,\n\t.param .u32 a_b_param_1,\n\
                   \t.param .f64 a_b_param_2\n)\n{\n";
        assert_eq!(parameters(ptx, "a_b"), Some(vec![64, 32, 64]));
        assert_eq!(parameters(ptx, "a"), None);
    }

    #[test]
    fn every_kernel_is_in_the_text() {
        let takes = |name: &str| parameters(PTX, name).map(|list| list.len());
        for (name, count) in [
            ("mm_load_f32_f32", 10),
            ("mm_load_f32_f64", 10),
            ("mm_load_f64_f64", 10),
            ("mm_filter_f32", 6),
            ("mm_filter_f64", 6),
            ("mm_blank_f32", 10),
            ("mm_blank_f64", 10),
            ("mm_weight_f64", 8),
            ("mm_store_f32_f32", 11),
            ("mm_store_f64_f32", 11),
            ("mm_store_f64_f64", 11),
        ] {
            assert_eq!(takes(name), Some(count), "{name}");
        }
    }
}

//! What a backend can fail with.

use std::fmt;

use super::device::DeviceError;
use crate::plane::PlaneError;

/// Why a lane could not be made or a plane could not be convolved. All but
/// [`BackendError::Memory`] and [`BackendError::Device`] are mistakes of the program, not of its user.
#[derive(Clone, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum BackendError {
    /// A lane's memory was not to be had.
    Memory {
        /// Bytes the lane needs.
        bytes: u64,
    },
    /// The slot has not the shape of the plane.
    Shape {
        /// Pixels in a row, and rows, of the plane.
        plane: (usize, usize),
        /// The same of the slot.
        slot: (usize, usize),
    },
    /// The transform lengths do not suit the plane.
    Grid {
        /// Pixels in a row, and rows, of the plane.
        plane: (usize, usize),
        /// The lengths.
        grid: (usize, usize),
    },
    /// The plane is not part of the workload that the lane was made for.
    Unplanned {
        /// The transform lengths that it needs.
        grid: (usize, usize),
    },
    /// A transform refused its buffers.
    Transform {
        /// The length of the transform.
        length: usize,
    },
    /// A row could not be read or written.
    Plane(PlaneError),
    /// A device cannot be used, or failed.
    Device(DeviceError),
}

impl fmt::Display for BackendError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match *self {
            Self::Memory { bytes } => write!(f, "no memory for a lane of {bytes} bytes"),
            Self::Shape { plane, slot } => write!(
                f,
                "a slot of {} x {} pixels for a plane of {} x {}",
                slot.0, slot.1, plane.0, plane.1
            ),
            Self::Grid { plane, grid } => write!(
                f,
                "transform lengths {} x {} do not suit a plane of {} x {} pixels",
                grid.0, grid.1, plane.0, plane.1
            ),
            Self::Unplanned { grid } => write!(
                f,
                "a convolution on a grid of {} x {} that the lane was not made for",
                grid.0, grid.1
            ),
            Self::Transform { length } => {
                write!(f, "a transform of length {length} refused its buffers")
            }
            Self::Plane(_) => write!(f, "a row of the plane could not be read or written"),
            Self::Device(ref error) => error.fmt(f),
        }
    }
}

impl std::error::Error for BackendError {
    fn source(&self) -> Option<&(dyn std::error::Error + 'static)> {
        match self {
            Self::Plane(error) => Some(error),
            Self::Device(error) => error.source(),
            _ => None,
        }
    }
}

impl From<PlaneError> for BackendError {
    fn from(error: PlaneError) -> Self {
        Self::Plane(error)
    }
}

impl From<DeviceError> for BackendError {
    fn from(error: DeviceError) -> Self {
        Self::Device(error)
    }
}

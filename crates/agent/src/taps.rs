//! The packets at the interfaces of the two ends: records, captures, and the metrics computed from
//! them.

mod capture;
pub(crate) mod ecn_reductions;
mod ring;
pub(crate) mod sojourn;
mod tap;

pub(crate) use self::capture::{Capture, files};
#[cfg(test)]
pub(crate) use self::tap::tests::record_at;
pub(crate) use self::tap::{Measured, Record, Tap, measure, order, passed};

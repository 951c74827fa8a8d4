//! The kernel's disciplines: their parameters for tc, their installation and their counters.

mod install;
mod stats;
mod tc_params;

pub(crate) use self::install::{Installed, charged, check, check_place, install, show};
pub(crate) use self::stats::{Counters, QueueSample, StatsReader};

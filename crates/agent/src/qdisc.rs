//! The kernel's disciplines: their parameters as tc takes them, their installation and counters.

mod install;
mod stats;
mod tc_params;

pub(crate) use self::install::{Installed, charged, check, check_place, install, show};
pub(crate) use self::stats::{Counters, QueueSample, StatsReader};

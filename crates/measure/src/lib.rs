//! Measurement: the traffic between two taps, one at each end of the path.
//!
//! The same definitions measure a simulated run while it runs ([`Meter`]) and captures of a real
//! run. The metrics are throughput, round-trip time by synthetic packet pairs, one-way delay, and
//! loss by packet identity. Throughput is measured while a flow is active, and over time
//! ([`Windows`]). This crate does not depend on a simulator. The meter uses only a packet's time,
//! flow, connection, direction, identity and length.
//!
//! [`Settings`] contains the interval of the statistics. Packets that were sent before this
//! interval, during the warm-up of a trial, do not count.
//!
//! **Invariant:** this crate opens no file and reads no clock. It reads captures from any
//! [`std::io::Read`] and writes them to any [`std::io::Write`].

mod arrivals;
pub mod capture;
mod direction_meter;
mod histogram;
mod jitter;
mod meter;
mod pairs;
mod record;
mod report;
mod select;
mod series;
mod stats;
mod throughput;
mod window_rates;
mod windows;
mod wire;

pub use direction_meter::Sent;
pub use histogram::{Histogram, Ranks};
pub use jitter::Jitter;
pub use meter::{InOrder, Meter, Settings};
pub use pairs::RoundTrip;
pub use record::{Fate, PacketRecord, RecordedHeader, Records};
pub use report::{DirectionReport, FlowReport};
pub use series::Bin;
pub use stats::{BoxStats, box_stats, fivenum, jain, mean, quantile, standard_deviation};
pub use window_rates::WindowRates;
pub use windows::{Throughput, Windows};

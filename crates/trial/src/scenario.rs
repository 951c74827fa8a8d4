//! Facts about scenarios: the overheads of lines, and the defaults of absent keys.
//!
//! Scenarios are read in Python (`aqmlab.scenario`), and for the page in Rust (`aqmlab-compose`).

use aqmlab_core::{Bytes, Duration};

use crate::spec::OverheadSpec;

/// The default duration of a trial.
pub const DURATION: Duration = Duration::from_secs(30);
/// The default round-trip time without queues.
pub const RTT: Duration = Duration::from_millis(40);
/// The default of the largest extra delay that a host adds to a packet it receives.
pub const HOST_JITTER: Duration = Duration::from_micros(50);
/// The default of the largest extra delay of an application's start.
pub const START_JITTER: Duration = Duration::from_millis(50);

/// The overheads of lines by name: the bytes beyond IP that a line charges, and the bytes beyond IP
/// that the discipline in front of the line counts.
///
/// `ip` is dummynet at layer 3. `ethernet` is a Linux shaper, which charges the frame without its
/// check sequence. The other names are keywords of tc-cake(8): `ethernet-wire` is tc-cake's
/// `ethernet`, `pppoe` is `pppoe-ptm` (VDSL) without the 64b/65b coding, and `atm` is
/// `pppoe-llcsnap` (ADSL). With all but `ip`, the discipline counts the Ethernet header, as on a
/// Linux gateway.
pub const OVERHEADS: &[(&str, OverheadSpec)] = &[
    ("ip", overhead(0, 0, false, 0)),
    ("ethernet", overhead(14, 0, false, FRAME)),
    ("ethernet-wire", overhead(38, 84, false, FRAME)),
    ("docsis", overhead(18, 64, false, FRAME)),
    ("pppoe", overhead(30, 0, false, FRAME)),
    ("atm", overhead(40, 0, true, FRAME)),
];

/// The length in bytes of the Ethernet header, which Linux counts.
const FRAME: u64 = 14;

const fn overhead(bytes: u64, minimum: u64, atm: bool, counted: u64) -> OverheadSpec {
    OverheadSpec { bytes: Bytes(bytes), minimum: Bytes(minimum), atm, counted: Bytes(counted) }
}

/// Returns the overhead called `name`, if there is one.
pub fn overhead_called(name: &str) -> Option<OverheadSpec> {
    OVERHEADS.iter().find(|(known, _)| *known == name).map(|(_, overhead)| *overhead)
}

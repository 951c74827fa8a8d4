//! Fuzzes `aqmlab spp`, which must measure or refuse two captures of any bytes.
//!
//! The first byte selects the options, and whether the second capture equals the first. The next
//! two bytes are the length of the first capture. The fuzzer also limits the time and the memory
//! for one input.

#![no_main]

use aqmlab_measure::capture::{Options, Translation, spp};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let [chosen, low, high, files @ ..] = data else { return };
    let cut = usize::from(u16::from_le_bytes([*low, *high])).min(files.len());
    let (first, second) = files.split_at(cut);
    // Two independently changed captures seldom contain the same packets.
    let second = if chosen & 1 == 0 { second } else { first };
    let translation = match chosen >> 1 & 3 {
        0 | 1 => Translation::None,
        2 => Translation::Addresses,
        _ => Translation::AddressesAndPorts,
    };
    let options = Options {
        translation,
        synchronised: chosen & 8 != 0,
        keep_samples: chosen & 16 != 0,
        search: if chosen & 32 == 0 { 16_000 } else { 2 },
        max_flows: if chosen & 64 == 0 { 16_384 } else { 1 },
        ..Options::default()
    };
    if let Ok(report) = spp(first, second, &options) {
        for way in report.flows.iter().flat_map(|flow| &flow.report.directions) {
            assert!(way.lost + way.in_flight <= way.packets_sent);
        }
    }
});

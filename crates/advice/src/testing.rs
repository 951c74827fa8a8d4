//! Gateways for the tests of this crate.

use std::collections::BTreeMap;

use crate::device::{Bottleneck, Framing, Gateway};

/// The framing of a cable line.
pub(crate) const DOCSIS: Framing = Framing { bytes: 18, minimum: 64, atm: false, counted: 14 };

/// Returns a shaper with a discipline at its defaults.
pub(crate) fn shaper(bps: u64, qdisc: &str) -> Bottleneck {
    Bottleneck { bps, qdisc: qdisc.to_owned(), params: BTreeMap::new() }
}

/// Returns a gateway on a cable line, which shapes only packets that leave the home.
pub(crate) fn gateway(up: Bottleneck) -> Gateway {
    Gateway {
        device: "eth0".to_owned(),
        bsd_device: "em0".to_owned(),
        framing: DOCSIS,
        up: Some(up),
        down: None,
    }
}

//! The gateway to set up: its shapers, and the framing of its line.

use aqmlab_core::Overhead;
use serde::Deserialize;
use std::collections::BTreeMap;

/// A gateway in front of a line. If a direction is absent, its packets use the line's own queue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The network device of a Linux gateway on the side of the line.
    pub device: String,
    /// The network device of a FreeBSD gateway on the side of the line.
    pub bsd_device: String,
    /// The framing of the line.
    pub framing: Framing,
    /// The shaper and discipline for packets that leave the home.
    pub up: Option<Bottleneck>,
    /// The shaper and discipline for packets that arrive from the line.
    pub down: Option<Bottleneck>,
}

/// The bytes that a line charges for a packet beyond its IP bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// The bytes of framing beyond the IP packet.
    pub bytes: u32,
    /// The minimum length in bytes of a packet with its framing, before ATM cells.
    pub minimum: u32,
    /// Whether the packet and its framing travel in ATM cells.
    pub atm: bool,
    /// Bytes beyond IP that Linux counts on this device itself: 14 on Ethernet, 0 on PPP.
    pub counted: u32,
}

impl Framing {
    /// Returns the bytes that `tc stab` must add to the length that Linux counts. They can be
    /// negative.
    pub(crate) fn beyond_counted(self) -> i64 {
        i64::from(self.bytes) - i64::from(self.counted)
    }

    /// Returns the bytes that the line charges for an IP packet of `ip_len` bytes.
    pub(crate) fn on_line(self, ip_len: u32) -> u64 {
        let Self { bytes, minimum, atm, counted: _ } = self;
        Overhead { bytes, minimum, atm, counted: 0 }.on_link(ip_len).0
    }
}

/// A shaper and the discipline in front of it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// The shaper's rate in bits per second, counted on the line.
    pub bps: u64,
    /// The name of the discipline, as `tc` spells it.
    pub qdisc: String,
    /// The parameters of the discipline that differ from its defaults, as `tc` spells them.
    #[serde(default)]
    pub params: BTreeMap<String, Setting>,
}

/// The value of a discipline's parameter.
#[derive(Clone, Debug, PartialEq, Eq, Deserialize)]
#[serde(untagged)]
pub enum Setting {
    /// A switch, for which `tc` uses one word for on and another for off.
    Flag(bool),
    /// A value that follows the parameter's name.
    Text(String),
}

impl Setting {
    /// Returns the setting of the parameter `name` in the words of `tc`.
    pub(crate) fn words(&self, name: &str) -> String {
        match self {
            Self::Flag(true) => name.to_owned(),
            // tc-pie(8) and tc-fq_pie(8) have an underscore in this word alone.
            Self::Flag(false) if name == "dq_rate_estimator" => format!("no_{name}"),
            Self::Flag(false) => format!("no{name}"),
            Self::Text(value) => format!("{name} {value}"),
        }
    }
}

impl Bottleneck {
    /// Returns the rate in whole kbit/s, at least 1. The rate is rounded down, so that the shaper
    /// stays below the line's rate.
    pub(crate) fn kbit(&self) -> u64 {
        (self.bps / 1000).max(1)
    }

    /// Returns the rate of IP bytes, without framing, in whole kbit/s, at least 1. At this rate, as
    /// many full-sized packets pass per second as at the shaper's rate.
    pub(crate) fn ip_kbit(&self, framing: Framing) -> u64 {
        const FULL: u32 = 1500;
        (self.bps * u64::from(FULL) / framing.on_line(FULL) / 1000).max(1)
    }

    /// Returns the discipline with its parameters, in the words of `tc`.
    pub(crate) fn spelled(&self) -> String {
        let params = self.params.iter().map(|(name, value)| format!(" {}", value.words(name)));
        format!("{}{}", self.qdisc, params.collect::<String>())
    }
}

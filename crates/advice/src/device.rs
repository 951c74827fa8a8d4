//! The gateway that is to be set up: what it shapes, and the framing of its line.

use serde::Deserialize;
use std::collections::BTreeMap;

/// A gateway before a line. A direction that is absent is left to the line's own queue.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Gateway {
    /// The network device of a Linux gateway on the side of the line.
    pub device: String,
    /// The same device of a FreeBSD gateway.
    pub bsd_device: String,
    /// The framing of the line.
    pub framing: Framing,
    /// What the gateway does to packets that leave the home.
    pub up: Option<Bottleneck>,
    /// What the gateway does to packets that arrive from the line.
    pub down: Option<Bottleneck>,
}

/// The bytes that a line charges for a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Framing {
    /// Bytes beyond the IP packet.
    pub bytes: u32,
    /// The least charge for a packet, framing included.
    pub minimum: u32,
    /// Whether the packet and its framing travel in ATM cells.
    pub atm: bool,
    /// Bytes beyond IP that Linux counts on this device itself: 14 on Ethernet, 0 on PPP.
    pub counted: u32,
}

impl Framing {
    /// The overhead that `tc stab` adds to the length that Linux knows.
    pub(crate) fn beyond_counted(self) -> i64 {
        i64::from(self.bytes) - i64::from(self.counted)
    }

    /// The bytes of the line that an IP packet of `ip_len` bytes occupies.
    pub(crate) fn on_line(self, ip_len: u32) -> u64 {
        let framed = u64::from((ip_len + self.bytes).max(self.minimum));
        if self.atm { framed.div_ceil(48) * 53 } else { framed }
    }
}

/// A shaper and the discipline before it.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Bottleneck {
    /// The shaper's rate, as bytes of the line.
    pub bps: u64,
    /// The name of the discipline, as `tc` spells it.
    pub qdisc: String,
    /// The parameters of the discipline that differ from its defaults, as `tc` spells them.
    #[serde(default)]
    pub params: BTreeMap<String, String>,
}

impl Bottleneck {
    /// The rate in whole kbit/s, rounded down, so that the shaper stays below the line.
    pub(crate) fn kbit(&self) -> u64 {
        (self.bps / 1000).max(1)
    }

    /// The rate in whole kbit/s that carries as many full-sized IP packets without framing.
    pub(crate) fn ip_kbit(&self, framing: Framing) -> u64 {
        const FULL: u32 = 1500;
        (self.bps * u64::from(FULL) / framing.on_line(FULL) / 1000).max(1)
    }

    /// The discipline with its parameters.
    pub(crate) fn spelled(&self) -> String {
        let params = self.params.iter().map(|(name, value)| format!(" {name} {value}"));
        format!("{}{}", self.qdisc, params.collect::<String>())
    }
}

//! The settings of CAKE, and tc's keywords for link layers and distances.
//!
//! Source: iproute2 6.1 `tc/q_cake.c`; tc-cake(8); Linux 6.1 `sch_cake.c`, `cake_change`.

use aqmlab_core::{Bytes, Duration};

use super::diffserv::Mode;
pub use super::length::{Charge, Framing};

/// The settings of CAKE.
#[derive(Clone, Copy, Debug)]
pub struct Settings {
    /// The rate of the shaper in bytes per second; zero removes the limit.
    pub rate: u64,
    /// The choice of tins.
    pub diffserv: Mode,
    /// The flows and hosts that share the rate.
    pub isolation: Isolation,
    /// CoDel's interval: the delay before the first signal to a queue.
    pub interval: Duration,
    /// The target of the sojourn time.
    pub target: Duration,
    /// The rules for the charged length.
    pub charge: Charge,
    /// The memory limit, if it is given.
    pub memory_limit: Option<Bytes>,
    /// The rule for the removal of redundant acknowledgements.
    pub ack_filter: AckFilter,
    /// Whether drops are charged to the shaper, because dropped packets have used the link in front
    /// of CAKE.
    pub is_ingress: bool,
    /// Whether the rate follows the estimated rate of arrivals.
    pub is_autorate: bool,
    /// Whether the DSCP of every packet is cleared.
    pub washes: bool,
    /// The length in bytes of the device's largest packet, with its link header.
    pub mtu: u32,
    /// The salt of every hash. If it is zero, the first packet draws a salt.
    pub salt: u32,
}

/// The rule for the removal of redundant acknowledgements.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AckFilter {
    /// No acknowledgement is removed.
    Off,
    /// Of two redundant acknowledgements, the older is removed.
    On,
    /// A single redundant acknowledgement is also removed if the newer acknowledgement follows it
    /// directly.
    Aggressive,
}

/// The flows and hosts that share the rate, as tc's keyword selects them.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Isolation {
    /// Whether each five-tuple has a queue.
    pub flows: bool,
    /// Whether the source address and whether the destination address affect the choice of the
    /// queue or the limits.
    pub hosts: [bool; 2],
    /// Whether the flows of one source share one part of the rate, and whether the flows to one
    /// destination do.
    pub limits: [bool; 2],
}

impl Isolation {
    /// tc's keywords for the flows and hosts that share the rate.
    pub const WORDS: &[&str] = &[
        "flowblind",
        "srchost",
        "dsthost",
        "hosts",
        "flows",
        "dual-srchost",
        "dual-dsthost",
        "triple-isolate",
    ];

    /// Returns the isolation of a keyword in [`Self::WORDS`].
    pub fn of(word: &str) -> Self {
        let (flows, hosts) = match word {
            "flowblind" => (false, [false, false]),
            "srchost" => (false, [true, false]),
            "dsthost" => (false, [false, true]),
            "hosts" => (false, [true, true]),
            "flows" => (true, [false, false]),
            "dual-srchost" => (true, [true, false]),
            "dual-dsthost" => (true, [false, true]),
            _ => (true, [true, true]),
        };
        Self { flows, hosts, limits: hosts.map(|host| host && flows) }
    }

    /// Returns whether all packets share one queue.
    pub(super) const fn is_blind(self) -> bool {
        !self.flows && !self.hosts[0] && !self.hosts[1]
    }
}

/// A link layer: tc's keyword, its overhead, its framing, and its minimum charged length before
/// framing.
type Link = (&'static str, Option<u16>, Framing, u16);

/// The link layers. `ip` is not a keyword of tc; it stands for tc's `overhead 0`.
const LINKS: &[Link] = &[
    ("raw", None, Framing::None, 0),
    ("ip", Some(0), Framing::None, 0),
    ("conservative", Some(48), Framing::Atm, 0),
    ("ipoa-vcmux", Some(8), Framing::Atm, 0),
    ("ipoa-llcsnap", Some(16), Framing::Atm, 0),
    ("bridged-vcmux", Some(24), Framing::Atm, 0),
    ("bridged-llcsnap", Some(32), Framing::Atm, 0),
    ("pppoa-vcmux", Some(10), Framing::Atm, 0),
    ("pppoa-llc", Some(14), Framing::Atm, 0),
    ("pppoe-vcmux", Some(32), Framing::Atm, 0),
    ("pppoe-llcsnap", Some(40), Framing::Atm, 0),
    ("pppoe-ptm", Some(30), Framing::Ptm, 0),
    ("bridged-ptm", Some(22), Framing::Ptm, 0),
    ("docsis", Some(18), Framing::None, 64),
    ("ethernet", Some(38), Framing::None, 84),
];

/// The keywords of link layers.
pub const LINK_WORDS: &[&str] = &{
    let mut words = [""; LINKS.len()];
    let mut place = 0;
    while place < words.len() {
        words[place] = LINKS[place].0;
        place += 1;
    }
    words
};

/// The words for the framing. `link` keeps the framing of the link layer, and the other words
/// replace it.
pub const FRAMING_WORDS: &[&str] = &["link", "noatm", "atm", "ptm"];

impl Charge {
    /// Returns the rules of a link layer in [`LINK_WORDS`], with `extra` bytes added to its
    /// overhead. The word `framing` and an `mpu` above zero replace the link layer's own values.
    pub fn of_link(link: &str, extra: u16, framing: &str, mpu: u16) -> Self {
        let (_, overhead, of_link, least) =
            LINKS.iter().find(|(word, ..)| *word == link).copied().unwrap_or(LINKS[0]);
        let overhead = match (overhead, extra) {
            (None, 0) => None,
            (known, extra) => Some(known.unwrap_or(0) + extra),
        };
        let framing = match framing {
            "noatm" => Framing::None,
            "atm" => Framing::Atm,
            "ptm" => Framing::Ptm,
            _ => of_link,
        };
        Self { overhead, mpu: if mpu > 0 { mpu } else { least }, framing }
    }
}

/// The keywords of distances, each with its target and its interval in microseconds.
const NETWORKS: &[(&str, u64, u64)] = &[
    ("datacentre", 5, 100),
    ("lan", 50, 1_000),
    ("metro", 500, 10_000),
    ("regional", 1_500, 30_000),
    ("internet", 5_000, 100_000),
    ("oceanic", 15_000, 300_000),
    ("satellite", 50_000, 1_000_000),
    ("interplanetary", 50_000_000, 1_000_000_000),
];

/// The keywords of distances.
pub const NETWORK_WORDS: &[&str] = &{
    let mut words = [""; NETWORKS.len()];
    let mut place = 0;
    while place < words.len() {
        words[place] = NETWORKS[place].0;
        place += 1;
    }
    words
};

/// Returns the target and the interval of a distance in [`NETWORK_WORDS`], or of a round-trip time
/// if one is given. tc counts whole microseconds, and a target is at least 1 us.
pub fn times(network: &str, rtt: Option<Duration>) -> (Duration, Duration) {
    let (target, interval) = match rtt {
        Some(rtt) => ((rtt.as_micros() / 20).max(1), rtt.as_micros()),
        None => NETWORKS
            .iter()
            .find(|(word, ..)| *word == network)
            .map_or((5_000, 100_000), |&(_, target, interval)| (target, interval)),
    };
    (Duration::from_micros(target), Duration::from_micros(interval))
}

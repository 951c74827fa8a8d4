//! The sizes and the gaps of a game's packets.

use aqmlab_core::{Duration, Rng, Side};

use crate::Datagram;

/// The maximum payload of an update in bytes, which makes an IP packet of 1500 bytes.
const MOST_UPDATE: f64 = 1_472.0;
/// The largest random addition to a client's smallest packet in bytes: a mean of 3, plus seven
/// standard deviations of 1.
const MOST_EXTRA: u32 = 10;

/// Returns the number of bytes that each player adds to pktgen's updates of the game `title`.
pub(super) fn growth(title: &str) -> f64 {
    match title {
        "hl2cs" => -2.56,
        "hl2dm" => 26.3,
        "hlcs" => 8.36,
        "hldm" => 15.45,
        "et2pro" => 19.56,
        "q4" => 37.07,
        _ => 22.16,
    }
}

/// Returns the mean of the size in bytes that pktgen draws for an update.
fn mean(players: f64, growth: f64) -> f64 {
    (players + 0.65) * growth - 2.0 * players - 10.0
}

/// Returns the size in bytes that pktgen sends if it drew the size `bytes`, which may be negative.
fn unfolded(bytes: f64, players: f64, growth: f64) -> f64 {
    if bytes < 0.0 { -bytes + players * growth } else { bytes }
}

/// A model of a game's traffic.
#[derive(Debug)]
pub(super) enum Model {
    /// pktgen. `growth` is the number of bytes that each of `players` adds to an update. `s2c` is
    /// the time between the server's updates, and `c2s` between a client's packets. `least` is the
    /// minimum payload of a client's packet in bytes.
    Pktgen { growth: f64, players: f64, s2c: Duration, c2s: Duration, least: f64 },
    /// Counter-Strike by Färber.
    Faerber,
}

impl Model {
    /// Returns the size of the next packet from `side`, in bytes.
    pub(super) fn size(&self, side: Side, rng: &mut Rng) -> u32 {
        let drawn = match (self, side) {
            (Self::Pktgen { growth, players, .. }, Side::Wan) => {
                let bytes = rng.normal(mean(*players, *growth), 6.0 * players + 3.0).trunc();
                unfolded(bytes, *players, *growth).min(MOST_UPDATE)
            }
            (Self::Pktgen { least, .. }, Side::Home) => least + rng.normal(3.0, 1.0).trunc(),
            (Self::Faerber, Side::Wan) => rng.extreme(120.0, 36.0).floor().min(MOST_UPDATE),
            (Self::Faerber, Side::Home) => rng.extreme(80.0, 5.7).floor(),
        };
        drawn.max(0.0) as u32
    }

    /// Returns the largest datagram of the server and the clients. Normally distributed sizes count
    /// up to seven deviations above the mean.
    pub(super) fn largest(&self) -> Datagram {
        let Self::Pktgen { growth, players, least, .. } = self else {
            return Datagram { bytes: MOST_UPDATE as u32, headers: 0, set_by: "model" };
        };
        let usual = unfolded(mean(*players, *growth), *players, *growth);
        let update = (usual + 7.0 * (6.0 * players + 3.0)).min(MOST_UPDATE.max(usual)) as u32;
        let client = *least as u32 + MOST_EXTRA;
        if update >= client {
            Datagram { bytes: update, headers: 0, set_by: "players" }
        } else {
            Datagram { bytes: client, headers: MOST_EXTRA, set_by: "c2s_payload" }
        }
    }

    /// Returns the time between two packets of `side` that belong to one client, without the excess
    /// of a sleep.
    pub(super) fn gap(&self, side: Side, rng: &mut Rng) -> Duration {
        match (self, side) {
            (Self::Pktgen { s2c, .. }, Side::Wan) => *s2c,
            (Self::Pktgen { c2s, .. }, Side::Home) => *c2s,
            (Self::Faerber, Side::Wan) => {
                Duration::from_secs_f64(rng.extreme(55.0, 6.0).max(0.1) / 1e3)
            }
            (Self::Faerber, Side::Home) => Duration::from_millis(40),
        }
    }
}

//! The bytes that a link charges for a packet beyond its IP bytes.
//!
//! Source: tc-cake(8) for the byte counts of the keywords; ITU-T I.361 for the ATM cell (53 bytes
//! with a payload of 48).
//!
//! `Port::compute_transmission` in `crates/node/src/port.rs` computes the transmission time of
//! these bytes. `crates/trial/src/scenario.rs` defines the overheads by name, such as `pppoe`. The
//! shaper of CAKE computes its charges in `crates/qdisc/src/cake/length.rs`.

use crate::Bytes;

/// The bytes that a link charges, and the bytes that its discipline counts, beyond the IP length of
/// a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Overhead {
    /// Bytes added to every packet on the link.
    pub bytes: u32,
    /// The minimum length in bytes of a packet with its overhead, before ATM cells.
    pub minimum: u32,
    /// Whether the packet and its overhead travel in ATM cells.
    pub atm: bool,
    /// Bytes that the discipline adds to the IP length.
    pub counted: u32,
}

impl Overhead {
    /// Returns the bytes that the link charges for an IP packet of `ip_len` bytes.
    #[inline]
    pub fn on_link(&self, ip_len: u32) -> Bytes {
        let framed = (u64::from(ip_len) + u64::from(self.bytes)).max(self.minimum.into());
        Bytes(if self.atm { framed.div_ceil(48) * 53 } else { framed })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn links_charge_what_their_framing_adds() {
        let ip = Overhead::default();
        let ethernet = Overhead { bytes: 14, counted: 14, ..ip };
        let docsis = Overhead { bytes: 18, minimum: 64, ..ip };
        let largest = Overhead { bytes: u32::MAX, ..ip };
        let pppoe_atm = Overhead { bytes: 40, atm: true, ..ip };
        for (overhead, ip_len, want) in [
            (ip, 1_500, 1_500),
            (ethernet, 1_500, 1_514),
            (docsis, 40, 64),
            (docsis, 1_500, 1_518),
            // 40 + 40 bytes fill two cells (C-61).
            (pppoe_atm, 40, 106),
            (pppoe_atm, 1_500, 33 * 53),
            (largest, 1_500, 1_500 + u64::from(u32::MAX)),
        ] {
            assert_eq!(overhead.on_link(ip_len), Bytes(want), "{ip_len} B over {overhead:?}");
        }
    }
}

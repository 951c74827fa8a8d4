//! The length that the shaper charges for a packet.
//!
//! Source: Linux 6.1 `sch_cake.c`, `cake_overhead` and `cake_calc_overhead`.

use aqmlab_core::PacketFields;

/// The framing of a link layer.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Framing {
    /// The link layer adds no framing.
    #[default]
    None,
    /// Packets are padded to cells with 48 bytes of payload and 53 bytes in all.
    Atm,
    /// One byte is added for each block of up to 64 bytes.
    Ptm,
}

/// The rules for the charged length.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Charge {
    /// Bytes added to the IP length; `None` charges the length that the device counts.
    pub overhead: Option<u16>,
    /// The minimum charged length in bytes, before framing.
    pub mpu: u16,
    /// The framing of the link layer.
    pub framing: Framing,
}

impl Charge {
    /// Returns the length before overhead, as tc's `min_network_size` counts it.
    #[inline]
    pub(super) fn network_len(self, packet: &PacketFields) -> u32 {
        if self.overhead.is_some() { packet.ip_len } else { packet.len }
    }

    /// Returns the length of a packet of `ip_len` bytes with the overhead that `tc qdisc show`
    /// states after `atm` or `noatm`. Without an overhead (`raw`), and with `ptm`, it states none
    /// there.
    pub(super) fn stated(self, ip_len: u32) -> u32 {
        match self.framing {
            Framing::Ptm => ip_len,
            Framing::None | Framing::Atm => Self { mpu: 0, ..self }.of(ip_len),
        }
    }

    /// Returns the charged length of a packet of `network_len` bytes.
    #[inline]
    pub(super) fn of(self, network_len: u32) -> u32 {
        let len = network_len + u32::from(self.overhead.unwrap_or(0));
        let len = len.max(self.mpu.into());
        match self.framing {
            Framing::None => len,
            Framing::Atm => len.div_ceil(48) * 53,
            Framing::Ptm => len + len.div_ceil(64),
        }
    }
}

/// The lengths of a packet.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct Measured {
    /// The length that the device counts, and the IP length.
    pub(super) given: [u32; 2],
    /// The charged length.
    pub(super) charged: u32,
}

/// The smallest and the largest length of packets so far.
#[derive(Clone, Copy, Debug)]
pub(super) struct Extremes {
    /// The smallest length; `u16::MAX` before the first packet.
    pub(super) min: u16,
    /// The largest length.
    pub(super) max: u16,
}

impl Default for Extremes {
    fn default() -> Self {
        Self { min: u16::MAX, max: 0 }
    }
}

impl Extremes {
    #[inline]
    pub(super) fn note(&mut self, len: u32) {
        if u32::from(self.max) < len {
            self.max = len as u16;
        }
        if u32::from(self.min) > len {
            self.min = len as u16;
        }
    }
}

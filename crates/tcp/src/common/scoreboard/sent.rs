//! An outstanding segment, and its tags.

use aqmlab_core::{Instant, TcpFlags};

/// Tag S: the segment is selectively acknowledged.
pub(crate) const SACKED: u8 = 0x01;
/// Tag R: the retransmission is estimated to be in flight.
pub(crate) const RETRANS: u8 = 0x02;
/// Tag L: the segment is estimated to be lost.
pub(crate) const LOST: u8 = 0x04;
/// Tag: the segment was sent while the application limited the sender.
pub(crate) const APP_LIMITED: u8 = 0x08;
/// Tag: the segment carries the FIN.
pub(crate) const FIN: u8 = 0x10;
/// Tag: the segment carries PSH.
pub(crate) const PUSH: u8 = 0x40;
/// Tag: the segment is in the list of segments in transmission order.
pub(super) const LISTED: u8 = 0x20;
/// Tag: the segment was retransmitted at least once (`TCPCB_EVER_RETRANS`).
pub(crate) const EVER_RETRANS: u8 = 0x80;
/// The tags of a segment that was retransmitted, whether the retransmission is in flight or not.
pub(crate) const ANY_RETRANS: u8 = RETRANS | EVER_RETRANS;

/// The id that stands for no segment, at both ends of the list.
pub(super) const NONE: u32 = u32::MAX;

/// An outstanding segment.
#[derive(Clone, Copy, Debug)]
pub struct Sent {
    /// The sequence number of the segment's first byte.
    pub seq: u64,
    /// The time of the segment's last transmission.
    pub sent_at: Instant,
    /// The start of the sending interval that the segment ends, for delivery rates.
    pub(crate) first_tx: Instant,
    /// The time of the last delivery before the segment's transmission. Once a selective
    /// acknowledgement of the segment has been counted, the value is [`Instant::NEVER`].
    pub(crate) delivered_at: Instant,
    /// The value of `DeliveryRate::delivered` at the segment's transmission.
    pub(crate) delivered: u64,
    /// The payload in bytes.
    pub len: u32,
    /// The tags of the segment.
    pub(crate) flags: u8,
    /// Whether the segment is the last of its `skb` (Linux).
    pub(crate) ends_skb: bool,
    /// The number of the part of its train in which the segment was sent (Linux), from 0; 0 for a
    /// retransmission. TCP small queues divide a train of bursts into parts.
    pub(crate) part: u8,
    pub(super) before: u32,
    pub(super) after: u32,
}

impl Default for Sent {
    fn default() -> Self {
        Self::new(0, 0, 0)
    }
}

impl Sent {
    /// Returns a segment with the tags `flags`, in an `skb` of its own, that has not been sent yet.
    pub const fn new(seq: u64, len: u32, flags: u8) -> Self {
        Self {
            seq,
            sent_at: Instant::ZERO,
            first_tx: Instant::ZERO,
            delivered_at: Instant::ZERO,
            delivered: 0,
            len,
            flags,
            ends_skb: true,
            part: 0,
            before: NONE,
            after: NONE,
        }
    }

    /// Returns the sequence number after the segment's last byte or its FIN.
    #[inline]
    pub const fn end(&self) -> u64 {
        self.seq + self.len as u64 + (self.flags & FIN != 0) as u64
    }

    /// Returns the control bits that every transmission of the segment carries.
    pub(crate) const fn control(&self) -> TcpFlags {
        let mut control = TcpFlags(0);
        if self.is(FIN) {
            control = control.with(TcpFlags::FIN);
        }
        if self.is(PUSH) {
            control = control.with(TcpFlags::PSH);
        }
        control
    }

    /// Returns whether the segment is selectively acknowledged.
    #[inline]
    pub(crate) const fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    #[inline]
    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

//! An outstanding segment, and its tags.

use aqmlab_core::{Instant, TcpFlags};

/// Tag S: selectively acknowledged.
pub(crate) const SACKED: u8 = 0x01;
/// Tag R: the retransmission is estimated to be in flight.
pub(crate) const RETRANS: u8 = 0x02;
/// Tag L: estimated to be lost.
pub(crate) const LOST: u8 = 0x04;
/// Sent while the application had nothing more to send.
pub(crate) const APP_LIMITED: u8 = 0x08;
/// Carries the FIN.
pub(crate) const FIN: u8 = 0x10;
/// Carries PSH.
pub(crate) const PUSH: u8 = 0x40;
/// Is in the list in order of transmission.
pub(super) const LISTED: u8 = 0x20;
/// Was retransmitted at some time (`TCPCB_EVER_RETRANS`).
pub(crate) const EVER_RETRANS: u8 = 0x80;
/// Retransmitted at some time, in flight or not.
pub(crate) const ANY_RETRANS: u8 = RETRANS | EVER_RETRANS;

/// The end of the list.
pub(super) const NONE: u32 = u32::MAX;

/// A segment that is outstanding.
#[expect(clippy::struct_field_names, reason = "`sent` is a time")]
#[derive(Clone, Copy, Debug)]
pub(crate) struct Sent {
    /// Number of its first byte.
    pub(crate) seq: u64,
    /// The time of its last transmission.
    pub(crate) sent: Instant,
    /// The start of the sending interval that it ends, for delivery rates.
    pub(crate) first_tx: Instant,
    /// The time of the last delivery before its transmission; never, once it was used.
    pub(crate) delivered_at: Instant,
    /// The segments delivered before its transmission.
    pub(crate) delivered: u64,
    /// Bytes of payload.
    pub(crate) len: u32,
    /// The tags above.
    pub(crate) flags: u8,
    pub(super) before: u32,
    pub(super) after: u32,
}

impl Sent {
    pub(crate) const fn new(seq: u64, len: u32, flags: u8) -> Self {
        Self {
            seq,
            sent: Instant::ZERO,
            first_tx: Instant::ZERO,
            delivered_at: Instant::ZERO,
            delivered: 0,
            len,
            flags,
            before: NONE,
            after: NONE,
        }
    }

    /// The number after its last byte or its FIN.
    #[inline]
    pub(crate) const fn end(&self) -> u64 {
        self.seq + self.len as u64 + (self.flags & FIN != 0) as u64
    }

    /// The control bits of every transmission.
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

    /// Whether it is selectively acknowledged.
    #[inline]
    pub(crate) const fn is_sacked(&self) -> bool {
        self.is(SACKED)
    }

    #[inline]
    pub(crate) const fn is(&self, flag: u8) -> bool {
        self.flags & flag != 0
    }
}

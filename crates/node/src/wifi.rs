//! 802.11n: a medium that stations share, and the driver's queue below each discipline.
//!
//! | Module  | Holds                                                       |
//! |---------|-------------------------------------------------------------|
//! | `phy`   | airtimes of frames                                          |
//! | `radio` | the driver's queue, the aggregates and the receiver's gaps  |
//! | `cell`  | access to the medium, and the result of each exchange       |
//!
//! Sources: IEEE Std 802.11-2012, clauses 9.3 and 9.19 (access), 9.21 (block acknowledgement), 8.6
//! (A-MPDU), 18 and 20 (OFDM and HT PHY in the band of 5 GHz). For the driver, Linux 3.14
//! `drivers/net/wireless/ath/ath9k/{ath9k.h,init.c,xmit.c}`.
//!
//! While the driver has room, it dequeues packets from the discipline above, even while the medium
//! is busy. The discipline therefore holds a queue only when the driver's queue is full. The
//! discipline cannot measure or control the delay in the driver. This model exists to show that
//! effect.
//!
//! Differences from IEEE Std 802.11-2012 ("the standard") and from Linux's driver ath9k:
//!
//! - The rate is fixed: there is no rate control, no probing and no retry series.
//! - Every packet belongs to the best-effort access category and to one block-ack agreement, set up
//!   in advance. There is no power saving, beacon, encryption or RTS.
//! - The receiver releases reordered frames as soon as the sender gives up the missing frame. In
//!   the standard, a `BlockAckReq` first informs the receiver.
//! - After a failed exchange, all stations wait as long as the sender. In the standard, stations
//!   that did not send wait for EIFS, which is 53 us longer. With two stations, this difference
//!   affects only the receiver of a failed frame.
//! - A frame arrives at the end of its exchange, about 50 us after its last bit.
//! - Stations always hear each other, without delay. A collision loses all frames that it involves.

mod cell;
mod phy;
mod radio;
#[cfg(test)]
mod tests;

pub use cell::{Cell, Delivery, Fate};
pub use phy::{HtRate, Width};
pub use radio::{Radio, RadioConfig};

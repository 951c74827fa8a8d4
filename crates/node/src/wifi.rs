//! 802.11n: a medium that stations share, and the driver's queue below each discipline.
//!
//! | Module  | Holds                                                                       |
//! |---------|-----------------------------------------------------------------------------|
//! | `phy`   | how long frames are on the air                                              |
//! | `radio` | a station: its driver's queue, its aggregates, and the receiver's gaps |
//! | `cell`  | access to the medium, and the result of each exchange                       |
//!
//! Source: IEEE Std 802.11-2012, clauses 9.3 and 9.19 (access), 9.21 (block acknowledgement), 8.6
//! (A-MPDU), 18 and 20 (OFDM and HT PHY in the band of 5 GHz); for the driver, Linux 3.14
//! `drivers/net/wireless/ath/ath9k/{ath9k.h,init.c,xmit.c}`.
//!
//! A discipline above a radio is asked for packets as long as the driver has room, whatever the
//! air does meanwhile: it sees a queue only when the driver's is full. What waits there it neither
//! sees nor controls, which is the point of this model.
//!
//! Differences from the sources, each pinned by a test or stated here:
//!
//! - the rate is fixed; there is no rate control and so no probing and no series of rates;
//! - every packet is of one access category (best effort) and of one block-ack agreement, which
//!   stands from the start; there is no power saving, no beacon, no encryption and no RTS;
//! - what a receiver holds back for order it lets go as soon as the sender gives a frame up, where
//!   a `BlockAckReq` would tell it;
//! - after an exchange that failed everybody waits as its sender does, where bystanders would wait
//!   for EIFS, 53 us longer: of two stations one is always the sender;
//! - a frame arrives when its exchange is over, some 50 us after its last bit;
//! - stations hear each other at once and always, and frames that collide are all lost.

mod cell;
mod phy;
mod radio;
#[cfg(test)]
mod tests;

pub use cell::{Cell, Delivery, Fate};
pub use phy::{HtRate, Width};
pub use radio::{Radio, RadioConfig};

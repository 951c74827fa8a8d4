//! Output ports, shapers and radios of a home network, without I/O, for the simulator and for a
//! live gateway.
//!
//! | Module | Holds |
//! |---|---|
//! | `port` | a discipline before a link; [`Port::take`] decides when a packet may leave |
//! | `shaper` | the limit on the link's rate: HTB's credit and dummynet's tick |
//! | `pipe` | dummynet's arithmetic, and the fate of an idle pipe |
//! | `overhead` | the bytes that a link charges for a packet |
//! | `wifi` | 802.11n radios that share a medium |

mod overhead;
mod pipe;
mod port;
mod shaper;
pub mod wifi;

pub use overhead::Overhead;
pub use port::{Departure, Port, PortLog};
pub use shaper::{BURST, Shaper};

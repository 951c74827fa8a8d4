//! Output ports, shapers and radios of a home network, without I/O. The simulator and the live
//! gateway use the same code.
//!
//! | Module | Holds |
//! |---|---|
//! | `port` | an output port: a discipline in front of a link; [`Port::take`] decides when a packet may leave |
//! | `port_log` | the counters of a port, and its drops and marks |
//! | `shaper` | the rate limit of a link: HTB's credit and dummynet's tick |
//! | `pipe` | dummynet's arithmetic, and when dummynet frees an idle pipe |
//! | `varying` | the rate of a link over time |
//! | `wifi` | 802.11n radios that share a medium |

mod pipe;
mod port;
mod port_log;
mod shaper;
mod varying;
pub mod wifi;

pub use port::{Departure, Port};
pub use port_log::PortLog;
pub use shaper::{BURST, Shaper};
pub use varying::VaryingRate;

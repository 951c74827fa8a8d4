//! Output ports, shapers and radios of a home network, without I/O, for the simulator and for a
//! live gateway.

mod overhead;
mod pipe;
mod port;
mod shaper;
pub mod wifi;

pub use overhead::Overhead;
pub use port::{Departure, Port, PortLog};
pub use shaper::{BURST, Shaper};

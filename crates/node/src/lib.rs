//! The boxes of a home network, without I/O: what the simulator and a live gateway drive.

mod overhead;
mod pipe;
mod port;
mod shaper;
pub mod wifi;

pub use overhead::Overhead;
pub use port::{Departure, Port, PortLog};
pub use shaper::{BURST, Shaper};

//! Control laws, which judge the packets of one queue and store no packets.

pub mod cobalt;
pub mod codel;
pub mod dualpi2;
pub mod floyd;
pub mod pie;
pub mod red;
pub mod timer;

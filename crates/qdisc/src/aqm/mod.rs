//! Control laws, which judge the packets of one queue and store no packets.

pub mod cobalt;
pub mod codel;
pub mod floyd;
pub mod pi2;
pub mod pie;
pub mod red;
pub mod timer;

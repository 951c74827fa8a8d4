//! Control laws, which judge packets and store none.

pub mod cobalt;
pub mod codel;
pub mod dualpi2;
pub mod floyd;
pub mod pie;
pub mod red;
pub mod timer;

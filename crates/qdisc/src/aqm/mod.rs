//! Control laws: they judge the packets of one queue and hold none.

pub mod codel;
pub mod floyd;
pub mod pie;
pub mod red;
pub mod timer;

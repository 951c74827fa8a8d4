//! Control laws: they judge the packets of one queue, and own none.

pub mod codel;
pub mod floyd;
pub mod pie;
pub mod red;
pub mod timer;

//! The parts that both stacks are made of.

pub(crate) mod clock;
mod close;
pub(crate) mod delivery_rate;
mod handshake;
pub(crate) mod ooo_queue;
pub(crate) mod receive_queue;
pub(crate) mod rtt;
pub(crate) mod scoreboard;
pub(crate) mod send_sequence;
pub(crate) mod wakeup;

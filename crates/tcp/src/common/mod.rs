//! The parts that both stacks share.

pub(crate) mod challenge;
pub(crate) mod clock;
mod close;
pub(crate) mod delivery_rate;
pub(crate) mod ecn;
pub(crate) mod handshake;
pub(crate) mod pacer;
pub(crate) mod receive_queue;
pub(crate) mod receive_sequence;
pub(crate) mod rtt;
pub(crate) mod sack_report;
pub(crate) mod scoreboard;
pub(crate) mod send_sequence;
pub(crate) mod tx_records;
pub(crate) mod wakeup;
pub(crate) mod writer;

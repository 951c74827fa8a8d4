//! The types that the crates share: time, sizes, random numbers, packets, kinds.
//!
//! **Invariant:** no code in this crate, `qdisc`, `tcp`, `quic`, `apps`, `node` or `measure` reads
//! a clock, draws entropy or touches a file. Time, random numbers and I/O are arguments.

mod bounds;
mod cx;
pub mod delivery_trace;
mod digest;
pub mod hint;
mod kind;
mod log;
pub mod math;
mod overhead;
mod packet;
mod quic;
mod rate_steps;
mod ring;
mod rng;
mod tick;
mod time;
mod units;

pub use bounds::Bounds;
pub use cx::Cx;
pub use digest::Digest;
pub use kind::{Args, BadArgument, Kind, Param, Value};
pub use log::{Event, Log, NoLog, Reason};
pub use overhead::Overhead;
pub use packet::{
    Direction, Ecn, FiveTuple, Header, Packet, PacketFields, SackBlocks, Side, TcpFlags, TcpHeader,
    UdpHeader,
};
pub use quic::{EcnCounts, QuicAck, QuicDatagram, QuicFrame, QuicPacket, QuicSpace};
pub use rate_steps::{RateStep, RateSteps};
pub use ring::Ring;
pub use rng::Rng;
pub use tick::Tick;
pub use time::{Duration, Instant};
pub use units::{BitRate, Bytes};

//! Parameters that several kinds share, and what is made of them.

use aqmlab_core::{Args, BitRate, Bytes, Direction, Duration, Param, Side, Value};

/// No schedule is finer than this; it also keeps an interval of zero from standing still.
const FINEST: Duration = Duration::from_micros(1);

/// Which way data flows: `up`, `down`.
pub(crate) const fn direction(default: &'static str) -> Param {
    Param {
        name: "direction",
        default: Value::Word(default, &["up", "down"]),
        doc: "Which way the data flows.",
    }
}

/// The end that sends in the direction that `args` name.
pub(crate) fn sender(args: &Args) -> Side {
    if args.word("direction") == "up" { Side::Home } else { Side::Wan }
}

/// The end that sends in `direction`.
pub(crate) const fn sends_in(direction: Direction) -> Side {
    match direction {
        Direction::Up => Side::Home,
        Direction::Down => Side::Wan,
    }
}

/// The duration called `name`, at least a microsecond.
pub(crate) fn interval(args: &Args, name: &str) -> Duration {
    args.duration(name).max(FINEST)
}

/// The duration called `name`, at least a microsecond; `None` if it is off or zero.
pub(crate) fn maybe_interval(args: &Args, name: &str) -> Option<Duration> {
    let span = args.maybe_duration(name).filter(|span| *span > Duration::ZERO);
    span.map(|span| span.max(FINEST))
}

/// How often `size` must be sent to make `rate`.
pub(crate) fn interval_for(rate: BitRate, size: u32) -> Duration {
    rate.transmit_time(Bytes(u64::from(size.max(1)))).max(FINEST)
}

/// The size called `name` as the payload of a datagram, cut to what UDP over IPv4 can carry.
pub(crate) fn payload(args: &Args, name: &str) -> u32 {
    args.bytes(name).0.min(65_507) as u32
}

/// A duration given in milliseconds, for tables of parameters.
pub(crate) const fn ms(ms: u64) -> Value {
    Value::Duration(Duration::from_millis(ms))
}

/// A size, for tables of parameters.
pub(crate) const fn bytes(size: u64) -> Value {
    Value::Bytes(Bytes(size))
}

/// A rate in bits per second, for tables of parameters.
pub(crate) const fn rate(bps: u64) -> Value {
    match BitRate::new(bps) {
        Some(rate) => Value::Rate(rate),
        None => panic!("a rate is never zero"),
    }
}

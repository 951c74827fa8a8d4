//! Parameters that several kinds share, and the values derived from them.

use aqmlab_core::{Args, BitRate, Bounds, Bytes, Direction, Duration, Param, Side, Value};

use crate::bounds::{FINEST, MOST_DATAGRAM};

/// Returns the parameter for the direction of data: `up` or `down`.
pub(crate) const fn direction(default: &'static str) -> Param {
    Param {
        name: "direction",
        default: Value::Word(default, &["up", "down"]),
        bounds: Bounds::Any,
        doc: "Direction of the data.",
    }
}

/// Returns the end that sends in the direction stated in `args`.
pub(crate) fn sender(args: &Args) -> Side {
    if args.word("direction") == "up" { Side::Home } else { Side::Wan }
}

/// Returns the end that sends in `direction`.
pub(crate) const fn sends_in(direction: Direction) -> Side {
    match direction {
        Direction::Up => Side::Home,
        Direction::Down => Side::Wan,
    }
}

/// Returns the interval at which packets of `size` bytes have the rate `rate`, at least [`FINEST`].
pub(crate) fn interval_for(rate: BitRate, size: u32) -> Duration {
    rate.transmit_time(Bytes(u64::from(size.max(1)))).max(FINEST)
}

/// Returns the parameter `name`, a payload in bytes, limited to [`MOST_DATAGRAM`].
pub(crate) fn payload(args: &Args, name: &str) -> u32 {
    args.bytes(name).0.min(MOST_DATAGRAM) as u32
}

/// Returns a duration of `ms` milliseconds, for tables of parameters.
pub(crate) const fn ms(ms: u64) -> Value {
    Value::Duration(Duration::from_millis(ms))
}

/// Returns a size of `size` bytes, for tables of parameters.
pub(crate) const fn bytes(size: u64) -> Value {
    Value::Bytes(Bytes(size))
}

/// Returns a rate of `bps` bits per second, which must not be zero, for tables of parameters.
pub(crate) const fn rate(bps: u64) -> Value {
    match BitRate::new(bps) {
        Some(rate) => Value::Rate(rate),
        None => panic!("a rate is never zero"),
    }
}

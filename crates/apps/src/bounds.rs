//! Bounds that several generators share.

use aqmlab_core::{Bounds, Duration};

/// No schedule is finer than this.
pub(crate) const FINEST: Duration = Duration::from_micros(1);
const DAY: Duration = Duration::from_secs(86_400);
/// Nearly the longest trial, 31 years.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// The time between two events of a schedule. Events that are rarer than once a day
/// would not show in a trial.
pub(crate) const SCHEDULE: Bounds = Bounds::span(FINEST, DAY);
/// A time for which an application waits, or does not.
pub(crate) const WAIT: Bounds = Bounds::span(Duration::ZERO, DAY);
/// A duration, for things that end.
pub(crate) const SPAN: Bounds = Bounds::span(FINEST, LONGEST);
/// The payload of a datagram, at most that of UDP over IPv4 (RFC 768, RFC 791). The MTU of a host
/// bounds the payload of one packet.
pub(crate) const DATAGRAM: Bounds = Bounds::Whole(0, MOST_DATAGRAM);
/// Bytes of payload in the largest datagram.
pub(crate) const MOST_DATAGRAM: u64 = 65_535 - 20 - 8;
/// The size of a transfer over TCP, up to a petabyte.
pub(crate) const TRANSFER: Bounds = Bounds::Whole(1, MOST_BYTES);
/// A size in bytes, or zero for a transfer without an end.
pub(crate) const TRANSFER_OR_NONE: Bounds = Bounds::Whole(0, MOST_BYTES);
const MOST_BYTES: u64 = 1_000_000_000_000_000;
/// A message or a header within a stream, up to a gigabyte.
pub(crate) const MESSAGE: Bounds = Bounds::Whole(1, 1_000_000_000);
/// A number of repetitions, or zero for no end.
pub(crate) const TIMES_OR_ENDLESS: Bounds = Bounds::Whole(0, 1_000_000_000);
/// The sending rate of an application: at most that of the fastest link.
pub(crate) const RATE: Bounds = Bounds::Whole(1, 100_000_000_000);

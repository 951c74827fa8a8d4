//! Bounds that several generators share.

use aqmlab_core::{Bounds, Duration};

/// The lower bound of [`SCHEDULE`] and [`SPAN`].
pub(crate) const FINEST: Duration = Duration::from_micros(1);
const DAY: Duration = Duration::from_secs(86_400);
/// The upper bound of [`SPAN`], 31 years, which is nearly as long as the longest trial.
const LONGEST: Duration = Duration::from_secs(1_000_000_000);

/// The bounds of the time between two events of a schedule. Events rarer than once a day would
/// hardly occur in a trial.
pub(crate) const SCHEDULE: Bounds = Bounds::span(FINEST, DAY);
/// The bounds of a time for which an application waits or sends; zero is permitted.
pub(crate) const WAIT: Bounds = Bounds::span(Duration::ZERO, DAY);
/// The bounds of the duration of a transfer or session.
pub(crate) const SPAN: Bounds = Bounds::span(FINEST, LONGEST);
/// The bounds of a datagram's payload, up to the maximum of UDP over IPv4 (RFC 768, RFC 791). The
/// MTU of the hosts is a further limit ([`App::datagram`](crate::App::datagram)).
pub(crate) const DATAGRAM: Bounds = Bounds::Whole(0, MOST_DATAGRAM);
/// The maximum payload of a UDP datagram over IPv4, in bytes.
pub(crate) const MOST_DATAGRAM: u64 = 65_535 - 20 - 8;
/// The bounds of the size of a transfer in bytes, up to a petabyte.
pub(crate) const TRANSFER: Bounds = Bounds::Whole(1, MOST_BYTES);
/// The bounds of the size of a transfer in bytes; zero stands for a transfer without end.
pub(crate) const TRANSFER_OR_NONE: Bounds = Bounds::Whole(0, MOST_BYTES);
const MOST_BYTES: u64 = 1_000_000_000_000_000;
/// The bounds of the size in bytes of a message or header within a stream, up to a gigabyte.
pub(crate) const MESSAGE: Bounds = Bounds::Whole(1, 1_000_000_000);
/// The bounds of a number of repetitions; zero means endless.
pub(crate) const TIMES_OR_ENDLESS: Bounds = Bounds::Whole(0, 1_000_000_000);
/// The bounds of the sending rate of an application, up to the rate of the fastest link.
pub(crate) const RATE: Bounds = Bounds::Whole(1, 100_000_000_000);

//! Numbers in base units, read as the types of their units.

use aqmlab_core::{BitRate, Bytes, Duration, Instant};
use serde::{Deserialize, Deserializer};

pub(super) fn nanos<'de, D: Deserializer<'de>>(from: D) -> Result<Duration, D::Error> {
    u64::deserialize(from).map(Duration::from_nanos)
}

pub(super) fn instant<'de, D: Deserializer<'de>>(from: D) -> Result<Instant, D::Error> {
    u64::deserialize(from).map(Instant::from_nanos)
}

pub(super) fn maybe_instant<'de, D: Deserializer<'de>>(
    from: D,
) -> Result<Option<Instant>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Instant::from_nanos))
}

/// A rate; zero is none.
pub(super) fn rate<'de, D: Deserializer<'de>>(from: D) -> Result<Option<BitRate>, D::Error> {
    u64::deserialize(from).map(BitRate::new)
}

/// A size in the range of a packet field.
pub(super) fn bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Bytes, D::Error> {
    u32::deserialize(from).map(|bytes| Bytes(bytes.into()))
}

pub(super) fn maybe_bytes<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Bytes>, D::Error> {
    Ok(Option::<u64>::deserialize(from)?.map(Bytes))
}

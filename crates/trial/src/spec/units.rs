//! Deserializes numbers in base units to the types of their units, and serializes these types to
//! numbers.
//!
//! Serialization is needed for the defaults in the JSON Schema.

// serde passes these values by reference.
#![allow(clippy::trivially_copy_pass_by_ref, clippy::ref_option)]

use serde::de::Error;
use serde::{Deserialize, Deserializer};

macro_rules! number {
    ($($(#[$doc:meta])* $name:ident: $type:ty, $json:ty, $read:expr, $write:expr;)+) => {$(
        $(#[$doc])*
        pub(super) mod $name {
            #[allow(unused_imports)]
            use aqmlab_core::{BitRate, Bytes, Duration, Instant};
            use serde::{Deserialize, Deserializer, Serialize, Serializer};

            pub(in crate::spec) fn deserialize<'de, D: Deserializer<'de>>(
                from: D,
            ) -> Result<$type, D::Error> {
                <$json>::deserialize(from).map($read)
            }

            pub(in crate::spec) fn serialize<S: Serializer>(
                value: &$type,
                to: S,
            ) -> Result<S::Ok, S::Error> {
                let write: fn(&$type) -> $json = $write;
                write(value).serialize(to)
            }
        }
    )+};
}

number! {
    nanos: Duration, u64, Duration::from_nanos, |span| span.as_nanos();
    instant: Instant, u64, Instant::from_nanos, |at| at.as_nanos();
    maybe_instant: Option<Instant>, Option<u64>, |ns| ns.map(Instant::from_nanos),
        |at| at.map(Instant::as_nanos);
    /// A rate; zero stands for `None`.
    rate: Option<BitRate>, u64, BitRate::new, |rate| rate.map_or(0, BitRate::as_bps);
    /// A size that fits into 32 bits, as packets store sizes.
    bytes: Bytes, u32, |bytes| Bytes(bytes.into()), |bytes| bytes.0 as u32;
    maybe_bytes: Option<Bytes>, Option<u64>, |bytes| bytes.map(Bytes), |bytes| bytes.map(|one| one.0);
}

/// Deserializes a probability. Refuses numbers that are not between 0 and 1.
pub(super) fn probability<'de, D: Deserializer<'de>>(from: D) -> Result<f64, D::Error> {
    let value = f64::deserialize(from)?;
    let is_probability = (0.0..=1.0).contains(&value);
    is_probability.then_some(value).ok_or_else(|| D::Error::custom("not between 0 and 1"))
}

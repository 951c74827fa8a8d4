//! The bounds of a parameter: the values that have a meaning, or the values that the original
//! implementation accepts.

use crate::kind::BadArgument;
use crate::{BitRate, Bytes, Duration, Value};

/// The values that a parameter may take. A range includes both of its ends.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// Every value of the type. This variant is only for switches and for words. The list in
    /// [`Value::Word`] limits a word.
    Any,
    /// A range of counts, bytes, bits per second or nanoseconds. A duration or rate that is
    /// switched off also lies within the bounds.
    Whole(u64, u64),
    /// Zero, or a range as in [`Bounds::Whole`].
    ZeroOr(u64, u64),
    /// The multiples of the first number, from zero to the second number, of the types of
    /// [`Bounds::Whole`].
    Multiples(u64, u64),
    /// A range of plain numbers.
    Real(f64, f64),
}

impl Bounds {
    /// Returns the bounds of a duration, from `least` to `most`.
    pub const fn span(least: Duration, most: Duration) -> Self {
        Self::Whole(least.as_nanos(), most.as_nanos())
    }

    /// Returns the bounds of a duration that is zero, or from `least` to `most`.
    pub const fn zero_or_span(least: Duration, most: Duration) -> Self {
        Self::ZeroOr(least.as_nanos(), most.as_nanos())
    }

    /// Returns whether `value` lies within these bounds. A value whose type does not fit the bounds
    /// lies outside.
    pub fn admit(self, value: Value) -> bool {
        match (self, value) {
            (Self::Any, Value::Flag(_) | Value::Word(..))
            | (
                Self::Whole(..) | Self::ZeroOr(..) | Self::Multiples(..),
                Value::MaybeDuration(None) | Value::MaybeRate(None),
            ) => true,
            (Self::Whole(least, most), _) => {
                whole(value).is_some_and(|value| (least..=most).contains(&value))
            }
            (Self::ZeroOr(least, most), _) => {
                whole(value).is_some_and(|value| value == 0 || (least..=most).contains(&value))
            }
            (Self::Multiples(of, most), _) => {
                whole(value).is_some_and(|value| value % of == 0 && value <= most)
            }
            (Self::Real(least, most), Value::Number(number)) => (least..=most).contains(&number),
            _ => false,
        }
    }

    /// Returns the least and the greatest value, in the unit of `like`; for [`Self::Real`], as
    /// plain numbers. Returns `None` for [`Self::Any`], and if a value cannot have that unit, such
    /// as a rate of zero.
    pub fn ends(self, like: Value) -> Option<(Value, Value)> {
        match self {
            Self::Any => None,
            Self::ZeroOr(_, most) | Self::Multiples(_, most) => {
                Some((of_type(like, 0)?, of_type(like, most)?))
            }
            Self::Whole(least, most) => Some((of_type(like, least)?, of_type(like, most)?)),
            Self::Real(least, most) => Some((Value::Number(least), Value::Number(most))),
        }
    }

    /// Checks that a value lies within these bounds.
    ///
    /// # Errors
    ///
    /// If the value is out of bounds. The error states the value and the range as users write them.
    pub fn check(self, value: Value) -> Result<(), BadArgument> {
        if self.admit(value) {
            return Ok(());
        }
        let off = matches!(value, Value::MaybeDuration(_) | Value::MaybeRate(_));
        let off = if off { ", nor off" } else { "" };
        let wanted = self.ends(value).map_or_else(
            || "what its type allows".to_owned(),
            |(least, most)| match self {
                Self::ZeroOr(above, _) => {
                    let above = of_type(value, above).unwrap_or(least);
                    format!("{least}, nor between {above} and {most}{off}")
                }
                Self::Multiples(of, _) => {
                    let of = of_type(value, of).unwrap_or(least);
                    format!("a multiple of {of} between {least} and {most}{off}")
                }
                _ => format!("between {least} and {most}{off}"),
            },
        );
        Err(BadArgument::Bounds(value.to_string(), wanted))
    }
}

fn whole(value: Value) -> Option<u64> {
    match value {
        Value::Duration(span) | Value::MaybeDuration(Some(span)) => Some(span.as_nanos()),
        Value::Count(count) => Some(count),
        Value::Bytes(size) => Some(size.0),
        Value::Rate(rate) | Value::MaybeRate(Some(rate)) => Some(rate.as_bps()),
        _ => None,
    }
}

fn of_type(like: Value, number: u64) -> Option<Value> {
    match like {
        Value::Duration(_) | Value::MaybeDuration(_) => {
            Some(Value::Duration(Duration::from_nanos(number)))
        }
        Value::Count(_) => Some(Value::Count(number)),
        Value::Bytes(_) => Some(Value::Bytes(Bytes(number))),
        Value::Rate(_) | Value::MaybeRate(_) => BitRate::new(number).map(Value::Rate),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn both_ends_are_allowed_and_nothing_beyond_them() {
        let spans = Bounds::span(Duration::from_micros(1), Duration::from_secs(1));
        let off = Value::MaybeDuration(None);
        let just = |ns| Value::MaybeDuration(Some(Duration::from_nanos(ns)));
        for (bounds, value, want) in [
            (Bounds::Whole(1, 5), Value::Count(0), false),
            (Bounds::Whole(1, 5), Value::Count(1), true),
            (Bounds::Whole(1, 5), Value::Bytes(Bytes(5)), true),
            (Bounds::Whole(1, 5), Value::Bytes(Bytes(6)), false),
            (Bounds::Whole(1, 5), Value::Number(3.0), false),
            (spans, off, true),
            (spans, just(999), false),
            (spans, just(1_000), true),
            (spans, just(1_000_000_001), false),
            (Bounds::ZeroOr(5, 9), Value::Count(0), true),
            (Bounds::ZeroOr(5, 9), Value::Count(4), false),
            (Bounds::ZeroOr(5, 9), Value::Count(5), true),
            (Bounds::ZeroOr(5, 9), Value::Count(10), false),
            (Bounds::ZeroOr(5, 9), off, true),
            (Bounds::Multiples(5, 10), Value::Count(0), true),
            (Bounds::Multiples(5, 10), Value::Count(7), false),
            (Bounds::Multiples(5, 10), Value::Count(10), true),
            (Bounds::Multiples(5, 10), Value::Count(15), false),
            (Bounds::Real(0.0, 1.0), Value::Number(-0.1), false),
            (Bounds::Real(0.0, 1.0), Value::Number(1.0), true),
            (Bounds::Real(0.0, 1.0), Value::Number(f64::NAN), false),
            (Bounds::Any, Value::Flag(true), true),
            (Bounds::Any, Value::Count(1), false),
        ] {
            assert_eq!(bounds.admit(value), want, "{bounds:?} {value:?}");
            assert_eq!(bounds.check(value).is_ok(), want, "{bounds:?} {value:?}");
        }
        let told = spans.check(just(0)).unwrap_err().to_string();
        assert_eq!(told, "`0s` is not between 1us and 1s, nor off");
        let told = |bounds: Bounds, nanos| {
            bounds.check(Value::Duration(Duration::from_nanos(nanos))).unwrap_err().to_string()
        };
        let zero = Bounds::zero_or_span(Duration::from_micros(1), Duration::from_secs(1));
        assert_eq!(told(zero, 999), "`999ns` is not 0s, nor between 1us and 1s");
        let seconds = Bounds::Multiples(1_000_000_000, 9_000_000_000);
        assert_eq!(told(seconds, 1), "`1ns` is not a multiple of 1s between 0s and 9s");
    }
}

//! Recipes of recorded comparisons.
//!
//! A test compares a model of this project with recorded outcomes of the original authors' code. A
//! recipe is a line of text that states one run: parameters, and a seed from which the arrivals are
//! drawn. The program that ran the original code drew the same arrivals, so the numbers that this
//! crate draws must never change.
//!
//! Only tests depend on this crate.

mod phase;

use aqmlab_core::{Bytes, Duration, Value};

pub use phase::{Lengths, Phase, Sizes};

/// The random generator `SplitMix64` (Steele, Lea and Flood 2014), with its state.
#[derive(Clone, Debug)]
pub struct Mixer(pub u64);

impl Mixer {
    /// Draws the next 64 bits.
    pub fn draw(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let z = (self.0 ^ self.0 >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let z = (z ^ z >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ z >> 31
    }

    /// Draws a number from 0 to `bound` − 1.
    pub fn below(&mut self, bound: u64) -> u64 {
        ((u128::from(self.draw()) * u128::from(bound)) >> 64) as u64
    }

    /// Draws one of `items`.
    pub fn one_of<T: Copy>(&mut self, items: &[T]) -> T {
        items[self.below(items.len() as u64) as usize]
    }
}

/// Parses a parameter of a recipe as a value that has the type of `like`. Durations are in
/// microseconds, sizes in bytes, and flags are 0 or 1.
///
/// # Panics
///
/// If the text is not such a value, or if no recipe states values of this type.
pub fn value(text: &str, like: Value) -> Value {
    let number = || text.parse().expect("a whole number");
    match like {
        Value::Duration(_) => Value::Duration(Duration::from_micros(number())),
        Value::Bytes(_) => Value::Bytes(Bytes(number())),
        Value::Count(_) => Value::Count(number()),
        Value::Flag(_) => Value::Flag(number() == 1),
        Value::Number(_) => Value::Number(text.parse().expect("a number")),
        Value::Word(_, words) => {
            let word = words.iter().find(|word| **word == text).expect("one of the words");
            Value::Word(word, words)
        }
        other => unreachable!("no recipe states a value like {other:?}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn draws_are_those_of_split_mix_64() {
        // The first outputs for the seed 1234567, as Vigna's reference implementation prints them.
        let mut mixer = Mixer(1_234_567);
        let drawn = [mixer.draw(), mixer.draw(), mixer.draw()];
        assert_eq!(
            drawn,
            [6_457_827_717_110_365_317, 3_203_168_211_198_807_973, 9_817_491_932_198_370_423]
        );
    }

    #[test]
    fn texts_become_values_of_the_type_asked_for() {
        let words: &[&str] = &["wrr", "ts_fifo"];
        for (text, like, want) in [
            (
                "1500",
                Value::Duration(Duration::ZERO),
                Value::Duration(Duration::from_micros(1_500)),
            ),
            ("1500", Value::Bytes(Bytes(0)), Value::Bytes(Bytes(1_500))),
            ("7", Value::Count(0), Value::Count(7)),
            ("1", Value::Flag(false), Value::Flag(true)),
            ("0.5", Value::Number(0.0), Value::Number(0.5)),
            ("ts_fifo", Value::Word("wrr", words), Value::Word("ts_fifo", words)),
        ] {
            assert_eq!(value(text, like), want, "{text}");
        }
    }
}
